"""What can go wrong, and how it is said: the thing, what came, what was expected, what to do."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from inspect import currentframe
from operator import attrgetter
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)
LONG = 120  # characters of a name that a message repeats; of a longer one its two ends, and of a list or array twice as long
LONGEST = 6000  # characters of a message
NUMBERS = r"[\d\s,.()\[\]+\-einfaplotrusTF]"  # with nan, True and np.float64(
QUOTED = re.compile(rf'"[^"]*"|\[[^\[\]]{{{2 * LONG},}}\]|{NUMBERS}{{{2 * LONG},}}|\S{{{2 * LONG},}}')


def _ends(text: str) -> str:
    return f"{text[: LONG // 2]} ... {text[-LONG // 4 :]}"


def shortened(message):
    """A message with long names, lists and arrays cut in the middle: what comes from a file or a call may be of any length."""
    if not isinstance(message, str) or len(message) <= LONG:
        return message
    message = QUOTED.sub(lambda found: _ends(found[0]) if len(found[0]) >= LONG + 2 else found[0], message)
    return message if len(message) <= LONGEST else f"{message[: LONGEST // 2]} ... {message[-LONGEST // 4 :]}"


class LinkworkError(Exception):
    """Any error that linkwork raises on purpose."""

    def __init__(self, *said):
        super().__init__(*map(shortened, said))


class ModelError(LinkworkError, ValueError):
    """A mechanism, or the file that describes it, is not a possible one."""


class MissingFileError(ModelError, FileNotFoundError):
    """Neither a file nor a built-in mechanism has this name."""


class MissingExtraError(LinkworkError, ImportError):
    """Something needs a library that is not installed."""


def extra(module: str, need: str, name: str = "", instead: str = "") -> Any:
    """A module that is imported where it is first needed; or an error that says what needs it, which extra installs it, if one does, and
    what to do `instead`."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        install = f'"linkwork[{name}]"' if name else library
        raise MissingExtraError(f"{need} {library}, which is missing: pip install {install}.{instead}") from error


class WriteError(LinkworkError, OSError):
    """A file cannot be written."""


@contextmanager
def writing(path) -> Iterator[None]:
    """Names the file where the system says that something cannot be written: a full disk, no such folder, no right to."""
    try:
        yield
    except OSError as error:
        raise WriteError(f'"{path}" cannot be written: {error.strerror or error}. Choose another place, or make room.') from error


class ConstraintError(LinkworkError, ValueError):
    """Constraints that are not kept, or cannot be."""


class ShapeError(LinkworkError, ValueError):
    """An array does not fit the mechanism."""


class UnknownNameError(LinkworkError, KeyError):
    """No body, joint or frame has this name."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return " ".join(map(str, self.args))


class OptionError(LinkworkError, ValueError):
    """An option has a value that it cannot have."""


class TraceError(LinkworkError, TypeError):
    """A function does something that cannot become a kernel, such as a branch on a value."""


class SimulationError(LinkworkError, ValueError):
    """A simulation was asked for that cannot be run, or a file does not hold one."""


class EquilibriumError(LinkworkError, ValueError):
    """No static balance was found, or there is none."""


class PlainWarning(UserWarning):
    """Something runs in plain NumPy that elsewhere is a compiled kernel: right, but slower."""


class ModelWarning(UserWarning):
    """A mechanism was read, and something in it is probably not what its author meant."""

    def __init__(self, *said):
        super().__init__(*map(shortened, said))


def deprecated(old: str, new: str, level: int = 3) -> None:
    """Warn that a public name is now another one; `level` is how far up the caller stands."""
    caller = currentframe()
    for _ in range(level - 1):
        caller = caller and caller.f_back
    if caller and caller.f_code.co_name == "_handle_fromlist":
        return  # `from package import name` looks the name up twice, first in there
    warnings.warn(shortened(f"{old} is now {new}; the old name goes away in the next version."), DeprecationWarning, stacklevel=level)


def old_name(old: str, new: str, attribute: str) -> Any:
    """A property or method of a class under its old name, which warns; `attribute` is where it is now."""

    def now(self):
        deprecated(old, new)
        return attrgetter(attribute)(self)

    return property(now, doc=f"The old name of `{attribute}`.")


TOLD: set[str] = set()  # names whose meaning has changed and of which a warning has told


def changed(name: str, now: str, level: int = 3) -> None:
    """Warn, once in a process, that a public name means something else than in the last version."""
    if name not in TOLD:
        TOLD.add(name)
        warnings.warn(f"{name} is not what it was in earlier versions: {now}", FutureWarning, stacklevel=level)


def renamed_keyword(where: str, old: str, new: str, fields: Iterable[str] = ()) -> Callable[[F], F]:
    """A decorator: the function takes the old name of a keyword argument too, and warns; both at once are an error. Of a dataclass
    it takes the `fields` too: `dataclasses.replace` gives them all, the new name with the value to be replaced."""
    every = set(fields)

    def taking(function: F) -> F:
        @wraps(function)
        def called(*args, **named):
            if old in named:
                if new in named and not (every and every <= set(named)):
                    raise OptionError(f"{where} was given {old}= and {new}=, the old and the new name of one thing; give {new}= alone.")
                deprecated(f"{where}({old}=...)", f"{where}({new}=...)")
                named[new] = named.pop(old)
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
    known, name = list(known), str(name)
    if len(name) <= LONG and (near := get_close_matches(name, [x for x in known if len(x) <= LONG], n=1)):
        return f' Did you mean "{near[0]}"?'
    return f" There are: {listed(known)}." if known else " There are none."
