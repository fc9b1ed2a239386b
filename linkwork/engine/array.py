"""Arrays of traced scalars that behave as NumPy arrays do, so that a function need not know it is being traced."""

from collections.abc import Callable
from itertools import product

import numpy as np

from ..errors import TraceError
from ..lie import scalars
from .trace import ZERO, Trace


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose entries are references to the scalars of a trace."""

    __slots__ = ("refs", "trace")

    def __init__(self, trace: Trace, refs):
        self.trace = trace
        self.refs = np.asarray(refs, dtype=np.int64)

    shape = property(lambda self: self.refs.shape)
    ndim = property(lambda self: self.refs.ndim)
    size = property(lambda self: self.refs.size)
    T = property(lambda self: Traced(self.trace, self.refs.T))
    mT = property(lambda self: Traced(self.trace, self.refs.mT))
    dtype = property(lambda self: TRACED)

    def __len__(self):
        return len(self.refs)

    def __iter__(self):
        return (Traced(self.trace, row) for row in self.refs)

    def __getitem__(self, key):
        _refuse_traced_index(key)
        return Traced(self.trace, self.refs[key])

    def __setitem__(self, key, value):
        _refuse_traced_index(key)
        self.refs[key] = lift(self.trace, value)

    def reshape(self, *shape):
        return Traced(self.trace, self.refs.reshape(*shape))

    def ravel(self):
        return Traced(self.trace, self.refs.ravel())

    def transpose(self, *axes):
        return Traced(self.trace, self.refs.transpose(*axes))

    def copy(self):
        return Traced(self.trace, self.refs.copy())

    def sum(self, axis=None, keepdims=False):
        return np.sum(self, axis=axis, keepdims=keepdims)

    def __bool__(self):
        if self.refs.size == 1 and (x := self.trace.value(int(self.refs.flat[0]))) is not None:
            return bool(x)
        raise TraceError(
            "a branch on a value cannot become a kernel: the same code must serve every sample. "
            "Write the choice with np.where, both sides finite."
        )

    def _number(self, *_):
        raise TraceError("a traced value has no number yet: float(), int() and .item() cannot be used inside a kernel.")

    __float__ = __int__ = __index__ = __complex__ = item = tolist = _number

    def __array__(self, *_, **__):
        raise TraceError(
            "a traced array cannot become a plain NumPy array. Inside a kernel use NumPy functions on the arrays themselves "
            "(np.stack instead of np.array), and no library that asks for numbers."
        )

    def __repr__(self):
        return f"Traced{self.shape}"

    # --- NumPy's protocols

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if out is not None:
            raise TraceError(f"np.{ufunc.__name__} cannot write into an existing array inside a kernel; use what it returns.")
        if method == "reduce" and ufunc in (np.add, np.multiply, np.minimum, np.maximum):
            return _reduce(self.trace, ufunc, inputs[0], options.get("axis", 0), options.get("keepdims", False))
        if method != "__call__" or set(options) - {"dtype", "casting"}:
            raise TraceError(f"np.{ufunc.__name__}.{method} cannot be traced.")
        if ufunc is np.matmul:
            return matmul(self.trace, *inputs)
        if ufunc not in UFUNCS:
            raise TraceError(f"np.{ufunc.__name__} cannot be traced. Known: {', '.join(sorted(u.__name__ for u in UFUNCS))}.")
        return _each(self.trace, UFUNCS[ufunc], *inputs)

    def __array_function__(self, function, types, args, kwargs):
        if function in STRUCTURAL:
            return _structural(self.trace, function, args, kwargs)
        if function in FUNCTIONS:
            return FUNCTIONS[function](self.trace, *args, **kwargs)
        raise TraceError(f"np.{function.__name__} cannot be traced.")


class _TracedType:
    """What stands for the dtype of a traced array: like no other."""

    char = kind = name = "traced"
    itemsize = 8

    def __repr__(self):
        return "dtype('traced')"


TRACED = _TracedType()


def lift(trace: Trace, x) -> np.ndarray:
    """The references of an array: its own, or those of its numbers as constants."""
    if isinstance(x, Traced):
        if x.trace is not trace:
            raise TraceError("a value of one kernel was used in another.")
        return x.refs
    x = np.asarray(x)
    if x.dtype.kind not in "biuf":
        raise TraceError(f"an array of dtype {x.dtype} cannot be used inside a kernel.")
    constant = trace.constant
    return np.array([constant(e) for e in x.ravel().tolist()], dtype=np.int64).reshape(x.shape)


def _each(trace: Trace, scalar: Callable, *inputs):
    arrays = np.broadcast_arrays(*(lift(trace, x) for x in inputs))
    columns = [a.ravel().tolist() for a in arrays]
    return Traced(trace, np.array([scalar(trace, *row) for row in zip(*columns)], dtype=np.int64).reshape(arrays[0].shape))


def matmul(trace: Trace, A, B):
    """Σ A(i,k) B(k,j), left to right, the zeros left out."""
    a, b = lift(trace, A), lift(trace, B)
    column = b.ndim == 1
    row = a.ndim == 1
    a, b = (a[None] if row else a), (b[:, None] if column else b)
    if a.shape[-1] != b.shape[-2]:
        raise TraceError(f"matrices of shapes {a.shape} and {b.shape} cannot be multiplied.")
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


def _reduce(trace, ufunc, x, axis, keepdims):
    refs = lift(trace, x)
    axes = tuple(range(refs.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(a % refs.ndim for a in axes)
    scalar = UFUNCS[ufunc]
    moved = np.moveaxis(refs, axes, range(len(axes)))
    rest = moved.shape[len(axes) :]
    terms = moved.reshape(-1, *rest)
    total = terms[0] if len(terms) else np.full(rest, ZERO if ufunc is np.add else trace.one)
    for term in terms[1:]:
        total = _each(trace, scalar, Traced(trace, total), Traced(trace, term)).refs
    if keepdims:
        total = np.expand_dims(total, axes)
    return Traced(trace, total)


# --- scalar functions behind NumPy's

UFUNCS: dict[np.ufunc, Callable] = {
    np.add: Trace.add,
    np.subtract: Trace.sub,
    np.multiply: Trace.mul,
    np.true_divide: Trace.div,
    np.negative: lambda t, a: -a,
    np.positive: lambda t, a: a,
    np.reciprocal: Trace.reciprocal,
    np.square: lambda t, a: t.mul(a, a),
    np.sqrt: lambda t, a: t.function("sqrt", a),
    np.sin: lambda t, a: t.sin_cos(a)[0],
    np.cos: lambda t, a: t.sin_cos(a)[1],
    np.tan: lambda t, a: t.div(*t.sin_cos(a)),
    np.arctan2: lambda t, a, b: t.function("atan2", a, b),
    np.arctan: lambda t, a: t.function("atan2", a, t.one),
    np.arccos: lambda t, a: t.function("acos", a),
    np.arcsin: lambda t, a: t.function("asin", a),
    np.exp: lambda t, a: t.function("exp", a),
    np.log: lambda t, a: t.function("log", a),
    np.floor: lambda t, a: t.function("floor", a),
    np.absolute: lambda t, a: t.function("abs", a),
    np.hypot: lambda t, a, b: t.function("sqrt", t.add(t.mul(a, a), t.mul(b, b))),
    np.tanh: lambda t, a: t.sub(t.one, t.div(t.constant(2.0), t.add(t.function("exp", t.add(a, a)), t.one))),
    np.less: lambda t, a, b: t.compare("lt", a, b),
    np.less_equal: lambda t, a, b: t.compare("le", a, b),
    np.greater: lambda t, a, b: t.compare("lt", b, a),
    np.greater_equal: lambda t, a, b: t.compare("le", b, a),
    np.equal: lambda t, a, b: t.compare("eq", a, b),
    np.not_equal: lambda t, a, b: t.logic("not", t.compare("eq", a, b)),
    np.logical_and: lambda t, a, b: t.logic("and", a, b),
    np.logical_or: lambda t, a, b: t.logic("or", a, b),
    np.logical_not: lambda t, a: t.logic("not", a),
    np.bitwise_and: lambda t, a, b: t.logic("and", a, b),
    np.bitwise_or: lambda t, a, b: t.logic("or", a, b),
    np.invert: lambda t, a: t.logic("not", a),
    np.minimum: lambda t, a, b: t.where(t.compare("lt", b, a), b, a),
    np.maximum: lambda t, a, b: t.where(t.compare("lt", a, b), b, a),
    np.sign: lambda t, a: _sign(t, a),
    np.power: lambda t, a, n: t.power(a, _exponent(t, n)),
    np.float_power: lambda t, a, n: t.power(a, _exponent(t, n)),
}


def _sign(trace, a):
    """1, −1, or the value itself where it is zero or no number."""
    below, above = trace.compare("lt", a, ZERO), trace.compare("lt", ZERO, a)
    return trace.where(above, trace.one, trace.where(below, -trace.one, a))


def _exponent(trace, n):
    value = trace.value(n)
    if value is None:
        raise TraceError("the exponent of a power must be a number inside a kernel.")
    return value


# --- array functions that only move entries around: they act on references as on numbers, zero being the reference 0

STRUCTURAL = {
    np.concatenate, np.stack, np.vstack, np.hstack, np.block, np.reshape, np.ravel, np.broadcast_to, np.swapaxes, np.moveaxis,
    np.transpose, np.matrix_transpose, np.expand_dims, np.squeeze, np.flip, np.roll, np.tile, np.repeat, np.take, np.diag,
    np.tril, np.triu, np.atleast_1d, np.atleast_2d, np.diagonal, np.copy,
}  # fmt: skip


def _structural(trace, function, args, kwargs):
    def refs(x):
        if isinstance(x, Traced):
            return x.refs
        if isinstance(x, (list, tuple)) and any(_has_traced(e) for e in x):
            return type(x)(refs(e) if _has_traced(e) else lift(trace, e) for e in x)
        return x

    return Traced(trace, function(*map(refs, args), **{k: refs(v) for k, v in kwargs.items()}))


def _has_traced(x):
    return isinstance(x, Traced) or (isinstance(x, (list, tuple)) and any(map(_has_traced, x)))


def _zeros_like(trace, x, *, shape=None, **_):
    return Traced(trace, np.zeros(np.shape(x) if shape is None else shape, np.int64))


def _ones_like(trace, x, *, shape=None, **_):
    return Traced(trace, np.full(np.shape(x) if shape is None else shape, trace.one))


def _where(trace, condition, *choices):
    if len(choices) != 2:
        raise TraceError("np.where inside a kernel takes a condition and two choices.")
    return _each(trace, Trace.where, condition, *choices)


def _sum(trace, x, axis=None, keepdims=False, **_):
    return _reduce(trace, np.add, x, axis, keepdims)


def _clip(trace, x, a_min=None, a_max=None, **options):
    low, high = options.get("min", a_min), options.get("max", a_max)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _dot(trace, a, b):
    return matmul(trace, a, b) if np.ndim(a) and np.ndim(b) else a * b


def _cross(trace, a, b, **_):
    a, b = Traced(trace, lift(trace, a)), Traced(trace, lift(trace, b))
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], -1)


def _norm(trace, x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2):
        raise TraceError("np.linalg.norm inside a kernel is the Euclidean one.")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


FUNCTIONS: dict[Callable, Callable] = {
    np.zeros_like: _zeros_like,
    np.ones_like: _ones_like,
    np.where: _where,
    np.sum: _sum,
    np.clip: _clip,
    np.dot: _dot,
    np.vdot: _dot,
    np.inner: lambda trace, a, b: matmul(trace, a, np.moveaxis(b, -1, -2) if np.ndim(b) > 1 else b),
    np.outer: lambda trace, a, b: a.reshape(-1, 1) * b.reshape(1, -1),
    np.cross: _cross,
    np.trace: lambda trace, x: np.sum(np.diagonal(x)),
    np.linalg.norm: _norm,
    np.shape: lambda trace, x: x.shape,
    np.ndim: lambda trace, x: x.ndim,
    np.size: lambda trace, x: x.size,
}


def _refuse_traced_index(key):
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, Traced):
            raise TraceError("an index that is computed from the inputs cannot become a kernel; use np.where.")


# --- what the groups ask of a scalar


@scalars.like.register(Traced)
def _like(constant, x):
    return Traced(x.trace, lift(x.trace, constant))


@scalars.unit.register(Traced)
def _unit(q):
    rows = [q.trace.unit(row) for row in q.refs.reshape(-1, q.shape[-1]).tolist()]
    return Traced(q.trace, np.array(rows, np.int64).reshape(q.shape))


@scalars.opaque.register(Traced)
def _opaque(x):
    return _each(x.trace, Trace.opaque, x)
