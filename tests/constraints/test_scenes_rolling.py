"""Rolling, skating and driving by closed forms, and which sets of constraints can be integrated."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import Driven, KnifeEdge, Linear, Pfaffian, Touching
from linkwork.constraints.solution.integrability import object_of_nonholonomy

from .benchmarks import car_axis
from .dense_equations import kkt
from .gallery import assembled, differential, motion, snakeboard_parts
from .test_nonholonomic import CASES, disk, skate, sled, standing
from .test_scenes_projection import unfolding


def parts_of_a_snakeboard():
    robot = lw.Dynamics(snakeboard_parts(), compiled=False)
    q = robot.neutral()
    q[robot.v_index("back_joint").stop - 1], q[robot.v_index("front_joint").stop - 1] = 0.3, -0.4
    return robot.constraints, robot.assemble(q)


BOUND = CASES | {"snakeboard in parts": parts_of_a_snakeboard, "satellite that keeps its spin": lambda: (unfolding()[1], unfolding()[3][0])}


def off(one, other):
    return np.abs(one - other).max() / max(1.0, np.abs(other).max())


@pytest.mark.parametrize("name", BOUND)
def test_every_solution_is_the_same_where_something_rolls(name):
    """Accelerations, multipliers, and what they do to the joints."""
    held, q = BOUND[name]()
    rng = np.random.default_rng(3)
    q, v = held.project(q, rng.standard_normal(held.nv))
    tau = rng.standard_normal(held.nv)
    vdot, lam = kkt(held.set, q, v, tau)
    for method in ("augmented", "projected", *(["embedded"] if held.set.embeddable else [])):
        found = held.solution(q, v, tau, method=method)
        assert off(found.vdot, vdot) < 1e-9 and off(found.Jc.T @ found.lam, found.Jc.T @ lam) < 1e-9
        assert found.rank < len(held) or off(found.lam, lam) < 1e-9


def test_dense_augmented_and_projected_agree_where_something_is_led():
    """The car axis at a time when everything moves."""
    robot, control = car_axis()
    held, t = robot.constraints, 0.37
    q, v = held.project(held.assemble([0.05, 0.45, 1.03, 0.4], t=t), [-0.3, 0.2, 0.4, 0.1], t)
    tau = control(t, q, v)
    vdot, lam = kkt(held.set, q, v, tau, t)
    for method in ("augmented", "projected"):
        found = held.solution(q, v, tau, t=t, method=method)
        assert off(found.vdot, vdot) < 1e-9 and off(found.lam, lam) < 1e-9


# --- closed forms


def circling(tilt, turn):
    """A disk on its way around a circle: held, q, v, the vertical k in its axes, how fast it spins.

    With α the angle of its axis n from the vertical k, ω = Ω k + σ n and ω₃ = σ + Ω cos α:

        (C + m r²) Ω ω₃ sin α = (A Ω² sin α − m g r) cos α
    """
    held, m, A, C, g = disk(), 2.0, 0.25, 0.5, 9.81
    q = standing(held, tilt)
    R = held.robot.pose(q, "disk")[:3, :3]
    cos, sin = R[2, 2], np.hypot(*R[2, :2])
    omega3 = (A * turn**2 * sin - m * g) * cos / ((C + m) * turn * sin)
    k, n = R[2], np.array([0, 0, 1.0])
    omega = turn * k + (omega3 - turn * cos) * n
    up = (k - cos * n) / sin
    return held, q, np.concatenate([omega, np.cross(omega, up)]), k, omega3


@pytest.mark.parametrize(("tilt", "turn"), [(0.35, 1.3), (0.1, -0.7), (0.8, 3.0), (-0.5, 2.0)])
def test_a_leaning_disk_rolls_around_a_circle(tilt, turn):
    """In its own axes the vertical goes around: ω̇ = −Ω ω × k, and the centre keeps its speed."""
    held, q, v, k, _ = circling(tilt, turn)
    np.testing.assert_allclose(held.jacobian(q) @ v, 0, rtol=0, atol=1e-13)
    vdot = held.forward_dynamics(q, v, np.zeros(6))
    np.testing.assert_allclose(vdot[:3], -turn * np.cross(v[:3], k), rtol=1e-11, atol=1e-11)
    assert abs(v[3:] @ vdot[3:]) < 1e-11


def test_a_leaning_disk_comes_back_to_where_it_was():
    """After 2π/Ω: the circle is closed."""
    held, q, v, _, _ = circling(0.35, 2.5)
    path = motion(lw.Dynamics(held.robot.model), (q, v), [0.6, 2 * np.pi / 2.5], rtol=1e-6)
    centre = path.q[:, 4:]
    np.testing.assert_allclose(centre[2], centre[0], rtol=0, atol=1e-7)
    assert np.linalg.norm(centre[1] - centre[0]) > 0.5
    np.testing.assert_allclose(held.residual(path.q), 0, rtol=0, atol=1e-12)


def test_a_ball_on_a_turntable_circles_at_two_sevenths_of_its_rate():
    """ẍ = 2/7 Ω k × ẋ for a solid ball, wherever it is and however it spins."""
    m, r, turn = lw.Builder("turntable"), 0.5, 3.0
    m.body("table", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    m.body("ball", joint=lw.Free(), mass=2.0, tensor=(0.4 * 2.0 * r**2,) * 3)
    robot = lw.Dynamics(m.model(), compiled=False)
    table, free = robot.v_index("table_joint").start, robot.v_index("ball_joint")
    k = np.array([0, 0, 1.0])

    def slip(q):
        T, rows = robot.pose(q, "ball"), np.zeros((3, robot.nv))
        rows[:, free] = np.hstack([np.cross(T[:3, :3].T, -r * k).T, T[:3, :3]])
        rows[:, table] = -np.cross(k, T[:3, 3])
        return rows[:2]

    drive = Driven("motor", "table_joint", lambda t: turn * t, lambda t: turn, lambda t: 0.0)
    held = constraints.of(robot, Pfaffian("roll", slip, count=2), Touching("touch", "ball", r, axis=None), drive)
    q = robot.neutral()
    q[robot.q_index("ball_joint")] = *lw.Pose.rpy((0, 0, 0), (0.3, 0.4, 0.5)).quaternion, 0.7, -0.2, r
    q, v = held.project(q, [0.0, 0.3, 0.5, -0.4, 1.0, 2.0, 0.0], t=0.0)
    vdot, R = held.forward_dynamics(q, v, np.zeros(7), t=0.0), robot.pose(q, "ball")[:3, :3]
    omega, speed = v[free][:3], v[free][3:]
    pull = R @ (vdot[free][3:] + np.cross(omega, speed))
    np.testing.assert_allclose(pull, 2 / 7 * turn * np.cross(k, R @ speed), rtol=0, atol=1e-9)


def test_a_skate_on_a_slope_draws_cycloids():
    """Let go at rest but for a spin ω: it does not go down, but sideways.

        x = g/(2ω²) sin² ωt,   y = g/(2ω²) (ωt − ½ sin 2ωt)
    """
    g, w = 3.0, 2.0
    path = motion(skate((g, 0, 0)).robot, (np.zeros(3), np.array([w, 0, 0])), [0.5, 1.0, 1.5, 2.0], rtol=1e-10)
    x, y = g / (2 * w**2) * np.array([np.sin(w * path.t) ** 2, w * path.t - np.sin(2 * w * path.t) / 2])
    np.testing.assert_allclose(path.q, np.stack([w * path.t, x, y], -1), rtol=0, atol=1e-9)


# --- the object of non-holonomy


def point(rows, count=1):
    """A point in space under rows of x, y, z."""
    m = lw.Builder("point")
    m.body("point", joint=lw.Translation(), mass=1.0, tensor=(1, 1, 1))
    q = np.array([0.7, -1.2, 0.4])
    return constraints.of(lw.Dynamics(m.model(), compiled=False), Pfaffian("row", rows, count)), q


def edged(*edges):
    robot = lw.Dynamics(sled().model(), compiled=False)
    held = constraints.of(robot, *(KnifeEdge(f"edge {i}", "sled", e, at=x) for i, (e, x) in enumerate(edges)))
    return held, np.array([0.4, 1.0, 2.0])


def geared():
    gears = Linear("gears", {"left_joint": 1, "right_joint": 1, "cage_joint": -2})
    return constraints.of(lw.Dynamics(differential(), compiled=False), gears), np.zeros(3)


SETS = {
    "d(xy)": (lambda: point(lambda q: [[q[1], q[0], 0]]), True),
    "z dx - x dz, which needs a factor": (lambda: point(lambda q: [[q[2], 0, -q[0]]]), True),
    "dz - y dx": (lambda: point(lambda q: [[-q[1], 0, 1]]), False),
    "x dx + y dy + z dz": (lambda: point(lambda q: [q]), True),
    "dz - y dx, and dy": (lambda: point(lambda q: [[-q[1], 0, 1], [0, 1, 0]], 2), True),
    "one edge": (lambda: edged(((0, 1, 0), (0, 0, 0))), False),
    "two parallel edges": (lambda: edged(((0, 1, 0), (0, 0, 0)), ((0, 1, 0), (1, 0, 0))), True),
    "two edges askew": (lambda: edged(((0, 1, 0), (0, 0, 0)), ((1, 1, 0), (1, 0, 0))), True),
    "gears": (geared, True),
    "a four-bar": (lambda: assembled("four_bar")[1:], True),
    "a dual arm": (lambda: assembled("dual_arm")[1:], True),
    "a Strandbeest's leg": (lambda: assembled("strandbeest")[1:], True),
    "a disk": (CASES["disk"], False),
    "a ball": (CASES["ball"], False),
    "a snakeboard": (CASES["snakeboard"], False),
}


@pytest.mark.parametrize("name", SETS)
def test_what_can_be_integrated_is_told_from_what_cannot(name):
    """The theorem of Frobenius (Müller and Terze, 60)."""
    make, expected = SETS[name]
    held, q = make()
    assert held.integrable(q) == expected


def test_the_object_of_nonholonomy_has_its_value():
    """G [X, Y] = dω(Y, X): ±1 for dz − y dx at y = 0 and for an edge, whose own axes turn."""
    held, _ = point(lambda q: [[-q[1], 0, 1]])
    for found in (object_of_nonholonomy(held.set, np.zeros(3)), object_of_nonholonomy(skate().set, np.array([0.4, 1.0, 2.0]))):
        np.testing.assert_allclose(np.abs(found[0]), [[0, 1], [1, 0]], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[0], -found[0].T, rtol=0, atol=1e-12)
