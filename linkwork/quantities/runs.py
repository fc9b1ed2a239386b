"""How a quantity of a robot is run: plain, as straight-line code, or as a loop over the nodes."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import PlainWarning
from .bound import Bound


class Ways(NamedTuple):
    """How the quantities of a robot are to be run."""

    compiled: bool
    rolled: bool  # do kernels loop over the joints?
    by_size: bool  # was that decided by the size of the model?


def made(bound: Bound, dtype: np.dtype, ways: Ways, configuration: Callable) -> Callable:
    """The run of a quantity for arrays of a dtype, called as a gufunc is. `configuration` gives one at which singular joints of
    short models are looked for."""
    nv = bound.lowered.nv
    if bound.quantity.divides_by_inertia:
        bound.lowered.refuse_singular(None if ways.rolled else configuration())
    if not ways.compiled or not nv:
        return bound.plain(dtype)
    if not bound.quantity.is_straight(bound.lowered) if ways.by_size else ways.rolled:
        return bound.rolled(dtype) or _plain(bound, dtype, ways)
    return bound.kernel().call(dtype.char)


def _plain(bound: Bound, dtype: np.dtype, ways: Ways) -> Callable:
    why = f"{bound.lowered.model.name} has {bound.lowered.nv} velocities" if ways.by_size else "rolled=True was asked for"
    warnings.warn(
        f"{bound.name} runs in plain NumPy, slower: {why}, and it has no kernel that loops over the joints. "
        "Dynamics(model, rolled=False) compiles straight code, compiled=False means this run.", PlainWarning, stacklevel=5
    )  # fmt: skip
    return bound.plain(dtype)
