"""Velocities of one body and of all, in the world and as seen from another body that moves."""

import numpy as np
import pytest
from zoo import MECHANISMS, close

import linkwork as lw

NAMES = "tree", "floating", "forest", "chain"


def setup(name, **how):
    robot = lw.Dynamics(MECHANISMS[name], **how)
    q, v = robot.random_state((3,), seed=1)
    return robot, q, v


@pytest.mark.parametrize("name", NAMES)
def test_relative_poses_compose(name):
    """T(a from b) = T(b)⁻¹ T(a), T(a from a) = I."""
    robot, q, _ = setup(name, compiled=False)
    for a in robot.bodies:
        for b in robot.bodies:
            close(robot.pose(q, b) @ robot.pose(q, a, relative_to=b), robot.pose(q, a), 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_relative_velocities_are_rates_of_relative_poses(name):
    """R* Ṙ and R* ṗ of the pose of one body on another, by differences along the motion; the Jacobian times v."""
    robot, q, v = setup(name, compiled=False)
    h = 1e-6
    for a, b in ((robot.bodies[-1], robot.bodies[0]), (robot.bodies[0], robot.bodies[-1]), (robot.bodies[1], robot.bodies[-1])):
        V = robot.body_velocity(q, v, a, relative_to=b)
        close(robot.jacobian(q, a, relative_to=b) @ v[..., None], V[..., None], 1e-12)
        T, ahead, before = (robot.pose(robot.integrate(q, s * v), a, relative_to=b) for s in (0, h, -h))
        rate = (np.linalg.solve(T, ahead) - np.linalg.solve(T, before)) / (2 * h)
        close(V, np.stack([rate[..., 2, 1], rate[..., 0, 2], rate[..., 1, 0], *np.moveaxis(rate[..., :3, 3], -1, 0)], -1), 1e-7)


def test_world_axes_and_the_world():
    robot, q, v = setup("floating", compiled=False)
    a, b = robot.bodies[-1], robot.bodies[1]
    R = robot.pose(q, a)[..., :3, :3]
    own, turned = (robot.body_velocity(q, v, a, axes, relative_to=b) for axes in ("body", "world"))
    close(turned, np.concatenate([np.matvec(R, own[..., :3]), np.matvec(R, own[..., 3:])], -1), 1e-12)
    close(robot.body_velocity(q, v, a, "world"), np.matvec(robot.jacobian(q, a, "world"), v), 1e-12)


def test_joints_that_carry_both_do_not_enter():
    robot, q, _ = setup("floating", compiled=False)
    J = robot.jacobian(q, robot.bodies[-1], relative_to=robot.bodies[0])
    assert not J[..., :6].any()
    assert not robot.jacobian(q, robot.bodies[-1], relative_to=robot.bodies[-1]).any()


@pytest.mark.parametrize("name", NAMES)
def test_all_bodies_in_one_call(name):
    """V(k) = J(k) v, and its rate by differences."""
    robot, q, v = setup(name, compiled=False)
    vdot = np.random.default_rng(0).standard_normal(v.shape)
    V = robot.body_velocities(q, v)
    for i, body in enumerate(robot.bodies):
        close(V[..., i, :], robot.body_velocity(q, v, body), 1e-12)
    h = 1e-5
    ahead, before = (robot.body_velocities(robot.integrate(q, s * v + s * s / 2 * vdot), v + s * vdot) for s in (h, -h))
    close(robot.body_accelerations(q, v, vdot), (ahead - before) / (2 * h), 1e-6)


def test_kernels_and_long_mechanisms_agree_with_the_sweep():
    for robot in (lw.Dynamics(MECHANISMS["floating"]), lw.Dynamics(lw.load("chain:170"))):
        plain = lw.Dynamics(robot.model, compiled=False)
        q, v = robot.random_state((2,), seed=2)
        a, b = robot.bodies[-1], robot.bodies[len(robot.bodies) // 2]
        for axes in ("body", "world"):
            close(robot.jacobian(q, a, axes, relative_to=b), plain.jacobian(q, a, axes, relative_to=b), 1e-9)
            close(robot.body_velocity(q, v, a, axes, relative_to=b), plain.body_velocity(q, v, a, axes, relative_to=b), 1e-8)
        close(robot.pose(q, a, relative_to=b), plain.pose(q, a, relative_to=b), 1e-10)


def test_unknown_names_are_told():
    robot, q, v = setup("tree", compiled=False)
    with pytest.raises(lw.UnknownNameError, match="nowhere"):
        robot.pose(q, robot.bodies[0], relative_to="nowhere")
    with pytest.raises(lw.OptionError, match="axes"):
        robot.body_velocity(q, v, robot.bodies[0], "hand")
