"""robot.jax: methods and kernels under jit, vmap, grad, jacfwd and combinations of these, on the CPU."""

from functools import cache

import numpy as np
import pytest
from roads import FREE, touching

import linkwork as lw
from linkwork.errors import LinkworkError
from linkwork.quantities import QUANTITIES
from linkwork.quantities.diagonal import diagonal_form
from linkwork.quantities.options import task as places_of

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@cache
def robot_of(name):
    return lw.Dynamics(lw.load(name))


def arrays(robot, names, count=3):
    rng = np.random.default_rng(0)
    q, v = robot.random_state((count,), seed=0)
    given = {"q": q, "q0": q, "q1": robot.integrate(q, 0.3 * v), "prescribed": np.zeros_like(v)}
    given["external"] = rng.standard_normal((count, len(robot.bodies), 6))
    return [given.get(name, rng.standard_normal(v.shape)) for name in names]


def asked(robot, name):
    declared, body = QUANTITIES[name], robot.bodies[-1]
    if not declared.takes_options or declared.options is diagonal_form:
        return name
    return name, (body, (0.1, 0.2, 0.3)) if declared.options is places_of else body


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, x in QUANTITIES.items() if x.decided_by])
def test_every_quantity_runs_and_its_rates_are_the_compiled_ones(name):
    """Under jit, its values are the method's; jvp is that of the kernel, and vjp its transpose."""
    if QUANTITIES[name].options in FREE:
        pytest.skip("of a base that floats; torch has these")
    robot = lw.Dynamics(touching(lw.load("cartpole")))
    what, x = asked(robot, name), arrays(robot, QUANTITIES[name].inputs)
    function = lambda *x: robot.jax.ask(what, *x)
    found, expected = jax.jit(function)(*x), robot.ask(what, *x)
    for a, b in zip(jax.tree.leaves(found), expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    rates = arrays(robot, ["tau"] * len(x))
    rates = [np.resize(r, y.shape) for r, y in zip(rates, x)]
    values, pulled = jax.vjp(function, *x)
    _, moved = jax.jvp(function, tuple(x), tuple(rates))
    ours = robot.as_kernel(what).jvp(*x, *rates)
    for a, b in zip(jax.tree.leaves(moved), ours if isinstance(ours, tuple) else (ours,), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    weights = jax.tree.map(jnp.ones_like, values)
    dot = lambda a, b: sum(float((x * y).sum()) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)))
    assert dot(weights, moved) == pytest.approx(dot(pulled(weights), tuple(rates)), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, None), (1, 0, None), (None, None, 0)])
def test_vmap_is_the_batch(axes):
    robot = robot_of("satellite")
    x = arrays(robot, ("q", "v", "tau"))
    given = [y[0] if axis is None else np.moveaxis(y, 0, axis) for y, axis in zip(x, axes)]
    expected = robot.forward_dynamics(*(y[0] if axis is None else y for y, axis in zip(x, axes)))
    np.testing.assert_array_equal(jax.vmap(robot.jax.forward_dynamics, axes)(*given), expected)


def test_a_batch_under_vmap_and_arrays_that_broadcast():
    robot = robot_of("satellite")
    q, v, tau = arrays(robot, ("q", "v", "tau"))
    found = jax.vmap(robot.jax.forward_dynamics, (None, 0, None))(q, np.stack([v, 2 * v]), tau[0])
    np.testing.assert_array_equal(found, robot.forward_dynamics(q, np.stack([v, 2 * v]), tau[0]))


def test_a_gradient_by_a_quaternion_is_that_of_its_direction():
    """The function of q / |q|, by differences of all four components; q · grad = 0."""
    robot = robot_of("satellite")
    q, v, tau = (x[0] for x in arrays(robot, ("q", "v", "tau")))
    cost = lambda q: (robot.forward_dynamics(q, v, tau) ** 2).sum()
    found = jax.grad(lambda q: (robot.jax.forward_dynamics(q, v, tau) ** 2).sum())(q)
    differences = [(cost(q + e) - cost(q - e)) / 2e-6 for e in 1e-6 * np.eye(robot.nq)]
    np.testing.assert_allclose(found, differences, rtol=1e-5, atol=1e-5 * np.abs(differences).max())
    assert abs(found[:4] @ q[:4]) < 1e-9 * np.abs(found).max()


@pytest.mark.parametrize("inner", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("outer", ["jacfwd", "jacrev"])
def test_second_derivatives_in_any_order_of_ways(inner, outer):
    """𝓜 = ∂²T/∂v²"""
    robot = robot_of("satellite")
    q, v = (x[0] for x in arrays(robot, ("q", "v")))
    hessian = getattr(jax, outer)(getattr(jax, inner)(lambda v: robot.jax.kinetic_energy(q, v)))
    np.testing.assert_allclose(jax.jit(hessian)(v), robot.mass_matrix(q), rtol=1e-10, atol=1e-10)


def test_a_loop_of_jax_goes_through_time():
    """An explicit rollout in lax.scan, differentiated: the gradient is that of differences."""
    robot = robot_of("double_pendulum")
    q, v = (x[0] for x in arrays(robot, ("q", "v")))

    def last(tau):
        def step(state, _):
            q, v = state
            v = v + 0.01 * robot.jax.forward_dynamics(q, v, tau)
            return (robot.jax.integrate(q, 0.01 * v), v), None

        (q1, _), _ = jax.lax.scan(step, (jnp.asarray(q), jnp.asarray(v)), length=20)
        return (q1**2).sum()

    tau, e = np.array([0.1, 0.2]), 1e-5 * np.eye(2)
    found = jax.jit(jax.grad(last))(tau)
    np.testing.assert_allclose(found, [(last(tau + d) - last(tau - d)) / 2e-5 for d in e], rtol=1e-6)


def test_float32_stays_float32():
    robot = robot_of("satellite")
    x = [y.astype(np.float32) for y in arrays(robot, ("q", "v", "tau"))]
    found = robot.jax.forward_dynamics(*x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, robot.forward_dynamics(*x))


def test_options_are_those_of_the_methods():
    robot = robot_of("satellite")
    (q,), body = arrays(robot, ("q",)), robot.bodies[-1]
    np.testing.assert_array_equal(robot.jax.jacobian(q, body, "world"), robot.jacobian(q, body, "world"))
    np.testing.assert_array_equal(robot.jax.task_jacobian(q, body, axes="world"), robot.task_jacobian(q, body, axes="world"))
    q, v, tau, external = arrays(robot, ("q", "v", "tau", "external"))
    np.testing.assert_array_equal(robot.jax.inverse_dynamics(q, v, tau, external), robot.inverse_dynamics(q, v, tau, external))


def test_a_users_kernel_and_varied_constants_have_gradients():
    robot = robot_of("double_pendulum")
    q, v, force = (x[0] for x in arrays(robot, ("q", "v", "force")))
    power = robot.kernel(lambda q, v, force: force @ robot.bias(q, v), force=2)
    np.testing.assert_allclose(jax.grad(robot.jax(power), 2)(q, v, force), robot.bias(q, v), rtol=1e-12)
    varied = robot.varying("mass").as_kernel("potential_energy")
    masses = robot.varying("mass").value("mass")
    found = jax.grad(robot.jax(varied), 1)(q, masses)
    np.testing.assert_allclose(found, varied.jacobian(by="mass")(q, masses), rtol=1e-12)


def test_what_cannot_be_is_refused_with_the_remedy():
    robot = robot_of("double_pendulum")
    q, v = (x[0] for x in arrays(robot, ("q", "v")))
    with pytest.raises(lw.ShapeError, match="v has shape"):
        robot.jax.bias(q, v[:1])
    with pytest.raises(LinkworkError, match="leave out= away"):
        robot.jax.bias(q, v, out=np.empty(2))
    with pytest.raises(LinkworkError, match=r"robot\.kernel"):
        robot.jax(lambda q: q)
    with pytest.raises(AttributeError, match="Did you mean"):
        robot.jax.mass_matrx(q)
    with pytest.raises(lw.ModelError, match="no one formula"):
        loop = robot_of("four_bar")
        loop.jax.hybrid_dynamics(loop.neutral(), np.zeros(loop.nv), np.zeros(loop.nv), np.zeros(loop.nv))


def test_a_robot_with_loops_keeps_them():
    loop = robot_of("four_bar")
    q, v = loop.constraints.random_state(seed=0)
    found = loop.jax.forward_dynamics(q, v, np.ones(loop.nv))
    np.testing.assert_allclose(found, loop.forward_dynamics(q, v, np.ones(loop.nv)), rtol=1e-3)


def test_two_robots_that_are_the_same_share_their_code():
    """XLA takes a name once."""
    q = np.array([0.1, 0.2])
    found = [lw.Dynamics(lw.load("double_pendulum")).jax.gravity_force(q) for _ in range(2)]
    np.testing.assert_array_equal(*found)
