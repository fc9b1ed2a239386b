"""Stiff mechanisms: what needs thousands of steps of an explicit method needs a few of an implicit one."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids


@pytest.fixture(scope="module")
def chain():
    """A pendulum with two joints so stiff and damped that they hardly move: one of them a ball joint."""
    link = solids.box(1.0, (0.1, 0.1, 1.0), (0, 0, -0.5))
    builder = lw.Builder("stiff chain").body("a", joint=lw.Revolute(axis=(0, 1, 0)), **link)
    builder.body("b", "a", (0, 0, -1), lw.Revolute(axis=(0, 1, 0), stiffness=1e5, damping=1e3), **link)
    builder.body("c", "b", (0, 0, -1), lw.Spherical(stiffness=1e5, damping=1e3), **link)
    return lw.Dynamics(builder.model())


@pytest.fixture(scope="module")
def start(chain):
    q, v = chain.neutral(), np.zeros(chain.nv)
    q[0], v[2] = 1.0, 0.1
    return q, v


@pytest.mark.slow
def test_an_implicit_method_makes_steps_as_long_as_the_motion_allows(chain, start):
    explicit = lw.simulate(chain, start, until=0.2, method="rk45")
    implicit = lw.simulate(chain, start, until=0.2, method="stiff")
    assert implicit.status == explicit.status == "finished"
    assert 20 * implicit.steps < explicit.steps
    np.testing.assert_allclose(chain.difference(explicit.q[-1], implicit.q[-1]), 0, atol=1e-5)


def test_the_midpoint_rule_bears_stiffness_too(chain, start):
    """Its equations are solved by Newton's method where the mass matrix alone is no guide."""
    run = lw.simulate(chain, start, until=1.0, method="midpoint", dt=0.01)
    exact = lw.simulate(chain, start, until=1.0, method="stiff", rtol=1e-8, atol=1e-8)
    assert run.status == "finished" and run.steps == 100
    assert abs(run.q[-1, 0] - exact.q[-1, 0]) < 1e-3


def test_explicit_steps_of_one_length_fail_and_say_so(chain, start):
    run = lw.simulate(chain, start, until=1.0, method="rk4", dt=0.01)
    assert run.status == "failed" and "the motion diverges" in run.message and "take a smaller dt" in run.message
    assert np.isfinite(run.q).all()


def test_far_turns_change_the_chart():
    """A ball joint that spins many times round, softly driven: local coordinates start anew and nothing is lost."""
    robot = lw.Dynamics(lw.Builder("wheel").body("wheel", joint=lw.Spherical(), mass=1.0, tensor=(1.0, 2.0, 2.5)).model())
    start = robot.neutral(), np.array([3.0, 1.0, 0.2])
    run = lw.simulate(robot, start, until=10.0, method="stiff", rtol=1e-8, atol=1e-8)
    exact = lw.simulate(robot, start, until=10.0, method="dop853", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(robot.difference(exact.q[-1], run.q[-1]), 0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(run.q, axis=-1), 1, atol=1e-15)


def test_a_stiff_controller(chain):
    """High gains in software are stiff as well."""
    cart = lw.Dynamics(lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.point(1.0)).model())
    control = lambda t, q, v: -1e6 * (q - np.sin(t)) - 1e4 * v
    run = lw.simulate(cart, ([0.0], [0.0]), until=2.0, method="stiff", control=control)
    assert run.steps < 300
    np.testing.assert_allclose(run.q[-1], np.sin(2.0), atol=0.02)


def test_linearly_implicit_steps_are_as_long_and_lead_to_the_same_place(chain, start):
    """RODAS with exact Jacobians, in compiled code: few steps, the end of Radau's."""
    radau, made = (lw.simulate(chain, start, until=0.2, method=method, rtol=1e-7) for method in ("radau", "rosenbrock"))
    assert made.status == "finished" and made.steps < 4 * radau.steps
    np.testing.assert_allclose(chain.difference(radau.q[-1], made.q[-1]), 0, atol=1e-6)
    for x, y in zip(made(np.linspace(0, 0.2, 11)), radau(np.linspace(0, 0.2, 11))):
        np.testing.assert_allclose(x, y, atol=1e-4)


def test_the_error_of_linearly_implicit_steps_falls_with_the_fourth_power():
    """Steps of fixed length through max_step, with a force that depends on time, whose slope takes part: error ~ h⁴."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    force = robot.kernel(t=())(lambda t, q, v: np.stack([2 * np.sin(5 * t), -v[1]]))
    state = np.array([1.0, -0.5]), np.array([0.2, 0.1])
    exact = lw.simulate(robot, state, until=1.0, method="dop853", rtol=1e-12, atol=1e-13, control=force).q[-1]
    loose = {"method": "rosenbrock", "rtol": 1e3, "control": force}
    runs = [lw.simulate(robot, state, until=1.0, max_step=h, first_step=h, **loose) for h in (1 / 32, 1 / 64, 1 / 128)]
    errors = [np.abs(run.q[-1] - exact).max() for run in runs]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 4) < 0.4).all()


def test_linearly_implicit_steps_are_compiled_or_refused(chain, start):
    """Ensembles have them, with the bits of single runs; functions of Python have not."""
    q, v = (np.stack([x, x]) for x in start)
    v[1, 0] = 0.3
    made = lw.simulate(chain, (q, v), until=0.1, method="rosenbrock", store="last")
    alone = lw.simulate(chain, (q[1], v[1]), until=0.1, method="rosenbrock")
    np.testing.assert_array_equal(made.q[1], alone.q[-1])
    part = lw.simulate(chain, (q[1], v[1]), until=0.1, method="rosenbrock", on_step=lambda t, q, v: t > 0.01)
    np.testing.assert_array_equal(part.resume(0.1, on_step=None).q, alone.q)
    with pytest.raises(lw.SimulationError, match='method="stiff"'):
        lw.simulate(chain, start, until=0.1, method="rosenbrock", control=lambda t, q, v: 0 * v)
    with pytest.raises(lw.SimulationError, match="derivatives of this run are not there"):
        lw.simulate(chain, start, until=0.1, method="rosenbrock", sensitivity="state")


def test_linearly_implicit_steps_keep_loops():
    robot = lw.Dynamics(lw.load("four_bar"))
    state = robot.constraints.random_state(seed=1, reach=0.3)
    made, exact = (lw.simulate(robot, state, until=1.0, method=method, rtol=1e-8) for method in ("rosenbrock", "dop853"))
    np.testing.assert_allclose(made.q[-1], exact.q[-1], atol=1e-6)
    assert np.abs(robot.constraints.set.rows(made.q).c).max() < 1e-12
