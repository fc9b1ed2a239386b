"""Rolling, skating and driving."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import Distance, Holonomic, Pfaffian

from .dense_equations import kkt
from .gallery import assembled, motion

DISK = {"mass": 2.0, "tensor": (0.25, 0.25, 0.5)}


def disk(radius=1.0):
    m = lw.Builder("disk").body("disk", joint=lw.Free(), **DISK).roll("roll", "disk", radius)
    return lw.Dynamics(m.model(), compiled=False).constraints


def standing(held, tilt=0.3):
    """A disk on edge, leaning."""
    q = held.robot.neutral()
    q[:4] = lw.Pose.rpy((0, 0, 0), (np.pi / 2 - tilt, 0, 0)).quaternion
    q[:4] /= np.linalg.norm(q[:4])
    q[6] = np.cos(tilt)
    return q


def ball():
    m = lw.Builder("ball", (0.0, 1.0, -9.81))
    m.body("ball", joint=lw.Free(), mass=3.0, tensor=(0.4 * 3,) * 3).roll("roll", "ball", 1.0, axis=None)
    return lw.Dynamics(m.model(), compiled=False).constraints


def sled(gravity=(0, 0, 0)):
    return lw.Builder("skate", gravity).body("sled", joint=lw.Planar(), mass=1.0, tensor=(0.1, 0.1, 0.1))


def skate(gravity=(0, 0, 0)):
    return lw.Dynamics(sled(gravity).skate("edge", "sled", (0, 1, 0)).model(), compiled=False).constraints


def snakeboard():
    """A board, a rotor on its middle and two axles that steer: rotor and axles driven, wheels that do not slip sideways."""
    model = lw.mechanisms.snakeboard(masses=(4.0, 1.0, 0.5), moments=(0.016, 0.02, 0.001))
    return lw.Dynamics(model, compiled=False).constraints


CASES = {
    "disk": lambda: (disk(), standing(disk())),
    "ball": lambda: (ball(), np.array([0, 0, 0, 1.0, 0.3, 0.2, 1.0])),
    "skate": lambda: (skate(), np.array([0.4, 1.0, 2.0])),
    "snakeboard": lambda: (snakeboard(), np.array([0.3, 0, 0, 0.5, 0.4, -0.3])),
}
every_case = pytest.mark.parametrize("name", CASES)


def moving(name, seed=0):
    held, q = CASES[name]()
    rng = np.random.default_rng(seed)
    q, v = held.project(q, rng.standard_normal(held.nv))
    return held, q, v, rng.standard_normal(held.nv)


@every_case
def test_rows_keep_being_kept(name):
    """G(q) v stays zero along q(t), v(t) with v̇ from the dynamics."""
    held, q, v, tau = moving(name)
    vdot = held.forward_dynamics(q, v, tau)
    h = 1e-5
    after, before = (held.jacobian(held.robot.integrate(q, s * v + s * s / 2 * vdot)) @ (v + s * vdot) for s in (h, -h))
    np.testing.assert_allclose((after - before) / (2 * h), 0, atol=1e-6)


@every_case
def test_solutions_agree(name):
    held, q, v, tau = moving(name)
    vdot, _ = kkt(held.set, q, v, tau)
    for method in ("augmented", "projected"):
        np.testing.assert_allclose(held.forward_dynamics(q, v, tau, method=method), vdot, rtol=1e-9, atol=1e-9)


@every_case
def test_rolling_cannot_be_integrated(name):
    """The object of non-holonomy is not zero (Müller and Terze, 60)."""
    held, q, _, _ = moving(name)
    assert not held.integrable(q)


def test_a_loop_can_be_integrated():
    for name in ("two windows", "bricard"):
        _, held, q = assembled(name)
        assert held.integrable(q)
    m = lw.Builder("two", (0, 0, 0))
    m.body("a", joint=lw.Spherical(), mass=1.0, tensor=(1, 2, 2))
    m.body("b", "a", (1, 0, 0), lw.Spherical(), mass=1.0, tensor=(1, 2, 2))
    m.body("c", "b", (1, 0, 0), lw.Spherical(), mass=1.0, tensor=(1, 2, 2))
    robot = lw.Dynamics(m.model(), compiled=False)
    held = constraints.of(robot, Distance("rod", None, "c", 2.5, on=(1, 0, 0)))
    assert held.integrable(held.assemble(robot.random_state(seed=1)[0]))


def test_a_rolling_disk_keeps_its_energy_and_touches():
    held = disk()
    q = standing(held, 0.4)
    v = held.project(q, [0.3, 0.2, 4.0, 0, 0, 0])[1]
    path = motion(held.robot, (q, v), [0.2, 0.3])
    np.testing.assert_allclose(path.energy, path.energy[0], rtol=1e-8)
    np.testing.assert_allclose(held.residual(path.q), 0, atol=1e-12)


def test_a_ball_rolls_down_with_five_sevenths():
    held = ball()
    vdot = held.forward_dynamics(np.array([0, 0, 0, 1.0, 0, 0, 1.0]), np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(vdot, [-5 / 7, 0, 0, 0, 5 / 7, 0], atol=1e-12)


def test_a_skate_runs_on_a_circle():
    """Free skate: spin and speed stay, so it draws a circle of radius u/ω."""
    path = motion(skate().robot, (np.zeros(3), np.array([2.0, 1.0, 0.0])), [2.5], rtol=1e-10)
    np.testing.assert_allclose(path.q[-1], [5.0, np.sin(5.0) / 2, (1 - np.cos(5.0)) / 2], atol=1e-8)


def test_own_rows_are_the_built_in_ones():
    held = skate()
    own = constraints.of(lw.Dynamics(sled().model(), compiled=False), Pfaffian("own", lambda q: [[0.0, 0.0, 1.0]]))
    q, v, tau = np.array([0.4, 1.0, 2.0]), np.array([1.3, 0.7, 0.0]), np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(own.forward_dynamics(q, v, tau), held.forward_dynamics(q, v, tau), atol=1e-10)


def test_a_driven_joint_is_where_it_should_be():
    m = lw.Builder("arm")
    m.body("upper", joint=lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
    m.body("fore", "upper", (1, 0, 0), lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
    robot = lw.Dynamics(m.drive("upper_joint", lambda t: 0.3 * np.sin(2 * t)).model(), compiled=False)
    held = robot.constraints
    q, v, t = np.array([0.3 * np.sin(1.0), 0.2]), np.array([0.6 * np.cos(1.0), 0.4]), 0.5
    answers = [held.forward_dynamics(q, v, np.zeros(2), t=t, method=m) for m in ("augmented", "projected")]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-10)
    np.testing.assert_allclose(answers[0][0], -1.2 * np.sin(1.0), atol=1e-9)
    tau = np.zeros(2)
    prescribed = robot.inverse_dynamics(q, v, answers[0])
    np.testing.assert_allclose(prescribed[1], tau[1], atol=1e-9)
    path = motion(robot, (q, v), [0.7, 1.0], start=t)
    np.testing.assert_allclose(path.q[:, 0], 0.3 * np.sin(2 * path.t), atol=1e-12)


def test_a_distance_is_kept_and_is_a_function_of_ones_own():
    m = lw.Builder("ball", (0, 0, -9.81))
    m.body("bob", joint=lw.Free(), mass=1.0, tensor=(0.1, 0.2, 0.3))
    robot = lw.Dynamics(m.model(), compiled=False)
    on = np.array([0.1, 0.2, 0.3])
    rod = constraints.of(robot, Distance("rod", None, "bob", 2.0, at=(0, 0, 1), on=tuple(on)))
    own = constraints.of(robot, Holonomic("own", lambda q: [np.linalg.norm((robot.pose(q, "bob") @ [*on, 1])[:3] - [0, 0, 1]) - 2.0]))
    q = rod.assemble(robot.random_state(seed=0)[0])
    v = rod.project(q, np.random.default_rng(0).standard_normal(6))[1]
    tau = np.zeros(6)
    np.testing.assert_allclose(own.jacobian(q), rod.jacobian(q), atol=1e-10)
    np.testing.assert_allclose(own.forward_dynamics(q, v, tau), rod.forward_dynamics(q, v, tau), atol=1e-7)


VALUES = {"traced": lambda t: np.sin(2 * t), "of numbers": lambda t: float(np.sin(2 * t)), "a list": lambda t: [np.sin(2 * t)]}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("compiled", [False, True])
def test_rows_may_have_a_value_that_moves_in_time(value, compiled):
    """G(q, t) v = U(t) and G v̇ + Ġ v = U̇ (11.4), (11.6): in projection, accelerations and a run."""
    row = Pfaffian("slip", lambda q, t: np.stack([1.0 + t, -1.0 - q[2], 0.5 * q[1]]), value=value)
    robot = lw.Dynamics(sled((1, 2, 0)).constrain(row).model(), compiled=compiled)
    held, t, tau = robot.constraints, 0.3, np.array([0.1, 0.2, 0.3])
    q, v = held.project(np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.4, 0.6]), t=t)
    np.testing.assert_allclose(held.jacobian(q, t=t) @ v, np.sin(2 * t), rtol=1e-9)
    vdot = robot.forward_dynamics(q, v, tau, t=t)
    left, h = lambda s: row.matrix(robot.integrate(q, s * v), t + s) @ (v + s * vdot) - np.sin(2 * (t + s)), 1e-5
    np.testing.assert_allclose((left(h) - left(-h)) / (2 * h), 0, atol=1e-8)
    run = lw.simulate(robot, (q, v), start=t, until=0.5, progress=False)
    np.testing.assert_allclose(row.matrix(run.q[-1], 0.5) @ run.v[-1], np.sin(1.0), rtol=1e-8)


@pytest.fixture(scope="module")
def slipping():
    """A sled whose slip is sin t, and a state at t = 0."""
    robot = lw.Dynamics(sled().constrain(Pfaffian("slip", lambda q: np.stack([1.0, -1.0 - q[2], 0.5 * q[1]]), value=np.sin)).model())
    return robot, *robot.constraints.project(np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.4, 0.6]), t=0.0)


def test_derivatives_know_a_value_that_moves_in_time(slipping):
    """∂v̇/∂t along the constraints, by differences."""
    (robot, q, v), tau, h = slipping, np.array([0.1, 0.2, 0.3]), 1e-5
    held = robot.constraints
    later = lambda s: robot.forward_dynamics(q, held.project(q, v, t=s)[1], tau, t=s)
    np.testing.assert_allclose(held.derivatives(q, v, tau, t=0.0).vdot_by.t, (later(h) - later(-h)) / (2 * h), atol=1e-8)


@pytest.mark.slow
def test_rollouts_and_batches_know_a_value_that_moves_in_time(slipping):
    robot, q, v = slipping
    end = lw.simulate(robot, (q, v), until=0.2, progress=False).q[-1]
    np.testing.assert_allclose(lw.rollout(robot, q[None], v[None], None, dt=0.01, steps=20, method="rk4").q[0, -1], end, atol=1e-7)
    np.testing.assert_allclose(lw.simulate(robot, (q[None], v[None]), until=0.2, save="last").end.q[0], end, atol=1e-7)


@pytest.mark.parametrize("value", ["fast", (1.0, 2.0), np.nan])
def test_a_value_that_is_none_is_refused(value):
    with pytest.raises(lw.ModelError, match=r'constraint "slip" has value .* a function of t'):
        Pfaffian("slip", lambda q: [[1.0, 0.0, 0.0]], value=value)
