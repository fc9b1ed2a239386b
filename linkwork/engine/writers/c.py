"""A program as C99: one function that allocates nothing, has no branches but bounded loops, and calls only functions of math.h.

Sums and products are written as they are. The C compiler decides whether a multiply-add is one instruction, because a call of
fma() is slow on a processor without one.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

import numpy as np

from ..tracing.loops import Loop
from ..tracing.operations import OPERATIONS, SAME, operands
from ..tracing.program import Program
from .llvm import refuse_call

TYPES = {"float64": "double", "float32": "float"}
RESERVED = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
}  # fmt: skip
WIDTH = 100  # characters of an expression before it gets a name
SUM, PRODUCT, ATOM = range(3)  # how tightly the parts of an expression hold together
LEVELS = {"": SUM, "product": PRODUCT, "atom": ATOM}  # as the table of operations names them


def identifier(name: str) -> str:
    """A name that C accepts, like the given one: letters without their accents, digits, underscores."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"\W+", "_", plain).strip("_") or "x"
    return f"m{plain}" if plain[0].isdigit() else plain


def source(program: Program, name: str, dtype: str, header_name: str, notes: Iterable[str] = ()) -> str:
    """The .c file: notes, then the function."""
    return f"""{comment(notes)}
#include "{header_name}"

#include <math.h>

{function(program, name, dtype)}"""


def function(program: Program, name: str, dtype: str) -> str:
    """The function itself; what it does not use is named, so that no compiler warns."""
    body = CFunction(program, dtype)
    unused = [f"(void){argument};" for x, argument in body.arguments.items() if x not in body.used]
    unused += [f"(void){result};" for result, x in zip(results(program), program.outputs) if not x.size]
    lines = "".join(f"    {line}\n" for line in (*unused, *body.lines))
    return f"{prototype(program, name, dtype, '*restrict ')}\n{{\n{lines}}}\n"


def header(program: Program, name: str, dtype: str, notes: Iterable[str] = ()) -> str:
    """The .h file: notes, then the declaration, for C and C++."""
    guard = f"{name.upper()}_H"
    return f"""{comment(notes)}
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

{prototype(program, name, dtype)};

#ifdef __cplusplus
}}
#endif

#endif
"""


def comment(lines: Iterable[str]) -> str:
    """Lines as a comment that nothing in them can end."""
    safe = (re.sub(r"/\*|\*/", "*", line).encode("ascii", "backslashreplace").decode() for line in lines)
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in safe) + " */"


def prototype(program: Program, name: str, dtype: str, star: str = "*") -> str:
    """Inputs first, then outputs; a C++ compiler must see no `restrict`, and C needs it only in the definition."""
    kind = TYPES[dtype]
    given = [f"const {kind} {star}{argument}" for argument in arguments(program).values()]
    given += [f"{kind} {star}{result}" for result in results(program)]
    line = f"void {name}({', '.join(given)})"
    return line if len(line) < WIDTH else f"void {name}(\n    " + ",\n    ".join(given) + ")"


def arguments(program: Program) -> dict[str, str]:
    """What each input is called in C."""
    calls = {row.c for row in OPERATIONS.values() if row.c.isidentifier()}
    taken = RESERVED | calls | {f"{name}f" for name in calls} | {*results(program)}
    out: dict[str, str] = {}
    for x in program.inputs:
        name = identifier(x.name)
        while name in taken or re.fullmatch(r"x\d+", name):
            name += "_"
        taken.add(name)
        out[x.name] = name
    return out


def results(program: Program) -> list[str]:
    return ["out"] if len(program.outputs) == 1 else [f"out{n}" for n in range(len(program.outputs))]


class CFunction:
    """The lines of the function. What is used once stands where it is used, as long as the line stays readable."""

    def __init__(self, program: Program, dtype: str):
        self.program, self.kind = program, TYPES[dtype]
        self.arguments = arguments(program)
        self.lines: list[str] = []
        self.used: set[str] = set()  # inputs that are read
        self.count = 0
        self.written: dict[int, tuple[str, int]] = {}  # node -> its expression and how tightly that holds together
        self.results: dict[int, list[str]] = {}  # of loops
        self.run(program.live, [ref for output in program.outputs for ref in output.refs])
        for out, output in zip(results(program), program.outputs):
            self.lines += [f"{out}[{j}] = {self.at(ref)};" for j, ref in enumerate(output.refs)]

    def run(self, order: Iterable[int], wanted: Iterable[int]) -> None:
        """The lines of some nodes, of which `wanted` are used elsewhere. Loops use values from around them in each round."""
        nodes = self.program.trace.nodes
        uses = Counter(i for node in order for i in operands(nodes[node]))
        uses.update(map(abs, wanted))
        uses.update(j for i in order if nodes[i][0] == "loop" for j in nodes[i][2 + len(nodes[i][1].carried) :])
        for i in order:
            if nodes[i][0] == "loop":
                self.results[i] = self.loop(*nodes[i][1:])
                continue
            text, level = self.expression(*nodes[i])
            inline = nodes[i][0] in ("add", "mul", *SAME) and uses[i] == 1 and len(text) < WIDTH
            if level < ATOM and not inline and nodes[i][0] != "const":
                text, level = self.named(text, "const int" if OPERATIONS[nodes[i][0]].truth else f"const {self.kind}"), ATOM
            self.written[i] = text, level

    def loop(self, loop: Loop, *refs: int) -> list[str]:
        """The variables that hold the carried values."""
        variables = [self.named(self.at(ref), self.kind) for ref in refs[: len(loop.carried)]]
        unless = f"if ({self.at(loop.before, ATOM)} > {loop.most}) " if loop.before else ""
        self.written |= {leaf: (name, ATOM) for leaf, name in zip(loop.carried, variables)}
        count, outer = self.fresh(), self.lines
        self.lines = []
        self.run(loop.body, [*loop.new, loop.again])
        new = [x if x.isidentifier() and x not in variables else self.named(x, f"const {self.kind}") for x in map(self.at, loop.new)]
        again = self.at(loop.again, ATOM)
        inner = [*self.lines, *(f"{a} = {b};" for a, b in zip(variables, new)), f"if (!{again}) break;"]
        outer += [f"{unless}for (int {count} = 0; {count} < {loop.most}; ++{count}) {{", *(f"    {line}" for line in inner), "}"]
        self.lines = outer
        return variables

    def fresh(self) -> str:
        self.count += 1
        return f"x{self.count - 1}"

    def named(self, text: str, kind: str) -> str:
        name = self.fresh()
        self.lines.append(f"{kind} {name} = {text};")
        return name

    def at(self, ref: int, level: int = SUM) -> str:
        """The expression of a reference, in parentheses if it does not hold together as tightly as asked."""
        value = self.program.trace.value(ref)
        text, own = self.written[abs(ref)] if value is None else self.constant(value)
        if ref < 0 and value is None:
            text, own = f"-({text})" if own == SUM or text.startswith("-") else f"-{text}", PRODUCT
        return f"({text})" if own < level else text

    def constant(self, x: float) -> tuple[str, int]:
        """Enough digits to get the same number back."""
        if self.kind == "float":
            with np.errstate(over="ignore"):
                text = str(np.float32(x))
            suffix = "f"
            x = float(text)
        else:
            text, suffix = repr(float(x)), ""
        if not math.isfinite(x):
            text, suffix = ("NAN" if math.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"), ""
        return text + suffix, PRODUCT if text.startswith("-") else ATOM

    def expression(self, name: str, *args) -> tuple[str, int]:
        """An operation and how tightly its text holds together."""
        if name == "in":
            self.used.add(args[0])
            return f"{self.arguments[args[0]]}[{args[1]}]", ATOM
        if name == "const":
            return self.constant(args[0])
        if name in SAME:
            return self.written[args[0]]
        if name == "call":
            refuse_call(*args)
        if name == "result":
            return self.results[args[1]][args[0]], ATOM
        if name == "add":
            return self.sum(*args), SUM
        text = OPERATIONS[name].c
        if text.isidentifier():
            return f"{text}{'f' * (self.kind == 'float')}({', '.join(map(self.at, args))})", SUM
        level = PRODUCT if name == "mul" else SUM
        return text.format(*(Operand(self, ref) for ref in args), one=self.constant(1.0)[0]), level

    def sum(self, a: int, b: int) -> str:
        if a < 0:
            a, b = b, a
        right = self.at(b, PRODUCT)
        return f"{self.at(a)} - {right[1:]}" if right.startswith("-") else f"{self.at(a)} + {right}"


class Operand:
    """An operand in the text of an operation: {0:atom} asks for parentheses around anything but an atom."""

    def __init__(self, body: CFunction, ref: int):
        self.body, self.ref = body, ref

    def __format__(self, level: str) -> str:
        return self.body.at(self.ref, LEVELS[level])
