"""A long program as assembly for x86-64: the function @name(inputs..., outputs..., work, data), as straight.py writes it for LLVM.

LLVM takes seconds for ten thousand operations, and copies values from memory to memory that it could read where they are.
Here registers are chosen in one pass (allocation.py), for one sample and for a vector of them alike; LLVM only assembles. Sums
absorb the same products, so the bits are those of straight.py.
"""

from functools import cache

import llvmlite.binding as llvm

from ..elementary.functions_text import pattern, rounded
from ..tracing.program import Program
from .allocation import Instructions, Plan, is_arithmetic, plan
from .driver import lane_places
from .llvm import Kind
from .processor import forced_width, writes_assembly

FEWEST = 1000  # operations of a program that is worth it
OTHERS = 1 / 8  # of which at most so many are not arithmetic
BASES = "rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10", "r11", "rbx", "rbp", "r12", "r13", "r14", "r15"  # for pointers
PASSED, SAVED = 6, 9  # of these, how many hold arguments; which from on belong to the caller
TURNING, MANY = 6, 64  # registers for addresses to write out results, and how many make it worth while
STRIP = 24  # bytes of the description of a strip
SIGNS = {(False, False): "vfmadd", (False, True): "vfmsub", (True, False): "vfnmadd", (True, True): "vfnmsub"}


@cache
def registers() -> int:
    """How many vector registers there are for which this file has instructions: 32 with AVX-512, 16 with AVX2, else none."""
    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features()
    if not triple.startswith("x86_64") or "linux" not in triple or not (features.get("avx2") and features.get("fma")):
        return 0
    longer = [bool(features.get(x)) for x in ("avx512f", "avx512vl")]
    if not writes_assembly() or forced_width() == 2 or (forced_width() == 8 and not all(longer)):
        return 0
    return 32 if all(longer) else 0 if any(longer) else 16


def serves(program: Program) -> bool:
    """Is this a long program, most of it arithmetic outside of loops and routines, on a machine whose assembly is written here?"""
    if not registers() or len(program.inputs) + len(program.outputs) >= len(BASES):
        return False
    counts = program.outer_operations
    many, others = sum(counts.values()), sum(n for name, n in counts.items() if not is_arithmetic(name))
    return many >= FEWEST and others <= OTHERS * many


def turns(program: Program) -> bool:
    """Does a kernel write out results of the samples before while it computes? There must be many, in whole short vectors, and registers
    for addresses."""
    sizes, addresses = [x.size for x in program.outputs], len(program.inputs) + len(program.outputs) + 1
    if registers() < 32 or addresses + TURNING > len(BASES):
        return False
    return not any(x % 4 for x in sizes) and sum(sizes) >= MANY and sum(x.size for x in program.inputs) * 8 > 3 * len(sizes)


def overlaps(program: Program, kind: Kind) -> bool:
    """The same of the code for vectors of this kind."""
    return serves(program) and turns(program) and kind.dtype == "double" and kind.width == 8


def count_of_registers(program: Program) -> int:
    """How many of them values may take."""
    return registers() - 3 * turns(program)


def planned(program: Program) -> Plan:
    return plan(program, count_of_registers(program))


def message(program: Program) -> int:
    """The slot of the scratch memory where a kernel finds the addresses of lanes and of results to write out (samples.py). It is where one
    sample has its inputs."""
    return planned(program).room


def workspace(program: Program) -> int:
    """Numbers of scratch memory for each sample: values that wait, and the inputs of one sample, whose memory may be that of a result."""
    return planned(program).room + sum(x.size for x in program.inputs)


class Text:
    """Assembly of the stretches of one kernel. `results` says where in which argument the entry `ref` of an output is."""

    def __init__(self, program: Program, kind: Kind, name: str, results: dict[tuple[int, int], list[tuple[int, int]]], once: bool):
        self.plan, self.kind, self.name, self.results = planned(program), kind, name, results
        self.strips = [how for _, how in strips(program, kind, 0)] if once and overlaps(program, kind) else []
        self.program = program
        self.message = message(program)
        self.arguments = len(program.inputs) + len(program.outputs) + 1  # the last is the scratch memory
        self.number = {x.name: j for j, x in enumerate(program.inputs)}
        self.wide = registers() == 32  # EVEX: a constant is one number that is repeated, a short offset counts vectors
        self.size = kind.size
        self.bias = 128 * self.size if self.wide else 128  # bases lie so far behind, that short offsets reach more
        self.type = ("p" if kind.width > 1 else "s") + ("d" if kind.dtype == "double" else "s")
        self.vector = {64: "zmm", 32: "ymm", 16: "xmm"}.get(self.size, "xmm")
        self.names = [f"%{self.vector}{n}" for n in range(registers())]
        repeated = max(self.size, 16) // kind.bytes
        self.repeat = f"{{1to{repeated}}}" if self.wide else ""
        self.step = kind.bytes if self.wide else kind.bytes * repeated

    def module_text(self) -> str:
        """The functions @name.p, one for each stretch, and the constants, which lie beside the code."""
        label, lines = f"{self.name}.constants", [".text", ".p2align 6"]
        lines.append(f"{label}:")
        dtype, top = self.kind.dtype, 1 << (8 * self.kind.bytes - 1)
        unit = ".quad" if dtype == "double" else ".long"
        for x in [*(pattern(rounded(x, dtype), dtype) for x in self.plan.constants), top, top - 1]:
            lines += [f"{unit} {x}"] * (self.step // self.kind.bytes)
        if self.strips:
            lines.append(f"{self.name}.strips:")
            lines += [f".long {', '.join(map(str, strip))}" for before in (0, 2) for strip, _ in self._strips(before)]
            lines += [*self._turn("turn", 4), *self._turn("edge", 2)]
        todo = sum(len(x.code) for x in self.plan.stretches if isinstance(x, Instructions))
        self.every, self.done, self.written = todo / max(1, len(self.strips)), 0, 0
        for p, stretch in enumerate(self.plan.stretches):
            if isinstance(stretch, Instructions):
                lines += self._function(f"{self.name}.{p}", stretch.code)
        return 'module asm "' + "\\0A".join(lines) + '"\n'

    def _function(self, name: str, code: list[tuple]) -> list[str]:
        saved = BASES[SAVED : self.arguments + TURNING * bool(self.strips)]
        lines = [".p2align 6", f".type {name},@function", f"{name}:", *(f"pushq %{r}" for r in saved)]
        for j in range(PASSED, self.arguments):
            lines.append(f"movq {8 * (len(saved) + 1 + j - PASSED)}(%rsp), %{BASES[j]}")
        lines += [f"addq ${self.bias}, %{r}" for r in BASES[: self.arguments]]
        for instruction in code:
            self._write(lines, *instruction)
            self.done += 1
            while self.strips and self.done >= self.every * (self.written + 1) - 1e-6 and self.written < len(self.strips):
                lines.append(f"leaq {self.name}.strips+{STRIP * self.written}(%rip), %{BASES[self.arguments]}")
                lines.append(f"callq {self.name}.{self.strips[self.written]}")
                self.written += 1
        lines += [f"popq %{r}" for r in reversed(saved)]
        return [*lines, "vzeroupper", "retq"]

    def _turn(self, name: str, entries: int) -> list[str]:
        """@name.turn: four entries of results that wait, from lanes to the samples they belong to, past the caches; their strip is in the
        first register. @name.edge: two. Halves of lanes are joined as they are loaded; unpacking them gives the entries of one sample."""
        *lanes, user, outer = (f"%{r}" for r in BASES[self.arguments : self.arguments + TURNING])
        lanes, size, (x, y, z) = lanes[:entries], "y" if entries == 4 else "x", (f"mm{n}" for n in range(29, 32))
        place, work = self.message * self.size - self.bias, f"%{BASES[self.arguments - 1]}"
        a, b, *others = lanes
        lines = [".p2align 4", f"{self.name}.{name}:", f"cmpq $0, {place}({work})", "je 1f", f"movslq 20({a}), {outer}"]
        lines += [f"addq {place + 24}({work},{outer}), {a}", f"movslq 16({a}), {user}", f"testq {user}, {user}", "js 1f"]
        lines += [f"addq {place + 8}({work},{outer}), {user}", f"movq {place + 16}({work},{outer}), {outer}"]
        lines += [f"movslq {4 * k}({a}), {lanes[k]}" for k in range(entries - 1, -1, -1)]
        lines += [f"addq {place}({work}), {r}" for r in lanes]
        for s in range(0, 64, 16):
            lines += [f"vmovupd {s}({a}), %x{x}", f"vmovupd {s}({b}), %x{y}"]
            lines += [f"vinsertf32x4 $1, {s}({lane}), %y{r}, %y{r}" for lane, r in zip(others, (x, y))]
            for half in ("l", "h"):
                lines += [f"vunpck{half}pd %{size}{y}, %{size}{x}, %{size}{z}", f"vmovntpd %{size}{z}, ({user})", f"addq {outer}, {user}"]
        return [*lines, "1: retq"]

    def _strips(self, before: int):
        return strips(self.program, self.kind, before)

    def _write(self, lines: list[str], name: str, signs, *operands) -> None:
        t, names = self.type, self.names
        if signs is not None:
            a, b, target = operands
            lines.append(f"{SIGNS[signs]}{name}{t} {self._at(a)}, {names[b]}, {names[target]}")
        elif name == "store":
            lines += [f"{self._move} {names[operands[0]]}, {place}" for place in self._places(operands[1])]
        elif name == "load":
            lines.append(f"{self._broadcast if operands[0][0] == 'const' else self._move} {self._place(operands[0])}, {names[operands[1]]}")
        elif name == "copy":
            lines.append(f"vmovap{t[1]} {names[operands[0]]}, {names[operands[1]]}")
        elif name in ("negate", "abs"):
            mask = self._constant(len(self.plan.constants) + (name == "abs"))
            lines.append(f"{self._bitwise(name)} {mask}, {names[operands[0]]}, {names[operands[1]]}")
        elif name == "sqrt":
            source, target = names[operands[0]], names[operands[1]]
            lines.append(f"vsqrt{t} {source}, {target}" if self.kind.width > 1 else f"vsqrt{t} {source}, {source}, {target}")
        else:
            a, b, target = operands
            lines.append(f"v{name}{t} {self._at(a)}, {names[b]}, {names[target]}")

    @property
    def _move(self) -> str:
        return f"vmova{self.type}" if self.kind.width > 1 else f"vmov{self.type}"

    @property
    def _broadcast(self) -> str:
        return f"vbroadcasts{self.type[1]}" if self.wide and self.kind.width > 1 else self._move

    def _bitwise(self, name: str) -> str:
        word = "xor" if name == "negate" else "and"
        if self.wide:
            return f"vp{word}{'q' if self.type[1] == 'd' else 'd'}"
        return f"v{word}p{self.type[1]}"

    def _constant(self, number: int) -> str:
        return f"{self.name}.constants+{number * self.step}(%rip){self.repeat}"

    def _at(self, operand) -> str:
        if isinstance(operand, int):
            return self.names[operand]
        if operand[0] == "const":
            return self._constant(operand[1]) if self.kind.width > 1 else self._place(operand)
        return self._place(operand)

    def _place(self, place: tuple) -> str:
        if place[0] == "const":
            return f"{self.name}.constants+{place[1] * self.step}(%rip)"
        return self._places(place)[0]

    def _places(self, place: tuple) -> list[str]:
        if place[0] == "in":
            found = [(self.number[place[1]], place[2])]
        elif place[0] == "work":
            found = [(self.arguments - 1, place[1])]
        else:
            found = self.results[place[1:]]
        return [f"{index * self.size - self.bias}(%{BASES[j]})" for j, index in found]


def strips(program: Program, kind: Kind, before: int) -> list[tuple[tuple[int, ...], str]]:
    """Four entries each of all results, two at the edges, if 0 or 2 entries of a sample lie `before` a border of short vectors: where they
    are in the lanes, where in their sample, 24 times the number of the output; and which function writes them. There are as many for
    both: what is not needed has a negative place."""
    found = []
    for n, (x, start) in enumerate(zip(program.outputs, lane_places(program, kind)[len(program.inputs) :])):
        at = [start + place * kind.size for place in x.places]
        edges = (0, x.size - 2) if before else (-1, -1)
        whole = [e if e + 4 <= x.size else -1 for e in range(before, before + x.size, 4)]
        for e, how in ((edges[0], "edge"), *((e, "turn") for e in whole), (edges[1], "edge")):
            lanes = at[e : e + 4] if how == "turn" else [*at[e : e + 2], 0, 0]
            found.append(((*lanes, e * kind.bytes, 24 * n) if e >= 0 else (0, 0, 0, 0, -1, 24 * n), how))
    return found


def bytes_of_strips(program: Program) -> int:
    """The bytes of those for one value of `before`."""
    return STRIP * sum(x.size // 4 + 2 for x in program.outputs)
