"""The frames of kernels: another way to write the same mechanism down, with less in it."""

from functools import reduce
from operator import matmul

import numpy as np
import pytest
from real_robots import model
from zoo import JOINTS, MECHANISMS, grown

import linkwork as lw
from linkwork.spatial import Pose
from linkwork.systems import lower
from linkwork.systems.frames import Way, axial, chosen, straight, turn
from linkwork.systems.lowering import _parts

MODELS = {**MECHANISMS, "panda": model("panda"), "anymal_c": model("anymal_c")}
every_model = pytest.mark.parametrize("name", MODELS)
X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def framed(model):
    """(parts, steps, frames)."""
    parts, _ = _parts(model)
    return parts, *chosen([x.parent for x in parts], [x.group for x in parts], [x.fixed for x in parts])


def product(step):
    return reduce(matmul, [Pose(translation=step.translation), *step.turns, step.offset]).matrix


@every_model
def test_new_frames_and_steps_are_the_old_placements(name):
    """X(p) F'(k) = F(k) X(k)."""
    parts, steps, frames = framed(MODELS[name])
    before = {-1: np.eye(4), **{k: frame.matrix for k, frame in enumerate(frames)}}
    for k, (part, step) in enumerate(zip(parts, steps)):
        np.testing.assert_allclose(before[part.parent] @ product(step), part.fixed.matrix @ before[k], atol=1e-13)


@every_model
def test_a_joint_does_not_notice_its_new_frame(name):
    """exp(H* q) X = X exp(H* q)."""
    parts, _, frames = framed(MODELS[name])
    for part, frame in zip(parts, frames):
        motion = part.group.matrix(part.group.exp(np.linspace(0.3, 1.1, part.group.nv)))
        np.testing.assert_allclose(motion @ frame.matrix, frame.matrix @ motion, atol=1e-14)
        assert axial(part.group) or frame == Pose()


@every_model
def test_the_dynamics_of_split_nodes_are_those_of_plain_ones(name):
    from linkwork import quantities

    robot = lw.Dynamics(MODELS[name])
    q, v = robot.random_state(4, seed=1)
    plain, split = lower(MODELS[name]), lower(MODELS[name], split=True)
    for a, b in (
        (quantities.mass_matrix(plain, q), quantities.mass_matrix(split, q)),
        (quantities.inverse_dynamics(plain, q, v, v), quantities.inverse_dynamics(split, q, v, v)),
        (quantities.poses(plain, q), quantities.poses(split, q)),
    ):
        a, b = np.broadcast_arrays(a, b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(a).max(initial=0))


def test_of_a_chain_askew_there_remain_a_tilt_and_two_lengths():
    """Denavit and Hartenberg's four parameters, the last being the joint's own offset."""
    chain = grown("chain", [(None, JOINTS["revolute"]), *((i, JOINTS["revolute"]) for i in range(9))])
    parts, steps, _ = framed(chain)
    near = [Way.of(part.fixed).normal is not None for part in parts]
    assert sum(near) > 5
    for step, has_normal in zip(steps[1:], near[1:]):
        (tilt,) = step.turns
        assert tilt.quaternion[1] == tilt.quaternion[2] == 0
        assert step.translation[1] == 0 or not has_normal
        assert step.offset.quaternion[0] == step.offset.quaternion[1] == 0


@pytest.mark.parametrize("name", ["ur5", "iiwa14", "solo12"])
def test_what_stands_straight_stays_exact(name):
    _, steps, frames = framed(model(name))
    assert all(straight(x) for step in steps for x in (*step.turns, step.offset)) and all(map(straight, frames))


def test_parallel_axes_are_not_carried_to_infinity():
    for tilt in (0.0, 1e-14, 1e-9, 1e-5, np.pi - 1e-9, np.pi):
        pose = turn(Z, 0.3) @ turn(X, tilt) @ turn(Z, 1.1) @ Pose(translation=(0.1, 0.2, 0.3))
        way = Way.of(pose)
        assert way.normal is None or abs(way.normal[2]) < 1
        again = turn(Z, way.first) @ turn(X, way.tilt) @ turn(Z, way.last)
        np.testing.assert_allclose(again.rotation, pose.rotation, atol=2e-13)


def test_frames_save_operations():
    """A quarter and more for joints that stand askew; nothing is added where all stand straight."""
    askew = grown("askew", [(None, JOINTS["revolute"]), *((i, JOINTS["revolute"]) for i in range(7))])
    count = lambda robot: sum(robot.program("forward_dynamics").operations.values())
    robot = lw.Dynamics(askew)
    by_old_frames = lw.Dynamics(askew)
    by_old_frames.lowered.joint_space = lower(askew, split=True, lengths=True).regrouped()
    assert count(robot) < 0.75 * count(by_old_frames)
