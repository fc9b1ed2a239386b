"""A traced function: inputs, the operations that matter, outputs."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from .array import Traced, lift
from .operations import LEAVES, OPERATIONS
from .residues import sphere
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
        return self.depth_first()

    def depth_first(self, rank: Callable[[int], float] | None = None) -> list[int]:
        """The nodes the outputs need, each after its operands: those of low rank first, or as they come."""
        nodes, order = self.trace.nodes, list[int]()
        done: set[int] = set()

        def below(i):
            return iter(tuple(operands(nodes[i])) if rank is None else sorted(operands(nodes[i]), key=rank))

        for ref in (ref for output in self.outputs for ref in output.refs):
            if abs(ref) in done:
                continue
            done.add(abs(ref))
            stack = [(abs(ref), below(abs(ref)))]
            while stack:
                i, rest = stack[-1]
                j = next((j for j in rest if j not in done), None)
                if j is None:
                    order.append(i)
                    stack.pop()
                else:
                    done.add(j)
                    stack.append((j, below(j)))
        return order

    def tables(self, dtype: str) -> list[np.ndarray]:
        """What a kernel reads besides its arguments: nothing, its constants are in the code."""
        return []

    @cached_property
    def operations(self) -> Counter:
        """How many of each operation there are; a multiply-add counts as two."""
        counts = Counter(self.trace.nodes[i][0] for i in self.live)
        return Counter({name: n for name, n in counts.items() if not OPERATIONS[name].free})

    def __str__(self) -> str:
        """The program as text, an operation a line."""
        count = sum(self.operations.values())
        kinds = ", ".join(f"{n} {name}" for name, n in self.operations.most_common())
        lines = [f"{self.name}: {count} operations ({kinds})"]
        nodes = self.trace.nodes
        for i in self.live:
            name, *args = nodes[i]
            if name == "in":
                lines.append(f"x{i} = {args[0]}[{args[1]}]")
            elif name != "const":
                lines.append(f"x{i} = {name} " + ", ".join(map(self._ref, args)))
        for n, output in enumerate(self.outputs):
            lines += [f"out{n}[{j}] = {self._ref(ref)}" for j, ref in enumerate(output.refs)]
        return "\n".join(lines)

    def _ref(self, ref: int) -> str:
        value = self.trace.value(ref)
        return repr(value) if value is not None else f"x{ref}" if ref > 0 else f"-x{-ref}"


def operands(node: tuple) -> Iterable[int]:
    """The nodes a node is made from."""
    return () if node[0] in LEAVES else map(abs, node[1:])


def record(name: str, function: Callable, inputs: Iterable[Input]) -> Program:
    """Run a function once on traced arrays and keep what it did."""
    trace = Trace()
    inputs = tuple(inputs)
    results = function(*(_argument(trace, x) for x in inputs))
    results = results if isinstance(results, tuple) else (results,)
    outputs = []
    for result in results:
        refs = lift(trace, result)
        outputs.append(Output(tuple(map(int, refs.ravel())), refs.shape))
    return Program(name, trace, inputs, tuple(outputs))


def _argument(trace: Trace, x: Input) -> Traced:
    residues: dict[int, int] = {}
    for rows in x.units:
        at = range(rows.start, rows.stop)
        residues.update(zip(at, sphere(len(at), x.name, rows.start)))
    refs = [trace.input(x.name, i, residues.get(i)) for i in range(x.size)]
    return Traced(trace, np.array(refs, np.int64).reshape(x.shape))


def evaluate(program: Program, arguments: Mapping[str, Any], scalar: Mapping[str, Callable], constant: Callable = float):
    """The outputs of a program with other scalars: `scalar` maps each operation to a function of its operands.

    Arguments are indexed by the flat number of an entry. This is the reference for every writer.
    """
    values: dict[int, Any] = {}

    def at(ref):
        return values[ref] if ref >= 0 else -values[-ref]

    for i in program.live:
        name, *args = program.trace.nodes[i]
        if name == "in":
            values[i] = arguments[args[0]][args[1]]
        elif name == "const":
            values[i] = constant(args[0])
        else:
            values[i] = scalar[name](*map(at, args))
    return [[at(ref) for ref in output.refs] for output in program.outputs]
