"""An order of a program's operations that needs few registers, for machines where spilling a value to memory is expensive."""

from collections.abc import Iterable
from heapq import heappop, heappush
from math import cos, pi, sin

from ..tracing.operations import made_by, operands
from ..tracing.program import Program
from .llvm import fused, uses_of

MIXTURES = [(cos(x), sin(x)) for x in (pi + pi * k / 8 for k in range(9))]  # of depth and need: what needs more comes first
END = -1  # as if the results were read by one more operation


def fewest_spills(program: Program, registers: int) -> list[int]:
    """Of several orders, the one with the fewest spills and reloads on a machine with this many registers.

    Each is depth first from the results, as `program.live`; which operand comes first is decided by a mixture of how deep
    it lies and how many registers it needs by itself (Sethi and Ullman 1970, as if nothing were shared). Of orders that are
    equally good, the one with fewer spills on half as many registers is taken. Results stay in registers until the end.
    """
    nodes, live, reads = program.trace.nodes, program.live, read_by(program)
    depth, need = dict[int, int](), dict[int, int]()
    for i in live:
        below = set(operands(nodes[i]))
        depth[i] = 1 + max((depth[j] for j in below), default=0)
        need[i] = max([1, *(n + k for k, n in enumerate(sorted((need[j] for j in below), reverse=True)))])
    ranks = [{i: a * depth[i] + 4 * b * need[i] for i in live} for a, b in MIXTURES]
    tried = [live, *(program.depth_first(rank.__getitem__) for rank in ranks)]
    return min(tried, key=lambda order: [spills(order, reads, n) for n in (registers, registers // 2)])


def in_pieces(nodes: list[tuple], order: Iterable[int], size: int) -> list[list[int]]:
    """The order in pieces of so many operations, or of some more: the sine and the cosine of an angle are in one, side by side, so are a
    loop or a call and its results."""
    together: dict[tuple, list[int]] = {}
    for i in order:
        together.setdefault(made_by(nodes, i), []).append(i)
    pieces: list[list[int]] = [[]]
    for some in together.values():
        if len(pieces[-1]) >= size:
            pieces.append([])
        pieces[-1] += some
    return pieces


def read_by(program: Program) -> dict[int, list[int]]:
    """The values each operation reads, those of the product it absorbs among them; and the results, read at the END."""
    nodes, live = program.trace.nodes, program.live
    results = [abs(ref) for output in program.outputs for ref in output.refs]
    absorbs = fused(nodes, live, uses_of(nodes, live, results))
    hidden = set(absorbs.values())
    out = {END: [i for i in dict.fromkeys(results) if nodes[i][0] != "const"]}
    for i in (i for i in live if nodes[i][0] != "const" and i not in hidden):
        read = [x for j in operands(nodes[i]) for x in (operands(nodes[j]) if j == absorbs.get(i) else (j,))]
        out[i] = [j for j in dict.fromkeys(read) if nodes[j][0] != "const"]
    return out


def spills(order: list[int], reads: dict[int, list[int]], registers: int) -> int:
    """The number of spills and reloads, if the value whose next use is farthest away is spilled first (Belady 1966)."""
    order = [i for i in (*order, END) if i in reads]
    wanted: dict[int, list[int]] = {i: [] for i in order}  # when, the next one last
    for when in range(len(order) - 1, -1, -1):
        for i in reads[order[when]]:
            wanted[i].append(when)
    here, kept, count = set[int](), set[int](), 0
    waiting: list[tuple[int, int]] = []
    for when, i in enumerate(order):
        count += sum(j not in here for j in reads[i])
        for j in (*reads[i], i):
            if wanted[j] and wanted[j][-1] == when:
                wanted[j].pop()
            here.discard(j)
            if wanted[j]:
                here.add(j)
                heappush(waiting, (-wanted[j][-1], j))
        while len(here) > registers:
            last, j = heappop(waiting)
            if j in here and wanted[j][-1] == -last:
                here.discard(j)
                count += j not in kept
                kept.add(j)
    return count
