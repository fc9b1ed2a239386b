"""Derivatives of programs follow from the table of operations, forwards and backwards."""

from functools import partial

import numpy as np
import pytest
from zoo import JOINTS, close, differences, gradient, state
from zoo.mechanisms import MECHANISMS, ROBOTS

import linkwork as lw
from linkwork.engine.differentiation.derivatives import along, rate, used
from linkwork.engine.differentiation.derived import Derived
from linkwork.engine.loading.interpreter import run
from linkwork.engine.tracing.program import Input, record
from linkwork.errors import LinkworkError, TraceError

FUNCTIONS = {
    "arithmetic": lambda x: (x[0] + 2.0) * x[1] / (3.0 - x[2]),
    "circular": lambda x: np.sin(x[0] * x[1]) + np.cos(x[2]) * np.arctan2(x[0], x[1]),
    "inverse": lambda x: np.arcsin(0.3 * x[0]) + np.arccos(0.2 * x[1] * x[2]),
    "exponential": lambda x: np.exp(x[0]) * np.log(x[1] + 2.0) + np.sqrt(x[2] + 1.0),
    "choices": lambda x: np.where(x[0] > x[1], x[0] * x[2], x[1]) + np.abs(x[2] - x[0]) + np.maximum(x[0], x[1]),
    "norm": lambda x: np.linalg.norm(x) ** 3,
    "several": lambda x: np.stack([x[0] * x[1], np.sin(x[1]), np.tanh(x[0] * x[2])]),
    "unit": lambda x: lw.lie.scalars.unit(x),
}
each_function = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
ARM = lw.Dynamics(MECHANISMS["planar 2R"].with_gravity((0, -9.81, 0)))
X, POINT = Input("x", (3,)), np.array([0.4, 0.7, 0.9])


def slopes(f, x, h=1e-4):
    """∂f/∂x by differences, last axis."""
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.shape[-1])], -1)


def value(f, *inputs, **arrays):
    found = run(record("f", f, inputs), arrays)
    return found[0] if len(found) == 1 else found


# --- of functions


@each_function
def test_a_rate_is_what_differences_approach(f):
    """ẏ = Σ ∂y/∂x ẋ, and so is the rate of the rate along a line."""
    dx = np.array([0.3, -0.5, 0.2])

    def rates(x, dx):
        first = rate(x.like(f(x)), along(x, dx))
        return first, rate(first, along(x, dx))

    first, second = value(rates, X, Input("dx", (3,)), x=POINT, dx=dx)
    h = 1e-3
    a, b, c = (f(POINT + s * dx) for s in (-h, 0.0, h))
    np.testing.assert_allclose(first, (c - a) / (2 * h), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second, (a - 2 * b + c) / h**2, rtol=1e-4, atol=1e-5)


@each_function
@pytest.mark.parametrize("backwards", [(), (0,)], ids=["columns", "rows"])
def test_a_jacobian_is_what_differences_approach_by_columns_and_by_rows(f, backwards):
    found = value(lambda x: Derived("f", f, (X,)).partly_backwards((0,), (0,), backwards, x), X, x=POINT)
    np.testing.assert_allclose(found, slopes(f, POINT), atol=1e-7)


@each_function
def test_backwards_is_the_transpose_of_forwards(f, rng):
    """ȳ · (J ẋ) = (ȳ J) · ẋ"""
    d = Derived("f", f, (X,))
    dx, bar = rng.standard_normal(3), rng.standard_normal(d.results[0])
    ahead, back = value(d.jvp, X, *d.rates, x=POINT, dx=dx), value(d.vjp, X, *d.weights, x=POINT, weight=bar)
    np.testing.assert_allclose(np.sum(bar * ahead), back @ dx, rtol=1e-13)


@each_function
def test_a_second_derivative_is_that_of_the_first(f):
    """and symmetric"""
    first = Derived("f", f, (X,))
    second = Derived("g", lambda x: first.jacobian((0,), (0,), x), (X,))
    H = value(lambda x: second.jacobian((0,), (0,), x), X, x=POINT)
    jacobian = lambda x: value(lambda x: first.jacobian((0,), (0,), x), X, x=x)
    np.testing.assert_allclose(H, slopes(jacobian, POINT), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(H, H.mT, rtol=1e-13, atol=1e-13)


def test_what_stands_still_has_no_rate():
    """d/dt (y − y) and of what does not depend on x are zero by proof, and only used inputs are found."""

    def function(x):
        assert not rate((x[0] * x[1]).reshape(1), along(x[2:], np.ones(1))).refs.any()
        assert used(x[0] * x[1]) == {("x", 0), ("x", 1)}
        return x

    record("still", function, [X])


def test_what_is_told_to_stand_still_does_even_where_it_is_made_from_what_moves():
    """∂(t q)/∂t = q, though q = sin t."""

    def function(t):
        q = np.sin(t)
        return rate(t * q, along(q, 0.0) | along(t, 1.0)) - q

    assert value(function, Input("t", ()), t=np.array(0.7)) == 0


def test_entries_that_are_zero_are_not_computed():
    """∂(x₀ x₁, sin x₂)/∂x has three entries, of which two are inputs."""
    d = Derived("f", lambda x: np.stack([x[0] * x[1], np.sin(x[2])]), (X,))
    for backwards in ((), (0,)):
        program = record("J", lambda x, backwards=backwards: d.partly_backwards((0,), (0,), backwards, x), (X,))
        assert dict(program.operations) == {"cos": 1}
        assert [ref != 0 for ref in program.outputs[0].refs] == [True, True, False, False, False, True]


def test_a_jacobian_takes_the_way_with_fewer_operations():
    """Of one result by many inputs backwards, of many results by one input forwards."""
    many, one = Input("x", (12,)), Input("x", (1,))
    chain = lambda x: np.sin(np.cumsum(x) * x)
    wide, tall = Derived("wide", lambda x: np.prod(chain(x)), (many,)), Derived("tall", lambda x: chain(np.repeat(x, 12)), (one,))
    assert wide.backwards((0,), (0,)) == {0} and tall.backwards((0,), (0,)) == set()
    both = Derived("both", lambda x: (np.prod(chain(x)), np.outer(chain(x), chain(x))), (many,))
    assert both.backwards((0, 1), (0,)) == {0}  # each result its own way
    counted = [record("J", partial(both.partly_backwards, (0, 1), (0,), way), (many,)) for way in ({0}, (), {0, 1})]
    mixed, *others = (sum(program.operations.values()) for program in counted)
    assert mixed < min(others)


CHOICES = {
    "root": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, [0.0]),
    "product with what is infinite": (lambda x: np.where(x > 0, x * np.log(x), 2.0 * x), 0.0, [2.0]),
    "in both": (lambda x: np.where(x > 0, 1.0 / x, 3.0 * x) + x, 0.0, [4.0]),
    "nested": (lambda x: np.where(x < 0, 0.0, np.where(x > 0, np.sqrt(x), 5.0 * x)), 0.0, [5.0]),
    "minimum": (lambda x: np.minimum(x, 2.0 * x), -1.0, [2.0]),
    "absolute": (lambda x: np.abs(x), -1.0, [-1.0]),
    "clip": (lambda x: np.clip(x, -1.0, 1.0), 3.0, [0.0]),
    "no value": (lambda x: np.where(x > 0, x * x, np.nan), -1.0, [np.nan]),
    "a value after all": (lambda x: np.where(x > 0, x * x, np.nan), 3.0, [6.0]),
    "no value that nothing uses": (lambda x: sum(np.where(x > y, np.where(x > 0, x * x, np.nan), x) for y in (1.0, 2.0)), -1.0, [2.0]),
}


@pytest.mark.parametrize("f, at, slope", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("backwards", [(), (0,)], ids=["columns", "rows"])
def test_a_choice_has_the_derivative_of_what_is_chosen(f, at, slope, backwards):
    """though what is not chosen has none"""
    one = Input("x", (1,))
    found = value(lambda x: Derived("f", f, (one,)).partly_backwards((0,), (0,), backwards, x), one, x=np.array([at]))
    np.testing.assert_array_equal(found, [slope])


def random_function(seed):
    """Of (3,) -> (3,): twenty operations on what comes before, choices and unit vectors among them."""

    def function(x):
        rng = np.random.default_rng(seed)
        made = [x[0], x[1], x[2]]
        two = [np.add, np.multiply, np.subtract, np.minimum, np.maximum, np.arctan2, lambda a, b: a / (2.0 + np.sin(b))]
        one = [np.sin, np.cos, np.tanh, np.abs, lambda a: np.exp(-a * a), lambda a: np.sqrt(1.5 + np.sin(a)), lambda a: a * rng.normal()]
        for _ in range(20):
            a, b, c = (made[i] for i in rng.integers(len(made), size=3))
            kind = rng.integers(4)
            if kind == 0:
                made.append(one[rng.integers(len(one))](a))
            elif kind == 1:
                made.append(np.where(a > b, b * c, np.sin(c)))
            elif kind == 2:
                made += list(lw.lie.scalars.unit(np.stack([a, b, 1.5 + np.cos(c)])))
            else:
                made.append(two[rng.integers(len(two))](a, b))
        return np.stack(made[-3:])

    return function


@pytest.mark.parametrize("block", range(4))
def test_random_programs_have_the_same_derivatives_both_ways_and_by_differences(block, rng):
    for seed in range(25 * block, 25 * block + 25):
        f = random_function(seed)
        d, x = Derived("f", f, (X,)), rng.standard_normal(3)
        columns, rows = (value(partial(d.partly_backwards, (0,), (0,), backwards), X, x=x) for backwards in ((), (0,)))
        scale = max(1.0, np.abs(columns).max())
        np.testing.assert_allclose(columns, rows, atol=1e-12 * scale, rtol=1e-12)
        np.testing.assert_allclose(columns, slopes(f, x, 1e-6), atol=1e-6 * scale**2)


# --- of loops


def anomaly(x):
    """E − e sin E = M by Newton's method, x = (M, e)."""
    M, e = x[..., 0], x[..., 1]

    def step(E):
        change = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        return E - change, np.abs(change) < 1e-13

    return lw.iterate(step, M + e * np.sin(M), most=30)[0]


@pytest.mark.parametrize("backwards", [(), (0,)], ids=["columns", "rows"])
def test_a_loop_has_the_derivative_of_what_it_finds(backwards, rng):
    """∂E/∂M = 1 / (1 − e cos E), ∂E/∂e = sin E / (1 − e cos E), whatever rounds each sample takes; and the second derivative"""
    two = Input("x", (2,))
    x = rng.uniform(0.05, 0.9, (20, 2))
    d = Derived("E", anomaly, (two,))
    J = lambda x: d.partly_backwards((0,), (0,), backwards, x)
    E, found = anomaly(x), value(J, two, x=x)
    slope = 1 / (1 - x[:, 1] * np.cos(E))
    np.testing.assert_allclose(found, np.stack([slope, np.sin(E) * slope], -1), rtol=1e-12)
    H = value(lambda x: Derived("J", J, (two,)).partly_backwards((0,), (0,), backwards, x), two, x=x)
    np.testing.assert_allclose(H[:, 0, 0], -x[:, 1] * np.sin(E) * slope**3, rtol=1e-11)
    np.testing.assert_allclose(H, H.mT, rtol=1e-11)


@pytest.mark.parametrize("backwards", [(), (0,)], ids=["columns", "rows"])
@pytest.mark.parametrize("f", [
    lambda x: lw.iterate(lambda y, z: (y * x[1] + np.sin(z), z + y, y > 1e9), (x[0], x[2]), most=3)[0][0],
    lambda x: lw.iterate(lambda y: (np.stack([y[1], x[2] * y[0], y[0] * y[1]]), y[0] > 1e9), x * x, most=4)[0],
    lambda x: lw.iterate(lambda y: (y + x[0], np.all(y > 2.0)), 1.0, most=9)[0] * 3.0 + x[0],
], ids=["two values", "a vector", "a constant start"])  # fmt: skip
def test_the_derivative_of_a_loop_is_that_of_its_rounds(f, backwards):
    """A loop that stops after `most` rounds too; its values may be known outside by other names."""
    found = value(lambda x: Derived("f", f, (X,)).partly_backwards((0,), (0,), backwards, x), X, x=POINT)
    np.testing.assert_allclose(found, slopes(f, POINT), atol=1e-6)


def test_loops_in_kernels_have_derivatives(rng):
    """compiled, sample by sample"""
    kernel = ARM.kernel(anomaly, x=2)
    x, bar = rng.uniform(0.05, 0.9, (9, 2)), rng.standard_normal(9)
    np.testing.assert_allclose(kernel.vjp(x, bar), bar[:, None] * kernel.jacobian()(x), rtol=1e-14)
    np.testing.assert_allclose(kernel.jacobian()(x), run(kernel.jacobian().program, {"x": x})[0], rtol=1e-13)


def test_a_loop_in_a_loop_has_no_derivative_and_says_so():
    def root(x):
        inner = lambda y: lw.iterate(lambda z: (0.5 * (z + y / z), z * z < 1.0), y, 10)[0]
        return lw.iterate(lambda y: (inner(y) + x[0], y > 3.0), x[0], 10)[0]

    d = Derived("root", root, (Input("x", (1,)),))
    with pytest.raises(TraceError, match="inside a loop has no derivative yet"):
        record("loop", lambda x: d.vjp(x, x[0]), [Input("x", (1,))])


# --- of robots: along the group, as integrate moves

ASKED = {
    "poses": lambda robot: lambda q, v: robot.poses(q),
    "forces": lambda robot: lambda q, v: robot.inverse_dynamics(q, v, v),
}
every_kind = pytest.mark.parametrize("robot", [ROBOTS[name] for name in (*JOINTS, "floating") if name != "fixed"],
                                     ids=lambda robot: robot.model.name)  # fmt: skip


@every_kind
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_derivatives_by_coordinates_are_along_the_group(robot, asked):
    """∂f along e = d/ds f(q ∘ exp(s e)), by an imaginary step; forwards and backwards."""
    s, function = state(robot), asked(robot)
    kernel = robot.kernel(function)
    expected = gradient(robot, lambda at: lambda q: asked(at)(q, s.v), s.q)
    found = run(kernel.jacobian(by="q").program, {"q": s.q, "v": s.v})[0]
    close(found, expected)
    bar = np.random.default_rng(1).standard_normal(kernel.program.outputs[0].shape)
    back = run(kernel.vjp.program, {"q": s.q, "v": s.v, "weight": bar})[0]
    close(back, np.tensordot(bar, expected, bar.ndim), 1e-11)


def test_a_quaternion_of_any_length_has_the_derivatives_of_its_direction():
    robot = ROBOTS["floating"]
    s, kernel = state(robot), robot.kernel(lambda q: robot.center_of_mass(q))
    longer = s.q.copy()
    longer[:4] *= 3.0
    jacobian = kernel.jacobian().program
    close(run(jacobian, {"q": longer})[0], run(jacobian, {"q": s.q})[0])


def test_the_derivative_of_a_rotation_is_known():
    """∂R/∂q along e is R e~: nothing but entries of R, none of them computed anew."""
    robot = lw.Dynamics(lw.Builder("ball").body("ball", joint=lw.Spherical(), mass=1.0).model())
    kernel = robot.kernel(lambda q: robot.poses(q)[0, :3, :3])
    both = robot.kernel(lambda q: (kernel(q), kernel.jacobian()(q)))
    assert both.program.operations == kernel.program.operations


def test_second_derivatives_on_a_group_are_iterated():
    """D_j D_i f, by differences of the first along the group; the difference of two orders is the derivative along the bracket."""
    robot = ROBOTS["spherical"]
    s, kernel = state(robot), robot.kernel(lambda q: robot.center_of_mass(q))
    J, H = lambda q: run(kernel.jacobian().program, {"q": q})[0], run(kernel.hessian().program, {"q": s.q})[0]
    close(H, differences(robot, J, s.q), 1e-9)
    bracket = np.cross(np.eye(3)[:, None], np.eye(3))  # [e_i, e_j] = e_i × e_j
    close(H.mT - H, np.einsum("ak,ijk->aij", J(s.q), bracket))


# --- kernels


def test_derivatives_of_a_kernel_are_kernels(rng, tmp_path):
    """On batches, in float32, into arrays, in C."""
    kernel = ARM.kernel(lambda q, v, gain: (ARM.inverse_dynamics(q, v, gain * v), q @ v), gain=2)
    q, v, gain = rng.standard_normal((3, 5, 2))
    weights = rng.standard_normal((5, 2)), rng.standard_normal(5)
    back = kernel.vjp(q, v, gain, *weights)
    ahead = kernel.jvp(q, v, gain, q, v, gain)
    assert [x.shape for x in back] == [(5, 2)] * 3
    np.testing.assert_allclose(
        (weights[0] * ahead[0]).sum(-1) + weights[1] * ahead[1], (back[0] * q + back[1] * v + back[2] * gain).sum(-1), rtol=1e-11
    )
    J = kernel.jacobian(of=0, by="v")
    close(J(q, v, gain), slopes(lambda v: kernel(q, v, gain)[0], v), 1e-7)
    assert J(*(x.astype(np.float32) for x in (q, v, gain))).dtype == np.float32
    out = np.zeros((5, 2, 2))
    assert J(q, v, gain, out=out) is out and out.any()
    source, _ = ARM.export.c(J, tmp_path)
    assert "lambda__jacobian" in source.read_text()
    assert [x.shape for x in kernel.hessian(of=0, by=("q", "v"))(q, v, gain)] == [(5, 2, 2, 2)] * 4


def test_a_derivative_may_be_used_in_another_kernel(rng):
    """Of its arguments, whatever these are made from: a Newton step of q ↦ g(2 q)."""
    force = ARM.kernel(lambda q: ARM.gravity_force(q))
    stiffness = force.jacobian()
    outer = ARM.kernel(lambda q, v: stiffness(2.0 * q) @ v)
    q, v = rng.standard_normal((2, 2))
    expected = slopes(force, 2 * q) @ v
    close(run(outer.program, {"q": q, "v": v})[0], expected, 1e-6)
    close(run(ARM.kernel(lambda q, v: stiffness(q) @ v).program, {"q": q, "v": v})[0], slopes(force, q) @ v, 1e-6)
    close(run(outer.jacobian(by="q").program, {"q": q, "v": v})[0], slopes(lambda q: run(outer.program, {"q": q, "v": v})[0], q), 1e-6)


WRONG = {
    'has no argument "w". Did you mean': lambda k: k.jacobian(by="w").program,
    "has no result 2": lambda k: k.jacobian(of=2).program,
    "takes 4 arguments (q, v, dq, dv); got 2": lambda k: k.jvp(np.ones(2), np.ones(2)),
    "weight has shape (3,)": lambda k: k.vjp(np.ones(2), np.ones(2), np.ones(3)),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_derivative_that_is_not_there_is_named(said):
    with pytest.raises((LinkworkError, TypeError)) as error:
        WRONG[said](ARM.kernel(lambda q, v: q * v))
    assert said.partition(" Did")[0] in str(error.value)


def test_the_side_of_where_that_is_not_taken_has_no_rate():
    """d/dx where(x > 0, √x, x²) at −2 is 2 x, though √x has none there."""
    made = record("f", lambda x: (rate(np.where(x > 0, np.sqrt(x), x * x), along(x, np.ones(1))),), (Input("x", (1,)),))
    assert run(made, {"x": np.array([-2.0])})[0] == -4.0


def test_a_sign_has_no_slope_at_zero_either():
    """so that dry friction at rest is no damper; and what is no number has no sign"""
    f = lambda x: np.sign(x) * (1 + x)
    inputs = (Input("x", (4,)),)
    x = np.array([0.0, 2.0, -2.0, np.nan])
    (slope,) = run(record("slope", partial(Derived("f", f, inputs).jacobian, (0,), (0,)), inputs), {"x": x})
    np.testing.assert_array_equal(np.diag(slope), [0.0, 1.0, -1.0, np.nan])
    (value,) = run(record("f", f, inputs), {"x": x})
    np.testing.assert_array_equal(value, np.sign(x) * (1 + x))
