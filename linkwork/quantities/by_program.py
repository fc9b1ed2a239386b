"""Derivatives of systems whose blocks change in ways that no sweep knows, flexible bodies: of the program of what is differentiated.

Each is made for a bound quantity, and is a function of one sample over traced arrays, as the quantity itself is.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING

from ..engine.differentiation.derived import Derived
from .declaration import QUANTITIES

if TYPE_CHECKING:
    from .bound import Bound

Made = Callable[["Bound"], Callable]


def jacobian(name: str, *by: str) -> Made:
    """The derivatives of a quantity by some of its arrays, those by q along the group."""

    def made(bound):
        base = _base(bound, name)
        return _jacobian(base.function, base.inputs, by, bound)

    return made


def jvp(name: str) -> Made:
    """The rate of a quantity, of its arrays and their rates."""

    def made(bound):
        base = _base(bound, name)
        derived = _derived(base.function, base.inputs, base)
        return lambda *x: derived.jvp(*_reordered(x, bound, base))

    def _reordered(x, bound, base):
        given = dict(zip((i.name for i in bound.inputs), x))
        arrays = [given[i.name] for i in base.inputs]
        rates = [given.get(f"d{i.name}", 0.0 * given[i.name]) for i in base.inputs]
        return *arrays, *rates

    return made


def vjp(name: str) -> Made:
    """Weights on a quantity as weights on its arrays."""

    def made(bound):
        base = _base(bound, name)
        derived, count = _derived(base.function, base.inputs, base), len(bound.quantity.inputs) - 1

        def function(*x):
            given = dict(zip((i.name for i in bound.inputs), x))
            return derived.vjp(*(given[i.name] for i in base.inputs), given["weight"])[:count]

        return function

    return made


def with_passive_forces(name: str, *by: str) -> Made:
    """The derivatives of inverse dynamics less the passive forces, or of forward dynamics under them besides τ."""

    def made(bound):
        base, passive = _base(bound, name), _base(bound, "passive_force")

        def function(q, v, last, *more):
            own = passive.function(q, v)
            return base.function(q, v, last, *more) - own if name == "inverse_dynamics" else base.function(q, v, last + own, *more)

        return _jacobian(function, base.inputs, by, bound)

    return made


def _base(bound: "Bound", name: str) -> "Bound":
    """The quantity that is differentiated, with the same options and optional arrays."""
    quantity = QUANTITIES[name]
    takes = signature(quantity.function).parameters
    return replace(
        bound, quantity=quantity, options=bound.options if quantity.options else (), extra=tuple(x for x in bound.extra if x in takes)
    )


def _derived(function: Callable, inputs, bound: "Bound") -> Derived:
    from .kinematics import coordinate_rates

    moves = {x.name: partial(coordinate_rates, bound.lowered.plain()) for x in inputs if x.name in ("q", "q0", "q1")}
    return Derived(bound.name, function, inputs, moves)


def _jacobian(function: Callable, inputs, by, bound: "Bound") -> Callable:
    derived, names = _derived(function, inputs, bound), [x.name for x in inputs]
    return lambda *x: derived.jacobian((0,), tuple(names.index(i) for i in by), *x)
