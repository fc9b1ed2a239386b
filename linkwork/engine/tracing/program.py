"""A traced function: inputs, the operations that matter, outputs."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ...errors import TraceError
from .array import Traced, has_traced, lift
from .loops import Loop, ordered
from .operations import OPERATIONS, operands
from .residues import drawn, sphere
from .trace import Trace


@dataclass(frozen=True)
class Input:
    """An argument of one sample: its shape, and which of its rows are unit vectors."""

    name: str
    shape: tuple[int, ...]
    units: tuple[slice, ...] = ()

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def residues(self) -> list[int]:
        """The values of its entries by which a trace proves things: unit vectors lie on the sphere."""
        out = [drawn("in", self.name, i) for i in range(self.size)]
        for rows in self.units:
            out[rows] = sphere(rows.stop - rows.start, self.name, rows.start)
        return out


@dataclass(frozen=True)
class Output:
    refs: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.refs)

    @cached_property
    def distinct(self) -> tuple[int, ...]:
        """Its different entries: a matrix may be symmetric, or mostly zero."""
        return tuple(dict.fromkeys(self.refs))

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Where among the distinct ones each entry is."""
        number = {ref: i for i, ref in enumerate(self.distinct)}
        return tuple(number[ref] for ref in self.refs)


@dataclass(frozen=True)
class Program:
    """What a function of one sample does, scalar by scalar."""

    name: str
    trace: Trace
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]

    @cached_property
    def live(self) -> list[int]:
        """The nodes the outputs need, each as late as its first user allows, so that few are in use at a time."""
        order = self.depth_first()
        if any(self.trace.nodes[i][0] == "carried" for i in order):
            raise TraceError(f"{self.name} uses a value of iterate's step outside of it: carry it, and use what iterate returns.")
        return order

    def depth_first(self, rank: Callable[[int], float] | None = None) -> list[int]:
        """The nodes the outputs need, each after its operands: those of low rank first, or as they come."""
        nodes = self.trace.nodes

        def below(i: int) -> Iterable[int]:
            return reversed([*operands(nodes[i])] if rank is None else sorted(operands(nodes[i]), key=rank))

        return ordered((ref for output in self.outputs for ref in output.refs), below)

    def tables(self, dtype: str) -> list[np.ndarray]:
        """What a kernel reads besides its arguments: nothing, its constants are in the code."""
        return []

    @cached_property
    def loops(self) -> list[Loop]:
        """All loops, those inside others too."""
        return loops_of(self.trace.nodes, self.live)

    @property
    def everything(self) -> list[int]:
        """All nodes that are live, those inside loops too."""
        return [*self.live, *(i for loop in self.loops for i in loop.body)]

    @cached_property
    def routines(self) -> list:
        """The routines it calls (routines.py), each once."""
        return list(dict.fromkeys(self._called))

    @property
    def _called(self) -> list:
        return [self.trace.nodes[i][1] for i in self.everything if self.trace.nodes[i][0] == "call"]

    @cached_property
    def own_operations(self) -> Counter:
        """Those outside of routines."""
        return self._counted(self.everything)

    @cached_property
    def outer_operations(self) -> Counter:
        """Those outside of loops and routines."""
        return self._counted(self.live)

    def _counted(self, order: Iterable[int]) -> Counter:
        counts = Counter(self.trace.nodes[i][0] for i in order)
        return Counter({name: n for name, n in counts.items() if not OPERATIONS[name].free})

    @cached_property
    def operations(self) -> Counter:
        """How many of each operation there are; a multiply-add counts as two, a round of a loop once, a routine at each call."""
        return sum((x.program.operations for x in self._called), self.own_operations)

    def __str__(self) -> str:
        """The program as text, an operation a line."""
        count = sum(self.operations.values())
        kinds = ", ".join(f"{n} {name}" for name, n in self.operations.most_common())
        rounds = "".join(f"; a loop of at most {loop.most} rounds" for loop in self.loops)
        lines = [f"{self.name}: {count} operations ({kinds}){rounds}", *self._lines(self.live)]
        for n, output in enumerate(self.outputs):
            lines += [f"out{n}[{j}] = {self._ref(ref)}" for j, ref in enumerate(output.refs)]
        return "\n".join(lines)

    def _lines(self, order: Iterable[int]) -> Iterable[str]:
        for i in order:
            name, *args = self.trace.nodes[i]
            if name == "in":
                yield f"x{i} = {args[0]}[{args[1]}]"
            elif name == "result":
                yield f"x{i} = x{args[1]}.{args[0]}"
            elif name == "loop":
                loop, *starts = args
                none = f", none unless some {self._ref(loop.before)} > {loop.most}" if loop.before else ""
                yield f"x{i} = loop of at most {loop.most} rounds{none}:"
                yield from (f"    x{leaf} = {self._ref(a)} at first" for leaf, a in zip(loop.carried, starts))
                yield from (f"    {line}" for line in self._lines(loop.body))
                yield from (f"    x{leaf} = x{i}.{k} = {self._ref(a)}" for k, (leaf, a) in enumerate(zip(loop.carried, loop.new)))
                yield f"    again while {self._ref(loop.again)}"
            elif name != "const":
                yield f"x{i} = {name} " + ", ".join(map(self._ref, args))

    def _ref(self, ref: int) -> str:
        value = self.trace.value(ref)
        return repr(value) if value is not None else f"x{ref}" if ref > 0 else f"-x{-ref}"


def loops_of(nodes: list[tuple], order: Iterable[int]) -> list[Loop]:
    """The loops among some nodes, each before those in its body."""
    here = [nodes[i][1] for i in order if nodes[i][0] == "loop"]
    return [x for loop in here for x in (loop, *loops_of(nodes, loop.body))]


def record(name: str, function: Callable, inputs: Iterable[Input]) -> Program:
    """Run a function once on traced arrays and keep what it did."""
    trace = Trace()
    inputs = tuple(inputs)
    try:
        results = function(*(argument(trace, x) for x in inputs))
    except ValueError as error:
        if isinstance(error.__cause__, TraceError):  # z[0] = x of a plain z: what NumPy says of it is "a sequence"
            raise error.__cause__ from None
        raise
    results = results if isinstance(results, tuple) else (results,)
    outputs = []
    for n, result in enumerate(results):
        if not _is_numbers(result):
            kind = type(result).__name__
            nested = " (iterate returns what it carries and the rounds: write (a, b), rounds = iterate(...))" if kind == "tuple" else ""
            raise TraceError(f"{name} returns a {kind} as result {n}; a kernel returns an array, or a tuple of arrays: a, b{nested}.")
        refs = lift(trace, result)
        outputs.append(Output(tuple(map(int, refs.ravel())), refs.shape))
    return Program(name, trace, inputs, tuple(outputs))


def _is_numbers(x) -> bool:
    """Is it a traced array, or plain numbers?"""
    return isinstance(x, Traced) or (not has_traced(x) and np.asarray(x).dtype.kind in "biuf")


def argument(trace: Trace, x: Input) -> Traced:
    """The traced array that stands for an input."""
    refs = [trace.input(x.name, i, residue) for i, residue in enumerate(x.residues)]
    return Traced(trace, np.array(refs, np.int64).reshape(x.shape))


def evaluate(program: Program, arguments: Mapping[str, Any], scalar: Mapping[str, Callable], constant: Callable = float):
    """The outputs of a program with other scalars: `scalar` maps each operation to a function of its operands.

    Arguments are indexed by the flat number of an entry. This is the reference for every writer.
    """
    nodes, values = program.trace.nodes, dict[int, Any]()

    def at(ref):
        if nodes[abs(ref)][0] == "const" and abs(ref) not in values:
            values[abs(ref)] = constant(nodes[abs(ref)][1])
        return values[ref] if ref >= 0 else -values[-ref]

    def run(order):
        for i in order:
            name, *args = nodes[i]
            if name == "in":
                values[i] = arguments[args[0]][args[1]]
            elif name == "loop":
                values[i] = rounds(*args)
            elif name == "call":
                values[i] = called(*args)
            elif name == "result":
                values[i] = values[args[1]][args[0]]
            elif name != "const":
                values[i] = scalar[name](*map(at, args))

    def called(routine, *refs):
        given, columns = iter(map(at, refs)), {}
        for x in routine.program.inputs:
            columns[x.name] = [next(given) for _ in range(x.size)]
        return [x for result in evaluate(routine.program, columns, scalar, constant) for x in result]

    def rounds(loop, *refs):
        if "loop" not in scalar:
            raise TraceError(f"{program.name} has a loop (iterate), which has no closed form: export it as C, or run the kernel.")
        new = [at(ref) for ref in refs[: len(loop.carried)]]
        if loop.before and not scalar["loop"](scalar["lt"](constant(loop.most), at(loop.before))):
            return new
        while True:
            values.update(zip(loop.carried, new))
            run(loop.body)
            new = [at(ref) for ref in loop.new]
            if not scalar["loop"](at(loop.again)):
                return new

    run(program.live)
    return [[at(ref) for ref in output.refs] for output in program.outputs]
