"""Kernels are NumPy's own gufuncs: any batch, stride and out=, the same bits always, and never a word of warning."""

import threading
from time import perf_counter, sleep

import numpy as np
import pytest
from real_robots import model
from zoo import CALLS, MECHANISMS, each, planar_2r, state
from zoo.mechanisms import ROBOTS

import linkwork as lw

PANDA = lw.Dynamics(model("panda"))
WAYS = {
    "panda forward_dynamics": (PANDA, "forward_dynamics"),
    "panda mass_matrix": (PANDA, "mass_matrix"),
    "free difference": (ROBOTS["free kernel"], "difference"),
    "free integrate": (ROBOTS["free kernel"], "integrate"),
    "rolled forward_dynamics": (lw.Dynamics(MECHANISMS["chain"], rolled=True), "forward_dynamics pushed"),
    "rolled mass_matrix": (lw.Dynamics(planar_2r(), rolled=True), "mass_matrix"),
}
every_way = pytest.mark.parametrize(("robot", "name"), WAYS.values(), ids=WAYS)
single_or_double = pytest.mark.parametrize("kind", [np.float64, np.float32])


def identical(a, b):
    """To the bit, and of the same kind."""
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a, b)


# --- what they are


@single_or_double
def test_a_kernel_is_a_gufunc_of_numpy(kind):
    def mass_matrix(q):
        return PANDA.mass_matrix(q)

    q = PANDA.neutral().astype(kind)
    f = PANDA.kernel(mass_matrix).gufunc(kind)
    assert isinstance(f, np.ufunc)
    assert (f.__name__, f.signature, f.nin, f.nout) == ("mass_matrix", "(9)->(9,9)", 1, 1)
    assert f.types == [f"{q.dtype.char}->{q.dtype.char}"]
    identical(f(q), PANDA.mass_matrix(q))


def test_a_users_kernel_is_a_gufunc_of_numpy():
    """With as many results as the function has, broadcasting and axes= as NumPy does them."""
    arm = ROBOTS["universal kernel"]
    f = arm.kernel(lambda q, v, gain: (gain * v, arm.mass_matrix(q)), gain=()).gufunc()
    assert isinstance(f, np.ufunc) and f.signature == "(2),(2),()->(2),(2,2)"
    s = state(arm, (5,))
    product, mass = f(s.q, s.v[0], np.arange(5.0))
    identical(product, np.arange(5.0)[:, None] * s.v[0])
    identical(mass, arm.mass_matrix(s.q))
    moved, _ = f(s.q.T, s.v.T, 2.0, axes=[(0,), (0,), (), (0,), (-2, -1)])
    identical(moved, 2 * s.v.T)


# --- the same bits always


@every_way
@single_or_double
def test_the_size_of_a_batch_changes_no_bit(robot, name, kind):
    """f(x[:n]) = f(x)[:n] for every n, one sample alone included."""
    s = each(state(robot, (1000,)), kind)
    whole = CALLS[name](robot, s)
    for n in range(1, 21):
        identical(CALLS[name](robot, each(s, lambda x, n=n: x[:n])), whole[:n])
        identical(CALLS[name](robot, each(s, lambda x, n=n: x[1000 - n])), whole[1000 - n])


STRIDES = {
    "reversed": lambda x: x[::-1].copy()[::-1],
    "reversed core": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "transposed": np.asfortranarray,
    "every other sample": lambda x: np.repeat(x, 2, 0)[::2],
    "every other entry": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "read-only": lambda x: (y := x.copy(), y.setflags(write=False))[0],
    "the other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "not aligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


@every_way
@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("count", [1, 5, 19])
def test_the_way_an_array_lies_in_memory_changes_no_bit(robot, name, stride, count):
    s = state(robot, (count,))
    identical(CALLS[name](robot, each(s, STRIDES[stride])), CALLS[name](robot, s))


@every_way
def test_one_sample_for_all_changes_no_bit(robot, name):
    """Stride zero, in the batch and in the core."""
    s = state(robot)
    many = each(s, lambda x: np.broadcast_to(x, (19, *x.shape)))
    whole = CALLS[name](robot, many)
    identical(whole, np.broadcast_to(CALLS[name](robot, s), whole.shape))
    level = each(s, lambda x: np.broadcast_to(np.full(1, 0.5), (3, *x.shape)))
    identical(CALLS[name](robot, level), CALLS[name](robot, each(level, np.copy)))


@every_way
def test_several_batch_axes_change_no_bit(robot, name):
    s = state(robot, (4, 3, 5))
    whole = CALLS[name](robot, s)
    identical(CALLS[name](robot, each(s, lambda x: x.reshape(60, *x.shape[3:]))).reshape(whole.shape), whole)
    turned = CALLS[name](robot, each(s, lambda x: x.swapaxes(0, 2)))
    identical(turned.swapaxes(0, 2), whole)


@every_way
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4), (10**12, 0)])
def test_no_samples_give_none(robot, name, shape):
    whole = CALLS[name](robot, each(state(robot), lambda x: np.broadcast_to(x, (*shape, *x.shape))))
    assert whole.shape[: len(shape)] == shape


# --- out=

OUTS = {
    "as it would be": lambda shape: np.empty(shape),
    "transposed": lambda shape: np.empty(shape[::-1]).T,
    "every other": lambda shape: np.empty((*shape, 2))[..., 0],
    "reversed": lambda shape: np.empty(shape)[::-1, ..., ::-1],
    "broadcast to more samples": lambda shape: np.empty((2, *shape)),
    "single": lambda shape: np.empty(shape, np.float32),
}


@every_way
@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("count", [1, 11])
def test_any_array_of_the_right_shape_can_be_out(robot, name, out, count):
    s = state(robot, (count,))
    expected = CALLS[name](robot, s)
    place = OUTS[out](expected.shape)
    assert given_out(robot, name, s, place) is place
    np.testing.assert_array_equal(place, np.broadcast_to(expected.astype(place.dtype), place.shape))


def given_out(robot, name, s, out):
    class Into:
        def __getattr__(self, method):
            found = getattr(robot, method)
            return (lambda *x: found(*x, out=out)) if method == name.split()[0] else found

    return CALLS[name](Into(), s)


WRONG_OUTS = {
    "too few samples": lambda shape: np.zeros((shape[0] - 1, *shape[1:])),
    "one sample": lambda shape: np.zeros(shape[1:]),
    "another core": lambda shape: np.zeros((*shape[:-1], shape[-1] + 1)),
    "whole numbers": lambda shape: np.zeros(shape, int),
    "read-only": lambda shape: np.broadcast_to(0.0, shape),
    "a list": lambda shape: np.zeros(shape).tolist(),
    "a number": lambda shape: 0.0,
    "two of them": lambda shape: (np.zeros(shape), np.zeros(shape)),
}


@every_way
@pytest.mark.parametrize("out", WRONG_OUTS)
def test_an_out_that_cannot_take_the_result_is_refused(robot, name, out):
    s = state(robot, (5,))
    expected = CALLS[name](robot, s)
    with pytest.raises((TypeError, ValueError)):
        given_out(robot, name, s, WRONG_OUTS[out](expected.shape))
    identical(CALLS[name](robot, s), expected)


@pytest.mark.parametrize("count", [1, 3, 11, 5000])
@pytest.mark.parametrize("robot", [PANDA, WAYS["rolled forward_dynamics"][0]], ids=["straight", "rolled"])
def test_out_may_be_an_input(robot, count):
    """Whole, or shifted by some entries: the result is as if the inputs had been copied first."""
    s = state(robot, (count,))
    expected = robot.forward_dynamics(s.q, s.v, s.tau)
    for name in "v", "tau":
        same = each(s, np.copy)
        robot.forward_dynamics(same.q, same.v, same.tau, out=getattr(same, name))
        identical(getattr(same, name), expected)
        n = s.tau.size
        for shift in 1, robot.nv:
            memory = np.zeros(n + shift)
            before, after = memory[:n].reshape(s.tau.shape), memory[shift:].reshape(s.tau.shape)
            before[...] = s.tau
            robot.forward_dynamics(s.q, s.v, before, out=after)
            identical(after, expected)
    alone = s.v[0].copy()
    robot.forward_dynamics(s.q[0], alone, s.tau[0], out=alone)
    identical(alone, expected[0])


@pytest.mark.parametrize("function", [lambda x: x[::-1], lambda x: np.cumsum(x[::-1]), lambda x: np.roll(x, 1)])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (11,), (3, 2)], ids=str)
def test_out_may_be_an_input_however_entries_change_places(function, shape, rng):
    """One sample is read to its end before anything is written, in the user's memory too."""
    kernel, x = PANDA.kernel(function, x=40), rng.standard_normal((*shape, 40))
    expected = kernel(x.copy())
    kernel(x, out=x)
    identical(x, expected)


# --- numbers that are none


@every_way
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e308, 5e-324])
def test_a_strange_number_stays_in_its_sample_and_warns_nobody(robot, name, strange):
    s = state(robot, (19,))
    spoiled = each(s, np.copy)
    for x in vars(spoiled).values():
        x[7] = strange
    with np.errstate(all="raise"):
        good, bad = CALLS[name](robot, s), CALLS[name](robot, spoiled)
        alone = CALLS[name](robot, each(spoiled, lambda x: x[7]))
    identical(np.delete(bad, 7, 0), np.delete(good, 7, 0))
    identical(bad[7], alone)
    assert np.isnan(bad[7]).any() or not np.isnan(strange)


@every_way
def test_a_warning_of_the_users_own_survives_a_call(robot, name):
    """Floating-point flags are left as they were, also those that were up."""
    s = state(robot, (3,))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        CALLS[name](robot, each(s, lambda x: x * 1e308))
        np.array([1.0]) / np.array([0.0])


# --- the GIL


def test_python_goes_on_while_a_kernel_runs():
    """Another thread of Python takes notes during one long call."""
    threads = lw.get_threads()
    lw.set_threads(1)
    s = each(state(PANDA), lambda x: np.broadcast_to(x, (500_000, *x.shape)))
    out, notes, done = np.empty((500_000, PANDA.nv)), [], threading.Event()

    def take_notes():
        while not done.is_set():
            notes.append(perf_counter())
            sleep(1e-4)

    PANDA.forward_dynamics(s.q[:1], s.v[:1], s.tau[:1])
    other = threading.Thread(target=take_notes)
    other.start()
    start = perf_counter()
    PANDA.forward_dynamics(s.q, s.v, s.tau, out=out)
    end = perf_counter()
    done.set()
    other.join()
    lw.set_threads(threads)
    during = [t for t in notes if start + 0.1 * (end - start) < t < end - 0.1 * (end - start)]
    assert len(during) > 3
