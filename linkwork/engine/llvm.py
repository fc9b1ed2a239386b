"""A program as LLVM IR: straight-line code over one sample or over a vector of them.

Multiply-adds are chosen here, once, so that every width gives the same bits: a product used by one sum only is fused
into it. Nothing is left for the compiler to contract or reassociate.
"""

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from . import functions
from .program import Program, operands

COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
LIBRARY = {"sin": "sincos", "cos": "sincos", "atan2": "atan2", "acos": "acos", "asin": "asin", "exp": "exp", "log": "log"}


@dataclass(frozen=True)
class Kind:
    """A scalar type and how many samples stand side by side."""

    dtype: str  # "double" or "float"
    width: int

    @property
    def vector(self) -> str:
        return self.of(self.dtype)

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
        x = struct.unpack("<f", struct.pack("<f", x))[0] if self.dtype == "float" else x
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
        return bits if self.width == 1 else f"splat ({self.dtype} {bits})"


def needed_functions(program: Program) -> set[str]:
    """The functions of the library that a program calls."""
    return {LIBRARY[name] for i in program.live if (name := program.trace.nodes[i][0]) in LIBRARY}


def intrinsics(kind: Kind) -> dict[str, str]:
    """Declarations of what the body may call, by symbol."""
    V = kind.vector
    out = {f"llvm.fma.{kind.mangled}": f"declare {V} @llvm.fma.{kind.mangled}({V}, {V}, {V})\n"}
    for name in ("sqrt", "fabs", "floor"):
        symbol = f"llvm.{name}.{kind.mangled}"
        out[symbol] = f"declare {V} @{symbol}({V})\n"
    return out


def fused(program: Program) -> dict[int, int]:
    """Which product each sum absorbs: sum -> product, for products that nothing else uses."""
    nodes = program.trace.nodes
    uses = Counter(i for node in program.live for i in operands(nodes[node]))
    uses.update(abs(ref) for output in program.outputs for ref in output.refs)
    out: dict[int, int] = {}
    for i in program.live:
        if nodes[i][0] == "add":
            for ref in reversed(nodes[i][1:]):
                if nodes[abs(ref)][0] == "mul" and uses[abs(ref)] == 1:
                    out[i] = abs(ref)
                    break
    return out


def body(program: Program, kind: Kind, load: Callable, store: Callable) -> list[str]:
    """The instructions of a program. load(name, index) and store(output, index, value) give text for memory."""
    V, B = kind.vector, kind.of("i1")
    nodes, absorbs = program.trace.nodes, fused(program)
    hidden = set(absorbs.values())
    lines: list[str] = []
    names: dict[int, str] = {}
    turned: dict[int, str] = {}  # angle -> the pair {sin, cos}
    fresh = iter(range(10**9))

    def emit(text: str) -> str:
        name = f"%t{next(fresh)}"
        lines.append(f"{name} = {text}")
        return name

    def at(ref: int) -> str:
        node = nodes[abs(ref)]
        if node[0] == "const":
            return kind.constant(node[1] if ref >= 0 else -node[1])
        return names[ref] if ref > 0 else emit(f"fneg {V} {names[-ref]}")

    def truth(ref: int) -> str:
        return names[ref]

    def add(i: int, a: int, b: int) -> str:
        if i in absorbs:
            product, rest = (b, a) if abs(b) == absorbs[i] else (a, b)
            _, x, y = nodes[abs(product)]
            x = x if product > 0 else -x
            return emit(f"call {V} @llvm.fma.{kind.mangled}({V} {at(x)}, {V} {at(y)}, {V} {at(rest)})")
        if a < 0:
            a, b = b, a
        return emit(f"fadd {V} {at(a)}, {at(b)}" if b > 0 else f"fsub {V} {at(a)}, {at(-b)}")

    for i in program.live:
        name, *args = nodes[i]
        if name == "const" or i in hidden:
            continue
        if name == "in":
            names[i] = load(emit, *args)
        elif name == "add":
            names[i] = add(i, *args)
        elif name == "mul":
            names[i] = emit(f"fmul {V} {at(args[0])}, {at(args[1])}")
        elif name == "rcp":
            names[i] = emit(f"fdiv {V} {kind.constant(1.0)}, {at(args[0])}")
        elif name == "opaque":
            names[i] = at(args[0])
        elif name in ("sin", "cos"):
            if args[0] not in turned:
                symbol = functions.symbol("sincos", kind.dtype, kind.width)
                turned[args[0]] = emit(f"call {{{V}, {V}}} @{symbol}({V} {at(args[0])})")
            names[i] = emit(f"extractvalue {{{V}, {V}}} {turned[args[0]]}, {0 if name == 'sin' else 1}")
        elif name in LIBRARY:
            given = ", ".join(f"{V} {at(a)}" for a in args)
            names[i] = emit(f"call {V} @{functions.symbol(name, kind.dtype, kind.width)}({given})")
        elif name in ("sqrt", "abs", "floor"):
            intrinsic = "fabs" if name == "abs" else name
            names[i] = emit(f"call {V} @llvm.{intrinsic}.{kind.mangled}({V} {at(args[0])})")
        elif name in COMPARE:
            names[i] = emit(f"fcmp {COMPARE[name]} {V} {at(args[0])}, {at(args[1])}")
        elif name in ("and", "or"):
            names[i] = emit(f"{name} {B} {truth(args[0])}, {truth(args[1])}")
        elif name == "not":
            names[i] = emit(f"xor {B} {truth(args[0])}, {'true' if kind.width == 1 else 'splat (i1 true)'}")
        else:
            names[i] = emit(f"select {B} {truth(args[0])}, {V} {at(args[1])}, {V} {at(args[2])}")
    for n, output in enumerate(program.outputs):
        for j, ref in enumerate(output.refs):
            store(lines, n, j, at(ref))
    return lines
