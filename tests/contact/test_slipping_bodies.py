"""A body slips when no admissible forces hold it, whatever share of them each of its points has."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

MU, G = 0.3, 9.81


def standing(feet: int):
    """1 kg on the four corners of a box, or on spheres on a circle."""
    made = lw.Builder("standing")
    if feet == 4:
        made.body("body", joint=lw.Free(), **solids.box(1.0, (0.1, 0.1, 0.1)))
    else:
        spots = [(0.1 * np.cos(a), 0.1 * np.sin(a), 0.0) for a in np.arange(feet) * 2 * np.pi / feet]
        shapes = [lw.Shape("sphere", (0.05,), lw.Pose.of(x), name=f"foot {i}") for i, x in enumerate(spots)]
        made.body("body", joint=lw.Free(), mass=1.0, tensor=(0.01, 0.01, 0.01), collisions=shapes)
    robot = lw.Dynamics(made.ground().contact("body", friction=MU).model())
    q = robot.neutral()
    q[-1] = 0.05
    return robot, q


@pytest.mark.parametrize("feet", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_a_growing_force_slides_a_body_when_it_exceeds_friction(feet):
    """At 10 t = μ m g; then x = 10 (t − t₀)³/6. All points slip at once, and no force is outside of its cone before."""
    robot, q = standing(feet)
    run = lw.simulate(robot, (q, np.zeros(6)), until=0.5, control=lambda t, q, v: np.array([0, 0, 0, 10 * t, 0, 0]), rtol=1e-8)
    start = MU * G / 10
    np.testing.assert_allclose(run.q[-1, -3], 10 * (0.5 - start) ** 3 / 6, rtol=2e-5)
    slips = [x.t for x in run.events if x.name.endswith("slips")]
    np.testing.assert_allclose(slips, start, rtol=1e-7)
    normal, tangent = run.contact.force[..., 0], np.hypot(run.contact.force[..., 1], run.contact.force[..., 2])
    assert (tangent <= MU * normal + 1e-6).all() and len(slips) >= 3


def test_a_growing_torque_turns_a_box_when_it_exceeds_friction():
    """Its corners are r = 0.05 √2 from the middle: at t = μ m g r it turns, then with (t − t₀)³/(6 J)."""
    robot, q = standing(4)
    run = lw.simulate(robot, (q, np.zeros(6)), until=0.5, control=lambda t, q, v: np.array([0, 0, t, 0, 0, 0]), rtol=1e-8)
    start, inertia = MU * G * 0.05 * np.sqrt(2), 0.1**2 / 6
    assert abs(next(x.t for x in run.events if x.name.endswith("slips")) - start) < 1e-6
    np.testing.assert_allclose(run.v[-1, 2], (0.5 - start) ** 2 / (2 * inertia), rtol=1e-5)


def test_corners_that_strike_in_turn_come_to_rest():
    """A bar falls almost flat, e = 0.4, a² m/J = 34: every impact of a corner drives the other one on, and they follow each other ever
    faster, the intervals by 0.47, the speeds by 0.85 each time. Where they accumulate the bar lies still, whatever its size."""
    for size in (1.0, 1e-3):
        made = lw.Builder("bar", gravity=(0, 0, 0)).ground(0, (0, 1, 0))
        ends = [lw.Shape("sphere", (0.0,), lw.Pose.of((x * size, 0, 0)), name=n) for n, x in (("l", -0.3), ("r", 0.3))]
        made.body("bar", joint=lw.Planar(), mass=1.0, tensor=((0.3 * size) ** 2 / 34,) * 3, collisions=ends)
        robot = lw.Dynamics(made.contact("bar", friction=0.0, restitution=0.4).model())
        start = np.array([1e-5, 0, 0.1 * size]), np.array([0, 0, -size])
        run = lw.simulate(robot, start, until=0.101, rtol=1e-10, atol=1e-12)
        assert run.status == "finished" and sum(x.name.endswith("strikes") for x in run.events) > 4
        np.testing.assert_allclose(run.v[-1][[0, 2]], 0.0, rtol=0, atol=1e-9)


def slider_with_clearance(friction, restitution):
    """A slider-crank of Flores, Leine and Glocker (2010): the slider has four corners and 1 mm of play in its guide."""
    crank, rod, half_length, half_height, play = 0.153, 0.306, 0.05, 0.025, 0.001
    made = lw.Builder("slider_crank", gravity=(0, -G, 0)).ground(-half_height - play, (0, 1, 0), name="floor")
    made.ground(-half_height - play, (0, -1, 0), name="roof")
    made.body("crank", joint=lw.Revolute(), mass=0.038, center=(crank / 2, 0, 0), tensor=(7.4e-5,) * 3)
    made.body("rod", "crank", (crank, 0, 0), lw.Revolute(), mass=0.038, center=(rod / 2, 0, 0), tensor=(5.9e-4,) * 3)
    corners = [(x, y) for y in (half_height, -half_height) for x in (-half_length, half_length)]
    shapes = [lw.Shape("sphere", (0.0,), lw.Pose.of((x, y, 0)), name=f"corner {i}") for i, (x, y) in enumerate(corners)]
    made.body("slider", "rod", (rod, 0, 0), lw.Revolute(), mass=0.076, tensor=(2.7e-6,) * 3, collisions=shapes)
    for i in range(4):
        made.contact(f"corner {i}", "roof" if i < 2 else "floor", friction=friction, restitution=restitution)
    return lw.Dynamics(made.model())


@pytest.mark.parametrize("friction, rtol", [(0.01, 1e-6), (0.0, 1e-8), pytest.param(0.01, 1e-9, marks=pytest.mark.slow)])
def test_a_face_that_strikes_again_and_again_comes_to_rest(friction, rtol):
    """Impacts of two corners follow each other ever faster, until the slider rises by less than rounding: then it lies on its guide."""
    robot = slider_with_clearance(friction, restitution=0.4)
    run = lw.simulate(robot, (np.zeros(3), [150.0, -225.0, 75.0]), until=0.1, rtol=rtol, atol=rtol / 100)
    assert run.status == "finished" and (run.contact.force[:, :, 0] > 0).any()
    assert np.diff(run.energy).max() < 20 * rtol * run.energy[0] and run.contact.gap.min() > -1e-8
    if friction:
        assert abs(np.interp(0.05, run.t, run.q[:, 0]) - 4.79355) < 2e-4


@pytest.mark.slow
def test_a_flexible_arm_lands_and_slides():
    """Its tip strikes with 1.4 m/s along the ground: rebounds slower than 1e-6 of that, as exact as velocities are, are none."""
    section = lw.sections.rectangle(0.005, 0.03, lw.sections.STEEL)
    beam = lw.FlexibleBody.beam(1.0, section, elements=6, count=2, directions="y", damping=0.01)
    made = lw.Builder("arm", gravity=(0, -9.81, 0)).flexible("upper", beam, joint=lw.Revolute(damping=0.2, friction=0.1))
    tip = [lw.Shape("sphere", (0.1,), lw.Pose.of((0.3, 0, 0)))]
    made.body("fore", "upper.tip", None, lw.Spherical(), mass=0.5, center=(0.2, 0.05, 0), tensor=(0.01, 0.02, 0.03), collisions=tip)
    robot = lw.Dynamics(made.ground(-0.5, (0, 1, 0)).contact("fore", friction=0.4, restitution=0.2).model())
    run = lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=0.4, method="stiff")
    strikes = [x.t for x in run.events if x.name.endswith("strikes")]
    assert run.status == "finished" and 5 < len(strikes) < 30
    after = run.t > strikes[-1] + 1e-3
    assert (run.contact.force[after, 0, 0] > 0).all() and np.abs(run.contact.gap[after]).max() < 1e-6
