"""Derivatives of functions as functions: Jacobian times vector, vector times Jacobian, and the Jacobian itself.

Each is a function of one sample over traced arrays, as the one it is made from: it is compiled, exported and differentiated again as
any other. Derivatives by an input that is bound by a relation, or that lies on a group, are along the directions in which it `moves`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod

import numpy as np

from ...errors import TraceError
from ..tracing.array import Traced
from ..tracing.operations import LOOPS, OPERATIONS
from ..tracing.program import Input, Program, evaluate, record
from .derivatives import along, directional, gradients, rate, weighted

CLOSE = 4  # where directions and results differ in number by more than this factor, the fewer decide the way


@dataclass(frozen=True)
class Derived:
    """Derivatives of a function of one sample.

    `moves` gives, for inputs that do not move as their entries do, the rates of the entries along each direction: (entries, directions).
    """

    name: str
    function: Callable
    inputs: tuple[Input, ...]
    moves: Mapping[str, Callable] = field(default_factory=dict)

    @cached_property
    def results(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of its results."""
        return tuple(x.shape for x in record(self.name, self.function, self.inputs).outputs)

    @cached_property
    def rates(self) -> tuple[Input, ...]:
        """The further inputs of `jvp`: a rate for each input."""
        return rate_inputs(self.inputs, self.directions)

    @cached_property
    def weights(self) -> tuple[Input, ...]:
        """The further inputs of `vjp`: a weight for each result."""
        return weight_inputs(self.inputs, self.results)

    @cached_property
    def directions(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the directions of each input: its own, or as many as it moves in."""
        return tuple(self._directions(x) for x in self.inputs)

    def _directions(self, x: Input) -> tuple[int, ...]:
        if x.name not in self.moves:
            return x.shape
        return record(self.name, self.moves[x.name], (x,)).outputs[0].shape[1:]

    # --- the functions

    def jvp(self, *arguments):
        """Jacobian times vector: the rates of the results, of arguments and their rates."""
        count = len(self.inputs)
        x, rates = arguments[:count], arguments[count:]
        if not is_formal(self.inputs, x):
            return inlined(record(f"{self.name}_jvp", self.jvp, (*self.inputs, *self.rates)), arguments)
        moving: dict[int, int] = {}
        for at, own, direction in zip(self.inputs, x, rates):
            moving |= along(own, self._moved(at, own, direction))
        return unpacked([rate(y, moving) for y in self._values(x)])

    def vjp(self, *arguments):
        """Vector times Jacobian: weights on the results become weights on the directions of each argument."""
        count = len(self.inputs)
        x, weights = arguments[:count], arguments[count:]
        if not is_formal(self.inputs, x):
            return inlined(record(f"{self.name}_vjp", self.vjp, (*self.inputs, *self.weights)), arguments)
        found = weighted(self._values(x), [x[0].like(each) for each in weights], x)
        return unpacked([self._along_moves(at, own, bar) for at, own, bar in zip(self.inputs, x, found)])

    def jacobian(self, of: Sequence[int], by: Sequence[int], *x):
        """Results `of` these numbers by inputs of these numbers: arrays (result, directions), `by` running faster."""
        if not is_formal(self.inputs, x):
            return inlined(self.jacobian_program(tuple(of), tuple(by)), x)
        return self.partly_backwards(of, by, self.backwards(tuple(of), tuple(by)), *x)

    def jacobian_program(self, of: tuple[int, ...], by: tuple[int, ...]) -> Program:
        return record(f"{self.name}_jacobian", partial(self.partly_backwards, of, by, self.backwards(of, by)), self.inputs)

    # --- two ways to a Jacobian, of which each result takes one

    @cached_property
    def _chosen(self) -> dict[tuple, frozenset[int]]:
        return {}

    def backwards(self, of: tuple[int, ...], by: tuple[int, ...]) -> frozenset[int]:
        """The results that are differentiated backwards: those with far fewer entries than there are directions, not those with far more,
        and the others if that takes fewer operations."""
        if (of, by) not in self._chosen:
            columns, rows = sum(prod(self.directions[i]) for i in by), {n: prod(self.results[n]) for n in of}
            few = frozenset(n for n in of if columns > CLOSE * rows[n])
            either = frozenset(n for n in of if n not in few and rows[n] <= CLOSE * columns)
            self._chosen[of, by] = min((few, few | either), key=partial(self._operations, of, by)) if either else few
        return self._chosen[of, by]

    def _operations(self, of, by, backwards: frozenset[int]) -> int:
        return sum(record(self.name, partial(self.partly_backwards, of, by, backwards), self.inputs).operations.values())

    def partly_backwards(self, of, by, backwards: Collection[int], *x):
        """The Jacobian, some results backwards and the others forwards."""
        values = self._values(x)
        directions = [] if all(n in backwards for n in of) else [each for i in by for each in self._directions_of(i, x[i])]
        parts = []
        for n in of:
            parts += self._rows(values[n], by, x) if n in backwards else self._columns(values[n], by, directions)
        return unpacked(parts)

    def _columns(self, y: Traced, by, directions) -> list[Traced]:
        """Direction by direction, forwards."""
        ends = np.cumsum([prod(self.directions[i]) for i in by])[:-1]
        each = np.split(directional(y, directions).refs, ends, -1)
        return [Traced(y.trace, part.reshape(y.shape + self.directions[i])) for i, part in zip(by, each)]

    def _directions_of(self, i: int, x: Traced) -> list[dict[int, int]]:
        unit = np.eye(prod(self.directions[i]))
        return [along(x, self._moved(self.inputs[i], x, x.like(e.reshape(self.directions[i])))) for e in unit]

    def _rows(self, y: Traced, by, x) -> list[Traced]:
        """Entry by entry of the result, backwards."""
        found = zip(by, gradients(y, [x[i] for i in by]))
        return [self._along_moves(self.inputs[i], x[i], part).reshape(y.shape + self.directions[i]) for i, part in found]

    # ---

    def _values(self, x) -> list[Traced]:
        found = self.function(*x)
        return [x[0].like(y) for y in (found if isinstance(found, tuple) else (found,))]

    def _moved(self, at: Input, x: Traced, direction):
        """The rates of the entries of an input along a direction."""
        return self.moves[at.name](x) @ direction if at.name in self.moves else direction

    def _along_moves(self, at: Input, x: Traced, weights: Traced) -> Traced:
        return weights @ self.moves[at.name](x) if at.name in self.moves else weights


def rate_inputs(inputs: Sequence[Input], shapes: Iterable[tuple[int, ...]]) -> tuple[Input, ...]:
    """A rate for each input, called dq for q, dv for v and so on."""
    taken, out = {x.name for x in inputs}, []
    for x, shape in zip(inputs, shapes):
        name = next(n for n in (f"d{'_' * k}{x.name}" for k in range(len(taken) + 1)) if n not in taken)
        taken.add(name)
        out.append(Input(name, shape))
    return tuple(out)


def weight_inputs(inputs: Sequence[Input], shapes: Sequence[tuple[int, ...]]) -> tuple[Input, ...]:
    """A weight for each result."""
    taken, stem = {x.name for x in inputs}, "weight"
    while any(name.startswith(stem) for name in taken):
        stem += "_"
    return tuple(Input(stem if len(shapes) == 1 else f"{stem}{n}", shape) for n, shape in enumerate(shapes))


def unpacked(parts: list):
    return parts[0] if len(parts) == 1 else tuple(parts)


def is_formal(inputs: Sequence[Input], arguments: Sequence) -> bool:
    """Are the arguments the inputs themselves, of a trace that knows of them what these inputs say? Only then are derivatives by
    them those of what is traced from them: x / 2 of x = 2 y is y, which does not depend on x any more."""
    for x, given in zip(inputs, arguments, strict=True):
        if not isinstance(given, Traced) or given.shape != x.shape:
            return False
        trace, refs = given.trace, given.refs.ravel().tolist()
        for i, (ref, residue) in enumerate(zip(refs, x.residues)):
            if ref <= 0 or trace.nodes[ref] != ("in", x.name, i) or trace.residue[ref] != residue:
                return False
    return True


def inlined(program: Program, arguments: Sequence):
    """The results of a program whose arguments are other values of a trace."""
    trace = next(x.trace for x in arguments if isinstance(x, Traced))
    some = Traced(trace, 0)
    lifted = [some.like(x) for x in arguments]
    for x, given in zip(program.inputs, lifted, strict=True):
        if given.shape != x.shape:
            raise TraceError(f"{program.name} takes {x.name} of shape {x.shape}; got {given.shape}.")
    scalar = {name: partial(row.traced, trace) for name, row in OPERATIONS.items() if name not in LOOPS}
    entries = {x.name: given.refs.ravel().tolist() for x, given in zip(program.inputs, lifted)}
    found = evaluate(program, entries, scalar, trace.constant)
    return unpacked([Traced(trace, np.array(refs, np.int64).reshape(x.shape)) for refs, x in zip(found, program.outputs)])
