"""The slopes that implicit methods solve with, against differences of what they are the slopes of."""

import numpy as np
import pytest
from zoo import close, robots, state

import linkwork as lw
from linkwork.constraints import Holonomic
from linkwork.simulate.methods import variational
from linkwork.simulate.methods.flow import Flow
from linkwork.simulate.methods.stiff import known, rate_slopes
from linkwork.simulate.rates.control import Controls
from linkwork.simulate.rates.held import Keeper
from linkwork.simulate.rates.kernels import kernel, slopes_of

FOURTH = (1, 2 / 3), (2, -1 / 12)


def slope(f, x, h=1e-3):
    """∂f/∂x, to h⁴."""
    return np.stack([sum(w * (f(x + i * h * e) - f(x - i * h * e)) for i, w in FOURTH) / h for e in np.eye(len(x))], -1)


def flow_of(robot, control=None, how="project"):
    return Flow(robot, Controls(robot, control), None, None, Keeper(robot, how, None))


def rates(flow, t, q, y):
    out = np.zeros((2, flow.robot.nv))
    flow(t, q, *np.split(y, 2), tuple(out))
    return out.ravel()


@robots("floating", "planar 2R")
def test_the_slopes_of_the_rates_of_a_tree_are_exact(robot):
    """∂(ξ̇, v̇)/∂(ξ, v), springs and damping included"""
    s, flow = state(robot), flow_of(robot)
    y = np.concatenate([0.2 * s.vdot, s.v])
    assert known(flow)
    close(rate_slopes(flow, 0.0, s.q, *np.split(y, 2)), slope(lambda y: rates(flow, 0.0, s.q, y), y), 1e-8)


@pytest.mark.parametrize("name", ["slider_crank", "rolling_disk"])
def test_the_slopes_under_constraints_are_those_of_the_rates(name):
    """also beside the constraints, where a step may lead"""
    robot = lw.Dynamics(lw.load(name))
    (q, v), flow = robot.constraints.random_state(seed=0), flow_of(robot)
    y = np.concatenate([0 * v, v])
    found, expected = rate_slopes(flow, 0.0, q, *np.split(y, 2)), slope(lambda y: rates(flow, 0.0, q, y), y, 1e-5)
    close(found, expected, 1e-6)


@robots("floating", "planar 2R")
def test_the_slopes_of_a_midpoint_step_are_exact(robot):
    """∂p₀/∂ξ of p₀(ξ) = 𝓜 v"""
    s, h = state(robot), np.array(0.01)
    p = kernel(robot, variational.momentum)(s.q, s.v)
    residual = kernel(robot, variational.midpoint_residual)
    found = slopes_of(robot, variational.midpoint_residual, "xi")(s.q, p, h * s.v, s.tau, h)
    close(found / 100, slope(lambda xi: residual(s.q, p, xi, s.tau, h), h * s.v, 1e-4) / 100, 1e-9)


def test_a_function_of_the_user_has_no_slopes():
    """Then differences of the rates are taken: the motion is the same"""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    assert not known(flow_of(robot, control=lambda t, q, v: -v))
    q, v = robot.random_state(seed=0)
    runs = [lw.simulate(robot, (q, v), until=0.5, method="stiff", rtol=1e-9, control=x) for x in (None, lambda t, q, v: 0 * v)]
    close(runs[0].q[-1], runs[1].q[-1], 1e-7)


def test_what_cannot_be_traced_has_no_slopes_and_moves_all_the_same():
    """A constraint that only gives numbers: the implicit method takes differences"""
    tie = Holonomic("tie", lambda q: [float(q[1]) - 0.5 * float(q[0])])
    robot = lw.Dynamics(lw.load("double_pendulum").with_constraints(tie))
    q, v = np.array([0.4, 0.2]), np.zeros(2)
    assert rate_slopes(flow_of(robot), 0.0, q, 0 * v, v) is None
    run = lw.simulate(robot, (q, v), until=0.05, method="stiff")
    assert run.status == "finished" and abs(run.q[-1, 1] - 0.5 * run.q[-1, 0]) < 1e-9


def test_slopes_of_a_long_chain_are_found_by_loops_over_its_joints():
    """No straight-line code, which grows with the square of the chain and past a million operations is refused."""
    robot = lw.Dynamics(lw.load("chain:60"), rolled=True)
    start = np.eye(60)[0] * 0.3, np.zeros(60)
    runs = [lw.simulate(robot, start, until=0.01, method=method, rtol=1e-8) for method in ("stiff", "dop853")]
    assert robot.rolled and [run.status for run in runs] == ["finished"] * 2
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-8)
