"""A function that is traced, compiled and loaded as a gufunc when it is first called, or loaded from the cache on disk."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..tracing.program import Input, Program, record
from ..tracing.rolled_program import RolledProgram
from . import compiler, interpreter
from .call import arrays_are_as_known, call
from .compiled import compiled
from .gufunc import LoopData, gufunc
from .identity import digest

LLVM_NAMES = {"d": "double", "f": "float"}


class Entry(NamedTuple):
    """Where compiled code is entered by others than NumPy: @loop(arguments, dimensions, steps, data) as driver.py says."""

    key: str  # of what the code was made from
    loop: int
    data: int
    outputs: list[tuple[int, ...]]
    held: object  # what keeps the code in memory


class NoEntries(ValueError):
    """An argument or result without entries, which no gufunc has."""


class Kernel:
    """A function of one sample, written with NumPy, for arguments of known shapes.

    `content` is everything its result depends on besides its own text and the library's. If that has an identity (identity.py), a kernel
    on disk is found without tracing; otherwise the function is traced in each process and only the compilation is saved.
    """

    def __init__(self, name: str, function: Callable, inputs: tuple[Input, ...], content: object = None, record=record):
        """`record` makes the program of (name, function, inputs): straight-line by default, or rolled."""
        self.name = name
        self.function = function
        self.inputs = inputs
        self.content = content
        self.record = record
        self._loops: dict[str, tuple[Entry, np.ufunc, Callable]] = {}

    @cached_property
    def program(self) -> Program | RolledProgram:
        return self.record(self.name, self.function, self.inputs)

    @cached_property
    def identity(self) -> str | None:
        """A digest of the content; None where that is not given or not known."""
        return None if self.content is None else digest(self.content)

    @property
    def decided_by(self) -> tuple | None:
        """See identity.py."""
        return None if self.content is None else (self.name, self.inputs, self.content)

    @property
    def is_traced(self) -> bool:
        return "program" in vars(self)

    def tables(self, dtype: str) -> list[np.ndarray]:
        """What its code reads besides its arguments; rolled kernels, which alone have tables, have no identity."""
        return self.program.tables(dtype) if self.identity is None else []

    def runner(self, kind: str) -> Callable:
        """The gufunc, or the interpreter if an argument or result has no entries, which NumPy does not allow in a gufunc."""
        try:
            return self.call(kind)
        except NoEntries:
            return interpreter.called(self.program)

    def gufunc(self, kind: str) -> np.ufunc:
        """The gufunc for float64 ("d") or float32 ("f")."""
        return self._of(kind)[1]

    def call(self, kind: str) -> Callable:
        """A function that does what the gufunc does, with less overhead for one sample."""
        return self._of(kind)[2]

    def entry(self, kind: str) -> Entry:
        """The compiled loop itself."""
        return self._of(kind)[0]

    def _of(self, kind: str) -> tuple[Entry, np.ufunc, Callable]:
        if kind not in self._loops:
            self._loops[kind] = self._loaded(kind)
        return self._loops[kind]

    def _loaded(self, kind: str) -> tuple[Entry, np.ufunc, Callable]:
        """The loop, the gufunc and the function for one sample, from the cache on disk or newly compiled."""
        dtype = LLVM_NAMES[kind]

        def text(program: Program | RolledProgram) -> str:
            if not all(x.size for side in (program.inputs, program.outputs) for x in side):
                raise NoEntries(self.name)
            return compiler.module_text(program, dtype)

        made = compiled(self, (), dtype, text)
        data = LoopData(self.tables(dtype))
        code = compiler.Code(made.code, "loop", "call")
        loop, quick = code.addresses
        general = gufunc(self.name, loop, data, dtype, [x.shape for x in self.inputs], made.outputs, code)
        entry = Entry(made.key, loop, data.address, made.outputs, general)
        return entry, general, call(general, quick, data, dtype) if quick and arrays_are_as_known() else general
