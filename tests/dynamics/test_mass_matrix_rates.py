"""How the mass matrix and its determinant change: against a step in the imaginary direction, in every kind of mechanism."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, every_mechanism, gradient, grown, plain, rate, robots, slope, state
from zoo.mechanisms import JOINTS

import linkwork as lw
from linkwork.engine.loading.interpreter import run
from linkwork.errors import ModelError, ShapeError


@every_mechanism
@pytest.mark.parametrize("shape", [(), (2, 3)], ids=str)
def test_the_derivative_of_the_mass_matrix(robot, shape):
    """∂𝓜/∂q along each velocity = d/ds 𝓜(q ∘ exp(s e)), and it is symmetric."""
    s = state(robot, shape)
    found = robot.mass_matrix_derivative(s.q)
    assert found.shape == (*shape, *(robot.nv,) * 3)
    close(found, gradient(robot, lambda at: at.mass_matrix, s.q))
    close(found, found.swapaxes(-3, -2))


@every_mechanism
def test_the_rate_of_the_mass_matrix(robot):
    """d𝓜/dt = d/dt 𝓜(q ∘ exp(t v)) = ∂𝓜 v = C + C*."""
    s = state(robot, (3,))
    found = robot.mass_matrix_rate(s.q, s.v)
    close(found, rate(robot, lambda at: at.mass_matrix, s.q, s.v))
    close(found, (robot.mass_matrix_derivative(s.q) @ s.v[..., None, :, None])[..., 0])
    C = robot.coriolis_matrix(s.q, s.v)
    close(found, C + C.mT)
    close(robot.ask("mass_matrix_rate_times", s.q, s.v, s.tau), np.matvec(found, s.tau))


@every_mechanism
def test_the_log_determinant_and_its_gradient(robot):
    """log det 𝓜 = Σ log det D(k) (9.53), and its gradient in O(N) is Tr{𝓜⁻¹ ∂𝓜} (18.66)."""
    s = state(robot, (3,))
    M = robot.mass_matrix(s.q)
    if robot.nv:
        close(robot.log_determinant(s.q), np.linalg.slogdet(M)[1], 1e-10)
    expected = np.trace(np.linalg.solve(M[..., None, :, :], np.moveaxis(robot.mass_matrix_derivative(s.q), -1, -3)), axis1=-2, axis2=-1)
    close(robot.log_determinant_gradient(s.q), expected, 1e-9)
    close(robot.log_determinant_gradient(s.q), gradient(robot, lambda at: at.log_determinant, s.q), 1e-10)


@robots("floating", "spherical", "tree")
def test_at_the_identity_and_near_half_a_turn(robot):
    """q = 0, and attitudes within 1e-9 of π: along the group there is nothing special there."""
    half = robot.neutral()
    for unit in robot.lowered.units:
        half[unit] = np.sin((np.pi - 1e-9) / 2), 0.0, 0.0, np.cos((np.pi - 1e-9) / 2)
    for q in (robot.neutral(), half):
        close(robot.mass_matrix_derivative(q), gradient(robot, lambda at: at.mass_matrix, q))
        close(robot.log_determinant_gradient(q), gradient(robot, lambda at: at.log_determinant, q), 1e-9)


@robots("free", "compound", "planar 2R")
def test_the_sweeps_are_the_derivatives_of_the_program(robot):
    """∂𝓜 and ∂ log det 𝓜 by the rules of operations, forwards or backwards"""
    q = state(robot).q
    for name, sweep in (("mass_matrix", robot.mass_matrix_derivative), ("log_determinant", robot.log_determinant_gradient)):
        close(run(robot.as_kernel(name).jacobian().program, {"q": q})[0], sweep(q), 1e-10)


def test_second_derivatives_of_the_mass_matrix():
    """the derivative of the sweep's program along the group, by differences"""
    robot = plain(MECHANISMS["free"])
    q = state(robot).q
    found = run(robot.as_kernel("mass_matrix_derivative").jacobian().program, {"q": q})[0]
    for i, e in enumerate(np.eye(robot.nv)):
        close(found[..., i], slope(lambda h, e=e: robot.mass_matrix_derivative(robot.integrate(q, h * e))), 1e-9)


def test_joints_of_a_closed_loop_are_those_of_the_tree():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q, v = robot.neutral(), np.ones(robot.nv)
    close(robot.mass_matrix_rate(q, v), slope(lambda h: robot.mass_matrix(robot.integrate(q, h * v))), 1e-9)
    close(robot.mass_matrix_derivative(q) @ v, robot.mass_matrix_rate(q, v))


@pytest.mark.slow
def test_long_chains_by_rolled_kernels():
    """as the plain sweep has them"""
    model = grown("long", [(i - 1 if i else None, JOINTS["revolute" if i % 3 else "universal"]) for i in range(16)], seed=9)
    rolled, reference = lw.Dynamics(model, rolled=True), plain(model)
    s = state(reference, (2,))
    for name, given in (("mass_matrix_rate", (s.q, s.v)), ("log_determinant", (s.q,)), ("log_determinant_gradient", (s.q,))):
        close(getattr(rolled, name)(*given), getattr(reference, name)(*given), 1e-9)
    close(rolled.mass_matrix_derivative(s.q), reference.mass_matrix_derivative(s.q), 1e-9)


def test_out_and_single_precision():
    robot = lw.Dynamics(MECHANISMS["universal"])
    s = state(robot, (4,))
    out = np.zeros((4, robot.nv, robot.nv, robot.nv))
    assert robot.mass_matrix_derivative(s.q, out=out) is out
    close(out, gradient(robot, lambda at: at.mass_matrix, s.q))
    single = robot.mass_matrix_derivative(s.q.astype(np.float32))
    assert single.dtype == np.float32
    close(single, out, 1e-5)


def test_what_has_no_inertia_has_no_determinant():
    arm = lw.Builder("empty")
    arm.body("ghost", joint=lw.Revolute(), mass=0.0)
    robot = lw.Dynamics(arm.model(), compiled=False)
    for method in (robot.log_determinant, robot.log_determinant_gradient):
        with pytest.raises(ModelError, match="moves nothing that has inertia"):
            method(np.zeros(1))
    close(robot.mass_matrix_derivative(np.zeros(1)), np.zeros((1, 1, 1)))
    with pytest.raises(ShapeError, match="nv = 1"):
        robot.mass_matrix_rate(np.zeros(1), np.zeros(2))
