"""What can go wrong, and how it is said: the thing, what came, what was expected, what to do."""

import warnings
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import TypeVar

F = TypeVar("F", bound=Callable)


class LinkworkError(Exception):
    """Any error that linkwork raises on purpose."""


class ModelError(LinkworkError, ValueError):
    """A mechanism, or the file that describes it, is not a possible one."""


class MissingFileError(ModelError, FileNotFoundError):
    """Neither a file nor a built-in mechanism has this name."""


class ConstraintError(LinkworkError, ValueError):
    """Constraints that are not kept, or cannot be."""


class ShapeError(LinkworkError, ValueError):
    """An array does not fit the mechanism."""


class UnknownNameError(LinkworkError, KeyError):
    """No body, joint or frame has this name."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return " ".join(map(str, self.args))


class TraceError(LinkworkError, TypeError):
    """A function does something that cannot become a kernel, such as a branch on a value."""


class SimulationError(LinkworkError, ValueError):
    """A simulation was asked for that cannot be run, or a file does not hold one."""


class PlainWarning(UserWarning):
    """Something runs in plain NumPy that elsewhere is a compiled kernel: right, but slower."""


class ModelWarning(UserWarning):
    """A mechanism was read, and something in it is probably not what its author meant."""


def deprecated(old: str, new: str, level: int = 3) -> None:
    """Warn that a public name is now another one; `level` is how far up the caller stands."""
    warnings.warn(f"{old} is now {new}; the old name goes away in the next version.", DeprecationWarning, stacklevel=level)


def renamed_keyword(where: str, old: str, new: str) -> Callable[[F], F]:
    """A decorator: the function takes the old name of a keyword argument too, and warns."""

    def taking(function: F) -> F:
        @wraps(function)
        def called(*args, **named):
            if old in named:
                deprecated(f"{where}({old}=...)", f"{where}({new}=...)")
                named[new] = named.pop(old)  # dataclasses.replace gives the new name besides, with the value to be replaced
            return function(*args, **named)

        return called  # type: ignore[return-value]

    return taking


def listed(names: Iterable[str], limit: int = 6) -> str:
    """At most `limit` of the names: `a, b, c`, or `a, b ... z` when there are more."""
    names = list(names)
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[: limit - 1])} ... {names[-1]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or else which there are."""
    known = list(known)
    if near := get_close_matches(str(name), known, n=1):
        return f' Did you mean "{near[0]}"?'
    return f" There are: {listed(known)}." if known else " There are none."
