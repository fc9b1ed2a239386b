"""From, part two, 2.2: the state is (Q, v) on the group, and no attitude is special."""

import numpy as np
from scipy.integrate import solve_ivp
from zoo import close

import linkwork as lw
from linkwork.lie.euler import euler_from_quaternion


def vehicle_manipulator():
    """A hull of 60 kg in free fall with an arm of six joints."""
    hull = lw.Builder("vehicle", gravity=(0, 0, 0))
    hull.body("hull", joint=lw.Free(), joint_name="base", mass=60.0, tensor=(4.0, 6.0, 7.0))
    return hull.model().with_model("hull", lw.load("arm_6r"), (0.2, 0.0, 0.3))


def test_a_satellite_tumbles_through_every_attitude():
    """Momentum and energy stay, and the steps at 90 degrees of pitch are like any others."""
    robot = lw.Dynamics(lw.load("free_body").with_gravity((0, 0, 0)))
    q, v = robot.neutral(), np.array([0.01, 3.0, 0.01, 0.0, 0.0, 0.0])  # about the middle axis: it turns over
    run = lw.simulate(robot, (q, v), until=20.0, rtol=1e-9, atol=1e-11)
    pitch = euler_from_quaternion(run.q[:, :4], "ZYX")[:, 1]
    assert pitch.max() > np.radians(80) and pitch.min() < np.radians(-80)
    momentum = robot.centroidal_momentum(run.q, run.v)
    close(momentum, np.broadcast_to(momentum[0], momentum.shape), 1e-7)
    close(robot.kinetic_energy(run.q, run.v), np.full(len(run.q), robot.kinetic_energy(q, v)), 1e-7)


def test_a_vehicle_with_an_arm_passes_90_degrees_of_pitch():
    """Steps of the solver on the group are the usual ones; in Euler angles they shrink a thousandfold, for the same motion."""
    robot = lw.Dynamics(vehicle_manipulator())
    euler = lw.QuasiVelocities(robot, {"base": "ZYX"})
    q, v = robot.neutral(), np.zeros(robot.nv)
    v[:3] = 0.0187, 1.0, -0.0255
    v[6:] = 0.0, 0.2, -0.1, 0.0, 0.1, 0.0

    def own(t, y):
        q, v = y[: robot.nq], y[robot.nq :]
        return np.concatenate([robot.qdot(q, v), robot.forward_dynamics(q, v, np.zeros(robot.nv))])

    def in_angles(t, y):
        x, u = y[: euler.nx], y[euler.nx :]
        return np.concatenate([u, euler.forward_dynamics(x, u, np.zeros(robot.nv))])

    x = euler.x(q)
    smooth = solve_ivp(own, (0, 2.5), np.concatenate([q, v]), rtol=1e-8, atol=1e-10)
    rough = solve_ivp(in_angles, (0, 2.5), np.concatenate([x, euler.u(x, v)]), rtol=1e-8, atol=1e-10)
    at = np.argmax(rough.y[1])
    assert np.degrees(rough.y[1, at]) > 89
    steps = np.diff(smooth.t)
    near = np.abs(smooth.t[1:] - rough.t[at]) < 0.2
    assert steps[near].min() > 0.3 * np.median(steps)
    assert np.diff(rough.t)[5:-1].min() < 0.1 * steps[5:-1].min()
    close(robot.difference(smooth.y[: robot.nq, -1], euler.q(rough.y[: euler.nx, -1])), np.zeros(robot.nv), 1e-5)
    assert euler.condition(rough.y[: euler.nx, at])["base"] > 50
