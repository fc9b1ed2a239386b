"""Routines: a function that a kernel calls several times, traced and compiled once.

A call is a node ("call", Routine, operands...), its results are nodes ("result", number, call), like those of a loop. What a routine
computes is not seen from outside, so that nothing is simplified across its border.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .array import Traced, lift
from .program import Program
from .residues import drawn


@dataclass(frozen=True, eq=False)
class Routine:
    """A program to be called with traced arrays."""

    program: Program

    @cached_property
    def length(self) -> int:
        """Its operations."""
        return sum(self.program.operations.values())

    def __call__(self, *arrays) -> list[Traced]:
        trace = next(x.trace for x in arrays if isinstance(x, Traced))
        refs = [int(ref) for x in arrays for ref in lift(trace, x).ravel()]
        key = "call", self.program.name, *map(trace.residue_of, refs)
        node = trace.node(("call", self, *refs), drawn(*key))
        out, n = list[Traced](), 0
        for output in self.program.outputs:
            numbers = range(n, n := n + output.size)
            found = [trace.node(("result", k, node), drawn("result", k, *key)) for k in numbers]
            out.append(Traced(trace, np.array(found, np.int64).reshape(output.shape)))
        return out
