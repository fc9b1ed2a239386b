"""Jain, section 10.4: forward dynamics by merging pieces, in the corrected form, on chains and on trees."""

import numpy as np
import pytest
from systems import models, serial
from zoo import close, grown, plain, state
from zoo.mechanisms import JOINTS

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model import solids
from linkwork.model.tree import Tree
from linkwork.operators import rigid
from linkwork.sweeps.divide_and_conquer import Joint
from linkwork.sweeps.schedule import schedule
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


@models("tree", "forest", "random forest", "random forest with joint inertia", "gear train", "elastic gears")
def test_merging_works_on_trees_of_blocks_of_any_size(m, rng):
    """A node absorbs a branch: M + A W A*, b + A f."""
    tau = rng.standard_normal((2, m.nv))
    close(m.sko.divide_and_conquer(tau)[0], m.sko.forward_dynamics(tau), 1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_merging_of_random_trees(seed):
    """Trees of all joint types, with massless nodes inside compound joints: θ̈ of articulated bodies."""
    rng = np.random.default_rng(seed)
    kinds = [name for name in JOINTS if name != "fixed"]
    parts = [(int(rng.integers(0, i)) if i else None, JOINTS[kinds[int(rng.integers(len(kinds)))]]) for i in range(12)]
    robot = plain(grown("tree", parts, seed=seed))
    s = state(robot, (2,))
    close(rigid(lower(robot.model), s.q, s.v).divide_and_conquer(s.tau)[0], robot.forward_dynamics(s.q, s.v, s.tau), 1e-9)


SHAPES = {
    "chain": lambda i: i - 1,
    "binary": lambda i: (i - 1) // 2,
    "star": lambda i: 0,
    "two chains": lambda i: max(i - 2, 0),
    "random": lambda i: int(np.random.default_rng(i).integers(0, i)),
    "caterpillar": lambda i: i - 1 if i < 5000 else i - 5000,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_depth_of_any_tree_grows_as_the_logarithm(shape):
    """10⁴ nodes: at most 3 log₂ N levels; every joint but those of the roots is merged once, after all that it needs."""
    n = 10_000
    parent = [-1, *(SHAPES[shape](i) for i in range(1, n))]
    plan = schedule(Tree([p if p < k else -1 for k, p in enumerate(parent)], [1] * n))
    print(shape, plan)
    assert plan.depth <= 3 * np.log2(n)
    assert sorted(merge.joint for merge in plan.merges) == [k for k in range(n) if k not in plan.whole]
    level: dict = {}
    for merge in plan.merges:
        needs = [level.get(ends, 0) for ends in (merge.inner, merge.outer) if ends]
        assert merge.level > max(needs)
        if merge.inner:
            level[merge.inner[0], merge.outer[1]] = merge.level
        else:
            p = parent[merge.joint]
            level[p, p] = max(level.get((p, p), 0), merge.level)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["chain", "random", "binary"])
def test_ten_thousand_bodies(shape):
    """Forward dynamics of 10⁴ bodies by merges: that of the sweep."""
    n = 10_000
    builder = lw.Builder(shape)
    for i in range(n):
        on = None if not i else f"body{SHAPES[shape](i)}"
        axis = ((0, 1, 0), (1, 0, 0), (0, 0, 1))[i % 3]
        builder.body(
            f"body{i}", on, (0, 0, -0.1) if i else None, lw.Revolute(axis=axis), **solids.box(1.0, (0.05, 0.04, 0.1), (0, 0, -0.05))
        )
    robot = lw.Dynamics(builder.model(), compiled=False)
    rng = np.random.default_rng(0)
    q, v, tau = 0.3 * rng.standard_normal((3, n))
    sko = rigid(lower(robot.model), q, 0.1 * v)
    vdot, steps = sko.divide_and_conquer(tau)
    print(shape, sko.schedule)
    assert steps <= 6 * np.log2(n) + 2
    close(vdot, sko.forward_dynamics(tau), 1e-8)


def test_a_node_without_mass_at_a_tip_or_a_fork_is_refused():
    light = grown("light", [(None, JOINTS["revolute"]), (0, JOINTS["revolute"])], solids={1: {"mass": 0.0}})
    with pytest.raises(ModelError, match="node 1 has none and is a tip"):
        rigid(lower(light), np.zeros(2)).divide_and_conquer(np.zeros(2))
    fork = grown("fork", [(None, JOINTS["revolute"]), *[(0, JOINTS["revolute"])] * 2], solids={0: {"mass": 0.0}})
    with pytest.raises(ModelError, match="node 0 has none and forks"):
        rigid(lower(fork), np.zeros(3)).divide_and_conquer(np.zeros(3))
