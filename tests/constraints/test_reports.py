"""Redundant, inconsistent, open and unsupported sets end in a correct answer with a report, or in an error that names them."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import ConstraintError

from .dense_equations import kkt
from .gallery import ABOUT_Z, assembled, four_bar, rod

PIN = {"mass": 1.0, "tensor": (1, 1, 1)}


def wheels(*couples, n=3):
    m = lw.Builder("wheels", (0, 0, 0))
    for i in range(n):
        m.body(f"w{i}", joint=ABOUT_Z, **PIN)
    for i, (one, other, coefficients) in enumerate(couples):
        m.couple(f"w{one}_joint", None if other is None else f"w{other}_joint", coefficients, f"gear{i}")
    return constraints.of(lw.Dynamics(m.model(), compiled=False))


# (couplings, rows, rank): redundant and consistent
REDUNDANT = [
    ([(1, 0, (0, 2.0)), (1, 0, (0, 2.0))], 2, 1),
    ([(1, 0, (0, 2.0)), (2, 1, (0, 3.0)), (2, 0, (0, 6.0))], 3, 2),
    ([(1, 0, (0, 2.0)), (0, 1, (0, 0.5))], 2, 1),
    ([(0, None, (0.0,)), (1, 0, (0, 1.0)), (1, None, (0.0,))], 3, 2),
    ([(1, 0, (0, 1.0)), (2, 1, (0, 1.0)), (0, 2, (0, 1.0))], 3, 2),
    ([(0, None, (0.0,)), (0, None, (0.0,)), (0, None, (0.0,))], 3, 1),
]


@pytest.mark.parametrize(("couples", "rows", "rank"), REDUNDANT)
def test_redundant_gears_turn_as_one_set(couples, rows, rank):
    held = wheels(*couples)
    q = np.zeros(3)
    report = held.report(q)
    assert (report.rows, report.rank, len(report.redundant)) == (rows, rank, rows - rank)
    tau = np.array([1.0, 2.0, 3.0])
    enough = kkt(held.set, q, np.zeros(3), tau)[0]
    for method in ("augmented", "projected", "embedded"):
        np.testing.assert_allclose(held.forward_dynamics(q, np.zeros(3), tau, method=method), enough, atol=1e-12)


# gears that cannot all hold
CONTRADICTORY = [
    [(0, None, (0.0,)), (0, None, (1.0,))],
    [(1, 0, (0, 2.0)), (1, 0, (0.5, 2.0))],
    [(0, None, (0.0,)), (1, 0, (0, 1.0)), (1, None, (0.3,))],
    [(1, 0, (0.0, 1.0)), (2, 1, (0.0, 1.0)), (2, 0, (0.2, 1.0))],
]


@pytest.mark.parametrize("couples", CONTRADICTORY)
def test_contradictory_gears_are_named(couples):
    held = wheels(*couples)
    with pytest.raises(ConstraintError, match='"gear'):
        held.assemble(np.zeros(3))
    assert not held.report(np.zeros(3)).closed
    with pytest.raises(ConstraintError, match="assemble"):
        held.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))


def test_constraints_that_agree_in_place_but_not_in_motion_are_named():
    """q1 = q0 and q1 = sin-like polynomial: both hold at 0 with the same slope, but bend apart."""
    held = wheels((1, 0, (0, 1.0)), (1, 0, (0, 1.0, 1.0)))
    q, v = np.zeros(3), np.array([1.0, 1.0, 0.0])
    for method in ("augmented", "projected", "embedded"):
        with pytest.raises(ConstraintError, match=r'"gear0", "gear1" contradict'):
            held.forward_dynamics(q, v, np.zeros(3), method=method)
    assert held.report(q).rank == 1


def test_contradictory_drives_are_named():
    m = lw.Builder("axle", (0, 0, 0))
    m.body("wheel", joint=ABOUT_Z, **PIN)
    drives = constraints.Driven("slow", "wheel_joint", lambda t: t * t), constraints.Driven("fast", "wheel_joint", lambda t: 2 * t * t)
    held = constraints.of(lw.Dynamics(m.model(), compiled=False), *drives)
    with pytest.raises(ConstraintError, match='"slow", "fast" contradict'):
        held.forward_dynamics(np.zeros(1), np.zeros(1), np.zeros(1), t=0.0)


def test_a_bricard_linkage_moves_though_it_should_not():
    _, held, q = assembled("bricard")
    report = held.report(q)
    assert (report.velocities, report.rows, report.rank, report.generic_mobility, report.overconstrained) == (5, 5, 4, 1, True)
    assert "over-constrained" in str(report)


def test_a_flat_rhombus_is_singular_and_says_so():
    """All cranks horizontal: S2's rank loss."""
    robot = lw.Dynamics(four_bar(1.0, 2.0, 1.0, 2.0, cut="pin"), compiled=False)
    held = constraints.of(robot)
    report = held.report(np.zeros(3))
    assert (report.mobility, report.generic_mobility, report.singular) == (2, 1, True)
    assert "singular: mobility is 2 here" in str(report)


def test_an_open_loop_is_reported_with_its_residual():
    held = constraints.of(lw.Dynamics(four_bar(), compiled=False))
    report = held.report(np.zeros(3))
    assert not report.closed and '"foot" by' in report.open[0] and report.generic_mobility is None
    with pytest.raises(ConstraintError, match='open are "foot"'):
        held.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))


def test_a_loop_too_long_to_close_fails_with_the_best_residual():
    held = constraints.of(lw.Dynamics(four_bar(1.0, 1.0, 1.0, 5.0), compiled=False))
    with pytest.raises(ConstraintError, match=r'cannot be assembled .* "foot" by (1\.9|2)'):
        held.assemble([0.1, -0.2, 0.1])


def test_held_joints_stay_and_the_branch_is_kept():
    held = constraints.of(lw.Dynamics(four_bar(), compiled=False))
    above, below = held.assemble([1.0, -0.7, 1.1], hold=["crank_joint"]), held.assemble([1.0, -1.9, -1.5], hold=["crank_joint"])
    assert above[0] == below[0] == 1.0
    assert above[1] > -1.0 > below[1]


def test_a_structure_without_mobility_stands_still():
    m = lw.Builder("truss", (0, -9.81, 0))
    m.body("left", joint=ABOUT_Z, **rod(1.0))
    m.body("right", None, (1, 0, 0), ABOUT_Z, **rod(1.0))
    m.loop("top", "left", "right", ABOUT_Z, at=(1, 0, 0), on=(1, 0, 0))
    held = constraints.of(lw.Dynamics(m.model(), compiled=False))
    q = held.assemble([1.0, 2.1])
    assert held.report(q).mobility == 0
    for method in ("augmented", "projected", "embedded"):
        np.testing.assert_allclose(held.forward_dynamics(q, np.zeros(2), np.ones(2), method=method), 0, atol=1e-10)


def test_a_loop_between_bodies_that_cannot_move_is_harmless_or_named():
    m = lw.Builder("bench")
    m.body("top", mass=1.0)
    m.body("swing", "top", joint=ABOUT_Z, **rod(1.0))
    m.loop("glue", None, "top", lw.Fixed())
    held = constraints.of(lw.Dynamics(m.model(), compiled=False))
    assert held.report([0.0]).rank == 0
    np.testing.assert_allclose(held.forward_dynamics([0.0], [0.0], [0.0]), [0.0], atol=1e-12)
    m.loop("bad glue", None, "top", lw.Fixed(), at=(0, 0, 1))
    broken = constraints.of(lw.Dynamics(m.model(), compiled=False))
    with pytest.raises(ConstraintError, match='"bad glue" by 1'):
        broken.assemble([0.0])


def test_a_coupling_of_a_ball_is_refused():
    m = lw.Builder("ball")
    m.body("a", joint=lw.Spherical(), **PIN)
    m.body("b", joint=ABOUT_Z, **PIN)
    m.couple("b_joint", "a_joint")
    with pytest.raises(lw.ModelError, match='binds joint "a_joint", which has 3 velocities'):
        constraints.of(lw.Dynamics(m.model(), compiled=False))


def test_what_is_no_constraint_is_refused():
    with pytest.raises(lw.ModelError, match="is no constraint"):
        constraints.of(lw.Dynamics(lw.load("bricard"), compiled=False), "foot")  # type: ignore[arg-type]


def test_two_constraints_of_one_name_are_refused():
    drive = constraints.Driven("foot", "crank_joint", np.sin)
    with pytest.raises(lw.ModelError, match='two constraints of the name "foot"'):
        constraints.of(lw.Dynamics(four_bar(), compiled=False), drive)


def test_an_unknown_method_is_named():
    _, held, q = assembled("four_bar")
    with pytest.raises(lw.ModelError, match='no method "magic"'):
        held.forward_dynamics(q, np.zeros(3), np.zeros(3), method="magic")


def test_a_function_that_cannot_be_traced_cannot_be_embedded_and_says_so():
    robot = lw.Dynamics(lw.load("double_pendulum"), compiled=False)
    held = constraints.of(robot, constraints.Holonomic("even", lambda q: float(q[0] - q[1])))
    with pytest.raises(lw.ModelError, match=r'"even" .* cannot be embedded'):
        held.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2), method="embedded")


def test_a_wrong_shape_is_named():
    _, held, q = assembled("four_bar")
    with pytest.raises(lw.ShapeError, match="tau has shape"):
        held.forward_dynamics(q, np.zeros(3), np.zeros(2))


def test_nan_stays_with_its_sample():
    robot, _, q = assembled("four_bar")
    fast = constraints.of(lw.Dynamics(robot.model))
    Q = np.stack([q, q])
    Q[1] = np.nan
    vdot = fast.forward_dynamics(Q, np.zeros((2, 3)), np.zeros((2, 3)))
    assert np.isfinite(vdot[0]).all() and np.isnan(vdot[1]).all()


def test_a_massless_coupler_is_embedded_or_named():
    """A rod without mass between crank and rocker: the tree alone has no acceleration, the loop has."""
    m = lw.Builder("rods", (0, -9.81, 0))
    m.body("crank", joint=ABOUT_Z, **rod(1.0))
    m.body("coupler", "crank", (1, 0, 0), ABOUT_Z)
    m.body("rocker", None, (2, 0, 0), ABOUT_Z, **rod(1.0))
    m.loop("pin", "coupler", "rocker", ABOUT_Z, at=(2, 0, 0), on=(1, 0, 0))
    held = constraints.of(lw.Dynamics(m.model(), compiled=False))
    q = held.assemble([1.0, -1.0, 1.0], hold=["crank_joint"])
    with pytest.raises(lw.ModelError, match='"coupler_joint" moves nothing that has inertia'):
        held.forward_dynamics(q, np.zeros(3), np.zeros(3), method="augmented")
    expected = -9.81 * np.cos(1.0) / (2 / 3)  # a parallelogram of two rods
    np.testing.assert_allclose(held.forward_dynamics(q, np.zeros(3), np.zeros(3), method="embedded"), [expected, -expected, expected])
    for compiled in (False, True):
        robot = lw.Dynamics(m.model(), compiled=compiled)
        np.testing.assert_allclose(robot.forward_dynamics(q, np.zeros(3), np.zeros(3)), [expected, -expected, expected])
        run = lw.simulate(robot, (q, np.zeros(3)), until=0.2, rtol=1e-8)
        energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
        np.testing.assert_allclose(energy, energy[0], atol=1e-6)
        np.testing.assert_allclose(robot.constraints.residual(run.q), 0, atol=1e-14)
