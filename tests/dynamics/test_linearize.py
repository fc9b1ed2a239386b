"""Linearization: A and B of a motion, in continuous time and over a step, of trees and in minimal coordinates under constraints."""

from functools import cache

import numpy as np
import pytest
from zoo import close, robots, state

import linkwork as lw
from linkwork.constraints.states.projection import project_position
from linkwork.errors import ConstraintError, OptionError, UnknownNameError
from linkwork.motion.linearize import LINEAR_STEPS

SIXTH = (1, 3 / 4), (2, -3 / 20), (3, 1 / 60)
SOME = robots("free", "planar 2R")


def slope(f, n, h=1e-3):
    """∂f/∂x (..., n) at x = 0, to h⁶."""
    return np.stack([sum(w * (f(i * h * e) - f(-i * h * e)) for i, w in SIXTH) / h for e in np.eye(n)], -1)


# --- trees


@SOME
def test_continuous_rates_are_those_of_the_dynamics(robot):
    """δv̇ = d/ds v̇(q ∘ exp s δq, v + s δv, τ + s δτ), with springs and damping, and δq̇ = δv − ad(v) δq"""
    s, n = state(robot), robot.nv
    found = robot.linearize(s.q, s.v, s.tau)

    def acceleration(x):
        q, v, tau = robot.integrate(s.q, x[:n]), s.v + x[n : 2 * n], s.tau + x[2 * n :]
        return robot.forward_dynamics(q, v, tau + robot.passive_force(q, v))

    expected = slope(acceleration, 3 * n)
    close(np.concatenate([found.A, found.B], -1)[n:], expected, 1e-9)
    close(found.A[:n, n:], np.eye(n))
    close(found.B[:n], np.zeros((n, n)))


@SOME
@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_a_step_is_that_of_a_rollout(robot, method):
    """A and B are the exact derivative of one step, from the configuration after it"""
    s, n, dt = state(robot), robot.nv, 0.01
    A, B = robot.linearize(s.q, s.v, s.tau, dt, method=method)

    def end(x):
        q, v, tau = robot.integrate(s.q, x[:n]), s.v + x[n : 2 * n], s.tau + x[2 * n :]
        run = lw.rollout(robot, q, v, tau[None], dt=dt, steps=1, method=method)
        return run.q[-1], run.v[-1]

    after, _ = end(np.zeros(3 * n))
    expected = slope(lambda x: np.concatenate([robot.difference(after, (y := end(x))[0]), y[1]]), 3 * n)
    close(np.concatenate([A, B], -1), expected, 1e-9)


@SOME
def test_a_short_step_is_the_continuous_rate(robot):
    """A(dt) = I + dt A + O(dt²): bodies that turn among them"""
    s, dt = state(robot), 1e-6
    A, B = robot.linearize(s.q, s.v, s.tau)
    step, push = robot.linearize(s.q, s.v, s.tau, dt)
    size = max(1.0, np.abs(A).max()) ** 2
    close((step - np.eye(2 * robot.nv)) / dt, A, 2e-5 * size)
    close(push / dt, B, 2e-5 * size)


def test_held_over_a_step_it_is_the_exponential():
    """zoh: [A B; 0 1] of a step is exp of dt [A B; 0 0]; about an equilibrium rk4 differs by dt⁵"""
    robot, dt = lw.Dynamics(lw.load("double_pendulum")), 0.01
    rest = robot.neutral(), np.zeros(2), np.zeros(2)
    exact, step = robot.linearize(*rest, dt, method="zoh"), robot.linearize(*rest, dt)
    close(exact.A, step.A, 1e-6)
    close(exact.B, step.B, 1e-6)
    half = robot.linearize(*rest, dt / 2, method="zoh")
    close(half.A @ half.A, exact.A)


def test_states_and_inputs_have_names():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    joints = robot.joints
    found = robot.linearize(robot.neutral(), np.zeros(2), np.zeros(2))
    assert found.states == [f"{x}.{joint}" for x in "qv" for joint in joints]
    assert found.inputs == [f"tau.{joint}" for joint in joints]
    A, B = found
    assert A is found.A and B is found.B and found.dt is None
    assert "continuous" in repr(found) and joints[0] in repr(found)
    with pytest.raises(OptionError, match='no method "heun"; it takes euler, rk4, zoh'):
        robot.linearize(robot.neutral(), np.zeros(2), np.zeros(2), 0.1, method="heun")
    with pytest.raises(OptionError, match="which nothing binds, are q"):
        robot.linearize(robot.neutral(), np.zeros(2), np.zeros(2), states=["q.elbow"])


@pytest.mark.parametrize("dt", [None, 0.01])
def test_a_batch_is_its_samples(dt):
    robot = lw.Dynamics(lw.load("double_pendulum"))
    s = state(robot, (2, 3))
    A, B = robot.linearize(s.q, s.v, s.tau, dt)
    assert A.shape == (2, 3, 4, 4) and B.shape == (2, 3, 4, 2)
    for i in np.ndindex(2, 3):
        one = robot.linearize(s.q[i], s.v[i], s.tau[i], dt)
        np.testing.assert_array_equal(A[i], one.A)
        np.testing.assert_array_equal(B[i], one.B)
    single = robot.linearize(*(x.astype("f") for x in (s.q, s.v, s.tau)), dt)
    assert single.A.dtype == np.float32
    close(single.A, A, 1e-3)


def as_one(function, robot):
    return lambda q, v, tau, h: function(robot, q, v, tau, h)


@pytest.mark.parametrize("name", ["double_pendulum", "spherical_pendulum"])
def test_as_one_kernel_it_is_the_same(name):
    """which is what runs where arrays are on a GPU"""
    robot = lw.Dynamics(lw.load(name))
    s = state(robot)
    h = np.array(0.01)
    for method, function in LINEAR_STEPS.items():
        one = robot.kernel(as_one(function, robot), h=())
        for x, y in zip(one(s.q, s.v, s.tau, h), robot.linearize(s.q, s.v, s.tau, 0.01, method=method)):
            close(x, y, 1e-11)


def test_a_long_chain_and_a_plain_robot_have_the_same():
    model = lw.load("double_pendulum")
    s = state(lw.Dynamics(model))
    A, B = lw.Dynamics(model).linearize(s.q, s.v, s.tau)
    for how in ({"compiled": False}, {"rolled": True}):
        other = lw.Dynamics(model, **how).linearize(s.q, s.v, s.tau)
        close(other.A, A, 1e-11)
        close(other.B, B, 1e-11)


def test_wrenches_on_bodies_are_part_of_it():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    s = state(robot)
    for dt in (None, 0.01):
        with_them, without = robot.linearize(s.q, s.v, s.tau, dt, s.external), robot.linearize(s.q, s.v, s.tau, dt)
        assert np.abs(with_them.A - without.A).max() > 1e-4
    by_q, _, _ = robot.forward_dynamics_derivatives(s.q, s.v, s.tau + robot.passive_force(s.q, s.v), s.external)
    close(robot.linearize(s.q, s.v, s.tau, None, s.external).A[2:, :2], by_q, 1e-11)


# --- minimal coordinates


def driven():
    m = lw.Builder("driven arm", (0, -9.81, 0))
    for parent, name in ((None, "a"), ("a", "b"), ("b", "c")):
        m.body(name, parent, (1, 0, 0), lw.Revolute(stiffness=3.0, damping=0.4), mass=1.0, center=(0.5, 0, 0), tensor=(0.1,) * 3)
    return m.drive("a_joint", lambda t: 0.3 * np.sin(2 * t)).model()


@cache
def robot_of(name):
    return lw.Dynamics(driven() if name == "driven" else lw.load(name))


BOUND = pytest.mark.parametrize("name", ["four_bar", "slider_crank", "rolling_disk", "snakeboard", "driven"])


class Lifted:
    """A mechanism near a state, by changes of its independent positions and velocities."""

    def __init__(self, name, seed=0):
        self.robot = robot_of(name)
        self.held, self.tau = self.robot.constraints, np.random.default_rng(seed).standard_normal(self.robot.nv)
        self.t = 0.4 if self.held.set.moving else None
        self.q, self.v = self.held.random_state(seed=seed, t=self.t)
        self.found = self.robot.linearize(self.q, self.v, self.tau, t=self.t)
        names = [x.removeprefix("tau.") for x in self.found.inputs]
        self.positions, self.velocities = ([names.index(x[2:]) for x in self.found.states if x[0] == kind] for kind in "qv")
        self.n = len(self.found.states)

    def state(self, x):
        """The state on the constraints with these changes, the other positions and velocities following."""
        dq, v = np.zeros(self.robot.nv), self.v.copy()
        dq[self.positions], v[self.velocities] = x[: len(self.positions)], v[self.velocities] + x[len(self.positions) :]
        free = self.held.set.not_held(self.positions)
        q = project_position(self.held.set, self.robot.integrate(self.q, dq), self.t or 0.0, free, 1e-12)
        return q, self.held.project(q, v, self.t, hold=self.velocities)[1]

    def acceleration(self, x, dtau=0.0):
        q, v = self.state(x)
        vdot = self.robot.forward_dynamics(q, v, self.tau + dtau + self.robot.passive_force(q, v), t=self.t)
        return vdot[self.velocities]


@BOUND
def test_in_minimal_coordinates_accelerations_change_as_those_of_the_mechanism(name):
    """δu̇ of (δs, δu) and of δτ, the dependent positions and velocities following"""
    at = Lifted(name)
    rows, zero = slice(len(at.positions), None), np.zeros(at.n)
    close(at.found.A[rows], slope(at.acceleration, at.n, 2e-4), 1e-8)
    close(at.found.B[rows], slope(lambda x: at.acceleration(zero, x), at.robot.nv), 1e-9)


@pytest.mark.parametrize("name", ["slider_crank", "snakeboard", "driven"])
def test_the_flow_of_the_mechanism_follows_its_linearization(name):
    """Φ̇ = A Φ along a run is the derivative of its end by its start"""
    at, long = Lifted(name), 0.02
    start, tau = at.t or 0.0, at.tau
    how = {"start": start, "until": start + long, "method": "dop853", "rtol": 1e-12, "atol": 1e-13, "control": lambda t, q, v: tau}
    run = lw.simulate(at.robot, (at.q, at.v), **how)

    def end(x):
        other = lw.simulate(at.robot, at.state(x), **how)
        gone = at.robot.difference(run.q[-1], other.q[-1])
        return np.concatenate([gone[at.positions], other.v[-1][at.velocities]])

    def A(t):
        q, v = run(min(t, run.t[-1]))[:2]
        return at.robot.linearize(q, v, tau, t=None if at.t is None else t, states=at.found.states).A

    Phi, count = np.eye(at.n), 10
    h = long / count
    for t in start + h * np.arange(count):
        k1 = A(t) @ Phi
        k2 = A(t + h / 2) @ (Phi + h / 2 * k1)
        k3 = A(t + h / 2) @ (Phi + h / 2 * k2)
        Phi = Phi + h / 6 * (k1 + 2 * k2 + 2 * k3 + A(t + h) @ (Phi + h * k3))
    close(Phi, slope(end, at.n, 4e-4), 3e-7)


def test_there_are_as_many_states_as_it_can_move_in():
    """twice the mobility; where it rolls, more positions than velocities"""
    four_bar, disk = (robot_of(name) for name in ("four_bar", "rolling_disk"))
    q, v = four_bar.constraints.random_state(seed=0)
    assert four_bar.linearize(q, v, 0 * v).states == ["q.crank_joint", "v.crank_joint"]
    q, v = disk.constraints.random_state(seed=0)
    found = disk.linearize(q, v, 0 * v)
    assert [x[0] for x in found.states] == ["q"] * 5 + ["v"] * 3 and found.B.shape == (8, 6)


def test_states_may_be_named():
    robot = robot_of("four_bar")
    q, v = robot.constraints.random_state(seed=0)
    last = robot.joints[-1]
    assert robot.linearize(q, v, 0 * v, states=[f"q.{last}", f"v.{last}"]).states == [f"q.{last}", f"v.{last}"]
    with pytest.raises(UnknownNameError, match=r'no state "q\.crank"'):
        robot.linearize(q, v, 0 * v, states=["q.crank", "v.crank"])
    with pytest.raises(ConstraintError, match="there are 1 to 1 independent ones"):
        robot.linearize(q, v, 0 * v, states=[f"q.{x}" for x in robot.joints[:2]])


def test_at_rest_other_coordinates_are_a_change_of_basis():
    """eigenvalues of A about an equilibrium are those of the mechanism, whatever its states"""
    robot = robot_of("four_bar")
    q, _ = robot.constraints.random_state(seed=0)
    still = np.zeros(robot.nv)
    hold = robot.motor_forces(q, still, still)
    found = [robot.linearize(q, still, hold, states=[f"q.{x}", f"v.{x}"]).A for x in robot.joints]
    for A in found[1:]:
        close(np.linalg.det(A), np.linalg.det(found[0]), 1e-9)
        close(np.trace(A), np.trace(found[0]), 1e-9)


def test_over_a_step_loops_take_the_exponential():
    robot = robot_of("four_bar")
    q, v = robot.constraints.random_state(seed=0)
    A, _ = robot.linearize(q, v, 0 * v)
    close(robot.linearize(q, v, 0 * v, 1e-5, method="zoh").A, np.eye(2) + 1e-5 * A, 1e-7)
    with pytest.raises(OptionError, match='method="zoh"'):
        robot.linearize(q, v, 0 * v, 0.01)


def test_a_batch_of_loops_has_one_choice():
    robot = robot_of("slider_crank")
    states = [robot.constraints.random_state(seed=seed) for seed in range(3)]
    Q, V = (np.stack(x) for x in zip(*states))
    found = robot.linearize(Q, V, np.zeros(3))
    for i in range(3):
        close(found.A[i], robot.linearize(Q[i], V[i], np.zeros(3), states=found.states).A, 1e-10)
