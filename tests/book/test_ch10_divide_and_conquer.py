"""Jain, section 10.4: forward dynamics of a chain by halving it, in the corrected form."""

import numpy as np
import pytest
from systems import MODELS, models, serial
from zoo import close, grown, plain, state
from zoo.mechanisms import JOINTS

from linkwork.errors import ModelError
from linkwork.operators import rigid
from linkwork.sweeps.divide_and_conquer import Joint
from linkwork.systems import lower

CHAINS = {
    "pins": ["revolute"] * 9,
    "one": ["spherical"],
    "universal": ["universal", "revolute", "universal", "spherical"],
    "floating": ["free", "revolute", "helical", "prismatic", "cylindrical"],
    "compound": ["compound", "planar", "schoenflies", "universal", "translation"],
}


def chain(names):
    return grown("chain", [(i - 1 if i else None, JOINTS[name]) for i, name in enumerate(names)], seed=21)


@pytest.mark.parametrize("name", CHAINS)
def test_halving_gives_the_sweep(name):
    """θ̈ of algorithm 10.6, assembly and back substitution, is that of articulated bodies, at speed and under gravity."""
    robot = plain(chain(CHAINS[name]))
    s = state(robot, (2,))
    vdot, _ = rigid(lower(robot.model), s.q, s.v).divide_and_conquer(s.tau)
    close(vdot, robot.forward_dynamics(s.q, s.v, s.tau), 1e-10)


@serial
def test_halving_works_on_blocks_of_any_size(m, rng):
    """The same on chains of random blocks: nothing knows that a node has six entries."""
    tau = rng.standard_normal((2, m.nv))
    close(m.sko.divide_and_conquer(tau)[0], m.sko.forward_dynamics(tau), 1e-10)


def test_halving_with_rotors(rng):
    """With inertia in the joints H f + armature θ̈ = T."""
    model = grown("geared chain", [(None, JOINTS["revolute"]), (0, JOINTS["universal"]), (1, JOINTS["revolute"])], seed=3)
    sko = rigid(lower(model), *plain(model).random_state((2,), seed=0))
    turning = type(sko)(sko.tree, sko.A, sko.H, sko.M, [0.3 * np.eye(w) for w in sko.tree.widths], sko.a, sko.b, sko.base)
    tau = rng.standard_normal((2, sko.nv))
    close(turning.divide_and_conquer(tau)[0], turning.forward_dynamics(tau), 1e-10)


def test_halving_hears_forces_on_nodes_without_inertia(rng):
    """A wrench between the parts of a universal joint counts, wherever in the chain: b(j) goes to the joint and the parent."""
    model = grown("chain", [(None, JOINTS["universal"]), (0, JOINTS["compound"]), (1, JOINTS["revolute"])], seed=3)
    sko = rigid(lower(model), *plain(model).random_state((2,), seed=0))
    b = [sko.b[k] + rng.standard_normal((6, 1)) for k in sko.tree.base_to_tips()]
    pushed = type(sko)(sko.tree, sko.A, sko.H, sko.M, sko.armature, sko.a, b, sko.base)
    tau = rng.standard_normal((2, sko.nv))
    close(pushed.divide_and_conquer(tau)[0], pushed.forward_dynamics(tau), 1e-10)


@pytest.mark.parametrize(("links", "levels"), [(1, 0), (2, 1), (4, 2), (5, 3), (8, 3), (33, 6), (64, 6)])
def test_the_depth_grows_as_the_logarithm(links, levels):
    """⌈log₂ N⌉ levels of joining, as many of releasing, and the ground: 2 (⌈log₂ N⌉ + 1) steps follow one another."""
    robot = plain(chain(["revolute"] * links))
    s = state(robot)
    vdot, depth = rigid(lower(robot.model), s.q, s.v).divide_and_conquer(s.tau)
    assert depth == 2 * (levels + 1)
    close(vdot, robot.forward_dynamics(s.q, s.v, s.tau), 1e-9)


@models("random chain")
def test_the_joint_between_two_pieces(m, rng):
    """W = P* (P N P*)⁻¹ P with P a basis of what H leaves out, and H W = 0 (lemma 10.6)."""
    X = rng.standard_normal((5, 5))
    N, H = X @ X.T + np.eye(5), rng.standard_normal((2, 5))
    P = np.linalg.svd(H)[2][2:]
    joint = Joint.of(N, H, np.zeros((2, 2)))
    close(joint.W, P.T @ np.linalg.solve(P @ N @ P.T, P), 1e-11)
    close(H @ joint.W, 0, 1e-11)
    close(H @ joint.Y, np.eye(2), 1e-11)


def test_a_joint_force_obeys_the_generalized_force(rng):
    """H f = T for f = Y T + W r, whatever r: R (R*R)⁻¹ T, where the book takes R for orthonormal (10.50, corrected)."""
    X = rng.standard_normal((6, 6))
    H, tau, r = rng.standard_normal((2, 6)), rng.standard_normal((2, 1)), rng.standard_normal((6, 1))
    close(H @ Joint.of(X @ X.T + np.eye(6), H, np.zeros((2, 2))).force(tau, r), tau, 1e-11)


def test_a_fork_is_refused():
    with pytest.raises(ModelError, match="this tree forks"):
        MODELS["tree"].sko.divide_and_conquer(np.zeros(MODELS["tree"].nv))


def test_a_tip_without_mass_is_refused():
    model = grown("light", [(None, JOINTS["revolute"]), (0, JOINTS["revolute"])], solids={1: {"mass": 0.0}})
    with pytest.raises(ModelError, match="a last node with mass"):
        rigid(lower(model), np.zeros(2)).divide_and_conquer(np.zeros(2))
