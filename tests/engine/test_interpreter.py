"""A program run by the interpreter is its function: on batches, and on the sweeps of random trees."""

import numpy as np
import operations
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zoo import plain, state, trees

import linkwork as lw
from linkwork import export
from linkwork.engine.loading.interpreter import run
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input, record

few = settings(max_examples=10, suppress_health_check=list(HealthCheck))
many = settings(max_examples=100, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (0,)], ids=str)
def test_batch_axes_lead(batch, rng):
    program = record("test", lambda A, x: (A @ x, A.T, x[0]), [Input("A", (2, 3)), Input("x", (3,))])
    A, x = rng.standard_normal((*batch, 2, 3)), rng.standard_normal((*batch, 3))
    product, transposed, first = run(program, {"A": A, "x": x})
    np.testing.assert_allclose(product, (A @ x[..., None])[..., 0])
    np.testing.assert_array_equal(transposed, A.mT)
    np.testing.assert_array_equal(first, x[..., 0])


def test_batch_axes_broadcast(rng):
    program = record("test", lambda x, y: x + y, [Input("x", (3,)), Input("y", (3,))])
    x, y = rng.standard_normal((4, 1, 3)), rng.standard_normal((5, 3))
    np.testing.assert_array_equal(run(program, {"x": x, "y": y})[0], x + y)


def test_the_type_of_the_numbers_is_kept():
    program = record("test", lambda x: np.stack([x[0] * 0.1, x[0] * 0 + 3.0]), [Input("x", (1,))])
    assert run(program, {"x": np.ones(1, np.float32)})[0].dtype == np.float32
    assert run(program, {"x": [1]})[0].dtype == np.float64


@pytest.mark.parametrize("kind", "df")
def test_a_kernel_is_the_interpreter_on_every_operation(kind, rng):
    program = operations.program()
    arrays = {name: a.astype(kind) for name, a in operations.samples(rng).items()}
    compiled = Kernel("everything", operations.everything, program.inputs).gufunc(kind)
    eps = np.finfo(kind).eps
    for a, b in zip(compiled(arrays["x"], arrays["y"]), run(program, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=20 * eps, atol=4 * eps)


def agrees(model, seed):
    """The traced sweep and the plain one, relative to the largest entry, and to the condition of what is inverted."""
    robot, traced = plain(model), lw.Dynamics(model)
    s = vars(state(robot, (3,), seed))
    condition = np.linalg.cond(robot.mass_matrix(s["q"])).max() if robot.nv else 1.0
    for what, factor in (("mass_matrix", 1.0), ("inverse_dynamics", 1.0), ("forward_dynamics", condition)):
        program = export.program(traced, what)
        expected = getattr(robot, what)(*(s[x.name] for x in program.inputs))
        scale = np.abs(robot.bias(s["q"], s["v"])).max(initial=1.0) if what != "mass_matrix" else 1.0
        scale = max(scale, np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(run(program, s)[0], expected, rtol=0, atol=1e-11 * factor * scale)


@few
@given(model=trees(max_bodies=8), seed=st.integers(0, 2**16))
def test_the_trace_of_a_sweep_is_the_sweep_on_any_tree(model, seed):
    agrees(model, seed)


@pytest.mark.slow
@many
@given(model=trees(max_bodies=20), seed=st.integers(0, 2**16))
def test_the_trace_of_a_sweep_is_the_sweep_on_very_many_trees(model, seed):
    agrees(model, seed)
