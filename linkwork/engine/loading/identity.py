"""The identity of a value: a digest that is the same in every process for equal values, and another for all others.

Compiled code on disk is found by the identity of what it was traced from, so that nothing need be traced to find it. That is sound only
if the identity tells of everything that decides the result. Numbers, texts, arrays and tuples are known by what they contain; dataclasses
of this package by their fields; its functions by their place in the source, whose digest is part of every key, and by what they close
over. Other objects of the package have an attribute `decided_by`: the values that decide what they are, or None.

A user's function is known by its code, what it closes over, its defaults, and the values of the globals it names, as far as these are known
themselves. A function that does more than compute (imports, sets attributes, names a list that may grow, or other modules than NumPy and
math) has no identity: it is traced in every process.
"""

import dis
import hashlib
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from importlib.util import MAGIC_NUMBER
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType

import numpy as np

from ..tracing.array_functions import FUNCTIONS, STRUCTURAL
from .cache import NO_KERNELS, is_ours

PURE_BUILTINS = {
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "isinstance",
    "len", "list", "map", "max", "min", "object", "pow", "range", "reversed", "round", "set", "slice", "sorted", "staticmethod",
    "str", "sum", "super", "tuple", "type", "zip",
}  # fmt: skip
PURE_NUMPY = {
    "argmax", "argmin", "argsort", "arange", "array", "asanyarray", "asarray", "astype", "broadcast_shapes", "diag_indices", "dtype", "eye",
    "full", "identity", "indices", "isclose", "ix_", "linspace", "meshgrid", "ndarray", "newaxis", "ones", "sort", "tril_indices",
    "triu_indices", "where", "zeros",
}  # fmt: skip
IMPURE = "IMPORT_", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "STORE_NAME", "GET_AWAITABLE"


class Unknown(Exception):
    """A value whose identity is not known."""


def digest(*values) -> str | None:
    """The identity of some values; None where that of one of them is not known."""
    try:
        return _Digests().of(values).hex()
    except (Unknown, RecursionError):
        return None


class _Digests:
    """Digests of values, each made once: structures share their parts."""

    def __init__(self):
        self.known: dict[int, bytes] = {}
        self.alive: list = []  # so that no two values have the same address
        self.open: set[int] = set()

    def of(self, x) -> bytes:
        if (found := self.known.get(id(x))) is not None:
            return found
        if id(x) in self.open:
            raise Unknown("it contains itself")
        self.open.add(id(x))
        kind, *parts = self._parts(x)
        made = hashlib.sha256(kind.encode())
        for part in parts:
            piece = part if isinstance(part, bytes) else self.of(part)
            made.update(len(piece).to_bytes(8, "little") + piece)
        self.open.discard(id(x))
        self.alive.append(x)
        self.known[id(x)] = made.digest()
        return self.known[id(x)]

    def _parts(self, x) -> tuple:
        """The kind of a value, and of what it is made: bytes, or values again."""
        kind = type(x)
        if kind in PLAIN:
            return kind.__name__, PLAIN[kind](x)
        if kind in (tuple, list):
            return kind.__name__, *x
        if kind in (dict, MappingProxyType):
            return "dict", *(part for pair in x.items() for part in pair)
        if kind in (set, frozenset):
            return "set", *sorted(map(self.of, x))
        if isinstance(x, np.ndarray) and kind is np.ndarray:
            if x.dtype.hasobject:
                return "objects", repr(x.shape).encode(), *x.ravel().tolist()
            return "array", x.dtype.str.encode(), repr(x.shape).encode(), np.ascontiguousarray(x).tobytes()
        if isinstance(x, np.generic):
            return "number", x.dtype.str.encode(), x.tobytes()
        if isinstance(x, np.dtype) and not x.hasobject:
            return "dtype", x.str.encode()
        if kind is slice:
            return "slice", x.start, x.stop, x.step
        if kind is partial:
            return "partial", x.func, x.args, x.keywords
        if kind is MethodType:
            return "method", x.__func__, x.__self__
        if kind is CodeType:
            return "code", *self._of_code(x)
        if kind is FunctionType:
            return self._of_function(x)
        if isinstance(x, (type, np.ufunc, BuiltinFunctionType)) or kind in NUMPY_CALLABLES:
            return "name", _public_name(x).encode()
        return self._of_object(x, kind)

    def _of_object(self, x, kind: type) -> tuple:
        if not is_ours(kind):
            raise Unknown(f"a {kind.__name__}")
        name = f"{kind.__module__}.{kind.__qualname__}"
        if hasattr(kind, "decided_by"):
            if x.decided_by is None:
                raise Unknown(name)
            return name, x.decided_by
        if isinstance(x, Enum):
            return name, x.name or "", x.value
        if isinstance(x, tuple):
            return name, *x
        if is_dataclass(x):
            return name, *(getattr(x, field.name) for field in fields(x))
        if not getattr(x, "__dict__", True):  # it has nothing of its own
            return name, b""
        raise Unknown(name)

    def _of_function(self, x: FunctionType) -> tuple:
        try:
            closure = tuple(cell.cell_contents for cell in x.__closure__ or ())
        except ValueError:
            raise Unknown("a name without a value") from None
        own = x.__code__, closure, x.__defaults__, x.__kwdefaults__, vars(x)
        if is_ours(x):
            _check_folder(x)
            return "function", f"{x.__module__}.{x.__qualname__}", *own
        _check_steady((closure, x.__defaults__, x.__kwdefaults__ and tuple(x.__kwdefaults__.values())))
        return "user's function", MAGIC_NUMBER, *own, list(self._globals(x.__code__, x.__globals__))

    def _of_code(self, code: CodeType) -> Iterable:
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        return code.co_name, code.co_code, code.co_exceptiontable, counts, names, code.co_consts

    def _globals(self, code: CodeType, around: Mapping) -> Iterable:
        """Names and values of the globals that code uses, and that functions inside of it use."""
        if any("random" in name for name in code.co_names):
            raise Unknown("chance")
        for step in dis.get_instructions(code):
            if step.opname.startswith(IMPURE) or (step.opname == "STORE_DEREF" and step.argval in code.co_freevars):
                raise Unknown(f"code that does {step.opname}")
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                yield step.argval
                if step.argval in around:
                    yield from self._named(around[step.argval], code.co_names)
                elif step.argval not in PURE_BUILTINS:
                    raise Unknown(step.argval)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                yield from self._globals(inner, around)

    def _named(self, x, names: Iterable[str]) -> Iterable:
        """A global; of a module what code may use of it, by the names of all attributes that it asks for."""
        _check_steady(x)
        if not isinstance(x, ModuleType):
            yield x
        elif x not in (np, np.linalg, math) and x.__name__.partition(".")[0] != __name__.partition(".")[0]:
            raise Unknown(f"module {x.__name__}")
        else:
            yield x.__name__
            yield np.__version__ if x in (np, np.linalg) else ""
            for name in (name for name in names if hasattr(x, name)):
                yield name
                yield from self._named(getattr(x, name), names)


def _check_steady(x) -> None:
    """Raises where a function of a user may have something grow that it is given."""
    if isinstance(x, (list, dict, set)):
        raise Unknown("what may change")
    if isinstance(x, tuple):
        for part in x:
            _check_steady(part)


def _check_folder(x) -> None:
    """Raises where a function or class is of a folder whose text is not part of the digest of the source."""
    if [*x.__module__.split("."), ""][1] in NO_KERNELS:
        raise Unknown(x.__module__)


def _public_name(x) -> str:
    """The name of a class, a ufunc, or a function written in C, or one of NumPy's: those that only compute."""
    name, module = x.__name__, getattr(x, "__module__", None) or "numpy"
    if isinstance(x, type) and is_ours(x):
        _check_folder(x)
        return f"{module}.{x.__qualname__}"
    if isinstance(x, np.ufunc) and getattr(np, name, None) is x:
        return f"numpy.{name}"
    if module == "builtins" and name in PURE_BUILTINS and getattr(x, "__self__", None) in (None, BUILTINS):
        return f"builtins.{name}"
    if module == "math" and getattr(math, name, None) is x:
        return f"math.{name}"
    if isinstance(x, type) and issubclass(x, np.generic):
        return f"numpy.{name}"
    if module.startswith("numpy") and (x in FUNCTIONS or x in STRUCTURAL or (name in PURE_NUMPY and getattr(np, name, None) is x)):
        return f"{module}.{name}"
    raise Unknown(f"{module}.{name}")


BUILTINS = __import__("builtins")
NUMPY_CALLABLES = {type(np.concatenate), type(np.linalg.norm)}
PLAIN: dict[type, Callable] = {
    type(None): lambda x: b"",
    bool: lambda x: b"%d" % x,
    int: lambda x: str(x).encode(),
    str: lambda x: x.encode(errors="surrogatepass"),
    bytes: lambda x: x,
    float: lambda x: struct.pack("<d", x),
    complex: lambda x: struct.pack("<dd", x.real, x.imag),
    range: lambda x: repr(x).encode(),
    type(Ellipsis): lambda x: b"",
}
