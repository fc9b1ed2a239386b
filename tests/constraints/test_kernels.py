"""Kernels of constraints give what the plain run gives: rows, accelerations, projections, one state or many."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import Distance, KnifeEdge, Linear, Rolling, Touching

from .gallery import ABOUT_Z, MAKERS, assembled, differential, rod


def disk():
    m = lw.Builder("disk")
    return m.body("disk", joint=lw.Free(), mass=2.0, tensor=(0.1, 0.1, 0.2)).model()


def rods():
    m = lw.Builder("rods")
    m.body("one", joint=lw.Spherical(), **rod(1.0))
    return m.body("other", None, (2.0, 0.3, 0.1), lw.Spherical(), **rod(1.0)).model()


def sledge():
    m = lw.Builder("sledge")
    return m.body("sledge", joint=lw.Planar(), mass=1.0, center=(0.1, 0, 0), tensor=(1, 1, 1)).model()


MORE = {
    "rolling disk": (disk, (Rolling("roll", "disk", 0.5), Touching("touch", "disk", 0.5))),
    "ball": (disk, (Rolling("roll", "disk", 0.5, None), Touching("touch", "disk", 0.5, None))),
    "rod": (rods, (Distance("rod", "one", "other", 2.2, (1, 0, 0), (1, 0, 0)),)),
    "edge": (sledge, (KnifeEdge("edge", "sledge", (0, 1, 0), (0.2, 0, 0)),)),
    "differential": (differential, (Linear("gear", {"cage_joint": 2.0, "left_joint": -1.0, "right_joint": -1.0}),)),
}
LARGE = "delta_robot", "digit_like", "cassie, MJCF", "cassie, SDF", "pr2", "dual_arm"  # whose kernels take seconds to compile
NAMES = [pytest.param(x, marks=pytest.mark.slow) if x in LARGE else x for x in (*MAKERS, *MORE)]


@cache
def pair(name):
    """The constraints of a mechanism by kernels and plain, and a batch of states that keep them."""
    if name in MAKERS:
        robot, plain, q = assembled(name)
        model, more = robot.model, ()
    else:
        make, more = MORE[name]
        model = make()
        robot = lw.Dynamics(model, compiled=False)
        plain = constraints.of(robot, *more)
        q = plain.assemble(robot.integrate(robot.neutral(), 0.3 * np.random.default_rng(3).uniform(-1, 1, robot.nv)))
    held = constraints.of(lw.Dynamics(model), *more)
    rng = np.random.default_rng(0)
    q, v = plain.project(np.broadcast_to(q, (3, robot.nq)), rng.standard_normal((3, robot.nv)))
    return held, plain, q, v, rng.standard_normal((3, robot.nv)), rng.standard_normal((3, len(robot.bodies), 6))


def near(one, other, tolerance=1e-9):
    np.testing.assert_allclose(one, other, atol=tolerance * max(1.0, np.abs(other).max()))


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_a_kernel_are_those_of_the_plain_run(name):
    held, plain, q, v, _, _ = pair(name)
    there = plain.robot.integrate(q, 1e-2 * v)  # not on the constraints
    near(held.residual(there), plain.residual(there), 1e-14)
    near(held.jacobian(there), plain.jacobian(there), 1e-14)
    near(held.bias(there, v), plain.bias(there, v), 1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_accelerations_of_a_kernel_are_those_of_the_plain_run(name):
    """With and without wrenches from outside; one state, or a batch."""
    held, plain, q, v, tau, external = pair(name)
    assert held.picked == "embedded kernel"
    near(held.forward_dynamics(q, v, tau), plain.forward_dynamics(q, v, tau, method="projected"))
    pushed = plain.forward_dynamics(q, v, tau, external, method="projected")
    near(held.forward_dynamics(q, v, tau, external), pushed)
    near(held.forward_dynamics(q[1], v[1], tau[1], external[1]), pushed[1])


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_projects_to_where_the_plain_run_does(name):
    held, plain, q, v, _, _ = pair(name)
    off = plain.robot.integrate(q, 1e-4 * v), v + 1e-3
    (q1, v1), (q2, v2) = held.project(*off), plain.project(*off)
    near(plain.residual(q1), 0 * plain.residual(q1), 1e-14)
    near(np.matvec(plain.jacobian(q1), v1), 0.0 * plain.residual(q1), 1e-12)
    near(q1, q2, 1e-9)
    near(v1, v2, 1e-9)


@pytest.mark.parametrize("name", ["spatial_slider_crank", "peaucellier"])
def test_what_no_kernel_serves_goes_the_plain_way(name):
    """An open loop among closed ones raises by name; a sample that is not a number stays alone."""
    held, plain, q, v, tau, _ = pair(name)
    gone = q.copy()
    gone[0] = np.nan
    found = held.forward_dynamics(gone, v, tau)
    assert np.isnan(found[0]).any()
    near(found[1:], plain.forward_dynamics(q[1:], v[1:], tau[1:], method="projected"))
    with pytest.raises(constraints.ConstraintError, match="open are"):
        held.forward_dynamics(plain.robot.integrate(q, 0.5 * tau), v, tau)


def test_another_choice_is_made_where_the_first_has_no_pivot():
    """The slider-crank at its dead centres and between: no one velocity serves as the independent one everywhere."""
    _, plain, q = assembled("slider_crank")
    held = constraints.of(lw.Dynamics(plain.robot.model))
    angles = np.concatenate([np.linspace(0.5, 2.6, 40), np.full(40, np.pi / 2)])
    states = [plain.assemble([a, -a - np.arcsin(np.sin(a) / 2), np.cos(a) + 2 * np.sqrt(1 - np.sin(a) ** 2 / 4)]) for a in angles]
    q, v = plain.project(np.array(states), np.ones((80, 3)))
    near(held.forward_dynamics(q, v, np.ones(3)), plain.forward_dynamics(q, v, np.ones(3)))


def test_a_result_depends_on_its_own_sample_alone():
    """The same bits one by one, in a batch, in another order, and after other calls: choices depend on the model alone."""
    _, plain, q = assembled("slider_crank")
    angles = np.linspace(0.5, 2.6, 21)
    states = [plain.assemble([a, -a - np.arcsin(np.sin(a) / 2), np.cos(a) + 2 * np.sqrt(1 - np.sin(a) ** 2 / 4)]) for a in angles]
    q, v = plain.project(np.array(states), np.ones((len(angles), 3)))
    robots = [lw.Dynamics(plain.robot.model) for _ in range(2)]
    batch = robots[0].forward_dynamics(q, v, np.ones(3))
    singly = [robots[1].forward_dynamics(a, b, np.ones(3)) for a, b in zip(q[::-1], v[::-1])][::-1]
    np.testing.assert_array_equal(batch, singly)
    np.testing.assert_array_equal(robots[0].forward_dynamics(q[::-1], v[::-1], np.ones(3))[::-1], batch)


def test_a_large_robot_is_embedded_loop_by_loop():
    """More velocities than straight-line code is for: 45 four-bars, each on the coupler of the one before."""
    m, carrier = lw.Builder("hung", (0, -9.81, 0)), None
    for i in range(45):
        m.body(f"a{i}", carrier, (0.1, 0, 0), ABOUT_Z, **rod(1.0)).body(f"b{i}", f"a{i}", (1, 0, 0), ABOUT_Z, **rod(2.0))
        m.body(f"c{i}", carrier, (2.1, 0, 0), ABOUT_Z, **rod(1.0))
        m.loop(f"pin{i}", f"b{i}", f"c{i}", ABOUT_Z, at=(2, 0, 0), on=(1, 0, 0))
        carrier = f"b{i}"
    robot = lw.Dynamics(m.model())
    q = np.array([1.2 if name[0] == "b" else -1.2 for name in robot.joints])
    assert robot.rolled and robot.constraints.picked == "embedded rolled kernel"
    tau = np.random.default_rng(0).standard_normal(robot.nv)
    found = robot.forward_dynamics(q, np.zeros(robot.nv), tau)
    near(found, robot.constraints.forward_dynamics(q, np.zeros(robot.nv), tau, method="augmented"), 1e-7)
