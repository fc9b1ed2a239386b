"""Inertial units and contact flags."""

import numpy as np
import pytest

import linkwork as lw


def test_at_rest_an_accelerometer_feels_the_ground_push(rng):
    """ω = 0, a − g = −R* g"""
    robot = lw.Dynamics(lw.load("arm_6r"))
    q, _ = robot.random_state((5,), seed=0)
    zero = np.zeros_like(q)
    R = robot.pose(q, robot.bodies[-1])[..., :3, :3]
    found = robot.inertial_unit(q, zero, zero, robot.bodies[-1])
    np.testing.assert_allclose(found[:, :3], 0, atol=1e-15)
    np.testing.assert_allclose(found[:, 3:], np.matvec(R.mT, [0, 0, 9.81]), atol=1e-12)


def test_falling_it_feels_nothing():
    robot = lw.Dynamics(lw.Builder("box").body("box", joint=lw.Free(), mass=1.0, tensor=(1.0, 2.0, 2.5)).model())
    q, v = robot.random_state((5,), seed=0)
    found = robot.inertial_unit(q, v, robot.forward_dynamics(q, v, 0 * v), "box")
    np.testing.assert_allclose(found[:, 3:], 0, atol=1e-13)
    np.testing.assert_allclose(found[:, :3], v[:, :3], atol=1e-14)


@pytest.mark.parametrize("compiled", [False, True])
def test_it_is_the_second_rate_of_the_place(compiled):
    """R* (p̈ − g) by differences of poses, ω by R* Ṙ"""
    model = lw.load("arm_6r")
    model = model.with_frame("unit", model.bodies[-1].name, lw.Pose.rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    robot, h = lw.Dynamics(model, compiled=compiled), 1e-4
    q, v = robot.random_state((4,), seed=1)
    vdot = np.random.default_rng(0).standard_normal(v.shape)
    T = [robot.pose(robot.integrate(q, t * v + t * t / 2 * vdot), "unit") for t in (-h, 0, h)]
    p = [x[:, :3, 3] for x in T]
    R = T[1][:, :3, :3]
    a = np.matvec(R.mT, (p[0] - 2 * p[1] + p[2]) / h**2 + [0, 0, 9.81])
    turning = R.mT @ (T[2] - T[0])[:, :3, :3] / (2 * h)
    w = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], -1)
    found = robot.inertial_unit(q, v, vdot, "unit")
    np.testing.assert_allclose(found, np.concatenate([w, a], -1), atol=1e-5 * np.abs(found).max())


def test_forces_at_contacts_are_summed_over_bodies_and_flagged():
    """Σ over all bodies and the world is zero; a foot is down where its normal forces exceed a threshold"""
    made = lw.Builder("pile").ground()
    for name in ("one", "two"):
        made.body(name, joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("box", (0.2, 0.2, 0.2)),))
        made.contact(name)
    robot = lw.Dynamics(made.contact("one", "two").model())
    q = np.zeros((2, 14))
    q[:, [3, 10]] = 1.0
    q[:, 6], q[:, 13] = 0.1, 0.3
    table, R = robot.contacts, robot.contact_frames(q)
    forces = np.zeros((2, 3 * len(table)))
    forces[0, 0], forces[1, -15:] = 5.0, np.tile([2.0, 0.5, 0.0], 5)  # the ground on one; one and two on each other
    on = table.on_bodies(forces, R, 2)
    np.testing.assert_allclose(on[0], [[0, 0, 5.0], [0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(on[1].sum(0), 0, atol=1e-14)
    np.testing.assert_allclose(table.flags(forces, [0, 1], threshold=1.0), [[1, 0], [1, 1]])
