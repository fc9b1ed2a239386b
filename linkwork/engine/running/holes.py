"""Holes in a traced function, and the parts that its program is cut into there.

Where a Python function is called, its arguments are results of the program so far and its answer is an input of what follows. Values that
later parts need lie in one array, to which each part adds its own; a truth is computed again where it is needed. Calls of routines
(routines.py) are borders as well: one kernel serves all calls of a routine.

Multiply-adds are chosen in the whole program, before it is cut, so that a cut program gives the bits of the uncut one.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ...errors import TraceError
from ..tracing.array import Traced, lift
from ..tracing.operations import OPERATIONS, operands
from ..tracing.program import Input, Output, Program, argument, record
from ..tracing.routines import Routine
from ..tracing.trace import Trace
from ..writers.llvm import fused, uses_of

GIVEN, LIVE, ANSWER = "(given)", "(live)", "(answer)"  # what a part takes: the inputs, values of earlier parts, the answer of a hole


@dataclass(frozen=True, eq=False)
class Border:
    """A place where a program waits for an answer: of the hole of a name, or of a routine."""

    hole: str
    routine: Routine | None
    arguments: tuple[Output, ...]
    answer: tuple[int, ...]  # the nodes that stand for it
    place: int  # in the trace
    early: Output | None = None  # a truth, and the results that are final where it holds: the program ends there


class Holes:
    """What a traced function calls in place of Python functions."""

    def __init__(self):
        self.trace: Trace | None = None
        self.borders: list[Border] = []
        self.early: Output | None = None

    def __call__(self, name: str, shape: tuple[int, ...], *arguments) -> Traced:
        """The answer, of this shape, of the function that has this name when the program runs, to arguments of one sample."""
        trace = self._whole_trace(name, arguments)
        outputs = tuple(_output(trace, x) for x in arguments)
        answer = argument(trace, Input(f"{ANSWER} {len(self.borders)}", tuple(shape)))
        place = len(trace.nodes) - 1
        self.borders.append(Border(name, None, outputs, tuple(answer.refs.ravel().tolist()), place, self.early))
        self.early = None
        return answer

    def end_where(self, truth, *results) -> None:
        """End the program before the next hole where a truth holds, with these results, which have the shapes of all its results."""
        trace = self._whole_trace("end_where", results)
        numbers = [np.where(truth, 1.0, 0.0), *results]
        self.early = Output(tuple(int(ref) for x in numbers for ref in lift(trace, x).ravel()), ())

    def _whole_trace(self, name: str, arrays: Iterable) -> Trace:
        trace = self.trace
        if trace is None or any(isinstance(x, Traced) and x.trace is not trace for x in arrays):
            raise TraceError(f"{name} is a hole of another trace: a function with holes cannot be part of a routine or of a kernel.")
        if trace.depth:
            raise TraceError(f"{name} is a Python function, which iterate cannot call: a loop is compiled. Write the loop in Python.")
        return trace


def _output(trace: Trace, x) -> Output:
    refs = lift(trace, x)
    return Output(tuple(map(int, refs.ravel())), refs.shape)


class Part(NamedTuple):
    """One of the parts of a cut program, as it is stored: what it takes, and what its one array of results has in which order."""

    takes: tuple[str, ...]
    sizes: tuple[int, ...]  # of what it takes
    shapes: tuple[tuple[int, ...], ...]  # of the arguments of the border behind it, or of all results
    hole: str | None  # the name of the hole behind it; None behind the last part
    routine: int | None  # the number of the routine behind it
    early: int  # numbers behind the arguments that tell whether the program ends here, and with which results
    results: int  # all numbers that it returns


class Division:
    """A whole program with holes, and the programs that it is cut into."""

    def __init__(self, name: str, function: Callable, inputs: tuple[Input, ...]):
        self.name, self.inputs, self.holes = name, inputs, Holes()
        program = record(name, self._traced(function), inputs)
        self.program, self.trace, self.outputs = program, program.trace, program.outputs
        results = [ref for border in self.holes.borders for ref in self._asked(border)]
        results += [ref for x in self.outputs for ref in x.refs]
        live = Program(name, self.trace, inputs, (Output(tuple(results), (len(results),)),)).live
        calls = [self._call(i) for i in live if self.trace.nodes[i][0] == "call"]
        self.borders = sorted([*self.holes.borders, *calls], key=lambda border: border.place)
        self.stages = [*(self._asked(border) for border in self.borders), [ref for x in self.outputs for ref in x.refs]]
        self.absorbs = fused(self.trace.nodes, live, uses_of(self.trace.nodes, live, results))
        self.nodes = self._with_chosen_products(live)
        self.level = self._levels()
        self.routines = list(dict.fromkeys(border.routine for border in self.borders if border.routine is not None))

    def _traced(self, function: Callable) -> Callable:
        def run(*arrays):
            self.holes.trace = next(x.trace for x in arrays if isinstance(x, Traced))
            return function(self.holes, *arrays)

        return run

    def _call(self, i: int) -> Border:
        """The border at the call of a routine."""
        nodes = self.trace.nodes
        _, routine, *refs = nodes[i]
        count = sum(x.size for x in routine.program.outputs)
        found = {node[1]: j for j, node in enumerate(nodes) if node[0] == "result" and node[2] == i}
        return Border("", routine, (Output(tuple(refs), (len(refs),)),), tuple(found[k] for k in range(count)), i)

    @staticmethod
    def _asked(border: Border) -> list[int]:
        early = () if border.early is None else border.early.refs
        return [*(ref for x in border.arguments for ref in x.refs), *early]

    def _with_chosen_products(self, live: list[int]) -> list[tuple]:
        """The nodes, in which no sum can absorb a product but the one that it absorbs in the whole program."""
        nodes = list(self.trace.nodes)
        hidden = dict[int, int]()

        def other(i: int, ref: int) -> int:
            p = abs(ref)
            if nodes[p][0] != "mul" or self.absorbs.get(i) == p:
                return ref
            if p not in hidden:
                hidden[p] = len(nodes)
                nodes.append(("opaque", p))
            return hidden[p] if ref > 0 else -hidden[p]

        for i in live:
            if nodes[i][0] == "add":
                nodes[i] = ("add", *(other(i, ref) for ref in self.trace.nodes[i][1:]))
        return nodes

    def _levels(self) -> list[int]:
        """The first part in which each value can be computed."""
        level, answers = list[int](), {i: k + 1 for k, border in enumerate(self.borders) for i in border.answer}
        for i, node in enumerate(self.trace.nodes):
            level.append(answers[i] if i in answers else max((level[j] for j in operands(node)), default=0))
        return level + [level[node[1]] for node in self.nodes[len(level) :]]

    def _before(self, k: int, wanted: Iterable[int]) -> list[int]:
        """The values of earlier parts that part k needs for what is wanted of it."""
        nodes, products = self.nodes, set(self.absorbs.values())
        found, seen, stack = dict[int, None](), set[int](), [abs(ref) for ref in wanted]
        while stack:
            i = stack.pop()
            if i in seen:
                continue
            seen.add(i)
            name = nodes[i][0]
            if name == "const" or (name == "in" and not self.level[i]) or i in self.answers[k]:
                continue
            if self.level[i] < k and name not in ("loop", "call") and not OPERATIONS[name].truth and i not in products:
                found[i] = None
            else:
                stack.extend(operands(nodes[i]))
        return list(found)

    @cached_property
    def answers(self) -> list[dict[int, int]]:
        """Of each part, the place in the answer before it of each node that stands for one."""
        return [{}, *({i: n for n, i in enumerate(border.answer)} for border in self.borders)]

    @cached_property
    def live(self) -> list[list[int]]:
        """The values that each part makes for later ones."""
        needed = dict[int, None]()
        for k in range(len(self.stages) - 1, -1, -1):
            needed |= dict.fromkeys(self._before(k, [*self.stages[k], *(i for i in needed if self.level[i] == k)]))
        return [[i for i in needed if self.level[i] == k] for k in range(len(self.stages))]

    @cached_property
    def room(self) -> int:
        """How many values travel."""
        return sum(map(len, self.live))

    @cached_property
    def programs(self) -> list[Program]:
        """The parts in order, each with one array of results and, behind it, what it makes for later ones."""
        return [self._program(k) for k in range(len(self.stages))]

    def _program(self, k: int) -> Program:
        nodes, earlier = list(self.nodes), [i for made in self.live[:k] for i in made]
        for name, places in (LIVE, {i: n for n, i in enumerate(earlier)}), (ANSWER, self.answers[k]):
            for i, n in places.items():
                nodes[i] = ("in", name, n)
        sizes = {LIVE: self.room, ANSWER: len(self.answers[k])}
        return _packed(f"{self.name}_{k}", self.trace, nodes, self.inputs, self.stages[k], sizes, self.live[k])

    @cached_property
    def called(self) -> list[Program]:
        """The routines, each with one array of inputs and one of results."""
        return [self._routine(x.program) for x in self.routines]

    @staticmethod
    def _routine(program: Program) -> Program:
        results = tuple(ref for x in program.outputs for ref in x.refs)
        return _packed(program.name, program.trace, list(program.trace.nodes), program.inputs, results, {}, ())

    @property
    def parts(self) -> list[Part]:
        made = []
        for k, program in enumerate(self.programs):
            border = self.borders[k] if k < len(self.borders) else None
            shapes = tuple(x.shape for x in (self.outputs if border is None else border.arguments))
            called = None if border is None or border.routine is None else self.routines.index(border.routine)
            early = 0 if border is None or border.early is None else border.early.size
            hole = None if border is None else border.hole
            takes = tuple(x.name for x in program.inputs), tuple(x.size for x in program.inputs)
            made.append(Part(*takes, shapes, hole, called, early, program.outputs[0].size))
        return made


def _packed(name: str, trace: Trace, nodes: list[tuple], inputs: tuple[Input, ...], results, more: Mapping[str, int], live) -> Program:
    """A program of these nodes, whose inputs are one array, with others of these sizes besides, and whose results are one array, with
    another of live values if there are any."""
    first = dict(zip((x.name for x in inputs), accumulate((x.size for x in inputs), initial=0)))
    own = copy(trace)
    own.nodes = [("in", GIVEN, first[node[1]] + node[2]) if node[0] == "in" and node[1] in first else node for node in nodes]
    sizes = {GIVEN: sum(x.size for x in inputs), **more}
    outputs = tuple(Output(tuple(x), (len(x),)) for x in (results, live) if len(x))
    used = {own.nodes[i][1] for i in Program(name, own, (), outputs).live if own.nodes[i][0] == "in"} or {GIVEN}
    used |= {LIVE} if len(live) else set()
    return Program(name, own, tuple(Input(x, (n,)) for x, n in sizes.items() if x in used), outputs)
