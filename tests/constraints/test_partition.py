"""Independent velocities by the projective criterion, and what elimination takes for nothing."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import substructured
from linkwork.constraints.choice.partition import independent_velocities, pivoted, projective
from linkwork.constraints.rows.rank import Factored
from linkwork.constraints.solution.at_state import rank_tolerance
from linkwork.operators import rigid
from linkwork.systems import lower

from .gallery import assembled


def tangents(M, Jc):
    """Motions that the rows allow, 𝓜-orthonormal."""
    L = np.linalg.cholesky(M)
    return np.linalg.solve(L.T, Factored(np.linalg.solve(L, Jc.T).T).null())


@pytest.mark.parametrize("seed", range(6))
def test_the_strandbeest_is_led_by_the_velocity_nearest_to_its_motion(seed):
    """One freedom: i maximises ‖(𝓜 T)_i‖² / 𝓜_ii, which the largest √𝓜_ii ‖T_i‖ is not."""
    robot = lw.Dynamics(lw.load("strandbeest"), compiled=False)
    held = robot.constraints
    q = held.random_state(seed=seed, reach=0.5)[0]
    M = robot.mass_matrix(q)
    T = tangents(M, held.jacobian(q))
    share = ((M @ T) ** 2).sum(-1) / np.diag(M)
    assert held.reduced(q).independent == [np.argmax(share)]
    assert np.argmax(share) != np.argmax(np.diag(M) * T[:, 0] ** 2)


def test_motions_are_deflated_after_each_choice():
    """With v_i = 0 held for those chosen before, the next has the largest share of what is left; X exists."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, 7))
    M, Jc = A @ A.T, rng.standard_normal((3, 7))
    T, order = tangents(M, Jc), projective(M, tangents(M, Jc))
    for n, i in enumerate(order):
        held = np.concatenate([Jc, np.eye(7)[order[:n]]])
        left = tangents(M, held)
        share = ((M @ left) ** 2).sum(-1) / np.diag(M)
        share[order[:n]] = 0.0
        assert np.argmax(share) == i
    assert np.linalg.cond(T[order]) < 1e6


def test_a_velocity_that_stands_still_leads_nothing():
    """A locked joint may have a share of the motion, through the masses; it is not independent."""
    M = np.array([[1.0, 0.999], [0.999, 1.0]])
    assert independent_velocities(M, np.array([[1.0, 0.0]]), 1e-9).tolist() == [1]


@pytest.mark.parametrize("open_by", [0.0, 1e-5, 1e-3, 5e-3])
def test_elimination_and_singular_values_count_the_same_rows_of_open_loops(open_by):
    """Where loops are open by c, both take less than 10 c for nothing, and no more."""
    _, held, q = assembled("four_bar")
    q = q + np.array([open_by, 0.0, 0.0])
    rows = held.set.rows(q)
    rank = Factored(held.set.without_units(rows.Jc), rank_tolerance(held.set, rows)).rank
    assert sum(len(x.rows) for x in held.loops.choose(q)) == rank == 2


def test_a_pivot_above_the_least_counts():
    A = np.array([[1.0, 0.0], [1.0, 0.05]])
    assert len(pivoted(A, np.ones(2), 0.04, np.ones(2, bool))[0]) == 2
    assert len(pivoted(A, np.ones(2), 0.06, np.ones(2, bool))[0]) == 1


def fork():
    """0 carries 1 and 2; 1 carries 3 and 5; 2 carries 4."""
    b = lw.Builder("fork")
    for name, parent in (("0", None), ("1", "0"), ("2", "0"), ("3", "1"), ("4", "2"), ("5", "1")):
        b.body(name, parent, (1, 0, 0), lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    robot = lw.Dynamics(b.model(), compiled=False)
    return robot, rigid(lower(robot.model), robot.neutral())


def test_any_set_without_gaps_cuts_a_model_in_three():
    """Lemma 14.1 asks that S leave out nothing between its own, not that it stand on one node."""
    robot, sko = fork()
    at = {name: lower(robot.model).on[robot.bodies.index(name)] for name in "012345"}
    S = [at["1"], at["4"]]
    C, found, P = substructured(sko, S)
    assert (C, found, P) == tuple(sorted(at[name] for name in names) for names in ("35", "14", "02"))
    with pytest.raises(lw.ModelError, match=f"leave out {at['1']}, which lie between"):
        substructured(sko, [at["0"], at["3"]])
