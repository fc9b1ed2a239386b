"""The methods of Dynamics that chapters 10 and 16 define, as kernels and as plain runs."""

import numpy as np
import pytest

import linkwork as lw

PLACES = ("right_foot", ("left_hand", (0.0, 0.0, 0.1)))


@pytest.fixture(scope="module", params=[True, False], ids=["kernel", "plain"])
def robot(request):
    return lw.Dynamics(lw.load("humanoid"), compiled=request.param)


@pytest.fixture(scope="module")
def state(robot):
    q, v = robot.random_state(4, seed=0)
    return q, v, np.random.default_rng(1).standard_normal(v.shape)


def test_all_prescribed_is_inverse_and_none_is_forward_dynamics(robot, state):
    q, v, u = state
    np.testing.assert_allclose(robot.hybrid_dynamics(q, v, u, np.ones(robot.nv)), robot.inverse_dynamics(q, v, u), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(robot.hybrid_dynamics(q, v, u, np.zeros(robot.nv)), robot.forward_dynamics(q, v, u), rtol=1e-9, atol=1e-8)


def test_which_joints_are_prescribed_may_differ_from_sample_to_sample(robot, state):
    """The dense road: 𝓜 v̇ + 𝓒 = τ with some of v̇ and the rest of τ given."""
    q, v, u = state
    flags = (np.random.default_rng(2).random(v.shape) < 0.5).astype(float)
    found = robot.hybrid_dynamics(q, v, u, flags)
    vdot, tau = np.where(flags == 1, u, found), np.where(flags == 1, found, u)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, vdot), tau, rtol=1e-9, atol=1e-8)


def test_the_compliance_of_a_task_is_its_jacobian_about_the_inverse_mass(robot, state):
    q, _, _ = state
    J = robot.task_jacobian(q, *PLACES)
    assert J.shape == (4, 9, robot.nv)
    np.testing.assert_allclose(J[:, :6], robot.jacobian(q, "right_foot"), rtol=1e-12, atol=1e-12)
    dense = J @ robot.mass_matrix_inverse(q) @ J.mT
    np.testing.assert_allclose(robot.task_compliance(q, *PLACES), dense, rtol=1e-9, atol=1e-9)


def test_the_inertia_of_a_task_is_the_inverse_of_its_compliance():
    robot = lw.Dynamics(lw.load("humanoid"))
    q, _ = robot.random_state(4, seed=0)
    inertia, independence = robot.task_inertia(q, *PLACES)
    np.testing.assert_allclose(inertia @ robot.task_compliance(q, *PLACES), np.broadcast_to(np.eye(9), (4, 9, 9)), atol=1e-8)
    assert (independence > 1e-6).all()


def test_joints_carry_what_newton_and_euler_say(robot, state):
    """The wrench in a joint, along the joint, is its generalized force."""
    q, v, vdot = state
    placed = next(h for h in robot.model.joints if h.joint.kind == "revolute")
    wrench = robot.joint_wrenches(q, v, vdot, placed.child)[:, 0]
    row = robot.v_index(placed.name)
    rotor = placed.joint.each("armature") * vdot[:, row]
    along = (robot.inverse_dynamics(q, v, vdot)[:, row] - rotor)[:, 0]
    axis = np.asarray(placed.on.rotation @ np.asarray(placed.joint.axis) / np.linalg.norm(placed.joint.axis))
    moment = wrench[:, :3] - np.cross(np.asarray(placed.on.translation), wrench[:, 3:])
    np.testing.assert_allclose(moment @ axis, along, rtol=1e-9, atol=1e-9)
