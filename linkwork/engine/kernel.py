"""A function that is traced, compiled and loaded as a gufunc when it is first called, or loaded from the cache on disk."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from . import cache, compiler, interpreter
from .call import arrays_are_as_known, call
from .gufunc import LoopData, gufunc
from .notice import announced
from .program import Input, Program, record
from .rolled_program import RolledProgram

LLVM_NAMES = {"d": "double", "f": "float"}


class Entry(NamedTuple):
    """Where compiled code is entered by others than NumPy: @loop(arguments, dimensions, steps, data) as driver.py says."""

    key: str  # of what the code was made from
    loop: int
    data: int
    outputs: list[tuple[int, ...]]
    held: object  # what keeps the code in memory


class Kernel:
    """A function of one sample, written with NumPy, for arguments of known shapes.

    `content` is everything its result depends on besides its own text and the library's; with it, a kernel on disk is
    found without tracing. Without it the function is traced each time and only the compilation is saved.
    """

    def __init__(self, name: str, function: Callable, inputs: tuple[Input, ...], content: object = None, record=record):
        """`record` makes the program of (name, function, inputs): straight-line by default, or rolled."""
        self.name = name
        self.function = function
        self.inputs = inputs
        self.content = content
        self.record = record
        self._made: dict[str, tuple[np.ufunc, Callable]] = {}
        self._entries: dict[str, Entry] = {}

    @cached_property
    def program(self) -> Program | RolledProgram:
        return self.record(self.name, self.function, self.inputs)

    def runner(self, kind: str) -> Callable:
        """The gufunc, or the interpreter if an argument or result has no entries, which NumPy does not allow in a gufunc."""
        sizes = [x.size for x in self.inputs]
        if self.content is None:
            sizes += [x.size for x in self.program.outputs]
        return self.call(kind) if all(sizes) else interpreter.called(self.program)

    def gufunc(self, kind: str) -> np.ufunc:
        """The gufunc for float64 ("d") or float32 ("f")."""
        return self._of(kind)[0]

    def call(self, kind: str) -> Callable:
        """A function that does what the gufunc does, with less overhead for one sample."""
        return self._of(kind)[1]

    def entry(self, kind: str) -> Entry:
        """The compiled loop itself."""
        self._of(kind)
        return self._entries[kind]

    def _of(self, kind: str) -> tuple[np.ufunc, Callable]:
        if kind not in self._made:
            with announced(self.name):
                self._made[kind] = self._loaded(kind)
        return self._made[kind]

    def _loaded(self, kind: str) -> tuple[np.ufunc, Callable]:
        """The gufunc and the function for one sample, from the cache on disk or newly compiled."""
        dtype = LLVM_NAMES[kind]
        made_from = (self.name, self.inputs, dtype, compiler.identity(), cache.source_digest())
        text = None
        if self.content is None:
            text = compiler.module_text(self.program, dtype)
            name = cache.key(text, *made_from)
        else:
            name = cache.key(self.content, *made_from)
        found = cache.get(name)
        if found is None:
            code = compiler.compiled(text or compiler.module_text(self.program, dtype))
            header: dict[str, Any] = {
                "name": self.name,
                "dtype": dtype,
                "outputs": [list(x.shape) for x in self.program.outputs],
                "operations": sum(self.program.operations.values()),
            }
            cache.put(name, header, code)
        else:
            header, code = found
        inputs, outputs = [x.shape for x in self.inputs], [tuple(x) for x in header["outputs"]]
        data = LoopData(self.program.tables(dtype) if self.content is None else ())
        loaded = compiler.Code(code, "loop", "call")
        loop, quick = loaded.addresses
        general = gufunc(self.name, loop, data, dtype, inputs, outputs, loaded)
        self._entries[kind] = Entry(name, loop, data.address, outputs, general)
        return general, call(general, quick, data, dtype) if quick and arrays_are_as_known() else general
