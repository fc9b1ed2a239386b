"""What is said when a call does not fit the mechanism, and what Dynamics says of itself."""

import copy
import pickle

import numpy as np
import pytest
from zoo import close, every_mechanism, planar_2r, state
from zoo.mechanisms import ROBOTS

import linkwork as lw

TREE = ROBOTS["tree"]
Q, V = np.zeros(2), np.zeros(2)
MISFITS = {
    "q has shape (3,), but planar 2R has nq = 2 (upper_joint, fore_joint).": lambda arm: arm.mass_matrix(np.zeros(3)),
    "q has shape (), but planar 2R has nq = 2": lambda arm: arm.mass_matrix(0.0),
    "q has shape (2, 5), but planar 2R has nq = 2": lambda arm: arm.poses(np.zeros((2, 5))),
    "v has shape (1,), but planar 2R has nv = 2": lambda arm: arm.bias(Q, [0.0]),
    "v has shape (1, 3), but planar 2R has nv = 2": lambda arm: arm.bias(Q, np.zeros((1, 3))),
    "vdot has shape (3,), but planar 2R has nv = 2": lambda arm: arm.inverse_dynamics(Q, V, np.zeros(3)),
    "tau has shape (4, 3), but planar 2R has nv = 2": lambda arm: arm.forward_dynamics(Q, V, np.zeros((4, 3))),
    "dv has shape (3,), but planar 2R has nv = 2": lambda arm: arm.integrate(Q, np.zeros(3)),
    "q1 has shape (3,), but planar 2R has nq = 2": lambda arm: arm.difference(Q, np.zeros(3)),
    "q has shape (32,), but tree has nq = 34 (joint0 ... joint13).": lambda _: TREE.mass_matrix(np.zeros(32)),
    "external has shape (6,), but planar 2R has external wrenches of shape (2, 6), one for each body": lambda arm: (
        arm.inverse_dynamics(Q, V, V, np.zeros(6))
    ),
    "external has shape (3, 6), but planar 2R has external wrenches of shape (2, 6)": lambda arm: (
        arm.forward_dynamics(Q, V, V, np.zeros((3, 6)))
    ),
    "the batch axes do not go together: q (2,), v (3,); each pair must be equal, or one of them 1.": lambda arm: (
        arm.bias(np.zeros((2, 2)), np.zeros((3, 2)))
    ),
    "q has dtype complex128; planar 2R takes float64 or float32.": lambda arm: arm.mass_matrix(Q + 0j),
    "v has dtype object; planar 2R takes float64 or float32.": lambda arm: arm.bias(Q, [None, None]),
    "v has dtype complex128; planar 2R takes float64 or float32.": lambda arm: arm.bias(Q, V + 1j),
    "tau has dtype <U1; planar 2R takes float64 or float32.": lambda arm: arm.forward_dynamics(Q, V, ["1", "2"]),
}
STRANGERS = {
    'planar 2R has no body or frame "for". Did you mean "fore"?': lambda arm: arm.pose(Q, "for"),
    'planar 2R has no body or frame "tipp". Did you mean "tip"?': lambda arm: arm.jacobian(Q, "tipp"),
    'planar 2R has no body or frame "wheel". There are: upper, fore, tip.': lambda arm: arm.pose(Q, "wheel"),
    'planar 2R has no joint "for_joint" that moves. Did you mean "fore_joint"?': lambda arm: arm.q_index("for_joint"),
    'planar 2R has no joint "wheel" that moves. There are: upper_joint, fore_joint.': lambda arm: arm.v_index("wheel"),
    'fixed has no joint "joint0" that moves. There are none.': lambda _: ROBOTS["fixed"].v_index("joint0"),
}


@pytest.fixture(scope="module", params=["kernel", "plain"])
def arm(request):
    """A robot, compiled or not, that has answered every question before: only first calls have time to look closely."""
    arm = lw.Dynamics(planar_2r(), compiled=request.param == "kernel")
    arm.mass_matrix(Q), arm.poses(Q), arm.bias(Q, V), arm.integrate(Q, V), arm.difference(Q, Q)
    for external in None, np.zeros((2, 6)):
        arm.inverse_dynamics(Q, V, V, external), arm.forward_dynamics(Q, V, V, external)
    return arm


@pytest.mark.parametrize("text", MISFITS)
def test_an_array_that_does_not_fit_is_named_with_what_the_robot_has(text, arm):
    with pytest.raises(lw.ShapeError) as error:
        MISFITS[text](arm)
    assert str(error.value).startswith(text)


@pytest.mark.parametrize("text", STRANGERS)
def test_an_unknown_name_is_answered_with_the_nearest(text, arm):
    with pytest.raises(lw.UnknownNameError) as error:
        STRANGERS[text](arm)
    assert str(error.value) == text


def test_axes_are_those_of_the_body_or_of_the_world(arm):
    with pytest.raises(ValueError, match='axes is "wrold"; it may be "body" or "world"'):
        arm.jacobian(Q, "fore", "wrold")


def test_a_joint_keeps_its_name_when_a_part_of_another_has_it_too():
    """The part is then called after its joint."""
    wrist = lw.Compound(row=(("roll", lw.Revolute()), ("bend", lw.Revolute(axis=(1, 0, 0)))))
    arm = lw.Builder("arm").body("hand", joint=wrist, mass=1.0, joint_name="wrist")
    arm.body("wheel", "hand", joint=lw.Revolute(), mass=1.0, joint_name="roll")
    robot = lw.Dynamics(arm.model())
    assert robot.joints == ["wrist", "wrist.roll", "bend", "roll"]
    assert [robot.v_index(name) for name in robot.joints] == [slice(0, 2), slice(0, 1), slice(1, 2), slice(2, 3)]


@every_mechanism
def test_dynamics_survives_a_pickle(robot):
    s = state(robot, (2,))
    before = robot.forward_dynamics(s.q, s.v, s.tau)
    for again in pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot):
        assert again.model == robot.model
        close(again.forward_dynamics(s.q, s.v, s.tau), before)


@every_mechanism
def test_dynamics_prints_its_tree(robot):
    """Every body and joint by name, the sizes and the mass."""
    text = str(robot)
    assert f"nq = {robot.nq}, nv = {robot.nv}, {robot.model.mass:.6g} kg" in text.splitlines()[0]
    for name in (*robot.bodies, *(placed.name for placed in robot.model.joints)):
        assert name in text and name in robot._repr_html_()
    assert repr(robot).startswith(f"Dynamics(<Model {robot.model.name}: ")


def test_the_same_seed_gives_the_same_state():
    for one, other in zip(TREE.random_state((2, 3), seed=4), TREE.random_state((2, 3), seed=4)):
        np.testing.assert_array_equal(one, other)
    assert TREE.random_state(5)[0].shape == (5, TREE.nq)
    assert not np.array_equal(TREE.random_state()[0], TREE.random_state()[0])
