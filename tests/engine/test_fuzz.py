"""Random calls, most of them malformed: each ends in a clear error or in the right result, never in a crash.

The calls are made in a process of their own, so that one that dies is seen here as a failure.
"""

import inspect

import numpy as np
import pytest
from fresh import python
from zoo import MECHANISMS, plain, state

import linkwork as lw

ERRORS = lw.LinkworkError, TypeError, ValueError, MemoryError
METHODS = {
    "mass_matrix": "q", "mass_matrix_inverse": "q", "inverse_dynamics": "q v vdot", "forward_dynamics": "q v tau",
    "inverse_dynamics pushed": "q v vdot external", "forward_dynamics pushed": "q v tau external", "bias": "q v",
    "gravity_force": "q", "coriolis_matrix": "q v", "passive_force": "q v", "kinetic_energy": "q v", "integrate": "q v",
    "potential_energy": "q", "center_of_mass": "q", "poses": "q", "pose": "q body", "jacobian": "q body axes", "qdot": "q v",
}  # fmt: skip


# --- what is done to an argument


def another_shape(x, rng):
    return np.resize(x, tuple(rng.integers(0, 5, rng.integers(0, 4))))


def an_axis_more(x, rng):
    return np.expand_dims(x, rng.integers(0, x.ndim + 1))


def one_entry_less(x, rng):
    return x[..., :-1] if x.ndim else x


def another_kind(x, rng):
    return x.astype(rng.choice(["f4", "f2", "i8", "i1", "u1", "?", "c16", "g", "O", "U3", "S2", ">f8", "m8[s]", "M8[s]", "V4"]))


def strange_numbers(x, rng):
    return np.where(rng.random(x.shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0]), x)


def no_array(x, rng):
    odd = [None, "q", b"q", 3, 2.5, 1j, True, {}, {"q": x}, [], [[1.0], [1.0, 2.0]], object(), lambda: x, slice(3)]
    return odd[rng.integers(len(odd))]


def as_lists(x, rng):
    return x.tolist()


def strided(x, rng):
    return np.repeat(x, 2, -1)[..., ::-2][..., ::-1] if x.ndim else x


def transposed(x, rng):
    return x.T


def read_only(x, rng):
    x = x.copy()
    x.flags.writeable = False
    return x


def very_many(x, rng):
    return np.broadcast_to(x, (int(rng.choice([0, 1, 5000])), *x.shape))


def far_too_many(x, rng):
    return np.broadcast_to(x, (2**50 if x.size else 1, *x.shape))


def not_aligned(x, rng):
    return np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape)


def masked(x, rng):
    return np.ma.array(x)


HARM = [f for f in list(globals().values()) if inspect.isfunction(f) and list(inspect.signature(f).parameters) == ["x", "rng"]]


def output(shape, inputs, rng):
    """Something to write into: a good array, or nearly one; an array of no memory of its own; an input."""
    good = np.full(shape, 7.0)
    if rng.random() < 0.3:
        return good
    alike = [x for x in inputs if np.shape(x) == shape]
    if alike and rng.random() < 0.3:
        return alike[0]
    return HARM[rng.integers(len(HARM) - 1)](good, rng)  # not masked: NumPy's gufuncs will not have that


# --- one call


def drawn_call(robot, rng):
    """A method, its arguments and what else it is told; most of the time with something wrong."""
    batch = tuple(rng.integers(1, 4, rng.integers(0, 3)))
    s = state(robot, batch, int(rng.integers(1000)))
    s.body, s.axes = robot.bodies[rng.integers(len(robot.bodies))], "world"
    name = list(METHODS)[rng.integers(len(METHODS))]
    arguments = [getattr(s, x) for x in METHODS[name].split()]
    named = {}
    if rng.random() < 0.3:
        result = getattr(robot, name.split()[0])(*arguments)
        named["out"] = output(result.shape, arguments, rng)
    for i in rng.permutation(len(arguments))[: rng.integers(0, 3)]:
        if isinstance(arguments[i], str):
            arguments[i] = ["hand", 3, None, "", ["a"], arguments[i]][rng.integers(6)]
        elif isinstance(arguments[i], np.ndarray):
            arguments[i] = HARM[rng.integers(len(HARM))](arguments[i], rng)
    if rng.random() < 0.05:
        arguments.pop()
    return name.split()[0], arguments, named


def outcome(robot, method, arguments, named):
    """The result, or the error: of a kind that is meant for people, and saying something."""
    if isinstance(named.get("out"), np.ndarray) and not any(named["out"] is x for x in arguments):
        named = {"out": named["out"].copy(order="K") if named["out"].flags.writeable else named["out"]}
    try:
        with np.errstate(all="raise"):
            return np.array(getattr(robot, method)(*arguments, **named), copy=True)
    except ERRORS as error:
        assert str(error), repr(error)
        return error


def ordinary(x):
    """Which numbers are neither huge nor tiny?"""
    size = np.abs(x).astype(float)
    return (size < 1e30) & ((size > 1e-30) | (size == 0))


def once(x):
    """Of an entry that is repeated without end, one."""
    return x[tuple(slice(None) if step else slice(1) for step in x.strides)]


def same(kernel, sweep, arguments):
    """Both errors, or both results and equal. What is not finite may spread further in one than in the other."""
    if isinstance(kernel, Exception) or isinstance(sweep, Exception):
        both = isinstance(kernel, Exception) and isinstance(sweep, Exception)
        assert both or isinstance(kernel, MemoryError) or isinstance(sweep, MemoryError)
        return
    assert kernel.shape == sweep.shape and kernel.dtype == sweep.dtype
    if kernel.dtype.kind not in "fc":
        return
    numbers = [x for x in map(np.asarray, (*arguments, kernel)) if x.dtype.kind == "f"]
    compared = ordinary(sweep)
    if not all(ordinary(once(x)).all() for x in numbers[:-1]):
        compared &= np.isfinite(kernel)
    tolerance = 1e-9 if all(x.itemsize == 8 for x in numbers) else 1e-2
    scale = np.abs(sweep[compared]).max(initial=1.0)
    assert (np.abs(kernel[compared] - sweep[compared]) <= tolerance * scale).all()


def copied(x):
    """An argument as it was, for the other robot; one entry repeated many times stays one."""
    return x.copy(order="K") if type(x) is np.ndarray and x.flags.writeable else x


def varying(model):
    """A robot whose constants are inputs, and not given."""
    return lw.Dynamics(model).varying("mass", "gravity")


def campaign(seed, count, *names):
    """Calls of robots that answer in different ways, each beside its plain run; how many ended in a result."""
    models = [MECHANISMS[name] for name in names]
    ways = (lambda m: lw.Dynamics(m, rolled=False)), (lambda m: lw.Dynamics(m, rolled=True)), varying
    pairs = [(way(m), plain(m)) for m in models for way in ways]
    results = 0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        kernel, sweep = pairs[rng.integers(len(pairs))]
        method, arguments, named = drawn_call(sweep, rng)
        again = [copied(x) for x in arguments]
        places = {id(x): y for x, y in zip(arguments, again)}
        try:
            a = outcome(kernel, method, arguments, named)
            b = outcome(sweep, method, again, {key: places.get(id(x), x) for key, x in named.items()})
            same(a, b, again)
            results += not isinstance(a, Exception)
        except BaseException as error:
            error.add_note(f"call {number} of {seed}: {sweep.model.name}, {kernel}, {method}, {arguments!r:.900}, {named!r:.300}")
            raise
    return results


def run(seed, count, *names):
    said = python(f"import faulthandler, test_fuzz; faulthandler.enable(); print(test_fuzz.campaign({seed}, {count}, *{names}))")
    assert count / 10 < int(said) < count  # some are well formed, some are not


@pytest.mark.slow
def test_malformed_calls_end_in_an_error_or_a_result():
    run(0, 300, "planar 2R", "fixed")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_very_many_malformed_calls_end_in_an_error_or_a_result(seed):
    run(seed, 3000, "planar 2R", "free", "universal", "fixed")
