"""A program as LLVM IR: straight-line code over one sample or over a vector of them.

Multiply-adds are chosen here, once, so that every width gives the same bits: a product used by one sum only is fused
into it. Nothing is left for the compiler to contract or reassociate.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ...errors import TraceError
from ..elementary.functions_circular import sincos
from ..elementary.functions_text import FORMATS, lanes, mangled, pattern, rounded
from ..tracing.loops import Loop
from ..tracing.operations import OPERATIONS, SAME, operands
from . import functions
from .llvm_text import Text


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
        return FORMATS[self.dtype].bits // 8

    @property
    def size(self) -> int:
        """Bytes of all samples' numbers."""
        return self.bytes * self.width

    @property
    def mangled(self) -> str:
        return mangled(self.vector)

    def of(self, scalar: str) -> str:
        return lanes(scalar, self.width)

    def constant(self, x: float) -> str:
        bits = f"0x{pattern(rounded(x, self.dtype), 'double'):016X}"
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


def library(names: Iterable[str], kinds: Iterable[Kind]) -> str:
    """The library's functions of these names, and declarations of those of LLVM that a body may call besides."""
    kinds, names = list(kinds), sorted(names)
    text = functions.library([(f, kind.dtype, kind.width) for f in names for kind in kinds])
    own = [("fma", 3), *((row.intrinsic, row.arity) for row in OPERATIONS.values() if row.intrinsic)]
    declared = (f"declare {x.vector} @llvm.{f}.{x.mangled}({', '.join([x.vector] * n)})\n" for x in kinds for f, n in own)
    return "".join([text, *(line for line in declared if line not in text)])


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


class Writer(Text):
    """Instructions for runs of nodes. load(*leaf) gives the value of an input; names outlive a run."""

    def __init__(self, nodes: list[tuple], kind: Kind, load: Callable, near: frozenset[int] = frozenset()):
        """`near` are angles that the caller has checked to be small enough for the short range reduction of sin and cos."""
        super().__init__()
        self.nodes, self.kind, self.load, self.near = nodes, kind, load, near
        self.names: dict[int, str] = {}
        self.turned: dict[int, str] = {}  # angle -> the pair {sin, cos}
        self.results: dict[int, list[str]] = {}  # of loops and calls
        self.call: Callable[..., list[str]] = refuse_call  # of (routine, values): the values of its results
        self.repeat: Callable[..., list[str]] = self.rounds  # of (loop, refs): the values of its results

    def value(self, ref: int) -> str:
        """The value a reference stands for."""
        node = self.nodes[abs(ref)]
        if node[0] == "const":
            return self.kind.constant(node[1] if ref >= 0 else -node[1])
        return self.names[ref] if ref > 0 else self.let(f"fneg {self.kind.vector} {self.names[-ref]}")

    def get(self, pointer: str) -> str:
        return self.let(f"load {self.kind.vector}, ptr {pointer}, align {self.kind.size}")

    def put(self, value: str, pointer: str) -> None:
        self.do(f"store {self.kind.vector} {value}, ptr {pointer}, align {self.kind.size}")

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
            return self.load(*args)
        if name == "add":
            return self._add(args[0], args[1], absorbs.get(i))
        if name in SAME:
            return self.value(args[0])
        if name == "loop":
            self.results[i] = self.repeat(*args)
            return ""
        if name == "call":
            self.results[i] = self.call(args[0], [self.value(ref) for ref in args[1:]])
            return ""
        if name == "result":
            return self.results[args[1]][args[0]]
        if row.library is sincos:
            return self.let(f"extractvalue {{{V}, {V}}} {self._turned(args[0])}, {row.part}")
        values = [self.value(a) for a in args]
        if row.instruction:
            true = "true" if kind.width == 1 else "splat (i1 true)"
            return self.let(row.instruction.format(*values, V=V, B=kind.of("i1"), one=kind.constant(1.0), true=true))
        called = f"llvm.{row.intrinsic}.{kind.mangled}"
        if row.library:
            called = functions.symbol(row.library.__name__, kind.dtype, kind.width)
        return self.let(f"call {V} @{called}({', '.join(f'{V} {x}' for x in values)})")

    def _add(self, a: int, b: int, product: int | None) -> str:
        V, at = self.kind.vector, self.value
        if product is not None:
            signed, rest = (b, a) if abs(b) == product else (a, b)
            _, x, y = self.nodes[product]
            x = x if signed > 0 else -x
            return self.let(f"call {V} @llvm.fma.{self.kind.mangled}({V} {at(x)}, {V} {at(y)}, {V} {at(rest)})")
        if a < 0:
            a, b = b, a
        return self.let(f"fadd {V} {at(a)}, {at(b)}" if b > 0 else f"fsub {V} {at(a)}, {at(-b)}")

    def rounds(self, loop: Loop, *refs: int) -> list[str]:
        """The carried values after the last round."""
        rooms = [self.room(self.kind.vector) for _ in loop.carried]
        for room, ref in zip(rooms, refs):
            self.put(self.value(ref), room)
        with self.group_rounds(loop):
            self.names |= zip(loop.carried, map(self.get, rooms))
            self.run(loop.body, uses_of(self.nodes, loop.body, [*loop.new, loop.again]))
            for value, room in zip([self.value(ref) for ref in loop.new], rooms):
                self.put(value, room)
            self.go_on(self.names.get(loop.again))
        return [self.get(room) for room in rooms]

    @contextmanager
    def group_rounds(self, loop: Loop):
        """The rounds of a loop, none if no sample makes one; each ends with `go_on`."""
        with ExitStack() as around:
            if loop.before:
                more = self.let(f"fcmp ogt {self.kind.vector} {self.value(loop.before)}, {self.kind.constant(loop.most)}")
                around.enter_context(self.when(self.any(more)))
            around.enter_context(self.forever())
            yield

    def go_on(self, truth: str | None) -> None:
        """Leave the loop around here unless a truth is true of some sample; None is never true."""
        self.leave("true" if truth is None else self.let(f"xor i1 {self.any(truth)}, true"))

    def any(self, truth: str) -> str:
        """Is a truth true of any sample?"""
        w = self.kind.width
        if w == 1:
            return truth
        bits = self.let(f"bitcast <{w} x i1> {truth} to i{w}")
        return self.let(f"icmp ne i{w} {bits}, 0")

    def _turned(self, angle: int) -> str:
        if angle not in self.turned:
            name = "sincos_near" if angle in self.near else "sincos"
            V, symbol = self.kind.vector, functions.symbol(name, self.kind.dtype, self.kind.width)
            self.turned[angle] = self.let(f"call {{{V}, {V}}} @{symbol}({V} {self.value(angle)})")
        return self.turned[angle]


def uses_of(nodes: list[tuple], order: Sequence[int], results: Iterable[int]) -> Counter:
    """How often each node is needed, by nodes in the order and by results."""
    uses = Counter(i for node in order for i in operands(nodes[node]))
    uses.update(map(abs, results))
    return uses
