"""What NumPy's functions do to traced arrays, written with its ufuncs, operators and functions that only move entries.

Each takes first `traced`, which makes anything a traced array.
"""

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...errors import TraceError
from .array_linalg import LINALG

STRUCTURAL = {
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block, np.reshape, np.ravel,
    np.broadcast_to, np.swapaxes, np.moveaxis, np.rollaxis, np.transpose, np.matrix_transpose,
    np.linalg.matrix_transpose, np.expand_dims, np.squeeze, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.tile,
    np.repeat, np.take, np.delete, np.diag, np.diagflat, np.diagonal, np.linalg.diagonal, np.tril, np.triu, np.copy,
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit,
    *(f for name in ("unstack",) if (f := getattr(np, name, None))),  # new in NumPy 2.1
}  # fmt: skip

HINTS = {
    **dict.fromkeys((np.linalg.lstsq, np.linalg.pinv), "np.linalg.solve(A.T @ A, A.T @ b) does where the columns of A are independent"),
    **dict.fromkeys((np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svd), "it takes as many rounds as the values ask for: call it outside"),
    np.interp: "np.where or np.select choose between pieces",
    np.argmax: "what depends on an index that depends on values is written with np.where",
    np.argmin: "what depends on an index that depends on values is written with np.where",
    np.sort: "np.minimum and np.maximum order two values",
    np.allclose: "whether values agree is not known before the kernel runs",
    np.array_equal: "whether values agree is not known before the kernel runs",
}


def unknown(function: Callable, more: str = "") -> TraceError:
    """The error for what has no meaning here."""
    hint = f"; {HINTS[function]}" if function in HINTS else ""
    module = getattr(function, "__module__", "numpy").replace("numpy", "np")
    return TraceError(f"{module}.{function.__name__} cannot be traced{more}{hint}.")


def zeros_like(traced, x, *, shape=None, **_):
    return traced(np.zeros(np.shape(x) if shape is None else shape))


def ones_like(traced, x, *, shape=None, **_):
    return traced(np.ones(np.shape(x) if shape is None else shape))


def full_like(traced, x, fill_value, *, shape=None, **_):
    return np.copy(np.broadcast_to(traced(fill_value), np.shape(x) if shape is None else shape))


def reduction(ufunc: np.ufunc) -> Callable:
    def along(traced, x, axis=None, *, dtype=None, keepdims=False):
        return ufunc.reduce(x, axis=axis, keepdims=keepdims)

    return along


def mean(traced, x, axis=None, dtype=None, *, keepdims=False):
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return total * (prod(total.shape) / prod(np.shape(x))) if prod(np.shape(x)) else total * np.nan


def cumsum(traced, x, axis=None):
    x, axis = (np.ravel(x), 0) if axis is None else (x, axis)
    rows = list(np.moveaxis(x, axis, 0))
    for i in range(1, len(rows)):
        rows[i] = rows[i - 1] + rows[i]
    return np.stack(rows, axis) if rows else x


def diff(traced, x, n=1, axis=-1):
    x = np.moveaxis(traced(x), axis, -1)
    for _ in range(n):
        x = x[..., 1:] - x[..., :-1]
    return np.moveaxis(x, -1, axis)


def clip(traced, x, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = traced(x) if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def select(traced, conditions, choices, default=0.0):
    out = traced(default)
    for condition, choice in reversed(list(zip(conditions, choices))):
        out = np.where(condition, choice, out)
    return out


def tensordot(traced, a, b, axes=2):
    """Σ over pairs of axes, as one product of matrices."""
    a, b = traced(a), traced(b)
    if isinstance(axes, int):
        axes = range(a.ndim - axes, a.ndim), range(axes)
    over_a, over_b = ([normalize_axis_index(int(i), x.ndim) for i in np.atleast_1d(each)] for each, x in zip(axes, (a, b)))
    rows    = [i for i in range(a.ndim) if i not in over_a]
    columns = [i for i in range(b.ndim) if i not in over_b]
    shape   = [*(a.shape[i] for i in rows), *(b.shape[i] for i in columns)]
    summed  = prod(a.shape[i] for i in over_a)
    left    = a.transpose(*rows, *over_a).reshape(prod(a.shape[i] for i in rows), summed)
    right   = b.transpose(*over_b, *columns).reshape(summed, prod(b.shape[i] for i in columns))
    return (left @ right).reshape(shape)


def dot(traced, a, b):
    a, b = traced(a), traced(b)
    return a * b if not a.ndim or not b.ndim else tensordot(traced, a, b, (-1, max(b.ndim - 2, 0)))


def inner(traced, a, b):
    a, b = traced(a), traced(b)
    return a * b if not a.ndim or not b.ndim else tensordot(traced, a, b, (-1, -1))


def vdot(traced, a, b):
    return np.ravel(traced(a)) @ np.ravel(traced(b))


def outer(traced, a, b):
    return np.ravel(traced(a))[:, None] * np.ravel(traced(b))


def kron(traced, a, b):
    a, b = traced(a), traced(b)
    n = max(a.ndim, b.ndim)
    a, b = a.reshape((1,) * (n - a.ndim) + a.shape), b.reshape((1,) * (n - b.ndim) + b.shape)
    apart = np.multiply.outer(a, b).transpose(*(i + side for i in range(n) for side in (0, n)))
    return apart.reshape([x * y for x, y in zip(a.shape, b.shape)])


def cross(traced, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    a, b = np.moveaxis(traced(a), axisa, -1), np.moveaxis(traced(b), axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise TraceError(f"np.cross inside a kernel is of vectors of three, not of shapes {a.shape} and {b.shape}.")
    x, y, z = (a[..., i] for i in range(3))
    u, v, w = (b[..., i] for i in range(3))
    return np.moveaxis(np.stack([y * w - z * v, z * u - x * w, x * v - y * u], -1), -1, axisc)


def diagonal_sum(traced, x, offset=0, axis1=0, axis2=1):
    return np.sum(np.diagonal(x, offset, axis1, axis2), axis=-1)


def norm(traced, x, ord=None, axis=None, keepdims=False):
    vectors = isinstance(axis, int) or (axis is None and np.ndim(x) == 1)
    if ord is not None and ord != (2 if vectors else "fro"):
        raise TraceError(f"np.linalg.norm with ord={ord!r} cannot be traced; inside a kernel it is the Euclidean one.")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def append(traced, x, values, axis=None):
    return np.concatenate([np.ravel(x), np.ravel(values)]) if axis is None else np.concatenate([x, values], axis)


def broadcast_arrays(traced, *arrays):
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(np.broadcast_to(traced(x), shape) for x in arrays)


def multi_dot(traced, arrays):
    out = arrays[0]
    for x in arrays[1:]:
        out = traced(out) @ x
    return out


def einsum(traced, subscripts, *operands, optimize=None):
    """Every operand spread over all letters, multiplied, and summed over those that the result does not have."""
    if not isinstance(subscripts, str):
        raise TraceError('np.einsum inside a kernel takes its subscripts as text, such as "ij,j->i".')
    given, arrow, kept = subscripts.replace(" ", "").replace("...", ".").partition("->")
    once = "".join(c for c in sorted({*given} - {",", "."}) if given.count(c) == 1)
    kept = kept if arrow else "." * ("." in given) + once
    if {*kept} - {*given} or ("." in given) > ("." in kept):
        raise TraceError(f'np.einsum of "{subscripts}": the result must have the axes of ... and no letter of its own.')
    before, _, after = kept.partition(".")
    letters = before + after
    summed = "".join(sorted({*given} - {*letters, ",", "."}))
    product = 1.0
    for term, x in zip(given.split(","), operands, strict=True):
        own = "." * ("." in term) + "".join(c for c in letters + summed if c in term)
        order = f"{term}->{own}".replace(".", "...")
        x = traced(x).arranged(lambda refs, order=order: np.einsum(order, refs))
        product = product * x[(..., *(slice(None) if c in term else None for c in letters + summed))]
    total = np.sum(product, axis=tuple(range(-len(summed), 0)))
    batch = total.ndim - len(letters)
    return np.moveaxis(total, range(batch, batch + len(before)), range(len(before)))


FUNCTIONS: dict[Callable, Callable] = {
    np.zeros_like: zeros_like,
    np.empty_like: zeros_like,
    np.ones_like: ones_like,
    np.full_like: full_like,
    np.sum: reduction(np.add),
    np.prod: reduction(np.multiply),
    np.min: reduction(np.minimum),
    np.amin: reduction(np.minimum),
    np.max: reduction(np.maximum),
    np.amax: reduction(np.maximum),
    np.all: reduction(np.logical_and),
    np.any: reduction(np.logical_or),
    np.mean: mean,
    np.cumsum: cumsum,
    np.diff: diff,
    np.clip: clip,
    np.select: select,
    np.dot: dot,
    np.vdot: vdot,
    np.inner: inner,
    np.outer: outer,
    np.linalg.outer: outer,
    np.kron: kron,
    np.tensordot: tensordot,
    np.einsum: einsum,
    np.cross: cross,
    np.linalg.cross: cross,
    np.trace: diagonal_sum,
    np.linalg.trace: lambda traced, x, offset=0: diagonal_sum(traced, x, offset, -2, -1),
    np.linalg.norm: norm,
    np.linalg.multi_dot: multi_dot,
    **LINALG,
    np.append: append,
    np.broadcast_arrays: broadcast_arrays,
    np.shape: lambda traced, x: x.shape,
    np.ndim: lambda traced, x: x.ndim,
    np.size: lambda traced, x: x.size,
}
