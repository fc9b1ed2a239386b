"""A Model as lists, dictionaries, numbers and texts, and back: what .json and .yaml files and the archives of runs hold.

What there is to write comes from the fields of the dataclasses that a Model is made of, so that a new part of a model is in every file
by itself. Entries that have their default are left out. An object has a "type" where its field may hold several.

    {"linkwork": 1, "name": "arm", "bodies": [{"name": "upper", "mass": 2.0}],
     "joints": [{"name": "shoulder", "child": "upper", "joint": {"type": "Revolute", "damping": 0.1}, "at": {"translation": [0, 0, 0.4]}}]}
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import LinkworkError, ModelError, did_you_mean, extra
from ..flexible import FlexibleBody
from ..flexible.data import from_data as flexible_of_old_data
from ..joints import Joint
from ..model import Model
from .lines import Value

VERSION = 1
OLD_NAMES = {"Hinge": "PlacedJoint", "hinges": "joints"}  # in runs of format 1
NOT_FINITE = "inf", "-inf", "nan"  # JSON has no numbers for them
TEXTS = {dict: "an object", list: "a list", NoneType: "nothing"}
TAKES = {float: "a number", int: "a whole number", bool: "true or false", str: "a text", NoneType: "null", np.ndarray: "an array"}


# --- which types there are


def is_record(kind) -> bool:
    """Is it a class with fields: a dataclass or a named tuple?"""
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))


@cache
def hints(kind: type) -> dict[str, Any]:
    """The type of each field that the constructor of a record takes."""
    known = get_type_hints(kind)
    return {f.name: known[f.name] for f in fields(kind) if f.init} if is_dataclass(kind) else known


@cache
def defaults(kind: type) -> dict[str, Any]:
    """The default of each field that has one; named tuples are written whole."""
    return {f.name: f.default for f in fields(kind) if f.default is not MISSING} if is_dataclass(kind) else {}


def options(hint) -> tuple:
    """The types that a hint allows."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def records(hint) -> Iterator[type]:
    """The records that a hint names, at any depth."""
    if is_record(hint):
        yield hint
    for inner in get_args(hint):
        yield from records(inner)


def types(root: type = Model) -> dict[str, type]:
    """Every record of linkwork that a Model, or another root, can hold, by name: those that fields name, and all that are derived from
    these."""
    known: dict[str, type] = {}
    stack = [root]
    while stack:
        kind = stack.pop()
        if kind.__name__ not in known and kind.__module__.startswith("linkwork."):
            known[kind.__name__] = kind
            stack += [*kind.__subclasses__(), *(x for hint in hints(kind).values() for x in records(hint))]
    return known


# --- written


def as_data(x, hint: Any = Any) -> Any:
    """A model, or a part of one, as plain data."""
    return Writer().write(x, hint)


class Writer:
    """Writes a model, or what another root holds, as plain data. Arrays go to `beside` by name, each once, if there is such a place."""

    def __init__(self, root: type = Model, beside: dict[str, np.ndarray] | None = None):
        self.types, self.beside = types(root), beside
        self.numbers: dict[int, int] = {}  # of each flexible body that is written already

    def write(self, x, hint: Any = Any) -> Any:
        """A value of a type that the hint allows, as plain data."""
        if is_record(kind := type(x)):
            return self._record(x, kind, hint)
        if isinstance(x, Mapping):
            inner = next((get_args(o)[1] for o in options(hint) if get_origin(o) is Mapping), Any)
            return {key: self.write(value, inner) for key, value in x.items()}
        if isinstance(x, np.ndarray) and np.ndarray in options(hint):
            return self._array(x)
        if isinstance(x, (tuple, list)) or (isinstance(x, np.ndarray) and x.ndim):
            return [self.write(value, _inner(hint, i, len(x))) for i, value in enumerate(x)]
        x = x.item() if isinstance(x, (np.generic, np.ndarray)) else x
        x = hint(x) if hint in (bool, int) and isfinite(x) else x  # a flag may be 1, a whole number 2.0
        return repr(x) if isinstance(x, float) and not isfinite(x) else x

    def _array(self, x: np.ndarray) -> dict[str, Any]:
        if self.beside is None:
            return {"shape": list(x.shape), "numbers": (x.astype(int) if x.dtype == bool else x).ravel().tolist()}
        name = next((name for name, y in self.beside.items() if y is x), f"array{len(self.beside)}")
        self.beside[name] = x
        return {"array": name}

    def _record(self, x, kind: type, hint) -> dict[str, Any]:
        if self.types.get(kind.__name__) is not kind:
            what = "joint" if isinstance(x, Joint) else "part"
            raise ModelError(f"a {what} has the type {kind.__name__}, which is not part of linkwork, so that it cannot be saved.")
        if isinstance(x, FlexibleBody):
            if id(x) in self.numbers:
                return {"same": self.numbers[id(x)]}
            self.numbers[id(x)] = len(self.numbers)
        entries: dict[str, Any] = {} if _only(hint) is kind else {"type": kind.__name__}
        for name, inner in hints(kind).items():
            value = getattr(x, name)
            if callable(value) and not is_record(type(value)):
                raise ModelError(f'constraint "{x.name}" is a function, which a file cannot hold; remove it from the model first.')
            if isinstance(value, np.ndarray) or name not in defaults(kind) or value != defaults(kind)[name]:
                entries[name] = self.write(value, inner)
        return entries


def _only(hint):
    """The one type that a hint allows besides None, if it allows one."""
    left = [o for o in options(hint) if o is not NoneType]
    return left[0] if len(left) == 1 else None


def _inner(hint, i: int, count: int):
    """The type of entry i of a tuple of this hint."""
    for option in options(hint):
        inner = get_args(option) if get_origin(option) is tuple else ()
        if inner and (inner[-1] is Ellipsis or len(inner) == count):
            return inner[0] if inner[-1] is Ellipsis else inner[i]
    return Any


def as_file(model: Model) -> dict[str, Any]:
    """The entries of a file that holds a model."""
    return {"linkwork": VERSION, **as_data(model, Model)}


def text(entries: dict[str, Any], *, yaml: bool = False) -> str:
    """The text of a file with these entries: JSON with a line for each part of the model, or YAML."""
    if yaml:
        return _yaml(entries)
    lines = [f"  {_line(name)}: {_lines(x) if isinstance(x, list) and name != 'gravity' else _line(x)}" for name, x in entries.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(entries: list) -> str:
    return "[\n    " + ",\n    ".join(map(_line, entries)) + "\n  ]"


def _line(x) -> str:
    return json.dumps(x, ensure_ascii=False)


def _yaml(entries: dict[str, Any]) -> str:
    extra("yaml", "YAML needs", "yaml", " A .json file needs nothing.")
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes all texts that are not plain words, so that none is read as a number; writes out what occurs twice."""

        def ignore_aliases(self, data) -> bool:
            return True

    Dumper.add_representer(str, lambda d, x: d.represent_scalar("tag:yaml.org,2002:str", x, None if x.isidentifier() else '"'))
    return yaml.dump(entries, Dumper=Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True, width=10**9)


# --- read


def read(file: Value) -> Model:
    """The Model of a file that begins with "linkwork": 1."""
    entries = dict(file.data)
    if (version := entries.pop("linkwork")).data != VERSION:
        raise version.error(f"this is version {version.kind} of the format; this linkwork reads version {VERSION}.")
    return from_data(Value(entries, file.line, file.source))


def from_data(x) -> Model:
    """The Model of what `as_data` returned, with or without the lines that it has in a file."""
    return Reader().read(x, Model, "the model")


class Reader:
    """Reads plain data: each entry is checked against the type of its field. Numbers of a Model are no NaN. Arrays may stand `beside`;
    `forms` are functions by type that make the entries of a record of those that a format has instead."""

    def __init__(
        self, root: type = Model, beside: Mapping[str, np.ndarray] | None = None, forms: Mapping[type, Callable] | None = None
    ) -> None:
        self.types, self.takes_nan, self.beside, self.forms = types(root), root is not Model, beside or {}, forms or {}
        self.flexible: list[FlexibleBody] = []
        self.old: dict[str, FlexibleBody] = {}

    def read(self, x, hint, what: str) -> Any:
        """The value of plain data x, of a type that the hint allows; `what` names it in errors."""
        data, among = _plain(x), tuple(o for o in options(hint) if is_record(o))
        for option in options(hint):
            if isinstance(data, dict) and (option is Any or option in among):
                return self._record(x, data, among, what)
            if option in among and isinstance(data, option):  # made already
                return data
            if _fits(data, option):
                return self._read(x, data, option, what)
        if int in options(hint) and isinstance(data, float) and data.is_integer():
            return int(data)
        if bool in options(hint) and isinstance(data, int) and data in (0, 1):
            return bool(data)
        takes = " or ".join(dict.fromkeys(_taken(o) for o in options(hint)))
        raise _error(x, f"{what} is {TEXTS.get(type(data), repr(data)[:60])}; it takes {takes}.")

    def _read(self, x, data, option, what: str) -> Any:
        if isinstance(data, list):
            inner = get_args(option)
            if inner and inner[-1] is not Ellipsis and len(inner) != len(data):
                raise _error(x, f"{what} has {len(data)} entries; it takes {len(inner)}.")
            return tuple(self.read(value, _inner(option, i, len(data)), f"an entry of {what}") for i, value in enumerate(data))
        if option is np.ndarray:
            return self._array(x, data, what)
        if get_origin(option) is Mapping:
            return {key: self.read(value, get_args(option)[1], f'{what}, "{key}"') for key, value in data.items()}
        if option is float:
            return _float(x, data, what, self.takes_nan)
        return data

    def _array(self, x, data: dict, what: str) -> np.ndarray:
        if "array" in data:
            return self.beside[self.read(data["array"], str, f"the name of {what}")]
        shape = self.read(data.get("shape", []), tuple[int, ...], f"the shape of {what}")
        numbers = self.read(data.get("numbers", []), tuple[int | float, ...], f"the numbers of {what}")
        if min(shape, default=0) < 0 or len(numbers) != np.prod(shape, dtype=float):
            raise _error(x, f"{what} has the shape {shape}, but {len(numbers)} numbers.")
        return np.array(numbers, int if numbers and all(isinstance(n, int) for n in numbers) else float).reshape(shape)

    def _record(self, x, data: dict, among: tuple, what: str) -> Any:
        """An object of the type that it names, one of `among` or derived from them; any without them."""
        kind = among[0] if len(among) == 1 else None
        data = self.forms[kind](x, dict(data)) if kind and kind in self.forms else data
        if "type" in data:
            name = self.read(data["type"], str, f"the type of {what}")
            allowed = {n: k for n, k in self.types.items() if issubclass(k, among or object)}
            kind = allowed.get(OLD_NAMES.get(name, name))
            if kind is None:
                raise _error(data["type"], f'{what} has the type "{name}", which it cannot have.{did_you_mean(name, allowed)}')
        if kind is None:
            raise _error(x, f'{what} has no "type".')
        if kind is FlexibleBody and {"same", "text"} & set(data):
            return self._flexible(x, data, what)
        named = _plain(data.get("name"))
        thing = what.removeprefix("a ") if what.startswith("a ") else kind.__name__
        what = f'{thing} "{named}"' if isinstance(named, str) and named else what
        known, entries = hints(kind), {}
        for key, value in data.items():
            name = OLD_NAMES.get(key, key)
            if name != "type" and name not in known:
                raise _error(value, f'{what} has an entry "{name}", which is not known.{did_you_mean(name, known)}')
            if name != "type":
                entries[name] = self.read(value, known[name], f"{name} of {what}")
        entries = {name: None for name in known if name not in defaults(kind) and NoneType in options(known[name])} | entries
        try:
            made = kind(**entries)
        except LinkworkError as error:
            raise _error(x, str(error)) from None
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            lost = [name for name in known if name not in entries and name not in defaults(kind)]
            raise _error(x, f'{what} has no "{lost[0]}".' if lost else f"{what} cannot be made of its entries ({error}).") from None
        if kind is FlexibleBody:
            self.flexible.append(made)
        return made

    def _flexible(self, x, data: dict, what: str) -> FlexibleBody:
        """A flexible body that was read before, or one of a run of format 3 or less, which has it as a text."""
        if "text" in data:
            said = self.read(data["text"], str, f"the text of {what}")
            if said not in self.old:
                self.old[said] = flexible_of_old_data(json.loads(said))
            return self.old[said]
        number = self.read(data["same"], int, what)
        if not 0 <= number < len(self.flexible):
            raise _error(x, f"{what} is flexible body {number} of the file, which is not before it.")
        return self.flexible[number]


def _fits(data, option) -> bool:
    """May plain data stand for a value of this type?"""
    if option is Any:
        return True
    if isinstance(data, dict):
        return option is np.ndarray or get_origin(option) is Mapping
    if isinstance(data, list):
        return option is tuple or get_origin(option) is tuple
    if isinstance(data, str):
        return option is str or (option is float and data in NOT_FINITE)
    if isinstance(data, (bool, NoneType)):
        return option is type(data)
    return option is float or (option is int and isinstance(data, int))


def _taken(option) -> str:
    """What a field of this type takes, in words."""
    listed = "a list" if option is tuple or get_origin(option) is tuple else "an object"
    return TAKES.get(get_origin(option) or option, listed)


def _plain(x):
    return x.data if isinstance(x, Value) else x


def _float(x, data, what: str, takes_nan: bool) -> float:
    try:
        number = float(data)
    except OverflowError:
        raise _error(x, f"{what} is a number too large for a float.") from None
    if number != number and not takes_nan:
        raise _error(x, f"{what} is not a number.")
    return number


def _error(x, sentence: str) -> ModelError:
    return x.error(sentence) if isinstance(x, Value) else ModelError(sentence)
