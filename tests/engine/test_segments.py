"""Segments: kernels repeated as often as each sample asks, rows kept; and routines, which a kernel calls several times."""

import numpy as np
import pytest
from emulated import emulated
from test_ptx import assembled

from linkwork.engine.loading import interpreter
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running import ptx_repeat
from linkwork.engine.running.repeat import Form, Repeat
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.tracing.routines import Routine
from linkwork.errors import TraceError


def halve(x, count, limit):
    """x ← x/2, or 3x + 1 on odd numbers, until 1; odd numbers are kept, with their square."""
    odd = np.floor(x / 2) * 2 < x
    new = np.where(odd, 3 * x + 1, x / 2)
    return new, count + 1, np.stack([x, x * x]), np.where(odd, 1.0, 0.0), np.where((new <= 1) | (count + 1 >= limit), 1.0, 0.0)


INPUTS, FORM = (Input("x", ()), Input("count", ()), Input("limit", ())), Form(2, keeps=True, leaves=True)


def plain(x, limit, capacity):
    kept, count = [], 0
    while True:
        new, count, row, keep, done = halve(x, count, limit)
        kept += [row] if keep else []
        x = float(new)
        if done or len(kept) == capacity:
            return x, count, kept


@pytest.mark.parametrize("wide", [False, True], ids=["one by one", "lanes"])
@pytest.mark.parametrize("samples", [1, 3, 8, 37])
def test_each_sample_takes_its_own_rounds_and_keeps_its_own_rows(wide, samples):
    """The Collatz sequence of each number, until 1, some rounds, or so many odd numbers."""
    segment = Repeat(Kernel("halve", halve, INPUTS), "d", FORM, wide)
    x, count, limit = np.arange(1.0, samples + 1) ** 2, np.zeros(samples), np.linspace(5, 200, samples)
    rows, counts = np.full((samples, 6, 2), np.nan), np.zeros(samples)
    start = x.copy()
    segment.rounds([x, count, limit], [rows], counts, 6)
    for i in range(samples):
        last, rounds, kept = plain(start[i], limit[i], 6)
        assert (x[i], count[i], counts[i]) == (last, rounds, len(kept))
        np.testing.assert_array_equal(rows[i, : len(kept)], np.reshape(kept, (len(kept), 2)))
        assert np.isnan(rows[i, len(kept) :]).all()


def test_threads_and_strides_change_no_bits():
    """10,000 samples over all threads, from arrays with other strides."""
    segment = Repeat(Kernel("halve", halve, INPUTS), "d", FORM)
    found = []
    for gap in (1, 3):
        x, count, limit = (np.zeros((10_000, gap))[:, 0] for _ in range(3))
        x[:], limit[:] = np.arange(2, 10_002), 300
        rows, counts = np.zeros((10_000, 4, 2 * gap))[..., ::gap], np.zeros(10_000)
        segment.rounds([x, count, limit], [rows], counts, 4)
        found.append((x.copy(), count.copy(), rows.copy(), counts))
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


def pulled(x, speed, pull, stop):
    """A body that is pulled in each round, until it is beyond a place; what it was in even rounds is kept."""
    speed = speed + 0.1 * pull
    return x + 0.1 * speed, speed, x + 0.1 * speed, np.where(speed > 0, 1.0, 0.0), np.where(x + 0.1 * speed > stop, 1.0, 0.0)


def plain_pulls(x, speed, pulls, stop, capacity, most):
    kept = []
    for count in range(1, most + 1):
        x, speed, row, keep, done = pulled(x, speed, pulls[count - 1], stop)
        kept += [row] if keep else []
        if done or len(kept) == capacity:
            break
    return x, speed, kept, count, count if done else most + 1


PULLED = tuple(Input(name, ()) for name in ("x", "speed", "pull", "stop"))


@pytest.mark.parametrize("keeps", [True, False], ids=["rows", "rounds"])
@pytest.mark.parametrize("wide", [False, True], ids=["one by one", "lanes"])
def test_each_sample_reads_its_streams_at_its_own_rounds(keeps, wide, rng):
    """Also a sample that took the lane of another, and whatever the others read."""
    samples, most, capacity = 37, 25, 9 if keeps else 1 << 30
    function = pulled if keeps else lambda *x: (lambda a, b, row, keep, done: (a, b, done))(*pulled(*x))
    repeat = Repeat(Kernel("pulled", function, PULLED), "d", Form(2, 1, keeps=keeps, leaves=True), wide)
    x, speed, stop = rng.standard_normal(samples), rng.standard_normal(samples), rng.uniform(0, 4, samples)
    pulls, start = rng.standard_normal((samples, most)) + 0.5, (x.copy(), speed.copy())
    rows, counts = [np.full((samples, 9), np.nan)] if keeps else [], np.zeros(samples)
    repeat.rounds([x, speed, pulls, stop], rows, counts, capacity, most)
    lengths = set()
    for i in range(samples):
        last, fast, kept, count, number = plain_pulls(start[0][i], start[1][i], pulls[i], stop[i], capacity, most)
        np.testing.assert_allclose([x[i], speed[i], counts[i]], [last, fast, len(kept) if keeps else number], rtol=1e-13)
        if keeps:
            np.testing.assert_allclose(rows[0][i, : len(kept)], kept, rtol=1e-13)
        lengths.add(count)
    assert len(lengths) > 5


@pytest.mark.parametrize("keeps", [True, False], ids=["rows", "rounds"])
def test_streams_of_samples_that_leave_are_the_same_on_the_gpu(keeps, rng, tmp_path):
    samples, most, capacity = 70, 25, 9
    function = pulled if keeps else lambda *x: (lambda a, b, row, keep, done: (a, b, done))(*pulled(*x))
    kernel, form = Kernel("pulled", function, PULLED), Form(2, 1, keeps=keeps, leaves=True)
    x, speed, stop = rng.standard_normal(samples), rng.standard_normal(samples), rng.uniform(0, 4, samples)
    pulls, goes, start = rng.standard_normal((samples, most)), np.ones(samples), (x.copy(), speed.copy())
    rows, counts = [np.zeros((samples, capacity))] if keeps else [], np.zeros(samples)
    Repeat(kernel, "d", form).rounds([x, speed, pulls, stop], rows, counts, capacity, most)
    found = [np.zeros(samples), np.zeros(samples), *map(np.zeros_like, rows), np.zeros(samples)]
    places = [(start[0], 1), (start[1], 1), (pulls, most), (stop, 1), *((y, y[0].size) for y in found)]
    text = ptx_repeat.text(kernel.program, "double", ("rows",) * len(places), form)
    arguments = [y for array, step in places for y in (array.ctypes.data, step)] + [1] * (1 + keeps)
    emulated(text)(samples, samples, most, capacity, goes.ctypes.data, *arguments)
    for one, other in zip(found, (x, speed, *rows, counts), strict=True):
        np.testing.assert_array_equal(one, other)
    assembled(text, tmp_path)


def test_a_kernel_that_does_not_return_what_it_says_is_told():
    wrong = {Form(1): lambda x: (x, x), Form(1, leaves=True): lambda x: (x, x)}
    wrong[Form(1, keeps=True, leaves=True)] = lambda x: (x[:2], x[0], x[0])
    for form, function in wrong.items():
        with pytest.raises(TraceError, match="f cannot be repeated: it returns its first 1 arguments anew"):
            Repeat(Kernel("f", function, (Input("x", (3,)),)), "d", form)


def turned(x, y):
    return np.sin(x) @ y, np.stack([x[0], y[1] * y[1]])


ROUTINE = Routine(record("turned", turned, (Input("x", (3,)), Input("y", (3,)))))


def chain(turn, x, y):
    """y through a function again and again."""
    for k in range(5):
        a, b = turn(x + 0.1 * k, y)
        y = y + np.stack([a, b[0], b[1]]) / 7
    return y, 2 * y


def test_a_routine_is_what_it_computes(rng):
    """The kernel with calls, the kernel without, the interpreter and NumPy."""
    inputs = Input("x", (3,)), Input("y", (3,))
    with_calls = Kernel("with calls", lambda x, y: chain(ROUTINE, x, y), inputs)
    without = Kernel("without", lambda x, y: chain(turned, x, y), inputs)
    assert len(with_calls.program.routines) == 1
    assert with_calls.program.own_operations.total() < without.program.operations.total() <= with_calls.program.operations.total()
    x, y = rng.standard_normal((2, 37, 3))
    x[5] *= 1e6  # an angle past the short range reduction
    expected = [np.array(z) for z in zip(*(chain(turned, a, b) for a, b in zip(x, y)))]
    for found in (with_calls.gufunc("d")(x, y), without.gufunc("d")(x, y), interpreter.run(with_calls.program, {"x": x, "y": y})):
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(with_calls.gufunc("d")(x, y)[0][7], with_calls.call("d")(x[7], y[7])[0])


def test_a_routine_in_a_program_in_pieces(rng):
    """Calls in a program of more than 5,000 operations, and a routine of as many."""
    def long(x, y):
        for k in range(350):
            y = y * np.sqrt(1.0 + y * y) / (1.0 + 1e-3 * k) + x
            y = y / (1.0 + np.abs(y))
        return y

    inputs = Input("x", (2,)), Input("y", (2,))
    routine = Routine(record("long", long, inputs))
    called = Kernel("called", lambda x, y: long(x, *routine(x, y)), inputs)
    x, y = rng.standard_normal((2, 9, 2))
    np.testing.assert_allclose(called.gufunc("d")(x, y), long(x, long(x, y)), rtol=1e-9)


def test_text_without_routines_says_so():
    from linkwork.engine.writers import c

    inputs = Input("x", (3,)), Input("y", (3,))
    with pytest.raises(TraceError, match="turned"):
        c.source(record("chain", lambda x, y: chain(ROUTINE, x, y), inputs), "chain", "float64", "chain.h")
