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
