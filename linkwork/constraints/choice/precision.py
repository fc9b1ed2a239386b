"""float32 in, float32 out: constraints compute in double precision whatever comes in, and answer in the precision of what came."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from ...engine.running.checks import array_of
from ...lie.scalars import working_dtype
from ...quantities import ARRAYS

Method = TypeVar("Method", bound=Callable)
NUMBERS = {*ARRAYS, "u", "udot", "w"}  # arguments that are arrays of the state, or of forces


def in_given_precision(method: Method) -> Method:
    """A method that takes arrays of any precision, computes in float64, and returns what `working_dtype` says of them."""
    names = list(signature(method).parameters)[1:]

    @wraps(method)
    def run(self, *given, **named):
        kind = given_kind({name: x for name, x in (*zip(names, given), *named.items()) if name in NUMBERS and x is not None})
        if kind is None:
            return method(self, *given, **named)
        wide = [_wide(x) for x in given], {name: _wide(x) for name, x in named.items()}
        return rounded(method(self, *wide[0], **wide[1]), kind)

    return run  # type: ignore[return-value]


def given_kind(given: dict[str, Any]) -> np.dtype | None:
    """The precision of arrays if it is less than double, else None."""
    arrays = [array_of(name, x) for name, x in given.items()]
    if not arrays or not all(isinstance(x, np.ndarray) and x.dtype.kind in "fiub" for x in arrays):
        return None
    kind = working_dtype(*arrays)
    return kind if kind.itemsize < 8 else None


def rounded(found: Any, kind: np.dtype):
    """Arrays, and what is made of arrays, in another precision; what is no float array stays."""
    if isinstance(found, (np.ndarray, np.floating)):
        return found.astype(kind, copy=False) if found.dtype.kind == "f" else found
    if isinstance(found, tuple):
        return tuple(rounded(x, kind) for x in found)
    if isinstance(found, dict):
        return {name: rounded(x, kind) for name, x in found.items()}
    if is_dataclass(found) and not isinstance(found, type):
        return replace(found, **{f.name: rounded(getattr(found, f.name), kind) for f in fields(found)})
    return found


def _wide(x):
    return x.astype(float) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
