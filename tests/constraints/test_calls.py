"""Calls of constrained robots at the edge: open loops, one configuration where one is meant, batches of none."""

import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints.systems.accelerations import METHODS
from linkwork.errors import ConstraintError, ShapeError

OPEN = np.array([0.5, 0.5, 0.0])


@pytest.fixture(scope="module")
def plain():
    return lw.Dynamics(lw.load("four_bar"), compiled=False)


@pytest.fixture(scope="module")
def state(plain):
    return plain.constraints.project(plain.assemble([1.0, -0.7, 1.4]), np.array([0.5, 0.1, 0.2]))


def test_what_is_asked_at_an_open_configuration_is_refused(plain, state):
    held, (q, _), zero = plain.constraints, state, np.zeros(3)
    view = held.reduced(q)
    for call in (
        lambda: held.possible(OPEN, zero, zero),
        lambda: held.reduced(OPEN),
        lambda: view.X(OPEN),
        lambda: view.mass_matrix(OPEN),
    ):
        with pytest.raises(ConstraintError, match="open are"):
            call()


def test_accelerations_off_the_constraints_are_those_of_their_rows(plain, state):
    """Jc v̇ + γ = 0 at any v, also one that does not keep Jc v = U."""
    held, (q, _), v = plain.constraints, state, np.ones(3)
    vdot = plain.forward_dynamics(q, v, np.ones(3))
    np.testing.assert_allclose(held.jacobian(q) @ vdot + held.bias(q, v), 0.0, atol=1e-10)


def test_what_is_about_one_configuration_says_so(plain, state):
    q, held = state[0], plain.constraints
    for call in (held.reduced, held.integrable, held.actuation, plain.constraint_report):
        with pytest.raises(ShapeError, match="one configuration"):
            call(q[None])
        with pytest.raises(ShapeError):
            call(q[:2])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_batch_of_none_has_a_shape(compiled):
    robot = lw.Dynamics(lw.load("four_bar"), compiled=compiled)
    held, none = robot.constraints, np.zeros((0, 3))
    assert robot.task_compliance(none, "coupler").shape == (0, 6, 6)
    assert robot.forward_dynamics(none, none, none).shape == (0, 3)
    assert held.possible(none, none, none).shape == (0, 3)
    assert robot.joint_wrenches(none, none, none).shape == (0, 3, 6)
    assert robot.hybrid_dynamics(none, none, none, np.array([1, 0, 0])).shape == (0, 3)
    assert robot.motor_forces(none, none, none).shape == (0, 3)
    assert held.embedded(none).independent.shape == (1,)
    assert robot.constraint_forces(none, none, none).lam.shape == (0, 5)
    for method in METHODS:
        found = held.solution(none, none, none, method=method)
        assert found.vdot.shape == (0, 3) and found.lam.shape == (0, 5)
        assert held.forward_dynamics(none, none, none, method=method).shape == (0, 3)


@pytest.mark.parametrize("name", ["four_bar", "bricard", "peaucellier"])
def test_every_method_shares_loads_alike(name):
    """Where rows are redundant λ is not unique: all methods, and `constraint_forces`, take the one of least length."""
    robot = lw.Dynamics(lw.load(name), compiled=False)
    held = robot.constraints
    q, v = held.random_state(seed=0, reach=0.1)
    tau = np.linspace(-1, 1, robot.nv)
    lam = robot.constraint_forces(q, v, tau).lam
    for method in METHODS:
        np.testing.assert_allclose(held.solution(q, v, tau, method=method).lam, lam, atol=1e-6 * np.abs(lam).max())


@pytest.mark.parametrize("tolerance", [-1.0, np.nan, np.inf, "a", [1e-6]])
def test_a_tolerance_is_a_small_number(plain, tolerance):
    for call in (lambda: plain.assemble([1.0, -0.7, 1.4], tolerance=tolerance), lambda: plain.constraints.tolerating(tolerance)):
        with pytest.raises(lw.ModelError, match=r"tolerance is .*; it must be a number"):
            call()


def test_views_of_a_constrained_robot_pickle_as_the_robot_does(state):
    """The same numbers come out of a copy, kernels and further constraints among them."""
    robot = lw.Dynamics(lw.load("four_bar"))
    held, (q, v), tau = robot.constraints, state, np.ones(3)
    found = held.forward_dynamics(q, v, tau)  # makes kernels, which do not travel
    view, embedded = held.reduced(q), held.embedded(q, v)
    one, two, three, four = pickle.loads(pickle.dumps((held, view, embedded, held.tolerating(1e-6))))
    assert (one.forward_dynamics(q, v, tau) == found).all() and one.names == held.names and four.tolerance == 1e-6
    assert (two.mass_matrix(q) == view.mass_matrix(q)).all() and (two.independent == view.independent).all()
    assert (three.whole(np.ones(1)) == embedded.whole(np.ones(1))).all()
    more = lw.constraints.of(robot, lw.constraints.Linear("tie", {"crank_joint": 1.0}))
    assert pickle.loads(pickle.dumps(more)).names == [*held.names, "tie"]
