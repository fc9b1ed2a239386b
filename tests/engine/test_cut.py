"""A program that is cut at its holes gives the bits of the whole one, and calls each hole once."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running.cut import Cut
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.tracing.routines import Routine
from linkwork.errors import TraceError

X = Input("x", (3,))


def force(x, y):
    """Something that is called in the middle of a program: a vector of two from a vector of three and a number."""
    return np.stack([np.sin(x[0]) * x[1] + y, x[2] / (1.0 + y * y)])


FORCE = [Input("x", (3,)), Input("y", ())]
compiled_force = Kernel("force", force, tuple(FORCE)).gufunc("d")
routine = Routine(record("force", force, FORCE))


def program(call):
    """A function of x that calls a force twice, with products that one sum uses in one part, or in another part than they are made in."""

    def function(x):
        a, b = x[0] * x[1], x[1] * x[2]
        f = call(np.stack([a + x[2], np.cos(b), x[0]]), a)
        c = f[0] * x[0] + a * b
        g = call(np.stack([c, f[1] * b + c, np.where(c > a, f[0], x[1])]), x[2] * f[1])
        return np.stack([g[0] * a + f[1] * b, c * f[0] - g[1] * x[2], np.where((c > a) & (g[0] < f[0]), a * b, g[0] * g[1])]), a * f[0] + b

    return function


def cut_at_forces(**options):
    return Cut("cut", lambda holes, x: program(lambda *a: holes("force", (2,), *a))(x), (X,), **options)


def results(cut, functions, x):
    out = cut(functions, x)
    return [out[place].reshape(part) for place, part in zip(cut.slices, cut.parts[-1].shapes)]


def samples(n=50):
    return np.random.default_rng(3).normal(size=(n, 3))


def test_the_bits_of_a_cut_program_are_those_of_the_whole():
    """k_n ∘ f ∘ ... f ∘ k_0 = k, of which f is a routine."""
    whole = Kernel("whole", program(lambda *a: routine(*a)[0]), (X,)).gufunc("d")
    cut = cut_at_forces()
    for x in samples():
        assert all(np.array_equal(a, b) for a, b in zip(results(cut, {"force": compiled_force}, x), whole(x)))


def test_routines_are_borders_of_a_cut_program_too():
    """A routine is one kernel for all its calls, with the same bits."""

    def mixed(call):
        def function(x):
            y = routine(x, x[0])[0]
            z = routine(np.stack([y[0], y[1], x[2] * y[0]]), x[1])[0]
            return call(np.stack([z[0], y[0], x[1]]), z[1]) * y + x[0] * z

        return function

    whole = Kernel("whole", mixed(lambda *a: routine(*a)[0]), (X,)).gufunc("d")
    cut = Cut("mixed", lambda holes, x: mixed(lambda *a: holes("force", (2,), *a))(x), (X,))
    assert [part.routine for part in cut.parts] == [0, 0, None, None] and len(cut.functions) == len(cut.parts) + 1
    for x in samples():
        assert np.array_equal(*results(cut, {"force": compiled_force}, x), whole(x))


def test_a_hole_is_called_once_with_arrays_that_are_read_only():
    """The functions see each state once, and cannot change it."""
    seen = []

    def called(x, y):
        seen.append((x.copy(), float(y)))
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1.0
        return compiled_force(x, y)

    x = samples(1)[0]
    results(cut_at_forces(), {"force": called}, x)
    a = x[0] * x[1]
    assert len(seen) == 2 and seen[0][1] == a and np.array_equal(seen[0][0], [a + x[2], np.cos(x[1] * x[2]), x[0]])


def test_loops_are_whole_in_a_part():
    """√a by Newton's method, before and after a hole."""

    def root(a):
        y, _ = lw.iterate(lambda y: (0.5 * (y + a / y), np.abs(y * y - a) < 1e-14 * a), 0.0 * a + 1.0, most=50)
        return y

    function = lambda call: lambda x: np.stack([root(call(x * x, root(x @ x))[0] ** 2 + 1.0), root(x @ x + 1.0)])
    whole = Kernel("whole", function(lambda *a: routine(*a)[0]), (X,)).gufunc("d")
    cut = Cut("roots", lambda holes, x: function(lambda *a: holes("force", (2,), *a))(x), (X,))
    for x in samples():
        assert np.array_equal(*results(cut, {"force": compiled_force}, x), whole(x))


def test_a_program_ends_early_where_it_says_so():
    """Behind `end_where` no hole is called."""

    def function(holes, x):
        y = holes("first", (), x[0])
        holes.end_where(y > 0, -y, x)
        z = holes("second", (3,), y)
        return y * z[0], z

    cut, x = Cut("early", function, (X,)), np.array([1.0, 2.0, 3.0])
    calls = []
    functions = {"first": lambda a: np.array([a - x[1]]), "second": lambda y: calls.append(y) or np.array([y, 1.0, 2.0])}
    assert [a.tolist() for a in results(cut, functions, x)] == [1.0, [-1.0, 1.0, 2.0]] and len(calls) == 1
    assert [a.tolist() for a in results(cut, functions, 3 * x)] == [-1.0, [3.0, 6.0, 9.0]] and len(calls) == 1


def test_a_hole_inside_of_a_loop_is_refused():
    """A loop is compiled, and cannot wait for Python."""

    def function(holes, x):
        y, _ = lw.iterate(lambda y: (holes("force", (2,), x, y)[0], y > 1), x[0], most=10)
        return y

    with pytest.raises(TraceError, match="iterate cannot call"):
        Cut("loop", function, (X,)).parts  # noqa: B018


def test_a_hole_inside_of_a_routine_is_refused():
    """A routine is another trace."""

    def function(holes, x):
        inner = lambda x: x * holes("force", (3,), x)
        return Routine(record("inner", inner, [X]))(x)[0]

    with pytest.raises(TraceError, match="hole of another trace"):
        Cut("inner", function, (X,)).parts  # noqa: B018


def test_what_is_on_disk_is_not_traced_again(tmp_path, monkeypatch):
    """With a content, a second process finds the parts and their kernels by it."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))
    x = samples(1)[0]
    first = results(cut_at_forces(content="a cut of this test"), {"force": compiled_force}, x)
    again = Cut("cut", lambda *_: pytest.fail("traced again"), (X,), content="a cut of this test")
    assert all(map(np.array_equal, results(again, {"force": compiled_force}, x), first))
