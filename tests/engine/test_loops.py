"""iterate: bounded loops, the same in NumPy, in kernels of every width, in C and in PTX, whatever else is in the batch."""

import numpy as np
import pytest
from emulated import emulated
from test_c import called, library, needs_compiler
from test_pieces import in_pieces
from test_ptx import assembled
from test_ptx_emulated import KINDS, pointer
from test_ptx_emulated import run as on_gpu

import linkwork as lw
from linkwork.engine.loading import interpreter
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running import ptx, ptx_repeat
from linkwork.engine.running.repeat import Form, Repeat
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.writers import c, symbols
from linkwork.errors import ShapeError, TraceError

ARM = lw.Dynamics(lw.load("arm_6r"))


def kepler(M, e, tolerance):
    """E − e sin E = M by Newton's method, from where it converges for every eccentricity below one."""

    def step(E):
        change = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        return E - change, np.abs(change) <= tolerance * (1 + np.abs(E))

    return lw.iterate(step, M + 0.999999 * e * np.sign(np.sin(M)), most=60)


def residual(x, p):
    """A system of three equations whose solution moves with p."""
    x, y, z = (x[..., i] for i in range(3))
    p, q, r = (p[..., i] for i in range(3))
    return np.stack([3 * x - np.cos(y * z) - p, x * x - 8 * (y + 0.1) ** 2 + np.sin(z) + q, np.exp(-x * y) + 20 * z - r], -1)


def jacobian(x):
    x, y, z = (x[..., i] for i in range(3))
    s, e = np.sin(y * z), np.exp(-x * y)
    rows = [[3 + 0 * x, z * s, y * s], [2 * x, -16 * (y + 0.1), np.cos(z)], [-y * e, -x * e, 20 + 0 * x]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def solved(J, f):
    """J⁻¹ f, from the cross products of its rows."""
    a, b, c = (J[..., i, :] for i in range(3))
    bc, ca, ab = np.cross(b, c), np.cross(c, a), np.cross(a, b)
    return (bc * f[..., 0:1] + ca * f[..., 1:2] + ab * f[..., 2:3]) / np.sum(a * bc, -1)[..., None]


def damped_newton(x, p, tolerance):
    """x ← x − t J⁻¹ f, with t halved until |f| falls: a loop in a loop."""

    def step(x):
        f = residual(x, p)
        change, size = solved(jacobian(x), f), np.sum(f * f, -1)

        def halve(t):
            new = residual(x - t[..., None] * change, p)
            falls = np.sum(new * new, -1) <= (1 - 1e-4 * t) * size
            return np.where(falls, t, t / 2), falls

        t, _ = lw.iterate(halve, np.ones_like(size), most=12)
        change = t[..., None] * change
        return x - change, np.all(np.abs(change) <= tolerance[..., None] * (1 + np.abs(x)), -1)

    return lw.iterate(step, x, most=40)


SOLVERS = {"kepler": (kepler, ((), (), ())), "newton": (damped_newton, ((3,), (3,), ()))}
TOLERANCE = {np.float64: 1e-14, np.float32: 1e-5}
every_solver = pytest.mark.parametrize("name", SOLVERS)
every_kind = pytest.mark.parametrize("kind", TOLERANCE)


def kernel(name):
    function, shapes = SOLVERS[name]
    return Kernel(name, function, tuple(map(Input, ("x", "p", "tolerance"), shapes)))


def problems(name, kind, rng, count=45):
    tolerance = np.full(count, TOLERANCE[kind])
    if name == "kepler":
        arrays = rng.uniform(-np.pi, np.pi, count), np.where(rng.random(count) < 0.3, 0.999, rng.random(count)), tolerance
    else:
        arrays = rng.uniform(-1.5, 1.5, (count, 3)), rng.uniform(0.5, 1.5, (count, 3)), tolerance
    return [x.astype(kind) for x in arrays]


def left(name, found, x, p):
    """What remains of the equations, to be zero."""
    return found - p * np.sin(found) - x if name == "kepler" else residual(found, p)


# --- the same everywhere


@every_solver
@every_kind
def test_every_way_solves_the_equations(name, kind, rng):
    """NumPy, the interpreter and the kernel; each sample stops by itself."""
    arrays, function = problems(name, kind, rng), SOLVERS[name][0]
    with np.errstate(all="ignore"):
        plain = function(*arrays)
    stepped = interpreter.run(kernel(name).program, dict(zip(("x", "p", "tolerance"), arrays)))
    compiled = kernel(name).gufunc(np.dtype(kind).char)(*arrays)
    eps = np.finfo(kind).eps
    for found, rounds in (plain, stepped, compiled):
        assert np.abs(left(name, found, *arrays[:2])).max() < 100 * eps
        assert 2 <= rounds.min() < rounds.max() < 30
    for other in (plain, stepped):
        np.testing.assert_allclose(compiled[0], other[0], rtol=0, atol=3000 * eps)


@every_solver
@every_kind
def test_a_batch_has_the_bits_of_single_calls(name, kind, rng):
    """Whoever shares the vector: any number of samples, in any order, in pieces or whole."""
    arrays, f = problems(name, kind, rng), kernel(name).gufunc(np.dtype(kind).char)
    single = [np.stack(x) for x in zip(*(f(*(x[i] for x in arrays)) for i in range(45)))]
    for some in (slice(None), slice(0, 2), slice(3, 20), slice(44, None, -1), slice(0, 9)):
        for a, b in zip(f(*(x[some] for x in arrays)), single):
            np.testing.assert_array_equal(a, b[some])


@every_solver
def test_pieces_have_the_same_bits(name, rng, monkeypatch):
    arrays = problems(name, np.float64, rng)
    whole = kernel(name).gufunc("d")(*arrays)
    in_pieces(monkeypatch, 5)
    for a, b in zip(kernel(name).gufunc("d")(*arrays), whole):
        np.testing.assert_array_equal(a, b)


@every_solver
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_the_gpu_has_the_same_bits(name, dtype, layout, rng):
    arrays = problems(name, {"double": np.float64, "float": np.float32}[dtype], rng, 70)
    expected = kernel(name).gufunc(dtype[0])(*arrays)
    found, _ = on_gpu(kernel(name).program, dtype, layout, arrays, [x.shape[1:] for x in expected])
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


@needs_compiler
@every_solver
@every_kind
def test_c_solves_the_same_equations(name, kind, rng, tmp_path):
    program, arrays, dtype = kernel(name).program, problems(name, kind, rng), np.dtype(kind).name
    for ending, text in (("c", c.source(program, name, dtype, f"{name}.h")), ("h", c.header(program, name, dtype))):
        (tmp_path / f"{name}.{ending}").write_text(text)
    given = dict(zip(("x", "p", "tolerance"), arrays))
    found, rounds = called(getattr(library(tmp_path / f"{name}.c", tmp_path), name), program, given, kind)
    expected, _ = kernel(name).gufunc(np.dtype(kind).char)(*arrays)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3000 * np.finfo(kind).eps)
    assert rounds.max() < 30


@every_solver
def test_a_sample_that_is_not_a_number_disturbs_nobody(name, rng):
    """It is never done, and says so; the others have the bits they have without it."""
    arrays, f = problems(name, np.float64, rng), kernel(name).gufunc("d")
    expected, most = f(*arrays), kernel(name).program.loops[0].most
    arrays[0][4] = np.nan
    with np.errstate(all="ignore"):
        ways = f(*arrays), SOLVERS[name][0](*arrays)
    for found, rounds in ways:
        assert rounds[4] == most + 1 and np.isnan(found[4]).all()
    others = np.arange(45) != 4
    for a, b in zip(ways[0], expected):
        np.testing.assert_array_equal(a[others], b[others])


def test_large_angles_inside_a_loop_are_reduced_exactly(rng):
    """Σ sin(2ⁿ x): the angles of a body are not those of an input."""

    def total(x):
        (_, s), rounds = lw.iterate(lambda x, s: (2 * x, s + np.sin(x), x > 1e15), (x, 0.0), most=70)
        return s, rounds

    x = rng.uniform(0.1, 1, 11)
    expected, rounds = total(x)
    found, count = Kernel("total", total, (Input("x", ()),)).gufunc("d")(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(rounds, count)


def test_a_policy_with_a_loop_runs_inside_a_rollout():
    """Forces found by iteration at each step, inside the compiled loop over time and outside of it."""

    def policy(t, q, v):
        x, _ = lw.iterate(lambda x: (0.5 * np.cos(x + q), np.all(np.abs(x - 0.5 * np.cos(x + q)) < 1e-15)), q, most=80)
        return x - v

    q, v = ARM.random_state((5,), seed=2)
    inside = lw.rollout(ARM, q, v, policy, dt=0.01, steps=4)
    for i in range(4):
        tau = np.stack([policy(0.0, *state) for state in zip(inside.q[:, i], inside.v[:, i])])
        step = lw.rollout(ARM, inside.q[:, i], inside.v[:, i], tau[:, None], dt=0.01, steps=1)
        np.testing.assert_allclose(step.v[:, 1], inside.v[:, i + 1], rtol=1e-12, atol=1e-12)


def relaxed(x, p):
    """A step of a march with a loop in it."""
    y, _ = lw.iterate(lambda y: (np.cos(y + p) / 2, np.abs(y - np.cos(y + p) / 2) < 1e-6), x, most=40)
    return x + 0.1 * y


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_a_march_with_a_loop_has_the_same_bits_on_the_gpu(dtype, rng, tmp_path):
    kernel, samples, steps = Kernel("relaxed", relaxed, (Input("x", ()), Input("p", ()))), 70, 6
    x, p = (rng.standard_normal(samples).astype(KINDS[dtype]) for _ in range(2))
    expected, found = np.zeros((2, steps + 1, samples), KINDS[dtype])
    Repeat(kernel, dtype[0], Form(1)).steps([x, p], [expected], steps, 1)
    text = ptx_repeat.text(kernel.program, dtype, ("rows",) * 3, Form(1))
    emulated(text)(samples, samples, steps, 1, pointer(x), 1, pointer(p), 1, pointer(found), 1, samples)
    np.testing.assert_array_equal(found, expected)
    assembled(text, tmp_path)


@every_solver
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_the_assembly_of_a_loop_needs_nothing_from_outside(name, dtype, tmp_path):
    assembled(ptx.text(kernel(name).program, dtype, ("rows", "columns", "rows", "columns", "rows")), tmp_path)


# --- what is traced


def traced(function, *shapes):
    return record("f", function, tuple(Input(f"x{i}", shape) for i, shape in enumerate(shapes)))


def named(program, name):
    return [node for i in program.everything if (node := program.trace.nodes[i])[0] == name]


def test_what_a_body_does_not_change_is_not_carried():
    """A parameter that is passed through, and a zero that stays zero; with them, what depends on nothing else leaves the loop."""

    def f(x, p):
        def step(x, p, zero):
            return x * np.sin(p) + zero, p, zero * x, x < 1

        (x, p, zero), _ = lw.iterate(step, (x, p, np.zeros_like(x)), most=9)
        return x + zero, p

    program = traced(f, (), ())
    (loop,) = program.loops
    assert len(loop.carried) == 3  # x, the round, and the round in which it was done
    body = {program.trace.nodes[i][0] for i in loop.body}
    assert "mul" in body and "sin" not in body


def test_a_loop_that_never_stops_early_carries_no_more_than_its_round():
    program = traced(lambda x: lw.iterate(lambda x: (x * x, False), x, most=5), ())
    (loop,) = program.loops
    assert len(loop.carried) == 2
    assert program.trace.value(program.outputs[1].refs[0]) == 6.0
    np.testing.assert_allclose(interpreter.run(program, {"x0": 1.1})[0], 1.1**32)


@pytest.mark.parametrize("most", [0, 1])
def test_no_round_and_one_round_need_no_loop(most):
    program = traced(lambda x: lw.iterate(lambda x: (np.sin(x), x < 0), x, most=most), ())
    assert not program.loops
    for x in (-0.5, 0.5):
        for a, b in zip(interpreter.run(program, {"x0": x}), lw.iterate(lambda x: (np.sin(x), x < 0), x, most=most)):
            np.testing.assert_array_equal(a, b)


def test_a_step_that_is_always_done_needs_no_loop():
    program = traced(lambda x: lw.iterate(lambda x: (np.sin(x), True), x), ())
    assert not program.loops and len(named(program, "sin")) == 1


def test_a_loop_may_start_from_constants_and_end_in_one():
    def f(p):
        (x, flag), _ = lw.iterate(lambda x, flag: (np.cos(x) * p, 7.0, x > 0.5), (0.0, 1.0), most=8)
        return x, flag

    program = traced(f, ())
    assert program.trace.value(program.outputs[1].refs[0]) == 7.0
    plain = f(0.9)
    np.testing.assert_allclose(interpreter.run(program, {"x0": 0.9})[0], plain[0], rtol=1e-15)


def test_a_pose_that_is_carried_keeps_its_constant_row():
    """(0, 0, 0, 1) stays, round after round, whatever it is multiplied with: nothing of it is carried."""

    def f(x):
        turn = np.stack([np.stack([np.cos(x), -np.sin(x), x]), np.stack([np.sin(x), np.cos(x), x * x]), np.zeros_like(x + np.zeros(3))])
        turn[2, 2] = 1.0
        return lw.iterate(lambda T: (T @ turn, T[0, 2] > 1), np.eye(3), most=20)[0]

    program = traced(f, ())
    (loop,) = program.loops
    assert len(loop.carried) == 6 + 2
    np.testing.assert_allclose(interpreter.run(program, {"x0": 0.1})[0][2], [0, 0, 1])


def test_equal_loops_are_one_and_others_are_not():
    """The same body, start and bound; one of the three differs."""

    def halve(x, most=10, limit=1.0):
        return lw.iterate(lambda x: (x / 2, x < limit), x, most=most)[0]

    assert len(traced(lambda x: halve(x) * halve(x), ()).loops) == 1
    assert len(traced(lambda x: halve(x) * halve(x, 11) * halve(2 * x) * halve(x, limit=2.0), ()).loops) == 4


def test_equal_values_inside_and_outside_are_not_confused():
    """sin x of the carried x is another number than that of the x it starts from, in any order and depth."""

    def f(x):
        before = np.sin(x)
        y, _ = lw.iterate(lambda y: (np.sin(y) + lw.iterate(lambda z: (np.sin(z), False), y, most=2)[0], False), x, most=3)
        return before + np.sin(y) + np.sin(x) * np.sin(np.sin(x))

    program = traced(f, ())
    assert len(program.loops) == 2
    np.testing.assert_allclose(interpreter.run(program, {"x0": 0.7})[0], f(0.7), rtol=1e-14)


def test_operations_of_a_body_count_once_and_the_bound_is_printed():
    program = traced(lambda x: lw.iterate(lambda x: (np.sin(x), x < 0.1), x, most=33), ())
    assert program.operations["sin"] == 1
    assert "at most 33 rounds" in str(program)
    assert not {"loop", "carried", "result"} & set(program.operations)


def test_plain_arrays_carry_batch_axes(rng):
    """Samples that are done keep their values, whatever the step makes of them."""
    x = rng.uniform(0, 20, (4, 3))

    def step(x):
        return np.where(x > 1, x - 1, np.nan), np.max(x, -1) < 0  # a sample must be done before it gets to NaN

    def down(x):
        return x - 1, np.max(x, -1) <= 2

    found, rounds = lw.iterate(down, x, most=30)
    np.testing.assert_array_equal(rounds, np.maximum(1, np.ceil(x.max(-1) - 1)))
    np.testing.assert_allclose(found, x - rounds[:, None], atol=1e-12)
    assert (lw.iterate(step, x, most=3)[1] == 4).all()


# --- what is refused


def test_a_loop_has_no_closed_form():
    with pytest.raises(TraceError, match="no closed form: export it as C, or run the kernel"):
        symbols.expressions(traced(lambda x: lw.iterate(lambda x: (np.sin(x), x < 0), x)[0], ()))


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        (lambda x: x, ShapeError, "carries 1 arrays returns them and done, 2 values; it returned one value"),
        (lambda x: (x, x, x[0] < 1), ShapeError, "it returned 3 values"),
        (lambda x: (x, x < 1), TraceError, r"done has shape \(2,\); a kernel needs one truth for each sample"),
        (lambda x: (x[:1], x[0] < 1), TraceError, r"starts with shape \(2,\), but the step returns it with shape \(1,\)"),
    ],
)
def test_a_wrong_step_is_told(step, error, message):
    with pytest.raises(error, match=message):
        traced(lambda x: lw.iterate(step, x)[0], (2,))


def test_what_a_step_makes_stays_inside():
    leaked = []

    def step(x):
        leaked.append(np.sin(x))
        return leaked[-1], x < 0

    program = traced(lambda x: lw.iterate(step, x)[0] + leaked[-1], ())
    with pytest.raises(TraceError, match="outside of it: carry it, and use what iterate returns"):
        _ = program.live


@pytest.mark.parametrize("most", [-1, 2.5, True])
def test_a_bound_is_a_whole_number(most):
    with pytest.raises(ValueError, match="whole number of rounds"):
        lw.iterate(lambda x: (x, True), 1.0, most=most)


def test_plain_truths_have_no_axes_of_their_own():
    with pytest.raises(ShapeError, match="one truth for each sample"):
        lw.iterate(lambda x: (x, np.zeros((2, 3, 4), bool)), np.zeros((2, 3)))


def test_what_iterate_returns_is_no_result_as_it_is():
    """((a, b), rounds) is a tuple inside a tuple: the error says how to write it."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    halved = lambda q: lw.iterate(lambda a, b: (a / 2, b + 1, np.all(a < 1e-3)), (q, q), 20)
    with pytest.raises(TraceError, match=r"returns a tuple as result 0; .* \(a, b\), rounds = iterate"):
        robot.kernel(halved)(np.ones(2))
    for wrong in (lambda q: [q], lambda q: None, lambda q: {}, lambda q: "x"):
        with pytest.raises(TraceError, match="a kernel returns an array, or a tuple of arrays"):
            robot.kernel(wrong)(np.ones(2))
