"""Arrays of traced scalars that behave as NumPy arrays do, so that a function need not know it is being traced."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import prod

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...errors import TraceError
from ...lie import scalars
from .array_functions import FUNCTIONS, STRUCTURAL, unknown
from .trace import ZERO, Trace
from .ufuncs import BITS, EMPTY, LOGIC, REDUCED, known, only_truths, scalar


class TracedType:
    """What stands for the dtype of a traced array: like no other."""

    char = kind = name = "traced"
    itemsize = 8

    def __repr__(self):
        return "dtype('traced')"


TRACED = TracedType()
FILLED = "write np.stack instead of np.array, as in np.stack([x, y]), and fill np.zeros_like(q, shape=3), not np.zeros(3)"


def method(function: Callable) -> Callable:
    """A function of NumPy as a method."""
    return lambda self, *args, **options: function(self, *args, **options)


class Wider(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of many traced arrays, which decides what arithmetic with one of them is."""


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose entries are references to the scalars of a trace."""

    __slots__ = ("refs", "trace")

    def __init__(self, trace: Trace, refs):
        self.trace = trace
        self.refs = np.asarray(refs, dtype=np.int64)

    shape = property(lambda self: self.refs.shape)
    ndim  = property(lambda self: self.refs.ndim)
    size  = property(lambda self: self.refs.size)
    T     = property(lambda self: Traced(self.trace, self.refs.T))
    mT    = property(lambda self: Traced(self.trace, self.refs.mT))
    dtype = property(lambda self: TRACED)

    def __len__(self):
        return len(self.refs)

    def __iter__(self):
        return (Traced(self.trace, row) for row in self.refs)

    def __getitem__(self, key):
        refuse_traced_index(key)
        return Traced(self.trace, self.refs[key])

    def __setitem__(self, key, value):
        refuse_traced_index(key)
        self.refs[key] = lift(self.trace, value)

    def arranged(self, function: Callable) -> "Traced":
        """The same entries in another order or shape, which a function of the references decides."""
        return Traced(self.trace, function(self.refs))

    def reshape(self, *shape):
        return Traced(self.trace, self.refs.reshape(*shape))

    def transpose(self, *axes):
        return Traced(self.trace, self.refs.transpose(*axes))

    def copy(self):
        return Traced(self.trace, self.refs.copy())

    def astype(self, dtype):
        """The same numbers: the kernel decides how they are computed."""
        if np.dtype(dtype).kind != "f":
            raise TraceError(f"a traced array cannot become one of {np.dtype(dtype)}: kernels compute in floats.")
        return self.like(self).copy()

    ravel, flatten = method(np.ravel), method(np.ravel)
    squeeze, swapaxes, diagonal = method(np.squeeze), method(np.swapaxes), method(np.diagonal)
    repeat, take, clip, dot = method(np.repeat), method(np.take), method(np.clip), method(np.dot)
    sum, prod, mean, cumsum = method(np.sum), method(np.prod), method(np.mean), method(np.cumsum)
    min, max, all, any = method(np.min), method(np.max), method(np.all), method(np.any)

    def __bool__(self):
        if self.refs.size == 1 and (x := self.trace.value(int(self.refs.flat[0]))) is not None:
            return bool(x)
        raise TraceError(
            "a branch on a value cannot become a kernel: the same code must serve every sample. "
            "Write the choice with np.where, both sides finite."
        )

    def _number(self, *_):
        raise TraceError(
            "a traced value has no number yet: float(), int(), .item(), functions of math and writing into a plain "
            f"array need one. Inside a kernel use np.sin, not math.sin; {FILLED}."
        )

    __float__ = __int__ = __index__ = __complex__ = __round__ = item = tolist = _number

    def __array__(self, *_, **__):
        raise TraceError(
            "a traced array cannot become a plain NumPy array, or a part of one. Inside a kernel use NumPy functions on the arrays "
            f"themselves and no library that asks for numbers; {FILLED}."
        )

    def __repr__(self):
        return f"Traced{self.shape}"

    def like(self, x) -> "Traced":
        """Anything as a traced array beside this one."""
        return Traced(self.trace, lift(self.trace, x))

    # --- NumPy's protocols

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if any(isinstance(x, Wider) for x in inputs):
            return NotImplemented
        options = {name: x for name, x in options.items() if name not in ("dtype", "casting", "order", "subok")}
        if out is not None and not all(isinstance(x, Traced) for x in out):
            raise TraceError(f"np.{ufunc.__name__} cannot write into a plain array in a kernel; use what it returns, as z = z + x.")
        if method == "reduce":
            result = reduced(self.trace, ufunc, *inputs, **options)
        elif method == "outer" and not options:
            a, b = map(self.like, inputs)
            result = ufunc(a.reshape(a.shape + (1,) * b.ndim), b)
        elif method == "__call__" and not options:
            result = called(self.trace, ufunc, inputs)
        else:
            raise unknown(ufunc, f" as {method} with {', '.join(options) or 'these arguments'}")
        if out is not None:
            out[0][...] = result
            return out[0]
        return result

    def __array_function__(self, function, types, args, kwargs):
        if any(issubclass(x, Wider) for x in types):
            return NotImplemented
        if function in STRUCTURAL:
            return moved(self.trace, function, args, kwargs)
        if function is np.where:
            return where(self.trace, *args, **kwargs)
        if function not in FUNCTIONS:
            raise unknown(function)
        try:
            return FUNCTIONS[function](self.like, *args, **kwargs)
        except TypeError as error:
            if isinstance(error, TraceError):
                raise
            raise unknown(function, f" with these arguments ({error})") from error


def lift(trace: Trace, x) -> np.ndarray:
    """The references of an array of numbers: its own, those of 1 and 0 for truths, or those of constants."""
    if isinstance(x, Traced):
        if x.trace is not trace:
            raise TraceError("a value of one kernel was used in another.")
        return elementwise(trace.number, x.refs) if trace.truths else x.refs
    x = np.asarray(x)
    if x.dtype.kind not in "biuf":
        raise TraceError(f"an array of dtype {x.dtype} cannot be used inside a kernel.")
    return elementwise(trace.constant, x) if x.any() else np.zeros(x.shape, np.int64)


def elementwise(scalar: Callable, *arrays: np.ndarray) -> np.ndarray:
    columns = (a.ravel().tolist() for a in arrays)
    return np.array([scalar(*row) for row in zip(*columns)], dtype=np.int64).reshape(arrays[0].shape)


def truths(trace: Trace, x) -> np.ndarray:
    return elementwise(trace.truth, x.refs if isinstance(x, Traced) else lift(trace, x))


def called(trace: Trace, ufunc: np.ufunc, inputs):
    """A ufunc on arrays that broadcast together."""
    if ufunc in PRODUCTS:
        return PRODUCTS[ufunc](trace, *inputs)
    if ufunc in BITS:
        refs = (x.refs if isinstance(x, Traced) else lift(trace, x) for x in inputs)
        if not all(not each.size or only_truths(trace, each, besides=(0.0, 1.0)) for each in refs):
            raise TraceError(f"np.{ufunc.__name__} is for truths inside a kernel, such as (x > 0) & (x < 1).")
        ufunc = BITS[ufunc]
    if trace.truths and ufunc is np.add and all(isinstance(x, Traced) and only_truths(trace, x.refs) for x in inputs):
        raise TraceError("NumPy's sum of two truths is a truth: write |, or np.where(truth, 1.0, 0.0) to count them.")
    function = scalar(ufunc)
    if function is None:
        raise unknown(ufunc, f". Known: {', '.join(sorted(u.__name__ for u in (*known(), *PRODUCTS)))}")
    arrays = [truths(trace, x) if ufunc in LOGIC else lift(trace, x) for x in inputs]
    return Traced(trace, elementwise(partial(function, trace), *np.broadcast_arrays(*arrays)))


def where(trace: Trace, condition, *choices):
    if len(choices) != 2:
        raise TraceError("np.where inside a kernel takes a condition and two choices.")
    arrays = truths(trace, condition), *(lift(trace, x) for x in choices)
    return Traced(trace, elementwise(trace.where, *np.broadcast_arrays(*arrays)))


def reduced(trace: Trace, ufunc: np.ufunc, x, axis=0, keepdims=False, **options):
    """Along some axes, in their order."""
    if ufunc not in REDUCED or options:
        raise unknown(ufunc, f" as reduce with {', '.join(options) or 'any arguments'}")
    refs = truths(trace, x) if ufunc in LOGIC else lift(trace, x)
    axes = normalize_axis_tuple(range(refs.ndim) if axis is None else axis, refs.ndim)
    first = np.moveaxis(refs, axes, range(len(axes)))
    rest = first.shape[len(axes) :]
    terms = first.reshape(prod(first.shape[: len(axes)]), *rest)
    if len(terms):
        total = Traced(trace, terms[0])
    elif ufunc in EMPTY:
        total = Traced(trace, lift(trace, np.full(rest, EMPTY[ufunc])))
    else:
        raise TraceError(f"np.{ufunc.__name__} of no entries: the array has shape {refs.shape}.")
    for term in terms[1:]:
        total = called(trace, ufunc, (total, Traced(trace, term)))
    return Traced(trace, np.expand_dims(total.refs, axes)) if keepdims else total


def matmul(trace: Trace, A, B):
    """Σ A(i,k) B(k,j), left to right, the zeros left out."""
    a, b = lift(trace, A), lift(trace, B)
    column = b.ndim == 1
    row = a.ndim == 1
    a, b = (a[None] if row else a), (b[:, None] if column else b)
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2]:
        raise TraceError(f"arrays of shapes {np.shape(A)} and {np.shape(B)} cannot be multiplied as matrices.")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = np.broadcast_to(a, batch + a.shape[-2:]), np.broadcast_to(b, batch + b.shape[-2:])
    out = np.zeros((*batch, a.shape[-2], b.shape[-1]), dtype=np.int64)
    mul, add = trace.mul, trace.add
    for at in product(*map(range, batch)):
        rows = [[(k, x) for k, x in enumerate(r) if x] for r in a[at].tolist()]
        columns = b[at].T.tolist()
        for i, r in enumerate(rows):
            for j, c in enumerate(columns):
                total = ZERO
                for k, x in r:
                    if y := c[k]:
                        total = add(total, mul(x, y))
                out[(*at, i, j)] = total
    if row:
        out = out[..., 0, :]
    if column:
        out = out[..., 0]
    return Traced(trace, out)


def matvec(trace: Trace, A, x):
    return matmul(trace, A, lift_traced(trace, x)[..., None])[..., 0]


def vecmat(trace: Trace, x, A):
    return matmul(trace, lift_traced(trace, x)[..., None, :], A)[..., 0, :]


def vecdot(trace: Trace, x, y):
    return matvec(trace, lift_traced(trace, x)[..., None, :], y)[..., 0]


def lift_traced(trace: Trace, x) -> Traced:
    return Traced(trace, lift(trace, x))


PRODUCTS = {u: f for f in (matmul, matvec, vecmat, vecdot) if (u := getattr(np, f.__name__, None))}  # as NumPy has them


def moved(trace: Trace, function, args, options):
    """A function that only moves entries around acts on references as on numbers, the reference of zero being 0."""
    options = {name: x for name, x in options.items() if name != "dtype"}
    if not args:  # the entries were given by name
        name = next(name for name, x in options.items() if has_traced(x))
        args = (options.pop(name),)
    entries, *rest = args
    if any(map(has_traced, (*rest, *options.values()))):
        raise unknown(function, " with positions, counts or an output array that are traced")
    result = function(references(trace, entries), *rest, **options)
    several = isinstance(result, (list, tuple))
    return type(result)(Traced(trace, x) for x in result) if several else Traced(trace, result)


def references(trace: Trace, x):
    """An array or nested lists of arrays, each replaced by its references."""
    return [references(trace, e) for e in x] if isinstance(x, (list, tuple)) else lift(trace, x)


def has_traced(x) -> bool:
    return isinstance(x, Traced) or (isinstance(x, (list, tuple)) and any(map(has_traced, x)))


def refuse_traced_index(key) -> None:
    if any(map(has_traced, key if isinstance(key, tuple) else (key,))):
        raise TraceError("an index that is computed from the inputs cannot become a kernel; use np.where.")


# --- what the groups ask of a scalar


@scalars.like.register(Traced)  # type: ignore[attr-defined]
def _like(constant, x):
    return x.like(constant)


@scalars.unit.register(Traced)
def _unit(q):
    rows = [q.trace.unit(row) for row in lift(q.trace, q).reshape(-1, q.shape[-1]).tolist()]
    return Traced(q.trace, np.array(rows, np.int64).reshape(q.shape))


@scalars.opaque.register(Traced)
def _opaque(x):
    return Traced(x.trace, elementwise(x.trace.opaque, lift(x.trace, x)))


@scalars.still.register(Traced)
def _still(x):
    return Traced(x.trace, elementwise(x.trace.still, lift(x.trace, x)))


@scalars.is_zero.register(Traced)
def _is_zero(x):
    return not x.refs.any()
