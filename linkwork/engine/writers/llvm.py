"""A program as LLVM IR: straight-line code over one sample or over a vector of them.

Multiply-adds are chosen here, once, so that every width gives the same bits: a product used by one sum only is fused
into it. Nothing is left for the compiler to contract or reassociate.
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import TraceError
from ..elementary.functions_circular import sincos
from ..tracing.loops import Loop
from ..tracing.operations import OPERATIONS, SAME, operands
from . import functions


@dataclass(frozen=True)
class Kind:
    """A scalar type and how many samples stand side by side."""

    dtype: str  # "double" or "float"
    width: int

    @property
    def vector(self) -> str:
        return self.of(self.dtype)

    @property
    def pointer(self) -> str:
        """The type of an argument. Lanes are our own; one sample is the user's memory, where out may be an input."""
        return "ptr" if self.width == 1 else "ptr noalias"

    @property
    def bytes(self) -> int:
        return 8 if self.dtype == "double" else 4

    @property
    def mangled(self) -> str:
        scalar = "f64" if self.dtype == "double" else "f32"
        return scalar if self.width == 1 else f"v{self.width}{scalar}"

    def of(self, scalar: str) -> str:
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def constant(self, x: float) -> str:
        if self.dtype == "float":
            with np.errstate(over="ignore"):
                x = float(np.float32(x))  # past all of them, infinite
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
        return bits if self.width == 1 else f"splat ({self.dtype} {bits})"


def needed_functions(program) -> set[str]:
    """The functions of the library that a program calls."""
    rows = (OPERATIONS[program.trace.nodes[i][0]] for i in program.everything)
    own = {row.library.__name__ for row in rows if row.library}
    return own.union(*(needed_functions(x.program) for x in program.routines))


def calls(program) -> int:
    """How often a program calls the library; the sine and the cosine of an angle are one call."""
    nodes = program.trace.nodes
    live = ((OPERATIONS[nodes[i][0]].library, nodes[i][1:]) for i in program.everything)
    return len({(function, arguments) for function, arguments in live if function}) + sum(calls(x.program) for x in program.routines)


def intrinsics(kind: Kind) -> dict[str, str]:
    """Declarations of what the body may call, by symbol."""
    V = kind.vector
    out = {f"llvm.fma.{kind.mangled}": f"declare {V} @llvm.fma.{kind.mangled}({V}, {V}, {V})\n"}
    for row in (row for row in OPERATIONS.values() if row.intrinsic):
        symbol = f"llvm.{row.intrinsic}.{kind.mangled}"
        out[symbol] = f"declare {V} @{symbol}({', '.join([V] * row.arity)})\n"
    return out


def fused(nodes: list[tuple], order: Sequence[int], uses: Counter) -> dict[int, int]:
    """Which product each sum absorbs: sum -> product, for products that nothing else uses."""
    out: dict[int, int] = {}
    here = set(order)
    for i in order:
        if nodes[i][0] == "add":
            for ref in reversed(nodes[i][1:]):
                if nodes[abs(ref)][0] == "mul" and uses[abs(ref)] == 1 and abs(ref) in here:
                    out[i] = abs(ref)
                    break
    return out


def refuse_call(routine, *values):
    raise TraceError(f"{routine.program.name} is called as a routine, which this kind of code has not: trace it where it is used.")


class Writer:
    """Instructions for runs of nodes. load(emit, *leaf) gives the value of an input; names outlive a run."""

    def __init__(self, nodes: list[tuple], kind: Kind, load: Callable, near: frozenset[int] = frozenset()):
        """`near` are angles that the caller has checked to be small enough for the short range reduction of sin and cos."""
        self.nodes, self.kind, self.load, self.near = nodes, kind, load, near
        self.names: dict[int, str] = {}
        self.turned: dict[int, str] = {}  # angle -> the pair {sin, cos}
        self.results: dict[int, list[str]] = {}  # of loops and calls
        self.call: Callable[..., list[str]] = refuse_call  # of (routine, values): the values of its results
        self.repeat: Callable[..., list[str]] = self.loop  # of (name, loop, refs): the values of its results
        self.lines: list[str] = []
        self.count = 0

    def emit(self, text: str) -> str:
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def at(self, ref: int) -> str:
        """The value a reference stands for."""
        node = self.nodes[abs(ref)]
        if node[0] == "const":
            return self.kind.constant(node[1] if ref >= 0 else -node[1])
        return self.names[ref] if ref > 0 else self.emit(f"fneg {self.kind.vector} {self.names[-ref]}")

    def run(self, order: Sequence[int], uses: Counter, then: Callable[[int], None] = lambda i: None) -> None:
        """The instructions of these nodes, in this order; `then(i)` may add others after node i; `uses` counts uses of each node."""
        absorbs = fused(self.nodes, order, uses)
        hidden = set(absorbs.values())
        for i in order:
            if self.nodes[i][0] != "const" and i not in hidden:
                self.write(i, absorbs)
            then(i)

    def write(self, i: int, absorbs: dict[int, int]) -> None:
        """The instructions of one node; a sum may absorb a product."""
        self.names[i] = self._node(i, absorbs)

    def _node(self, i: int, absorbs: dict[int, int]) -> str:
        kind, V = self.kind, self.kind.vector
        name, *args = self.nodes[i]
        row = OPERATIONS[name]
        if name == "in":
            return self.load(self.emit, *args)
        if name == "add":
            return self._add(args[0], args[1], absorbs.get(i))
        if name in SAME:
            return self.at(args[0])
        if name == "loop":
            self.results[i] = self.repeat(f"loop{i}", *args)
            return ""
        if name == "call":
            self.results[i] = self.call(args[0], [self.at(ref) for ref in args[1:]])
            return ""
        if name == "result":
            return self.results[args[1]][args[0]]
        if row.library is sincos:
            return self.emit(f"extractvalue {{{V}, {V}}} {self._turned(args[0])}, {row.part}")
        values = [self.at(a) for a in args]
        if row.instruction:
            true = "true" if kind.width == 1 else "splat (i1 true)"
            return self.emit(row.instruction.format(*values, V=V, B=kind.of("i1"), one=kind.constant(1.0), true=true))
        called = f"llvm.{row.intrinsic}.{kind.mangled}"
        if row.library:
            called = functions.symbol(row.library.__name__, kind.dtype, kind.width)
        return self.emit(f"call {V} @{called}({', '.join(f'{V} {x}' for x in values)})")

    def _add(self, a: int, b: int, product: int | None) -> str:
        V, at = self.kind.vector, self.at
        if product is not None:
            signed, rest = (b, a) if abs(b) == product else (a, b)
            _, x, y = self.nodes[product]
            x = x if signed > 0 else -x
            return self.emit(f"call {V} @llvm.fma.{self.kind.mangled}({V} {at(x)}, {V} {at(y)}, {V} {at(rest)})")
        if a < 0:
            a, b = b, a
        return self.emit(f"fadd {V} {at(a)}, {at(b)}" if b > 0 else f"fsub {V} {at(a)}, {at(-b)}")

    def loop(self, name: str, loop: Loop, *refs: int) -> list[str]:
        """The carried values after the last round. The group goes on as long as any of its samples does."""
        V, do = self.kind.vector, self.lines.append
        starts = [self.at(ref) for ref in refs[: len(loop.carried)]]
        entry = self.entry(name, loop, "end")
        do(f"br label %{name}.before\n{name}.before:\n{entry}\n{name}.head:")
        head = len(self.lines)
        self.names |= {leaf: f"%{name}.c{k}" for k, leaf in enumerate(loop.carried)}
        self.run(loop.body, uses_of(self.nodes, loop.body, [*loop.new, loop.again]))
        new, again = [self.at(ref) for ref in loop.new], self.names.get(loop.again, "")
        do(f"br label %{name}.tail\n{name}.tail:")
        self.lines[head:head] = [
            f"{self.names[leaf]} = phi {V} [ {a}, %{name}.before ], [ {b}, %{name}.tail ]"
            for leaf, a, b in zip(loop.carried, starts, new)
        ]
        do(f"br i1 {self.any(again) if again else 'false'}, label %{name}.head, label %{name}.end\n{name}.end:")
        if not loop.before:
            return new
        return [self.emit(f"phi {V} [ {a}, %{name}.before ], [ {b}, %{name}.tail ]") for a, b in zip(starts, new)]

    def entry(self, name: str, loop: Loop, beyond: str) -> str:
        """The way into a loop; or beyond it, where no sample makes a round."""
        if not loop.before:
            return f"br label %{name}.head"
        some = self.any(self.emit(f"fcmp ogt {self.kind.vector} {self.at(loop.before)}, {self.kind.constant(loop.most)}"))
        return f"br i1 {some}, label %{name}.head, label %{name}.{beyond}"

    def any(self, truth: str) -> str:
        """Is a truth true of any sample?"""
        w = self.kind.width
        if w == 1:
            return truth
        bits = self.emit(f"bitcast <{w} x i1> {truth} to i{w}")
        return self.emit(f"icmp ne i{w} {bits}, 0")

    def _turned(self, angle: int) -> str:
        if angle not in self.turned:
            name = "sincos_near" if angle in self.near else "sincos"
            V, symbol = self.kind.vector, functions.symbol(name, self.kind.dtype, self.kind.width)
            self.turned[angle] = self.emit(f"call {{{V}, {V}}} @{symbol}({V} {self.at(angle)})")
        return self.turned[angle]


def uses_of(nodes: list[tuple], order: Sequence[int], results: Iterable[int]) -> Counter:
    """How often each node is needed, by nodes in the order and by results."""
    uses = Counter(i for node in order for i in operands(nodes[node]))
    uses.update(map(abs, results))
    return uses
