"""The short way for one sample gives what the gufunc gives, and leaves to it whatever it is not made for."""

import gc
import sys

import numpy as np
import pytest
from real_robots import model

import linkwork as lw
from linkwork.engine.loading.call import arrays_are_as_known
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input

PANDA = lw.Dynamics(model("panda"))
KINDS = pytest.mark.parametrize("kind", [np.float64, np.float32])


def ways(kind, function=lambda a, b: np.stack([a * b[0], a + b[1]]), shapes=((3,), (2,))):
    """(gufunc, call) of a function of two arrays."""
    kernel = Kernel("both", function, tuple(Input(name, shape) for name, shape in zip("ab", shapes)))
    return kernel.gufunc(np.dtype(kind).char), kernel.call(np.dtype(kind).char)


class Marked(np.ndarray):
    """A subclass of arrays."""


def read_only(x):
    x.flags.writeable = False
    return x


ODD = {
    "contiguous": lambda x: x,
    "read-only": read_only,
    "batch": lambda x: np.stack([x, 2 * x]),
    "batch of one": lambda x: x[None],
    "strided": lambda x: np.repeat(x, 2)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "list": list,
    "whole numbers": lambda x: np.arange(len(x), dtype=np.int16),
    "subclass": lambda x: x.view(Marked),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "not aligned": lambda x: np.frombuffer(b"1" + x.tobytes(), np.int8)[1:].view(x.dtype),
    "NaN": lambda x: np.full_like(x, np.nan),
}


@KINDS
@pytest.mark.parametrize("first", ODD)
@pytest.mark.parametrize("second", ODD)
def test_the_short_way_does_what_the_gufunc_does(kind, first, second):
    gufunc, call = ways(kind)
    a, b = ODD[first](np.array([1.5, -2, 3], kind)), ODD[second](np.array([0.25, 7], kind))
    want, got = gufunc(a, b), call(a, b)
    assert type(got) is type(want) and got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@KINDS
def test_the_short_way_is_there_and_makes_arrays_like_any_other(kind):
    gufunc, call = ways(kind)
    assert arrays_are_as_known() and call is not gufunc
    out = call(np.ones(3, kind), np.ones(2, kind))
    assert out.flags.owndata and out.flags.c_contiguous and out.flags.writeable and out.base is None and out.shape == (2, 3)


def test_names_reach_the_gufunc():
    _, call = ways(float)
    a, b, out = np.ones(3), np.ones(2), np.empty((2, 3))
    assert call(a, b, out=out) is out
    np.testing.assert_array_equal(out, [[1, 1, 1], [2, 2, 2]])
    np.testing.assert_array_equal(call(a, b, axes=[0, 0, (1, 0)]), out.T)


WRONG = {
    "too few": lambda call: call(np.ones(3)),
    "too many": lambda call: call(*[np.ones(3)] * 4),
    "too short": lambda call: call(np.ones(2), np.ones(2)),
    "too long": lambda call: call(np.ones(3), np.ones(3)),
    "no core": lambda call: call(np.float64(1), np.ones(2)),
    "text": lambda call: call("abc", np.ones(2)),
    "nothing": lambda call: call(),
    "None": lambda call: call(None, np.ones(2)),
    "complex": lambda call: call(np.ones(3, complex), np.ones(2)),
    "unknown name": lambda call: call(np.ones(3), np.ones(2), into=None),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_call_is_told_what_numpy_tells(wrong):
    gufunc, call = ways(float)
    told = []
    for way in (gufunc, call):
        with pytest.raises((TypeError, ValueError)) as error:
            WRONG[wrong](way)
        told.append(str(error.value))
    assert told[0] == told[1]


def test_several_results_and_scalars_are_left_to_numpy():
    for function in (lambda a, b: (a, b), lambda a, b: a @ a):
        gufunc, call = ways(float, function)
        assert call is gufunc


def test_nothing_is_lost_or_kept_by_calls():
    """Neither references nor memory grow."""
    q, (_, call) = np.zeros(9), ways(float)
    a, b = np.ones(3), np.ones(2)
    watched = q, a, b, np.dtype(float), np.ndarray
    PANDA.mass_matrix(q), call(a, b)
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(1000):
        PANDA.mass_matrix(q), call(a, b), call(a[None], b)
    after = [sys.getrefcount(x) for x in watched]
    assert max(abs(x - y) for x, y in zip(before, after)) < 20


def test_a_robots_methods_go_the_short_way_for_one_state():
    q, v = PANDA.random_state(seed=0)
    many = PANDA.inverse_dynamics(*(np.stack([x, x]) for x in (q, v, v)))
    np.testing.assert_array_equal(PANDA.inverse_dynamics(q, v, v), many[0])
    assert "built-in" in repr(PANDA._ready[q.dtype]["inverse_dynamics"])
