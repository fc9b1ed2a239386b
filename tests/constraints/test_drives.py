"""Drives whose rates jump."""

import numpy as np
from scipy.linalg import expm

import linkwork as lw
from linkwork.model import solids


def road(function):
    """A wheel of 4 kg on a spring, 400 N/m, above a road that is driven."""
    made = lw.Builder("road", gravity=(0, 0, 0)).body("road", joint=lw.Prismatic(axis=(0, 0, 1)), **solids.point(1.0))
    made.body("wheel", "road", (0, 0, 0.3), lw.Prismatic(axis=(0, 0, 1), stiffness=400.0), **solids.point(4.0))
    robot = lw.Dynamics(made.drive("road_joint", function).model())
    return robot, robot.constraints.project(robot.neutral(), np.zeros(2), t=0.0)


def test_a_kink_that_a_run_meets_changes_relative_velocities_alone():
    """f = |t − 0.5|: at t = 0.5 the velocity of the wheel on the road jumps by −2, between it is that of an oscillator of 10 rad/s."""
    robot, (q, v) = road(lambda t: np.interp(t, [-1.0, 0.5, 2.0], [1.5, 0.0, 1.5]))
    run = lw.simulate(robot, (q, v), until=1.0)
    half = expm(0.5 * np.array([[0.0, 1.0], [-100.0, 0.0]]))
    exact = half @ (half @ [q[1], v[1]] - [0.0, 2.0])
    assert run.status == "finished"
    assert abs(run.q[-1, 1] - exact[0]) < 1e-3 and abs(run.v[-1, 1] - exact[1]) < 1e-2


def test_a_kink_that_ends_a_run_is_said_to_be_one():
    """The road starts to rise where the run starts: differences find half of its rate there."""
    run = lw.simulate(*road(lambda t: np.interp(t, [0.0, 2.0], [0.0, 2.0])), until=1.0)
    assert run.status == "failed" and 'drive "road_joint_drive" changes its rate by' in run.message and "kink" in run.message
