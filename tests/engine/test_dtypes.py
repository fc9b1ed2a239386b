"""What arrays of small types compute in, and quaternions of any length."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input
from linkwork.lie import SE3, SO3

SMALL = [np.bool_, np.int8, np.uint8, np.int16, np.float16, np.int64]
ROADS = {
    "plain": lambda model: lw.Dynamics(model, compiled=False),
    "compiled": lw.Dynamics,
    "rolled": lambda model: lw.Dynamics(model, rolled=True),
}


@pytest.mark.parametrize("dtype", SMALL, ids=lambda x: x.__name__)
@pytest.mark.parametrize("road", ROADS)
def test_small_types_compute_in_double_precision(road, dtype):
    """bool, int8, float16 ... in, float64 out, to the digits of float64."""
    robot, q = ROADS[road](lw.load("double_pendulum")), np.array([1, 0], dtype)
    v = np.ones(2, dtype)
    for found, exact in (
        (robot.mass_matrix(q), robot.mass_matrix(q.astype(float))),
        (robot.forward_dynamics(q, v, v), robot.forward_dynamics(*(x.astype(float) for x in (q, v, v)))),
    ):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("dtype", SMALL, ids=lambda x: x.__name__)
def test_small_types_compute_in_double_precision_everywhere_else(dtype):
    robot = lw.Dynamics(lw.load("double_pendulum"))
    q = np.array([1, 0], dtype)
    assert robot.kernel(lambda q: np.sin(q))(q).dtype == np.float64
    assert robot.varying("mass").mass_matrix(q).dtype == np.float64
    assert lw.rollout(robot, q, q, dt=0.01, steps=1).q.dtype == np.float64


def test_single_precision_stays_single_beside_small_types():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    single, small = np.ones(2, np.float32), np.ones(2, np.int8)
    assert robot.forward_dynamics(single, small, single).dtype == np.float32
    assert robot.forward_dynamics(small, single, single).dtype == np.float32
    assert robot.forward_dynamics(single, small, np.ones(2)).dtype == np.float64


@pytest.mark.parametrize("size", [1e-160, 1e-300, 1e160, 1e300])
@pytest.mark.parametrize("road", ROADS)
def test_a_quaternion_of_any_length_is_normalised(road, size):
    """R(s q) = R(q), also where the square of s is no float."""
    b = lw.Builder("free")
    b.body("body", joint=lw.Free(), mass=1.0, center=(0.1, 0.2, 0.3), tensor=(1, 2, 3))
    robot = ROADS[road](b.model())
    (q, v), scale = robot.random_state(seed=1), np.array([size] * 4 + [1.0] * 3)
    other = robot.random_state(seed=2)[0]
    np.testing.assert_allclose(robot.poses(scale * q), robot.poses(q), atol=1e-15)
    np.testing.assert_allclose(robot.forward_dynamics(scale * q, v, v[:6]), robot.forward_dynamics(q, v, v), rtol=1e-13)
    np.testing.assert_allclose(robot.integrate(scale * q, v), robot.integrate(q, v), atol=1e-15)
    np.testing.assert_allclose(robot.difference(scale * q, scale * other), robot.difference(q, other), atol=1e-14)


@pytest.mark.parametrize("size", [1e-160, 1e160])
def test_groups_normalise_quaternions_of_any_length(size):
    q = np.array([0.1, -0.5, 0.3, 0.8]) / np.sqrt(0.99)
    np.testing.assert_allclose(SO3.matrix(size * q), SO3.matrix(q), atol=1e-15)
    np.testing.assert_allclose(SO3.compose(size * q, size * q), SO3.compose(q, q), atol=1e-15)
    assert np.isfinite(SE3.matrix(np.array([*(size * q), 1.0, 2.0, 3.0]))).all()


def test_quaternions_of_small_integers_do_not_overflow():
    np.testing.assert_allclose(SO3.matrix(np.array([100, 0, 0, 100], np.int8)), SO3.matrix(np.array([1.0, 0, 0, 1.0])), atol=1e-15)


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_an_axis_of_any_length_is_a_direction(size):
    one, other = (lw.Revolute(axis=(0.6 * s, 0, 0.8 * s)).frame.rotation for s in (size, 1.0))
    np.testing.assert_allclose(one, other, atol=1e-15)


def test_a_remainder_of_a_large_number_is_numpys_to_the_bit():
    """1e9 % 2π in float32, where the quotient has more digits than a float."""
    kernel = Kernel("remainder", lambda a: a % (2 * np.pi), (Input("a", (1,)),))
    for kind in (np.float32, np.float64):
        a = np.array([[1e9], [-1e9], [1e30], [3.0]], kind)
        np.testing.assert_array_equal(kernel.runner(np.dtype(kind).char)(a), np.remainder(a, kind(2 * np.pi)))
