"""Every integrator converges with its order, on a tumbling body and on a double pendulum."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

BLOCK = lw.Builder("block", (0.0, 0.0, -9.81)).body("block", joint=lw.Free(), **solids.box(1.0, (0.3, 0.2, 0.1)))
CASES = {
    "tumbling body": (lw.Dynamics(BLOCK.model()), ([0, 0, 0, 1, 0, 0, 0], [3.0, 1.0, 0.2, 0.3, -0.2, 0.5])),
    "double pendulum": (lw.Dynamics(lw.load("double_pendulum")), ([0.0, 0.0], [1.0, -2.0])),
}
# method: order, steps of the coarser run
METHODS = {"euler": (1, 200), "midpoint": (2, 100), "rk4": (4, 50), "rk45": (5, 40), "radau": (5, 10), "stiff": (4, 60), "dop853": (8, 8)}
FIXED = "euler", "midpoint", "rk4"


def run(case, method, steps, until=1.0):
    """With steps of one length, whatever the method would choose."""
    robot, state = CASES[case]
    h = until / steps
    how = {"dt": h} if method in FIXED else {"first_step": h, "max_step": h, "rtol": 1e3, "atol": 1e3}
    trajectory = lw.simulate(robot, state, until=until, method=method, **how)
    assert (trajectory.steps, trajectory.rejected) == (steps, 0)
    return trajectory


def error(case, trajectory):
    robot, state = CASES[case]
    exact = lw.simulate(robot, state, until=trajectory.t[-1], method="dop853", rtol=1e-13, atol=1e-14)
    q, v = trajectory[-1]
    return np.linalg.norm(robot.difference(exact.q[-1], q)) + np.linalg.norm(v - exact.v[-1])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_the_error_falls_with_the_order(case, method):
    """error(h) / error(h/2) = 2^order."""
    order, steps = METHODS[method]
    coarse, fine = (error(case, run(case, method, n)) for n in (steps, 2 * steps))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.35 if order < 8 else 0.8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_in_between_the_error_falls_with_the_order_of_the_dense_output(case, method):
    """error(h) / error(h/2) = 2^order within the steps too, where rk45 has h⁵, dop853 h⁸ stiff and radau h⁴."""
    order, steps = METHODS[method]
    order, steps = (4, 20) if method in ("stiff", "radau") else (order, steps)
    robot, state = CASES[case]
    exact, errors = lw.simulate(robot, state, until=1.0, method="dop853", rtol=1e-13, atol=1e-14), []
    for n in (steps, 2 * steps):
        trajectory = run(case, method, n)
        t = trajectory.t[:-1] + 0.6 / n
        q, v = trajectory(t)
        there = exact(t)
        errors.append(np.abs(robot.difference(there[0], q)).max() + np.abs(v - there[1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


@pytest.mark.parametrize("method", ["rk45", "dop853", "stiff", "radau"])
@pytest.mark.parametrize("case", CASES)
def test_rows_apart_from_the_steps_are_as_exact_as_the_steps(case, method):
    """With dt an adaptive method keeps rows at multiples of dt, from its own interpolant."""
    robot, state = CASES[case]
    coarse = lw.simulate(robot, state, until=1.0, method=method, dt=0.01, rtol=1e-9, atol=1e-9)
    exact = lw.simulate(robot, state, until=1.0, method="dop853", dt=0.01, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(coarse.t, 0.01 * np.arange(101), atol=1e-15)
    np.testing.assert_array_equal(coarse.t, exact.t)
    assert np.abs(robot.difference(exact.q, coarse.q)).max() < 1e-7
    assert np.abs(exact.v - coarse.v).max() < 1e-6


@pytest.mark.parametrize("method", ["rk45", "dop853", "stiff", "radau"])
@pytest.mark.parametrize("case", CASES)
def test_a_tighter_tolerance_makes_a_smaller_error(case, method):
    robot, state = CASES[case]
    loose, tight = (lw.simulate(robot, state, until=1.0, method=method, rtol=r, atol=r) for r in (1e-4, 1e-8))
    assert error(case, tight) < 1e-5
    assert error(case, tight) < 0.01 * error(case, loose)
    assert tight.steps > loose.steps
