"""Derivatives of runs: forwards by sensitivities, backwards by the adjoint of a cost."""

import numpy as np
import pytest

import linkwork as lw

ARM = lw.Dynamics(lw.load("double_pendulum"))
BLOCK = lw.Dynamics(lw.load("free_body"))
FOUR_BAR = lw.Dynamics(lw.load("four_bar"))
PENDULUM = lw.Dynamics(lw.load("pendulum"))
RNG = np.random.default_rng(0)


def damped(t, q, v):
    return np.sin(3 * t) - 0.4 * v - 0.1 * np.tanh(v)


CONTROLS = {"none": None, "function": damped, "held": [damped, lw.hold(lambda t, q, v: -0.7 * v * np.cos(t), rate=20.0)]}
FIXED = [("euler", {"dt": 0.02}, 1e-10), ("rk4", {"dt": 0.02}, 1e-10)]
ADAPTIVE = [(method, {"rtol": 1e-8} | more, 1e-5) for method, more in (("rk45", {}), ("dop853", {}), ("radau", {}), ("rk45", {"dt": 0.07}))]
GRID = [(ARM, x, CONTROLS["held"]) for x in (*FIXED, *ADAPTIVE)] + [(BLOCK, x, damped) for x in (*FIXED, *ADAPTIVE[:2])]
GRID += [(BLOCK, ADAPTIVE[2], None)]
robots_and_methods = pytest.mark.parametrize("robot, method, control", GRID)


def slope(function, h=1e-3):
    """The derivative of a function of one number at zero, its error of the order of h⁶."""
    return sum(c * (function(k * h) - function(-k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@robots_and_methods
def test_sensitivity_to_the_state_is_the_slope_of_the_run(robot, method, control):
    """δx(t) = Φ(t) δx(0), at the end and within, exact where the steps do not depend on the state."""
    method, how, tolerance = method
    (q, v), (dq, dv) = robot.random_state((), seed=1), RNG.standard_normal((2, robot.nv))
    go = lambda q, v, **more: lw.simulate(robot, (q, v), until=0.25, method=method, control=control, **how, **more)
    run = go(q, v)
    found = run.sensitivity(by="state")["state"]
    assert found.shape == (len(run), 2 * robot.nv, 2 * robot.nv)
    np.testing.assert_array_equal(found[0], np.eye(2 * robot.nv))
    for row in (len(run) // 2, -1):

        def moved(h, row=row):
            q1, v1 = go(robot.integrate(q, h * dq), v + h * dv)(run.t[row])
            return np.concatenate([robot.difference(run.q[row], q1), v1])

        close(found[row] @ np.concatenate([dq, dv]), slope(moved), tolerance)


@pytest.mark.parametrize("method, how, tolerance", [FIXED[1], ADAPTIVE[1]])
def test_sensitivity_to_constants_is_the_slope_of_other_robots(method, how, tolerance):
    """By masses and gravity, against robots that have others."""
    q, v = ARM.random_state((), seed=1)
    run = lw.simulate(ARM, (q, v), until=0.2, method=method, control=damped, **how)

    def of_gravity(h):
        robot = lw.Dynamics(lw.load("double_pendulum", gravity=(h, 0, -9.81 + 2 * h)))
        other = lw.simulate(robot, (q, v), until=0.2, method=method, control=damped, **how)
        return np.concatenate([other.q[-1], other.v[-1]])

    close(run.sensitivity(by="gravity")["gravity"][-1] @ [1, 0, 2], slope(of_gravity), tolerance)
    assert run.sensitivity(by="mass")["mass"].shape == (len(run), 4, len(ARM.bodies))


def test_sensitivity_to_masses_is_that_of_a_rollout():
    """Euler steps without a control are those of `rollout`, whose masses vary."""
    (q, v), varying = ARM.random_state((), seed=1), ARM.varying("mass")
    run = lw.simulate(ARM, (q, v), until=0.2, method="euler", dt=0.02)
    own, dm = varying.value("mass"), RNG.standard_normal(len(ARM.bodies))

    def end(h):
        other = lw.rollout(varying, q, v, given={"mass": own * (1 + h * dm)}, dt=0.02, steps=10)
        return np.concatenate([other.q[-1], other.v[-1]])

    close(run.sensitivity(by="mass")["mass"][-1] @ (own * dm), slope(end), 1e-9)


@pytest.mark.parametrize("method, how", [("rk45", {"rtol": 1e-9}), ("rk4", {"dt": 0.005})])
def test_a_jump_is_earlier_or_later(method, how):
    """A pendulum that bounces off a moving wall; without the change of the time of impact the slope is wrong."""
    bounce = lambda t, q, v: (q, -0.8 * v + 0.01 * np.sin(q))
    wall = lw.Event(lambda t, q, v: q[0] + 0.3 + 0.05 * t, name="wall", direction=-1, reset=bounce)
    go = lambda x, **more: lw.simulate(PENDULUM, (x[:1], x[1:]), until=1.8, method=method, events=[wall], atol=1e-12, **how, **more)
    start = np.array([1.2, 0.0])
    run = go(start)
    assert len(run.events) >= 1
    direction = np.array([1.0, 0.5])
    close(run.sensitivity(by="state")["state"][-1] @ direction, slope(lambda h: np.concatenate(go(start + h * direction)[-1])), 1e-5)


def turning():
    """A state of the four-bar in which its crank turns."""
    crank = FOUR_BAR.v_index("crank_joint").start
    return crank, *FOUR_BAR.constraints.project(FOUR_BAR.neutral(), 6.0 * np.eye(3)[crank], hold=[crank])


@pytest.mark.parametrize("method, tolerance", [("dop853", 1e-7), ("rk45", 1e-5)])
def test_a_closed_mechanism_changes_along_its_constraints(method, tolerance):
    """By the first state, any change of which is put back on the loop, and by gravity; the adjoint is the transpose."""
    crank, q, v = turning()
    motor = lambda t, q, v: np.eye(3)[crank] * (2 * (6 - v[crank]) + np.sin(5 * t))
    go = lambda robot, q, v, **more: lw.simulate(robot, (q, v), until=0.2, method=method, rtol=1e-9, control=motor, **more)
    run, (dq, dv) = go(FOUR_BAR, q, v), RNG.standard_normal((2, 3))
    first, *_, last = run.sensitivity(by="state")["state"]
    along = first @ np.concatenate([dq, dv])
    close(first @ along, along, 1e-12)
    np.testing.assert_allclose(FOUR_BAR.constraints.jacobian(q) @ along[:3], 0, atol=1e-12)
    moved = lambda h: np.concatenate(go(FOUR_BAR, *FOUR_BAR.constraints.project(q + h * along[:3], v + h * along[3:]))[-1])
    close(last @ along, slope(moved), tolerance)
    heavier = lambda h: np.concatenate(go(lw.Dynamics(lw.load("four_bar", gravity=(h, 2 * h - 9.81, 0))), q, v)[-1])
    close(run.sensitivity(by="gravity")["gravity"][-1] @ [1, 2, 0], slope(heavier), tolerance)
    weight = RNG.standard_normal(6)
    found = lw.gradient(run, final=lambda q, v: weight[:3] @ q + weight[3:] @ v, by="gravity")
    close(np.concatenate([found.q, found.v]), weight @ last, 1e-11)
    close(found.by["gravity"], weight @ run.sensitivity(by="gravity")["gravity"][-1], 1e-11)


@robots_and_methods
def test_the_adjoint_is_the_transpose_of_the_sensitivity(robot, method, control):
    """λ(0) = Φ* ∇final: two roads through the same run."""
    method, how, _ = method
    q, v = robot.random_state((), seed=1)
    run = lw.simulate(robot, (q, v), until=0.2, method=method, control=control, **how)
    weight = RNG.standard_normal(2 * robot.nv)
    last, n = run.q[-1], robot.nv
    cost = lambda q, v: weight[:n] @ robot.difference(last + 0.0 * q, q) + weight[n:] @ v
    found = lw.gradient(run, final=cost, by="mass")
    close(np.concatenate([found.q, found.v]), weight @ run.sensitivity(by="state")["state"][-1], 1e-8)
    close(found.by["mass"], weight @ run.sensitivity(by="mass")["mass"][-1], 1e-8)


@pytest.mark.parametrize("control", CONTROLS.values(), ids=CONTROLS)
@pytest.mark.parametrize("method, how, tolerance", FIXED)
def test_the_gradient_of_a_cost_is_its_slope(method, how, tolerance, control):
    """∫ running dt + final."""
    q, v = ARM.random_state((), seed=2)
    go = lambda q, v: lw.simulate(ARM, (q, v), until=0.2, method=method, control=control, **how)
    running = lambda t, q, v, tau: q @ q + 0.1 * tau @ tau + np.cos(t) * v[0]
    final = lambda q, v: np.sin(q[0]) + v @ v
    dq, dv = RNG.standard_normal((2, 2))
    found = lw.gradient(go(q, v), final, running)
    expected = slope(lambda h: lw.gradient(go(q + h * dq, v + h * dv), final, running).cost)
    close(found.q @ dq + found.v @ dv, expected, tolerance)


def test_forces_in_each_step_have_the_gradient_of_a_rollout():
    (q, v), weight = ARM.random_state((), seed=2), RNG.standard_normal(2)
    run = lw.simulate(ARM, (q, v), until=0.2, method="rk4", dt=0.02)
    weights = np.zeros((11, 2))
    weights[-1] = weight
    expected = lw.rollout_gradient(ARM, q, v, weights=(None, weights), dt=0.02, steps=10, method="rk4")
    found = lw.gradient(run, final=lambda q, v: weight @ v)
    close(found.tau, expected.controls, 1e-10)
    close(found.q, expected.q, 1e-10)


def test_a_running_cost_jumps_with_the_state():
    wall = lw.Event(lambda t, q, v: q[0] + 0.3, name="wall", direction=-1, reset=lambda t, q, v: (q, -0.8 * v))
    go = lambda x: lw.simulate(PENDULUM, (x[:1], x[1:]), until=1.5, events=[wall], rtol=1e-9, atol=1e-11)
    start, running = np.array([1.2, 0.1]), lambda t, q, v, tau: q[0] + 0.3 * v[0]
    found = lw.gradient(go(start), running=running)
    expected = [slope(lambda h, e=e: lw.gradient(go(start + h * e), running=running).cost, 1e-4) for e in np.eye(2)]
    close([found.q[0], found.v[0]], expected, 1e-3)


def test_a_run_from_a_file_or_resumed_has_the_same_sensitivity(tmp_path):
    state, how = (np.array([0.3, 0.2]), np.zeros(2)), {"method": "rk4", "dt": 0.01}
    run = lw.simulate(ARM, state, until=0.1, **how)
    run.save(tmp_path / "run.npz")
    again = lw.Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.sensitivity(by="state")["state"], run.sensitivity(by="state")["state"])
    whole = lw.simulate(ARM, state, until=0.2, **how).sensitivity(by="state")["state"]
    close(run.resume(until=0.2).sensitivity(by="state")["state"][-1], whole[-1], 1e-10)
    controlled = lw.simulate(ARM, state, until=0.1, control=damped, **how)
    controlled.save(tmp_path / "run.npz")
    with pytest.raises(lw.SimulationError, match="a file does not hold functions"):
        lw.Trajectory.load(tmp_path / "run.npz").sensitivity()


def test_what_has_no_derivative_says_so():
    state = np.array([0.3, 0.2]), np.zeros(2)
    with pytest.raises(lw.SimulationError, match='"midpoint" has none'):
        lw.simulate(ARM, state, until=0.1, method="midpoint", dt=0.01).sensitivity()
    with pytest.raises(lw.SimulationError, match='Did you mean "mass"'):
        lw.simulate(ARM, state, until=0.1).sensitivity(by="masse")
    start = FOUR_BAR.neutral(), np.zeros(3)
    with pytest.raises(lw.SimulationError, match='under constraints method "stiff" has none'):
        lw.simulate(FOUR_BAR, start, until=0.01, method="stiff").sensitivity()
    with pytest.raises(lw.SimulationError, match="which close the loops"):
        lw.simulate(FOUR_BAR, start, until=0.1).sensitivity(by="at")
    run = lw.simulate(ARM, state, until=0.1)
    with pytest.raises(lw.SimulationError, match="made without sensitivities"):
        run.sensitivity["state"]
    branching = lw.simulate(ARM, state, until=0.1, control=lambda t, q, v: -v if v[0] > 0 else v)
    with pytest.raises(lw.SimulationError, match="could not be traced"):
        lw.gradient(branching, final=lambda q, v: q @ q)
    calls = iter(range(10**6))
    strange = lw.simulate(ARM, state, until=0.1, control=lambda t, q, v: 1e-3 * next(calls) * np.ones(2))
    with pytest.raises(lw.SimulationError, match="returns other forces"):
        lw.gradient(strange, final=lambda q, v: q @ q)
