"""Forces that depend on velocity in steps with contact: they know what contacts hold."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids


def hopper():
    """5 kg on a leg with a spring, 1000 N/m, and a damper, 20 N s/m: at rest the spring is shorter by m g/k."""
    made = lw.Builder("hopper").body("body", joint=lw.Prismatic(axis=(0, 0, 1)), **solids.point(5.0))
    leg = lw.Prismatic(axis=(0, 0, 1), damping=20.0, stiffness=1000.0)
    return lw.Dynamics(made.body("leg", "body", (0, 0, -0.5), joint=leg, **solids.sphere(0.2, 0.05)).ground().contact("leg").model())


def sprung_slider():
    """The same with the damper between two points, and a loop that keeps a second mass beside the first."""
    made = lw.Builder("slider").body("body", joint=lw.Prismatic(axis=(0, 0, 1)), **solids.point(4.0))
    made.body("leg", "body", (0, 0, -0.5), joint=lw.Prismatic(axis=(0, 0, 1)), **solids.sphere(0.2, 0.05))
    made.body("twin", None, (0.3, 0, 0), joint=lw.Prismatic(axis=(0, 0, 1)), **solids.point(1.0))
    made.loop("beside", "body", "twin", lw.Fixed(), at=(0.3, 0, 0))
    spring = lw.Spring("spring", "body", "leg", (0, 0, 0), (0, 0, 0), stiffness=1000.0, damping=20.0, length=0.5)
    return lw.Dynamics(made.ground().contact("leg").model().with_forces(spring))


@pytest.mark.parametrize("dt", [0.004, 0.002, 0.001])
def test_a_damper_does_not_move_a_rest(dt):
    """m g/k = 0.04905, whatever dt is: in single runs, rollouts, and a step by itself."""
    robot, rest = hopper(), 5.0 * 9.81 / 1000
    run = lw.simulate(robot, ([0.56, 0.0], [0.0, 0.0]), until=10.0, method="contact", dt=dt)
    steps = round(10 / dt)
    batch = lw.rollout(robot, np.array([[0.56, 0.0]]), np.zeros((1, 2)), dt=dt, steps=steps, every=steps, method="contact")
    np.testing.assert_allclose([run.q[-1, 1], batch.q[0, -1, 1]], rest, rtol=0, atol=1e-9)
    q, force = np.array([0.55 - rest, rest]), 5.2 * 9.81 * dt
    after = lw.contact_kernel(robot, dt=dt)(q, np.zeros(2), np.zeros(2), np.zeros(3))
    np.testing.assert_allclose(np.concatenate(after), [*q, 0, 0, force, 0, 0], rtol=0, atol=1e-12)


def test_dampers_between_points_and_loops_do_not_move_a_rest_either():
    robot, rest = sprung_slider(), 5.0 * 9.81 / 1000
    q, v = robot.constraints.project(np.array([0.56, 0.0, 0.56]), np.zeros(3))
    for dt in (0.004, 0.002):
        steps = round(8 / dt)
        batch = lw.rollout(robot, q[None], v[None], dt=dt, steps=steps, every=steps, method="contact")
        run = lw.simulate(robot, (batch.q[0, -1], np.zeros(3)), until=20 * dt, method="contact", dt=dt)
        np.testing.assert_allclose([batch.q[0, -1, 1], run.q[-1, 1]], rest, rtol=0, atol=1e-8)


def ball():
    """A ball with three different moments, which rolls: friction holds its lowest point."""
    made = lw.Builder("ball").body(
        "ball", joint=lw.Free(), mass=1.0, tensor=(0.002, 0.004, 0.005), collisions=[lw.Shape("sphere", (0.1,))]
    )
    robot = lw.Dynamics(made.ground().contact("ball", friction=5.0).model())
    q = robot.neutral()
    q[:4], q[6] = np.array([0.3, 0.2, 0.1, 0.9]) / np.linalg.norm([0.3, 0.2, 0.1, 0.9]), 0.1
    R, spin = robot.pose(q, "ball")[:3, :3], np.array([3.0, 5.0, 2.0])
    return robot, q, np.concatenate([R.T @ spin, R.T @ np.cross(spin, [0, 0, 0.1])]), 0.4


def pendulum_on_a_slider():
    """It drags the slider round a bend; its joint has a damper."""
    made = lw.Builder("bend").body("slider", joint=lw.Translation(), **solids.sphere(1.0, 0.1))
    arm = lw.Revolute(axis=(0, 1, 0), damping=0.3)
    made.body("arm", "slider", joint=arm, mass=0.5, center=(0.3, 0, 0), tensor=(0.01,) * 3)
    robot = lw.Dynamics(made.ground().contact("slider", friction=0.4).model())
    return robot, np.array([0, 0, 0.1, 0.3]), np.array([2.0, 0.5, 0, 4.0]), 0.3


@pytest.mark.parametrize("make", [ball, pendulum_on_a_slider])
def test_rolling_and_sliding_are_of_second_order(make):
    """Against the same motion event by event: half the step, a quarter of the error."""
    robot, q, v, until = make()
    exact = lw.simulate(robot, (q, v), until=until, method="dop853", rtol=1e-11, atol=1e-13)
    error = []
    for dt in (0.01, 0.005, 0.0025):
        run = lw.simulate(robot, (q, v), until=until, method="contact", dt=dt)
        error.append(np.abs(robot.difference(exact.q[-1], run.q[-1])).max())
    assert 3.5 < error[0] / error[1] < 4.8 and 3.5 < error[1] / error[2] < 4.8 and error[2] < 1e-5
    fine = lw.ContactLaw(rounds=100, tolerance=1e-11)
    batch = lw.rollout(robot, q[None], v[None], dt=0.0025, steps=round(until / 0.0025), method="contact", contact=fine)
    np.testing.assert_allclose(batch.q[0, -1], run.q[-1], rtol=0, atol=1e-8)


def test_the_jacobian_of_a_step_is_along_the_group():
    """δ(q⁺, v⁺) of a ball that spins, slides and is damped by what it drags, by q, v and τ, as differences have it: nv rows each."""
    robot, q, v, _ = ball()
    step, e, none = lw.contact_kernel(robot, dt=0.01), 1e-6, np.zeros(3)
    v = v + np.array([0.5, 0, 0, 0.3, 0.2, 0])
    moved = {
        "q": lambda x: (robot.integrate(q, x), v, np.zeros(6)), "v": lambda x: (q, v + x, np.zeros(6)), "tau": lambda x: (q, v, x),
    }  # fmt: skip
    for by, state in moved.items():
        ends = [[step(*state(sign * e * x), none) for sign in (1, -1)] for x in np.eye(6)]
        of_q = np.stack([robot.difference(b[0], a[0]) for a, b in ends], -1) / (2 * e)
        of_v = np.stack([a[1] - b[1] for a, b in ends], -1) / (2 * e)
        J = step.jacobian(of=(0, 1), by=by)(q, v, np.zeros(6), none)
        np.testing.assert_allclose(J[0], of_q, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(J[1], of_v, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_the_jacobian_of_a_step_where_forces_are_not_unique():
    """go2 pushed out of the ground, dry friction of its joints and all, differs from differences by less than 1e-6: four feet and four hips
    that stick hold more than there is to hold."""
    from pathlib import Path

    path = Path(__file__).parents[1] / "models" / "go2_mjcf" / "go2.xml"
    robot = lw.Dynamics(lw.load(path, contacts=["FL", "FR", "RL", "RR"]))
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0.27], np.tile([0.0, 0.9, -1.8], 4)])
    v, step, none, e = np.zeros(robot.nv), lw.contact_kernel(robot, dt=0.002), np.zeros(24), 1e-6
    J = step.jacobian(of=1, by="v")(q, v, v, none)
    ends = [(step(q, e * x, v, none)[1], step(q, -e * x, v, none)[1]) for x in np.eye(robot.nv)]
    np.testing.assert_allclose(J, np.stack([a - b for a, b in ends], -1) / (2 * e), rtol=0, atol=1e-5)
    assert step.jacobian(of=0, by="q")(q, v, v, none).shape == (robot.nv, robot.nv)
