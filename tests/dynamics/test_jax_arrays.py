"""Arrays of JAX on the CPU in: they are read as NumPy arrays, and the result is one."""

import numpy as np
import pytest

import linkwork as lw

jax = pytest.importorskip("jax")


@pytest.fixture(scope="module")
def robot():
    return lw.Dynamics(lw.load("satellite"))


@pytest.fixture
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "mass_matrix"])
def test_an_array_of_jax_gives_the_numbers_of_the_array(robot, what, double_precision):
    q, v = robot.random_state((5,), seed=0)
    arrays = (q, v, np.ones_like(v))[: 1 if what == "mass_matrix" else 3]
    found = getattr(robot, what)(*map(jax.numpy.asarray, arrays))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, getattr(robot, what)(*arrays))


def test_a_kernel_is_called_inside_a_compiled_function_of_jax(robot, double_precision):
    """jax.pure_callback hands arrays over and takes the result back."""
    q, v = robot.random_state((5,), seed=0)
    shape = jax.ShapeDtypeStruct(v.shape, v.dtype)

    @jax.jit
    def power(q, v):
        vdot = jax.pure_callback(lambda q, v: robot.forward_dynamics(np.asarray(q), np.asarray(v), np.zeros(v.shape)), shape, q, v)
        return (vdot * v).sum(-1)

    expected = (robot.forward_dynamics(q, v, np.zeros_like(v)) * v).sum(-1)
    np.testing.assert_allclose(power(q, v), expected, rtol=1e-13)
