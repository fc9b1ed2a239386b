"""What cannot be traced is refused, with the reason and what to do instead."""

import math

import numpy as np
import pytest

from linkwork.engine.loading.interpreter import run
from linkwork.engine.tracing.array import Traced
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.tracing.trace import Trace
from linkwork.errors import TraceError

PLAIN = np.arange(3.0)


def written(x):
    PLAIN.copy()[1:] = x[1:]


def filled(x):
    z = np.zeros(3)
    z[0] = x[0]
    return z


REFUSED = {
    "if": (lambda x: x[0] if x[0] > 0 else x[1], "np.where"),
    "while": (lambda x: [1 for _ in iter(lambda: bool(x[0] < 3), False)], "np.where"),
    "and": (lambda x: x[0] > 0 and x[1] > 0, "np.where"),
    "max": (lambda x: max(x), "np.where"),
    "in": (lambda x: x[0] in [1.0, 2.0], "np.where"),
    "float": (lambda x: float(x[0]), "no number yet"),
    "int": (lambda x: int(x[0]), "no number yet"),
    "complex": (lambda x: complex(x[0]), "no number yet"),
    "round": (lambda x: round(x[0]), "no number yet"),
    "item": (lambda x: x[0].item(), "no number yet"),
    "tolist": (lambda x: x.tolist(), "no number yet"),
    "range": (lambda x: range(x[0]), "no number yet"),
    "math": (lambda x: math.sin(x[0]), "np.sin"),
    "np.array": (lambda x: np.array([x[0], x[1]]), "np.stack instead of np.array"),
    "np.asarray": (lambda x: np.asarray(x), "plain NumPy array"),
    "np.float64": (lambda x: np.float64(x[0]), "plain NumPy array"),
    "list as operand": (lambda x: x + [x[0], 1.0, 2.0], "np.stack instead of np.array"),  # noqa: RUF005
    "writing into a plain array": (written, "plain NumPy array"),
    "adding into a plain array": (lambda x: np.add(x, 1.0, out=np.zeros(3)), "use what it returns"),
    "plain += traced": (lambda x: PLAIN.copy().__iadd__(x), "use what it returns"),
    "traced index": (lambda x: x[x[0]], "np.where"),
    "traced mask": (lambda x: x[x > 0], "np.where"),
    "traced index to write at": (lambda x: x.__setitem__(x[0], 1.0), "np.where"),
    "traced index in a list": (lambda x: x[[x[0]]], "np.where"),
    "plain array at a traced index": (lambda x: PLAIN[x], "plain NumPy array"),
    "take at a traced index": (lambda x: np.take(x, x), "positions"),
    "repeat so many times": (lambda x: np.repeat(x, x), "counts"),
    "unknown ufunc": (lambda x: np.cbrt(x), "np.cbrt cannot be traced. Known: absolute, add"),
    "unknown function": (lambda x: np.median(x), "np.median cannot be traced"),
    "an entry of a plain array": (filled, "fill np.zeros_like(q, shape=3)"),
    "inv of no square": (lambda x: np.linalg.inv(x[:, None]), "takes square matrices (..., n, n), not an array of shape (3, 1)"),
    "solve what is singular": (lambda x: np.linalg.solve(np.zeros((3, 3)), x), "is singular, whatever the inputs are"),
    "least squares": (lambda x: np.linalg.lstsq(x[:, None], x), "np.linalg.solve(A.T @ A, A.T @ b)"),
    "eigenvalues": (lambda x: np.linalg.eigh(x[:, None] * x), "call it outside"),
    "interp": (lambda x: np.interp(x, [0, 1], [0, 1]), "np.select"),
    "sort": (lambda x: np.sort(x), "np.minimum"),
    "allclose": (lambda x: np.allclose(x, 0.0), "before the kernel runs"),
    "argmax": (lambda x: np.argmax(x), "np.where"),
    "unknown option": (lambda x: np.sum(x, where=[True, False, True]), "np.sum cannot be traced with these arguments"),
    "unknown option of a ufunc": (lambda x: np.add(x, 1.0, where=False), "np.add cannot be traced as __call__ with"),
    "unknown method of a ufunc": (lambda x: np.subtract.reduce(x), "as reduce"),
    "accumulate": (lambda x: np.add.accumulate(x), "as accumulate"),
    "where of one": (lambda x: np.where(x > 0), "two choices"),
    "exponent": (lambda x: 2.0 ** x, "np.exp(n * np.log(a))"),
    "odd power": (lambda x: x ** 0.3, "np.exp(0.3 * np.log(a))"),
    "endless power": (lambda x: x ** np.inf, "power"),
    "sum of truths": (lambda x: (x > 0) + (x < 1), "np.where(truth, 1.0, 0.0)"),
    "bits of numbers": (lambda x: x & 3, "for truths"),
    "other norm": (lambda x: np.linalg.norm(x, 1), "Euclidean"),
    "spectral norm": (lambda x: np.linalg.norm(np.diag(x), 2), "Euclidean"),
    "plane cross": (lambda x: np.cross(x[:2], x[1:]), "of three"),
    "shapes": (lambda x: x @ np.eye(2), "shapes (3,) and (2, 2)"),
    "no matrix": (lambda x: x @ x[0], "cannot be multiplied"),
    "einsum by numbers": (lambda x: np.einsum(x, [0], [0]), "as text"),
    "einsum out of nothing": (lambda x: np.einsum("i->ij", x), "letter of its own"),
    "least of nothing": (lambda x: np.min(x[:0]), "no entries"),
    "complex numbers": (lambda x: x * 1j, "complex"),
    "objects": (lambda x: x * np.array([None, 1, 2]), "object"),
    "as integers": (lambda x: x.astype(int), "floats"),
    "zero": (lambda x: x / (x - x), "zero for every input"),
}  # fmt: skip


@pytest.mark.parametrize(("function", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_traced_is_refused_with_a_reason(function, said):
    with pytest.raises(TraceError) as error:
        record("test", lambda x: (function(x), 0.0)[1], [Input("x", (3,))])
    assert said in str(error.value)


def test_a_branch_on_what_is_always_true_is_none():
    program = record("test", lambda x: x if np.sin(x) ** 2 + np.cos(x) ** 2 == 1 else -x, [Input("x", ())])
    assert run(program, {"x": 0.3})[0] == 0.3


def test_values_of_two_kernels_do_not_mix():
    a, b = (Traced(t, [t.input("x", 0)]) for t in (Trace(), Trace()))
    with pytest.raises(TraceError, match="one kernel was used in another"):
        a + b


def test_a_traced_array_prints_its_shape():
    assert repr(Traced(Trace(), np.zeros((2, 3)))) == "Traced(2, 3)"
    assert repr(Traced(Trace(), [0]).dtype) == "dtype('traced')"
