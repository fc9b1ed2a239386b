"""What is made once: in memory for as long as its owner lives, on disk for every process.

A loop around a kernel (one call, steps in time, rounds until something is done; on the processor or a GPU) is a `form` of it. Its code is
found on disk by the form, the machine, and the identity of the kernel, in which case nothing is traced. A kernel without an identity is
traced, and its code found by its text.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..tracing.program import Program
from ..tracing.rolled_program import RolledProgram
from . import cache, compiler
from .notice import announced

if TYPE_CHECKING:
    from .kernel import Kernel


class Made(dict):
    """What has been made for one owner, each thing once."""

    def once(self, make: Callable[[], Any], *key) -> Any:
        """What `make` returned when it was first called with this key. The place in the source where `make` is written is part of the
        key, so that two places never have the same."""
        place = make.__code__, *key
        if place not in self:
            self[place] = make()
        return self[place]


class Machine(NamedTuple):
    """What code is compiled for, and how: a digest of the machine, and the function from text to code."""

    identity: str
    compiled: Callable[[str], bytes]


class Compiled(NamedTuple):
    """Code, the name that it has on disk, and what is told of it there: the name of the kernel, its operations, the shapes of its outputs,
    the functions of the code."""

    key: str
    header: dict
    code: bytes

    @property
    def outputs(self) -> list[tuple[int, ...]]:
        return [tuple(shape) for shape in self.header["outputs"]]


def compiled(
    kernel: "Kernel", form: tuple, dtype: str, text: Callable[[Program | RolledProgram], str], machine: Machine | None = None,
    told: Callable[[], dict] = dict,
) -> Compiled:  # fmt: skip
    """The code of a kernel in a form, from disk or made now. `text` writes its program out for the machine, at first this processor; `told`
    is what else the header tells."""
    with announced(kernel.name):
        machine = machine or Machine(compiler.identity(), compiler.compiled)
        written = text(kernel.program) if kernel.identity is None else None
        key = cache.key(kernel.identity or written, kernel.name, kernel.inputs, form, dtype, machine.identity, cache.source_digest())
        if (found := cache.get(key)) is not None:
            return Compiled(key, *found)
        written = written or text(kernel.program)
        header = described(kernel, *form[:1]) | {"dtype": dtype, "functions": [x for x in ("kernel", "far") if f"@{x}(" in written]}
        code = machine.compiled(written)
        cache.put(key, header := header | told(), code)
        return Compiled(key, header, code)


def shapes(kernel: "Kernel") -> list[tuple[int, ...]]:
    """The shapes of the outputs of a kernel, from disk if its identity is known there."""
    if kernel.identity is None or kernel.is_traced:
        return [x.shape for x in kernel.program.outputs]
    key = cache.key("shapes", kernel.identity, kernel.name, kernel.inputs, cache.source_digest())
    found = cache.get(key)
    if found is None:
        found = described(kernel, "shapes"), b""
        cache.put(key, *found)
    return [tuple(shape) for shape in found[0]["outputs"]]


def described(kernel: "Kernel", *form: str) -> dict[str, Any]:
    """What is told of a kernel on disk."""
    shapes, operations = [list(x.shape) for x in kernel.program.outputs], sum(kernel.program.operations.values())
    return {"name": " ".join((kernel.name, *form)), "outputs": shapes, "operations": operations}
