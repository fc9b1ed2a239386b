"""Motions to look at that no integrator made: coordinates as known functions of time."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import linkwork as lw


@pytest.fixture(autouse=True)
def nothing_stays_in_pyplot():
    """No figure of the library stays open in pyplot, where a notebook would show it a second time."""
    yield
    left = plt.get_fignums()
    plt.close("all")
    assert not left


@pytest.fixture(scope="session")
def bending_cart():
    """A cart with a bar that turns and bends in two modes, at three times: a metre of each coordinate."""
    bar = lw.FlexibleBody.beam(1.0, lw.sections.rectangle(0.02, 0.01, lw.sections.STEEL), count=2, directions="y")
    b = lw.Builder("cart", gravity=(0, -9.81, 0)).body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), mass=1.0)
    robot = lw.Dynamics(b.flexible("bar", bar, "cart", joint=lw.Revolute()).model(), compiled=False)
    q = np.linspace(0, 0.1, 3)[:, None] * [1.0, 1.0, 0.01, 0.02]
    return lw.Motion(robot, [0.0, 0.5, 1.0], q, np.tile([0.1, 0.1, 0.001, 0.002], (3, 1)), q)


@pytest.fixture
def swing():
    """A double pendulum whose joints go as sin t and cos 2t, eleven samples a second."""
    t = np.linspace(0.0, 2.0, 23)
    q = np.stack([np.sin(t), np.cos(2 * t)], -1)
    v = np.stack([np.cos(t), -2 * np.sin(2 * t)], -1)
    return lw.Motion(lw.Dynamics(lw.load("double_pendulum")), t, q, v, 0.1 * v)


@pytest.fixture
def tumble():
    """A free body that turns about a skew axis at a rate of 2 rad/s and flies along a parabola."""
    t = np.linspace(0.0, 3.0, 31)
    axis = np.array([0.36, 0.48, 0.8])
    quaternion = np.concatenate([np.sin(t)[:, None] * axis, np.cos(t)[:, None]], -1)
    position = np.stack([t, 0 * t, 2 * t - 4.905 * t**2], -1)
    robot = lw.Dynamics(lw.load("free_body"), compiled=False)
    q = np.concatenate([quaternion, position], -1)
    R = robot.pose(q, "block")[:, :3, :3]
    velocity = np.stack([1 + 0 * t, 0 * t, 2 - 9.81 * t], -1)
    v = np.concatenate([np.tile(2 * axis, (len(t), 1)), (R.mT @ velocity[..., None])[..., 0]], -1)
    return lw.Motion(robot, t, q, v)
