"""Where a long program is cut into pieces, each to become a function of a few hundred operations.

The time to compile a function grows faster than its length; in pieces it grows as the length. A value that a later piece
needs has a place in the kernel's scratch memory: stored when it is made, loaded where a piece first uses it.
"""

from dataclasses import dataclass

from ..tracing.program import Program
from ..tracing.routines import Routine
from . import assembly
from .llvm import calls
from .loop_bodies import bodies
from .order import END, in_pieces, read_by

LONGEST = 5000  # operations that still make one function
MOST_RESULTS = 2_500  # entries of results that one function still writes: LLVM compares each store with those before it
CALL = 8  # operations that a call of the library counts for: values in use around it must be saved
PIECE = 300  # operations of a piece


@dataclass(frozen=True)
class Cut:
    """A program in pieces: the nodes of each, what each node reads, and the place of every value that is kept."""

    pieces: list[list[int]]
    reads: dict[int, list[int]]
    places: dict[int, int]
    room: int  # values kept at a time


def is_long(program: Program) -> bool:
    results = sum(len(output.refs) for output in program.outputs)
    return sum(program.own_operations.values()) + CALL * calls(program) > LONGEST or results > MOST_RESULTS


def routines(program: Program) -> list[Routine]:
    """What the code of a program calls: its routines, and the bodies of long loops."""
    return [*program.routines, *bodies(program).values()]


def workspace(program: Program) -> int:
    """Numbers of scratch memory that the code of a program needs for each sample, with that of the routines it calls."""
    return own_workspace(program) + max((room_of_call(x.program) for x in routines(program)), default=0)


def own_workspace(program: Program) -> int:
    if assembly.serves(program):
        return assembly.workspace(program)
    return cut(program).room if is_long(program) else 0


def room_of_call(program: Program) -> int:
    """Numbers that a routine takes: its arguments, its results, and its scratch memory."""
    return sum(x.size for x in program.inputs) + sum(x.size for x in program.outputs) + workspace(program)


def cut(program: Program, results_last: bool = True) -> Cut:
    """Where a program is cut. Two values share a place in memory when the second is made after the last use of the first.

    With `results_last` every result has a place until the end; else it is written out by the piece that makes it.
    """
    nodes, reads = program.trace.nodes, read_by(program)
    results = set(reads[END])
    order = (i for i in program.live if i in reads and (nodes[i][0] != "in" or i in results))
    pieces = in_pieces(nodes, order, PIECE)
    last = dict.fromkeys(results, len(pieces)) if results_last else dict[int, int]()
    for p in range(len(pieces) - 1, -1, -1):
        for i in pieces[p]:
            for j in reads[i]:
                last.setdefault(j, p)
    places, free, room = dict[int, int](), list[int](), 0
    ending: list[list[int]] = [[] for _ in range(len(pieces) + 1)]
    for p, piece in enumerate(pieces):
        for i in piece:
            if last.get(i, p) > p:
                if not free:
                    free.append(room)
                    room += 1
                places[i] = free.pop()
                ending[last[i]].append(places[i])
        free += ending[p]
    return Cut(pieces, reads, places, room)
