"""Traced arrays behave as NumPy arrays: every function gives, through the interpreter, what NumPy gives on numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

from linkwork.engine.loading.interpreter import run
from linkwork.engine.tracing import ufuncs
from linkwork.engine.tracing.program import Input, record

SHAPES = {"x": (3,), "y": (3,), "z": (), "A": (3, 4), "B": (4, 2), "S": (2, 3, 3), "T": (2, 3, 3), "E": (0, 3)}
TABLE = np.array([[1.0, -2.0, 0.5]])
TURNED = np.roll(np.eye(3), 1, axis=0)
EVERYDAY = np.array([-2.5, -1.0, -0.5, -1e-9, 0.0, 1e-300, 3e-8, 0.25, 1.0, 2.0, 7.0, 30.0, 400.0])
STRANGE = np.array([np.nan, np.inf, -np.inf, -0.0])


def values(seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1, 1, shape) for name, shape in SHAPES.items()}


def by_name(function):
    """A function of the arrays of SHAPES, by their names."""
    return lambda *arrays: as_tuple(function(SimpleNamespace(**dict(zip(SHAPES, arrays)))))


def as_tuple(results):
    return tuple(results) if isinstance(results, (list, tuple)) else (results,)


def both(function):
    """The results on numbers, and on traced arrays through the interpreter."""
    program = record("test", by_name(function), [Input(*each) for each in SHAPES.items()])
    return by_name(function)(*values().values()), run(program, values())


def same(function):
    for numpy, traced in zip(*both(function), strict=True):
        numpy = np.asarray(numpy, float)
        assert traced.shape == numpy.shape
        np.testing.assert_allclose(traced, numpy, rtol=1e-13, atol=1e-15)


def elementwise(ufunc, *columns):
    """A ufunc on numbers, and on traced arrays through the interpreter."""
    names = "ab"[: len(columns)]
    program = record("test", ufunc, [Input(name, column.shape) for name, column in zip(names, columns)])
    with np.errstate(all="ignore"):
        return ufunc(*columns).astype(float), run(program, dict(zip(names, columns)))[0]


# --- ufuncs

ROUGH = {np.remainder, np.floor_divide, np.hypot, np.power, np.float_power}  # for finite numbers, or given powers
UNARY = [u for u in ufuncs.known() if u.nin == 1]
BINARY = [u for u in ufuncs.known() if u.nin == 2 and u not in ROUGH]
name_of = lambda u: u.__name__


@pytest.mark.parametrize("ufunc", UNARY, ids=name_of)
def test_a_function_of_one_number_is_numpys(ufunc):
    x = np.concatenate([EVERYDAY, STRANGE])
    numpy, traced = elementwise(ufunc, x)
    np.testing.assert_allclose(traced, numpy, rtol=2e-15, atol=0)


@pytest.mark.parametrize("ufunc", BINARY, ids=name_of)
def test_a_function_of_two_numbers_is_numpys(ufunc):
    """NaN and infinities included."""
    x = np.concatenate([EVERYDAY[[0, 1, 4, 8, 10]], STRANGE])
    a, b = (each.ravel() for each in np.meshgrid(x, x))
    numpy, traced = elementwise(ufunc, a, b)
    np.testing.assert_allclose(traced, numpy, rtol=1e-15, atol=0)


@pytest.mark.parametrize("ufunc", [np.minimum, np.maximum, np.less, np.equal, np.arctan2], ids=name_of)
def test_a_constant_beside_a_value_changes_nothing(ufunc):
    x = np.concatenate([EVERYDAY, STRANGE])
    for number in (-1.0, 0.0, 0.25, np.inf, np.nan):
        for one_sided in (lambda a, number=number: ufunc(a, number), lambda a, number=number: ufunc(number, a)):
            numpy, traced = elementwise(one_sided, x)
            np.testing.assert_array_equal(traced, numpy)


def test_remainders_are_numpys(rng):
    """0 ≤ r < b to the rounding of a, and a = b floor(a / b) + r."""
    a, b = rng.uniform(-50, 50, 200), rng.uniform(0.1, 7, 200) * rng.choice([-1, 1], 200)
    numpy, traced = elementwise(np.remainder, a, b)
    np.testing.assert_array_equal(traced, numpy)
    np.testing.assert_array_equal(*elementwise(np.floor_divide, a, b))
    turns = 2 * np.pi * np.arange(-4.0, 5.0)
    wrapped = elementwise(lambda a: (a + np.pi) % (2 * np.pi) - np.pi, turns + 0.1)[1]
    np.testing.assert_allclose(wrapped, 0.1, atol=1e-14)
    for below in (np.nextafter(turns, -np.inf), turns, np.nextafter(turns, np.inf)):
        r = elementwise(lambda a: a % (2 * np.pi), below)[1]
        assert ((r >= 0) & (r <= 2 * np.pi)).all()


def test_a_hypotenuse_is_numpys(rng):
    np.testing.assert_allclose(*elementwise(np.hypot, *rng.standard_normal((2, 50))), rtol=1e-15)


@pytest.mark.parametrize("n", [-3, -2.5, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 7, 20])
def test_a_power_is_numpys(n):
    x = np.concatenate([EVERYDAY[:-1], STRANGE[:2]])
    numpy, traced = elementwise(lambda a: a ** n, x)
    np.testing.assert_allclose(traced, numpy, rtol=1e-14, atol=0)


# --- truths and numbers

TRUTHS = {
    "counted": lambda s: (s.x > 0) + 1.0 * (s.y > 0) + (s.x > s.y),
    "as a mask": lambda s: (s.x > 0) * s.y - (s.y < 0.2) / 2,
    "summed": lambda s: np.sum(s.S > 0, axis=1),
    "returned": lambda s: s.x > 0,
    "of numbers": lambda s: np.where(s.x, 1.0, 2.0) + np.logical_not(s.E.sum(0)),
    "of operators": lambda s: np.where((s.x > -0.5) & ~(s.y > 0) | (s.x < s.y) ^ (s.y > 0.3), s.x, s.y),
    "stacked": lambda s: np.where(np.stack([s.x > 0, s.y > 0]), 1.0, -1.0),
    "chosen": lambda s: np.where(np.where(s.x > 0, s.y > 0, s.y < 0), s.x, s.y),
    "stored": lambda s: stored(np.zeros_like(s.x), slice(2), s.x[:2] > 0),
    "compared": lambda s: (s.x > 0) == (s.y > 0),
    "converted": lambda s: (s.x > 0).astype(float) @ s.y,
    "all": lambda s: (np.all(s.A > -0.9), np.all(s.A > 0, axis=0), (s.E > 0).all(), np.all(s.x)),
    "any": lambda s: (np.any(s.A > 0.9), np.any(s.A > 0, axis=1), (s.E > 0).any()),
    "plain": lambda s: np.where(np.array([True, False, True]), s.x, s.y),
    "selected": lambda s: np.select([s.x > 0.5, s.x > 0], [s.y, 2 * s.y], default=-1.0),
}


@pytest.mark.parametrize("function", TRUTHS.values(), ids=TRUTHS)
def test_truths_count_as_one_and_zero_and_numbers_as_truths(function):
    same(function)


# --- arrays

def stored(array, key, value):
    array[key] = value
    return array


def added(array, value):
    array = array.copy()
    array += value
    return array


ARITHMETIC = {
    "scalars": lambda s: 2.0 * s.x + 1 - s.z / np.float64(3.0),
    "broadcast": lambda s: s.x[:, None] * s.A + s.z - np.ones((2, 1, 1)),
    "in place": lambda s: added(s.x, s.y[0]),
    "out": lambda s: np.multiply(s.x, s.y, out=np.zeros_like(s.x)),
    "outer of a ufunc": lambda s: np.subtract.outer(s.x, s.A),
    "vector vector": lambda s: s.x @ s.y,
    "matrix vector": lambda s: s.A.T @ s.x,
    "vector matrix": lambda s: s.x @ s.A,
    "matrix matrix": lambda s: s.A @ s.B,
    "batch": lambda s: s.S @ s.T,
    "batch vector": lambda s: s.S @ s.x,
    "vector batch": lambda s: s.x @ s.S,
    "batch plain": lambda s: s.S @ np.arange(9.0).reshape(3, 3),
    "plain batch": lambda s: np.eye(3)[None] @ s.S,
    "list": lambda s: [1.0, 2.0, 3.0] @ s.x,
    "empty": lambda s: s.E.T @ s.E,
    "matvec": lambda s: (np.matvec(s.S, s.x), np.vecmat(s.x, s.S), np.vecdot(s.S, s.x)),
    "dot": lambda s: (np.dot(s.x, s.y), np.dot(s.A, s.B), np.dot(s.S, s.x), np.dot(s.z, s.x), np.dot(s.S, s.T)),
    "inner": lambda s: (np.inner(s.x, s.y), np.inner(s.S, s.x), np.inner(s.S, s.T), np.inner(2.0, s.x)),
    "vdot": lambda s: (np.vdot(s.x, s.y), np.vdot(s.S, s.T)),
    "outer": lambda s: (np.outer(s.x, s.y), np.outer(s.A, TABLE)),
    "kron": lambda s: (np.kron(s.A, s.B), np.kron(TABLE, s.x)),
    "tensordot": lambda s: (np.tensordot(s.A, s.B, 1), np.tensordot(s.x, s.y, 0), np.tensordot(s.A, s.x, (0, 0))),
    "tensordot of more": lambda s: np.tensordot(s.S, s.T, ([0, 1], [0, 2])),
    "multi_dot": lambda s: np.linalg.multi_dot([TABLE, s.A, s.B]),
    "cross": lambda s: (np.cross(s.x, s.y), np.cross(s.x, TABLE), np.cross(s.S, s.T, axis=1), np.cross(TABLE[0], s.S)),
    "trace": lambda s: (np.trace(s.S), np.trace(s.A, 1), np.trace(s.S, axis1=1, axis2=2), np.linalg.trace(s.S)),
    "norm": lambda s: (np.linalg.norm(s.x), np.linalg.norm(s.x, 2), np.linalg.norm(s.S, axis=-1)),
    "solve": lambda s: (np.linalg.solve(s.A[:, :3], s.x), np.linalg.solve(s.A[:, 1:], s.A[:, :2]), np.linalg.solve(TURNED, s.x)),
    "inv": lambda s: (np.linalg.inv(s.A[:, :3]), np.linalg.inv(s.A[:2, :2] * s.x[:, None, None])),
    "det": lambda s: (np.linalg.det(s.A[:, :3]), *np.linalg.slogdet(s.A[:, 1:]), np.linalg.det(np.outer(s.x[:2], [1.0, 0.0]))),
    "cholesky": lambda s: (np.linalg.cholesky(s.A @ s.A.T), np.linalg.cholesky(s.A @ s.A.T, upper=True)),
    "norm of a matrix": lambda s: (np.linalg.norm(s.A), np.linalg.norm(s.A, "fro")),
    "sum": lambda s: (s.S.sum(), np.sum(s.S, 0), np.sum(s.S, axis=(0, -1)), np.sum(s.S, axis=1, keepdims=True)),
    "Python's sum": lambda s: sum(s.A),
    "add.reduce": lambda s: (np.add.reduce(s.S), np.add.reduce(s.S, axis=None), np.multiply.reduce(s.S, axis=-1)),
    "nothing summed": lambda s: (np.sum(s.E), np.sum(s.E, axis=0), np.sum(s.E, axis=1), np.prod(s.E, axis=0)),
    "prod": lambda s: (np.prod(s.A), s.A.prod(axis=1)),
    "mean": lambda s: (np.mean(s.S), s.S.mean(axis=0), np.mean(s.S, axis=(1, 2), keepdims=True)),
    "min": lambda s: (np.min(s.S), s.S.min(axis=1), np.minimum.reduce(s.A, axis=1, keepdims=True)),
    "max": lambda s: (np.max(s.S), s.S.max(axis=-1), np.amax(s.A, axis=0)),
    "cumsum": lambda s: (np.cumsum(s.x), np.cumsum(s.S), np.cumsum(s.S, axis=1), s.S.cumsum(-1), np.cumsum(s.E, 0)),
    "diff": lambda s: (np.diff(s.x), np.diff(s.S, axis=1), np.diff(s.x, 2)),
    "clip": lambda s: (np.clip(s.x, -0.2, 0.3), s.x.clip(min=0), np.clip(s.x, None, s.y), np.clip(s.x, s.y, None)),
}  # fmt: skip

STRUCTURE = {
    "item": lambda s: (s.x[1], s.A[1], s.A[1, 2], s.S[0, :, 1], s.x[-1], s.x[::-1], s.A[..., None, 1:]),
    "lists as index": lambda s: (s.x[[2, 0]], s.A[[0, 1], [2, 3]], s.x[np.array([True, False, True])]),
    "iteration": lambda s: [row[0] for row in s.A],
    "unpacking": lambda s: [*s.x],
    "setitem": lambda s: stored(np.zeros_like(s.A), (slice(2), 1), s.x[:2]),
    "setitem of a number": lambda s: stored(s.A.copy(), (0, 0), 7.0),
    "setitem through a view": lambda s: stored(s.A.copy(), 1, stored(s.A.copy()[0], slice(2), 0.0)),
    "reshape": lambda s: (s.A.reshape(4, 3), s.A.reshape((2, -1)), np.reshape(s.x, (3, 1)), s.A.ravel(), s.A.flatten()),
    "transposes": lambda s: (s.S.T, s.S.mT, s.S.transpose(2, 0, 1), np.transpose(s.A)),
    "swapaxes": lambda s: (np.swapaxes(s.S, 0, 2), s.S.swapaxes(0, 1)),
    "moveaxis": lambda s: (np.moveaxis(s.S, 0, -1), np.rollaxis(s.S, 2), np.matrix_transpose(s.S)),
    "concatenate": lambda s: (np.concatenate([s.x, [1.0, 0.0], s.y]), np.concatenate((s.S, s.T), axis=-1)),
    "append": lambda s: (np.append(s.x, s.A), np.append(TABLE, s.x[None], axis=0)),
    "by name": lambda s: np.stack(arrays=[s.x, s.y], axis=1),
    "stack": lambda s: (np.stack([s.x, s.y, TABLE[0]], -1), np.stack([s.z, 1.0]), np.column_stack([s.x, s.A])),
    "stacks": lambda s: (np.vstack([s.A, np.ones(4)]), np.hstack([s.x, s.y]), np.dstack([s.A, s.A])),
    "block": lambda s: np.block([[s.A, s.x[:, None]], [np.zeros((1, 4)), np.ones((1, 1))]]),
    "split": lambda s: np.split(s.A, 2, axis=1),
    "array_split": lambda s: np.array_split(s.x, [1]),
    "unstack": lambda s: np.unstack(s.A),
    "expand": lambda s: (np.expand_dims(s.x, 0), np.atleast_2d(s.x), np.atleast_1d(s.z)),
    "squeeze": lambda s: (np.squeeze(s.x[None]), s.x[None].squeeze()),
    "broadcast": lambda s: (np.broadcast_to(s.x, (2, 3)), *np.broadcast_arrays(s.x, s.A.T, 1.0)),
    "order": lambda s: (np.flip(s.A), np.flip(s.A, 0), np.roll(s.x, 1), np.rot90(s.A), np.fliplr(s.A)),
    "repetition": lambda s: (np.tile(s.x, 2), np.repeat(s.x, 2), np.repeat(s.A, [1, 0, 2], axis=0), s.x.repeat(3)),
    "take": lambda s: (np.take(s.A, [0, 2], axis=0), s.x.take([1, 1]), np.delete(s.x, 1)),
    "diagonals": lambda s: (np.diag(s.x), np.diag(s.A), np.diag(s.x, -1), np.diagonal(s.S, 0, 1, 2), np.diagflat(s.x)),
    "triangles": lambda s: (np.tril(s.S), np.triu(s.A, 1)),
    "new arrays": lambda s: (np.zeros_like(s.A), np.ones_like(s.x), np.full_like(s.x, 2.0), 0.0 * np.empty_like(s.x)),
    "new arrays of another shape": lambda s: (np.zeros_like(s.x, shape=(2, 2)), np.ones_like(s.x, shape=4)),
    "filled": lambda s: np.full_like(s.x, s.z),
    "sizes": lambda s: np.array([len(s.A), s.S.ndim, np.ndim(s.A), np.size(s.A), *np.shape(s.S), s.A.size]),
    "copy": lambda s: (stored(np.copy(s.x), 0, 0.0), s.x),
    "where": lambda s: np.where(s.x > 0, s.A.T, 0.0),
}  # fmt: skip

EINSUMS = {
    "ij,jk->ik": "AB", "ij,jk": "AB", "i,i->": "xy", "i,i": "xy", "i,j->ij": "xy", "i,j->ji": "xy", "ij->ji": "A",
    "ij->": "A", "ij->j": "A", "bii->b": "S", "bii->bi": "S", "bij,bjk->bik": "ST", "bij,bkj->kib": "ST",
    "...ij,...jk->...ik": "ST", "...ij,j->...i": "Sx", "i...->...i": "S", "b...,b...->...b": "ST",
    "ij,i,jk->k": "AxB", "i, i j -> j": "xA", "...->...": "A",
}  # fmt: skip


@pytest.mark.parametrize("function", ARITHMETIC.values(), ids=ARITHMETIC)
def test_arithmetic_is_numpys(function):
    same(function)


@pytest.mark.parametrize("function", STRUCTURE.values(), ids=STRUCTURE)
def test_entries_move_as_numpys_do(function):
    same(function)


@pytest.mark.parametrize(("subscripts", "names"), EINSUMS.items())
def test_einsum_is_numpys(subscripts, names):
    same(lambda s: np.einsum(subscripts, *(getattr(s, name) for name in names)))


def test_moving_entries_costs_nothing():
    for function in STRUCTURE.values():
        program = record("test", by_name(function), [Input(*each) for each in SHAPES.items()])
        assert not set(program.operations) - {"where", "lt"}
