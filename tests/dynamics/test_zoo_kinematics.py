"""Where the bodies are and how they move, over the zoo."""

import numpy as np
import pytest
from zoo import MECHANISMS, Sweeps, close, every_mechanism, jacobians, plain, rate, robots, slope, state

import linkwork as lw
from linkwork.lie import embedding
from linkwork.model import displacement
from linkwork.spatial import phi
from linkwork.systems.rigid import placements

SHAPE = (2, 3)


@every_mechanism
def test_the_velocity_of_a_body_is_the_rate_of_its_pose(robot):
    """dT/dt = T (J v)^, exactly."""
    s = state(robot, SHAPE)
    V = (jacobians(robot, s.q) @ s.v[..., None, :, None])[..., 0]
    close(robot.poses(s.q) @ embedding.hat(V), rate(robot, lambda sweeps: sweeps.poses, s.q, s.v))


@every_mechanism
def test_the_velocity_of_a_body_is_the_finite_difference_of_its_pose(robot):
    """T⁻¹ ΔT / Δt → (J v)^, through the public methods only."""
    s = state(robot, SHAPE)
    V = (jacobians(robot, s.q) @ s.v[..., None, :, None])[..., 0]
    T = robot.poses(s.q)
    close(np.linalg.inv(T) @ slope(lambda h: robot.poses(robot.integrate(s.q, h * s.v))), embedding.hat(V), 1e-9)


@every_mechanism
def test_the_velocity_in_world_axes_is_that_of_the_origin(robot):
    """dR/dt = ω~ R,  dp/dt = v with [ω; v] = J v in world axes."""
    s = state(robot, SHAPE)
    V = (jacobians(robot, s.q, "world") @ s.v[..., None, :, None])[..., 0]
    T, Tdot = robot.poses(s.q), rate(robot, lambda sweeps: sweeps.poses, s.q, s.v)
    close(embedding.tilde(V[..., :3]) @ T[..., :3, :3], Tdot[..., :3, :3])
    close(V[..., 3:], Tdot[..., :3, 3])


@robots("tree", "welded", "forest")
def test_a_frame_moves_with_its_body(robot):
    """T(frame) = T(body) X,  J(frame) = φ*(body, frame) J(body)."""
    X = lw.Pose.rpy((0.1, -0.2, 0.3), (0.4, 0.5, -0.6))
    q, _ = robot.random_state(SHAPE, 0)
    for body in robot.bodies:
        tool = plain(robot.model.with_frame("tool", body, X))
        close(tool.pose(q, "tool"), robot.pose(q, body) @ X.matrix)
        close(tool.jacobian(q, "tool"), phi(X.matrix).mT @ robot.jacobian(q, body))
        close(tool.jacobian(q, "tool", "world")[..., :3, :], robot.jacobian(q, body, "world")[..., :3, :])


@every_mechanism
def test_poses_follow_the_hinges(robot):
    """T(child) = T(parent) · at · motion of the joint · on⁻¹."""
    q, _ = robot.random_state(seed=0)
    T = dict(zip(robot.bodies, robot.poses(q)))
    for placed in robot.model.joints:
        moved = displacement(placed.joint, q[robot.q_index(placed.name)] if placed.joint.nq else q[:0])
        parent = np.eye(4) if placed.parent is None else T[placed.parent]
        close(T[placed.child], parent @ (placed.at @ moved @ placed.on.inverse()).matrix)


@every_mechanism
def test_pose_is_one_of_the_poses(robot):
    q, _ = robot.random_state(SHAPE, 0)
    close(np.stack([robot.pose(q, body) for body in robot.bodies], -3), robot.poses(q))


@every_mechanism
def test_the_joint_map_is_the_derivative_of_the_transform(robot):
    """dX/dt = X (H* v)^ of each node on its parent."""
    s = state(robot, SHAPE)
    sweeps, h = Sweeps(robot.model, dtype=complex), 1e-30
    nodes, v = sweeps.nodes, sweeps.nodes.tree.split(s.v)
    X, stepped = placements(nodes, s.q), placements(nodes, sweeps.integrate(s.q, 1j * h * s.v))
    for k in nodes.tree.base_to_tips():
        close(X[k].real @ embedding.hat((nodes.H[k].real.T @ v[k])[..., 0]), stepped[k].imag / h)


@every_mechanism
def test_qdot_is_the_rate_of_the_coordinates(robot):
    """q̇ = d/dt (q ∘ exp(t v)) at t = 0."""
    s = state(robot, SHAPE)
    close(robot.qdot(s.q, s.v), rate(robot, lambda sweeps: lambda q: q, s.q, s.v))
    close(robot.qdot(s.q, s.v), slope(lambda h: robot.integrate(s.q, h * s.v)), 1e-9)


@every_mechanism
def test_difference_undoes_integrate(robot):
    """log(q⁻¹ ∘ (q ∘ exp d)) = d, for turns below half of one."""
    s = state(robot, SHAPE)
    d = np.clip(s.vdot, -1.5, 1.5)
    close(robot.difference(s.q, robot.integrate(s.q, d)), d)


@every_mechanism
def test_integrate_along_the_difference_arrives(robot):
    """q0 ∘ exp(log(q0⁻¹ ∘ q1)) = q1, a quaternion up to its sign."""
    (q0, _), (q1, _) = robot.random_state(SHAPE, 0), robot.random_state(SHAPE, 1)
    close(robot.poses(robot.integrate(q0, robot.difference(q0, q1))), robot.poses(q1))


@every_mechanism
def test_a_motion_at_constant_velocity_adds_up(robot):
    """(q ∘ exp(d/3)) ∘ exp(2d/3) = q ∘ exp d."""
    s = state(robot, SHAPE)
    close(robot.integrate(robot.integrate(s.q, s.v / 3), 2 * s.v / 3), robot.integrate(s.q, s.v))


@every_mechanism
def test_neutral_is_the_identity_of_every_joint(robot):
    """integrate(neutral, 0) = neutral, and every joint's motion is none."""
    neutral = robot.neutral()
    close(robot.integrate(neutral, np.zeros(robot.nv)), neutral)
    X, nodes = placements(Sweeps(robot.model).nodes, neutral), Sweeps(robot.model).nodes
    for k in nodes.tree.base_to_tips():
        close(X[k], nodes.fixed[k])


@every_mechanism
def test_each_joint_has_its_own_rows(robot):
    """The slices of the joints follow one another and fill q and v."""
    joints = [placed for placed in robot.model.joints if placed.joint.nq]
    for index, total in (robot.q_index, robot.nq), (robot.v_index, robot.nv):
        rows = [np.arange(total)[index(placed.name)] for placed in joints]
        assert np.concatenate([[], *rows]).tolist() == list(range(total))


def test_parts_of_a_compound_joint_have_names():
    robot = plain(MECHANISMS["compound"])
    assert [robot.q_index(part) for part in ("lift", "swing", "drive")] == [slice(0, 1), slice(1, 2), slice(2, 3)]
    universal = plain(MECHANISMS["universal"])
    assert universal.joints == ["joint0", "joint0.1", "joint0.2"]


@pytest.mark.parametrize("joint", [joint for placed in MECHANISMS["tree"].joints for _, joint, _ in placed.joint.parts])
def test_random_states_are_within_limits(joint):
    if joint.group.units or not joint.nq:
        return
    bounded = type(joint)(**{**vars(joint), "lower": -0.2, "upper": 0.7})
    builder = lw.Builder("limited").body("b", joint=bounded, mass=1.0)
    q, _ = plain(builder.model()).random_state(200, seed=0)
    assert q.min() >= -0.2 and q.max() <= 0.7 and np.ptp(q) > 0.7


@robots("free", "spherical")
def test_random_attitudes_are_units(robot):
    q, _ = robot.random_state((3, 4), seed=0)
    close(np.linalg.norm(q[..., :4], axis=-1), np.ones((3, 4)))
