"""The body of a long loop as a program of its own, which the loop calls: it is then written as assembly, as other long programs are.

Its inputs are what is carried and what it uses of the code around it, its results the carried values after a round and whether the sample
goes on. They lie in the scratch memory, so that no register is kept for them from round to round.
"""

from weakref import WeakKeyDictionary

from ..tracing.loops import Loop
from ..tracing.operations import LOOPS, OPERATIONS, ZERO
from ..tracing.program import Input, Output, Program
from ..tracing.residues import drawn
from ..tracing.routines import Routine
from ..tracing.trace import Trace
from .assembly import serves

CARRIED, USED = "carried", "used"
_made: WeakKeyDictionary[Trace, dict[Loop, Routine | None]] = WeakKeyDictionary()


def bodies(program: Program) -> dict[Loop, Routine]:
    """The bodies that are called, of the loops of a program."""
    known = _made.setdefault(program.trace, {})
    for i in program.live:
        if program.trace.nodes[i][0] == "loop" and (loop := program.trace.nodes[i][1]) not in known:
            known[loop] = _routine(program, i)
    return {loop: known[loop] for loop in program.loops if known.get(loop) is not None}  # type: ignore[misc]


def _routine(program: Program, i: int) -> Routine | None:
    """The body of the loop that is node i, unless it is short, has loops in it or takes truths from outside."""
    nodes, (_, loop, *refs) = program.trace.nodes, program.trace.nodes[i]
    used = [abs(ref) for ref in refs[len(loop.carried) :]]
    if any(nodes[j][0] in LOOPS for j in loop.body) or any(OPERATIONS[nodes[j][0]].truth for j in used):
        return None
    body = Program(f"{program.name}.body", *_copied(nodes, loop, used))
    return Routine(body) if serves(body) else None


def _copied(nodes: list[tuple], loop: Loop, used: list[int]) -> tuple[Trace, tuple[Input, ...], tuple[Output, ...]]:
    """A trace with nothing but the body, its inputs and outputs. Nothing is simplified, so that the bits are the same."""
    trace, number = Trace(), dict[int, int]()
    inputs = tuple(Input(name, (len(values),)) for name, values in ((CARRIED, loop.carried), (USED, used)) if values)
    for name, values in (CARRIED, loop.carried), (USED, used):
        number |= {j: trace.input(name, k) for k, j in enumerate(values)}

    def copied(ref: int) -> int:
        j = abs(ref)
        if nodes[j][0] == "const":
            return trace.constant(nodes[j][1]) if ref > 0 else -trace.constant(nodes[j][1])
        return number[j] if ref > 0 else -number[j]

    for j in loop.body:
        number[j] = trace.node((nodes[j][0], *map(copied, nodes[j][1:])), drawn("body", j))
    again = copied(loop.again)
    if nodes[loop.again][0] != "const":
        again = trace.node(("where", again, trace.one, ZERO), drawn("again"))
    return trace, inputs, (Output(tuple(map(copied, loop.new)), (len(loop.new),)), Output((again,), ()))
