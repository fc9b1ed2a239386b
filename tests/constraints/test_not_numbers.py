"""A constraint that gives no numbers is named; it opens no loop."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import Holonomic
from linkwork.errors import ConstraintError

Q = np.array([1.0, -0.7, 1.4])


def guarded(function, compiled=False):
    return lw.Dynamics(lw.load("four_bar").with_constraints(Holonomic("guard", function)), compiled=compiled)


@pytest.fixture(scope="module")
def closed():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q = robot.assemble(Q)
    return q, robot.forward_dynamics(q, np.zeros(3), np.ones(3))


@pytest.mark.parametrize("compiled", [False, True])
def test_the_side_of_where_that_is_not_taken_changes_nothing(closed, compiled):
    """Jc of where(q₀ > 10, √(q₀ − 10), 0) is zero below 10, though the root is not a number there."""
    q, vdot = closed
    robot = guarded(lambda q: np.where(q[0] > 10, np.sqrt(q[0] - 10), 0.0) + 0.0 * q[1], compiled)
    assert np.allclose(robot.forward_dynamics(q, np.zeros(3), np.ones(3)), vdot, rtol=1e-9)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("function", [lambda q: np.sqrt(q[0] - 10), lambda q: np.sqrt(np.maximum(q[0] - 10, 0.0)), lambda q: q[0] * np.nan])
def test_a_constraint_that_is_not_a_number_is_named(closed, function, compiled):
    q, robot = closed[0], guarded(function, compiled)
    with np.errstate(all="ignore"):
        for call in (
            lambda: robot.forward_dynamics(q, np.zeros(3), np.ones(3)),
            lambda: robot.constraint_forces(q, np.zeros(3), np.ones(3)),
            lambda: robot.constraint_report(q),
            lambda: robot.constraints.jacobian(q),
            lambda: robot.motor_forces(q, np.zeros(3), np.zeros(3)),
            lambda: robot.task_compliance(q, "coupler"),
        ):
            with pytest.raises(ConstraintError, match="guard"):
                call()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_sample_that_is_not_a_number_leaves_the_others_as_they_are(closed, compiled):
    q, vdot = closed
    robot = lw.Dynamics(lw.load("four_bar"), compiled=compiled)
    found = robot.forward_dynamics(np.stack([q, q * np.nan, q]), np.zeros(3), np.ones(3))
    assert np.isnan(found[1]).all() and np.allclose(found[[0, 2]], vdot, rtol=1e-9)


def test_where_the_loops_are_open_derivatives_are_not_numbers(closed):
    """∂v̇/∂τ, rates and gradients of forward dynamics as a kernel: NaN, as the value."""
    robot, z = lw.Dynamics(lw.load("four_bar")), np.zeros(3)
    q = closed[0] + np.array([0.3, -0.2, 0.5])
    kernel = robot.as_kernel("forward_dynamics")
    slopes = robot.derivative("forward_dynamics", q, z, z, by="tau"), kernel.jvp(q, z, z, z, z, z + 1), *kernel.vjp(q, z, z, z + 1)
    assert all(np.isnan(x).all() for x in (kernel(q, z, z), *slopes))
