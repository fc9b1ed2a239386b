"""Loops that may make no round, and branches: the same in NumPy, in kernels of every width, in C and in PTX, and nothing where no sample
needs them."""

import numpy as np
import pytest
from test_c import called, library, needs_compiler
from test_pieces import in_pieces
from test_ptx import assembled
from test_ptx_emulated import run as on_gpu

import linkwork as lw
from linkwork.engine.differentiation.derived import Derived
from linkwork.engine.loading import interpreter
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running import ptx
from linkwork.engine.tracing.operations import meanings
from linkwork.engine.tracing.program import Input, evaluate
from linkwork.engine.writers import c
from linkwork.lie.iteration import branch


def strike(x, v):
    return np.abs(x), -0.5 * v + 0.1 * np.sin(x)


def struck(x, v):
    """A body that meets the ground."""
    return branch(np.min(x, -1) < 0, strike, (x, v))


def long(x, v):
    """More operations than are written in place: their bodies are called, as assembly where that is written."""
    for _ in range(130):
        x, v = 0.7 * x + 0.3 * v * x[..., ::-1], 0.6 * v - 0.2 * x[..., ::-1] * v + 0.1
    return x, v


def struck_hard(x, v):
    return branch(np.min(x, -1) < 0, long, (x, v))


def roots(x, v):
    """Rounds of Newton's method, and none for those that are below one."""

    def closer(y, around):
        change = (y * y - around) / (2 * y)
        return y - change, around, np.max(np.abs(change), -1) < 1e-6

    (y, around), rounds = lw.iterate(closer, (1.0 + 0.0 * x, np.abs(v) + 1), 40, unless=np.min(x, -1) >= 0)
    return y, around * rounds[..., None]


def nested(x, v):
    """A search in a branch."""

    def halved(x, v):
        y, rounds = lw.iterate(lambda y: (y / 2, np.max(np.abs(y), -1) < 0.1), x, 30)
        return y, v + rounds[..., None]

    return branch(np.min(x, -1) < 0, halved, (x, v))


FUNCTIONS = {"struck": struck, "struck_hard": struck_hard, "roots": roots, "nested": nested}
MEANT = {"struck": strike, "struck_hard": long}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_kind = pytest.mark.parametrize("kind", [np.float64, np.float32])


def kernel(name):
    return Kernel(name, FUNCTIONS[name], (Input("x", (3,)), Input("v", (3,))))


def states(kind, rng, count=45):
    """One of eight samples strikes; the last seventeen do not."""
    x, v = rng.uniform(0.1, 1, (count, 3)), rng.standard_normal((count, 3))
    x[: count - 17 : 8, 1] *= -1
    return x.astype(kind), v.astype(kind)


@pytest.mark.parametrize("name", MEANT)
def test_a_branch_is_a_choice(name, rng):
    """f(values) where the truth holds, else the values."""
    x, v = states(np.float64, rng)
    hit = (x.min(-1) < 0)[:, None]
    for found in (FUNCTIONS[name](x, v), kernel(name).gufunc("d")(x, v)):
        for a, b, start in zip(found, MEANT[name](x, v), (x, v)):
            np.testing.assert_allclose(a, np.where(hit, b, start), rtol=1e-13, atol=1e-13)
            np.testing.assert_array_equal(a[~hit[:, 0]], start[~hit[:, 0]])


@every_function
@every_kind
def test_every_way_gives_the_same(name, kind, rng):
    """NumPy, the interpreter and the kernel."""
    arrays, eps = states(kind, rng), np.finfo(kind).eps
    plain = FUNCTIONS[name](*arrays)
    stepped = interpreter.run(kernel(name).program, dict(zip("xv", arrays)))
    compiled = kernel(name).gufunc(np.dtype(kind).char)(*arrays)
    for a, b, d in zip(compiled, plain, stepped):
        np.testing.assert_allclose(a, b, rtol=100 * eps, atol=100 * eps)
        np.testing.assert_allclose(a, d, rtol=100 * eps, atol=100 * eps)


@every_function
@every_kind
def test_a_batch_has_the_bits_of_single_calls(name, kind, rng):
    """Whoever shares the vector, and whether any of them needs a round."""
    arrays, f = states(kind, rng), kernel(name).gufunc(np.dtype(kind).char)
    single = [np.stack(x) for x in zip(*(f(*(x[i] for x in arrays)) for i in range(45)))]
    for some in (slice(None), slice(1, 3), slice(30, 45), slice(44, None, -1), slice(0, 9)):
        for a, b in zip(f(*(x[some] for x in arrays)), single):
            np.testing.assert_array_equal(a, b[some])


@every_function
def test_pieces_have_the_same_bits(name, rng, monkeypatch):
    arrays = states(np.float64, rng)
    whole = kernel(name).gufunc("d")(*arrays)
    in_pieces(monkeypatch, 5)
    for a, b in zip(kernel(name).gufunc("d")(*arrays), whole):
        np.testing.assert_array_equal(a, b)


@every_function
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_the_gpu_has_the_same_bits(name, dtype, rng, tmp_path):
    arrays = states({"double": np.float64, "float": np.float32}[dtype], rng, 70)
    expected = kernel(name).gufunc(dtype[0])(*arrays)
    found, _ = on_gpu(kernel(name).program, dtype, "rows", arrays, [x.shape[1:] for x in expected])
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)
    assembled(ptx.text(kernel(name).program, dtype, ("rows",) * 4), tmp_path)


@needs_compiler
@every_function
def test_c_gives_the_same(name, rng, tmp_path):
    program, arrays = kernel(name).program, states(np.float64, rng)
    for ending, text in (("c", c.source(program, name, "float64", f"{name}.h")), ("h", c.header(program, name, "float64"))):
        (tmp_path / f"{name}.{ending}").write_text(text)
    found = called(getattr(library(tmp_path / f"{name}.c", tmp_path), name), program, dict(zip("xv", arrays)), np.float64)
    for a, b in zip(found, kernel(name).gufunc("d")(*arrays)):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", ["struck", "roots"])
def test_derivatives_are_those_of_the_side_that_is_taken(name, rng):
    """Forwards and backwards, against differences of complex steps on each side."""
    x, v = states(np.float64, rng)
    derived = Derived(name, FUNCTIONS[name], kernel(name).inputs)
    dx, dv = rng.standard_normal((2, *x.shape))
    forwards = Kernel("jvp", derived.jvp, (*derived.inputs, *derived.rates)).gufunc("d")(x, v, dx, dv)
    eps = 1e-6
    before, after = (FUNCTIONS[name](x + s * dx, v + s * dv) for s in (-eps, eps))
    for a, low, high in zip(forwards, before, after):
        np.testing.assert_allclose(a, (high - low) / (2 * eps), rtol=1e-6, atol=1e-7)
    weights = rng.standard_normal((2, *x.shape))
    backwards = Kernel("vjp", derived.vjp, (*derived.inputs, *derived.weights)).gufunc("d")(x, v, *weights)
    one, other = sum((w * a).sum() for w, a in zip(weights, forwards)), (backwards[0] * dx).sum() + (backwards[1] * dv).sum()
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_where_no_sample_needs_it_nothing_is_computed(rng):
    """In NumPy the function is not called; in a program the body of the loop is not run."""
    x, v = states(np.float64, rng)
    calls, sines = [], []
    rare = lambda x, v: (calls.append(1), strike(x, v))[1]
    for some, count in ((slice(28, None), 0), (slice(None), 1)):
        branch(np.min(x[some], -1) < 0, rare, (x[some], v[some]))
        assert len(calls) == count
        counted = {"sin": lambda a: (sines.append(1), np.sin(a))[1]}
        evaluate(kernel("struck").program, {"x": x[some].T, "v": v[some].T}, meanings("value") | counted, np.float64)
        assert len(sines) == 3 * count


def test_a_loop_says_when_it_makes_no_round():
    assert "none unless some x" in str(kernel("struck").program)


@pytest.mark.parametrize("truth", [True, False])
def test_a_branch_that_is_known_beforehand_is_no_loop(truth):
    program = Kernel("known", lambda x, v: branch(np.array(truth), strike, (x, v)), kernel("struck").inputs).program
    assert not program.loops and bool(program.operations["sin"]) == truth


def test_rounds_that_are_not_made_are_not_counted():
    x = np.array([1.0, 8.0, 8.0])
    found, rounds = lw.iterate(lambda x: (x / 2, x <= 2), x, 10, unless=np.array([False, False, True]))
    np.testing.assert_array_equal(found, [0.5, 1.0, 8.0])
    np.testing.assert_array_equal(rounds, [1, 3, 0])
