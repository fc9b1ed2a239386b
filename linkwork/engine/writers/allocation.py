"""Which value of a program is in which register: straight-line arithmetic as instructions of a machine with a few of them.

An instruction has at most one operand in memory, and the sum of a multiply-add replaces one of its operands, as on x86. When
no register is free, the value whose next use is farthest away gives up its own (Belady 1966). What is not arithmetic (sines,
comparisons) is left to functions of LLVM that run between stretches of instructions.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from weakref import WeakKeyDictionary

from ..tracing.operations import LOOPS, SAME, operands
from ..tracing.program import Program
from ..tracing.trace import Trace
from .llvm import fused, uses_of
from .order import in_pieces

FREE = "in", "const", *SAME
ARITHMETIC = "add", "mul", "rcp", "sqrt", "abs"
PIECE = 100  # other operations that become one function
NEVER = 1 << 60

Place = tuple  # ("in", argument, index), ("work", slot), ("out", result, ref) or ("const", number of a constant)


@dataclass
class Instructions:
    """A stretch of arithmetic: (name, signs or None, operands..., register); an operand is a register or a place."""

    code: list[tuple] = field(default_factory=list)


@dataclass
class Others:
    """A stretch of other operations: their nodes in order. Operands are read from `places` or the inputs, results go to `places`."""

    nodes: list[int]


@dataclass(frozen=True)
class Plan:
    stretches: list[Instructions | Others]
    places: dict[int, int]  # slots in the scratch memory of values that other operations read or make
    constants: list[float]
    room: int  # slots

    @property
    def others(self) -> int:
        return sum(isinstance(x, Others) for x in self.stretches)


_plans: WeakKeyDictionary[Trace, dict] = WeakKeyDictionary()


def plan(program: Program, registers: int) -> Plan:
    """The instructions of a program, made once."""
    known = _plans.setdefault(program.trace, {})
    key = program.outputs, registers
    if key not in known:
        known[key] = _Allocation(program, registers).plan()
    return known[key]


def forget(program: Program) -> None:
    """Free the instructions of a program."""
    _plans.pop(program.trace, None)


def is_arithmetic(name: str) -> bool:
    return name in ARITHMETIC


def stages(program: Program, order: list[int]) -> dict[int, int]:
    """The stretch of each operation: other operations (odd) as early as they can be, arithmetic (even) as late."""
    nodes, early, last = program.trace.nodes, dict[int, int](), 0
    others = [i for i in order if nodes[i][0] not in FREE and not is_arithmetic(nodes[i][0])]
    if all(nodes[j][0] in ("in", "const") for i in others for j in operands(nodes[i])):  # as in most programs: sines of angles come first
        return dict.fromkeys(order, 2) | dict.fromkeys(others, 1)
    for i in order:
        name, below = nodes[i][0], max((early[j] for j in operands(nodes[i])), default=0)
        if name in FREE:
            early[i] = below
        else:
            early[i] = below + ((below % 2 == 1) if is_arithmetic(name) else (below % 2 == 0))
        last = max(last, early[i])
    last += last % 2
    late = dict[int, int]()
    for i in reversed(order):
        own = early[i] if early[i] % 2 else late.get(i, last)
        late[i] = own
        for j in operands(nodes[i]):
            late[j] = min(late.get(j, last), own - own % 2)
    return late


class _Allocation:
    def __init__(self, program: Program, registers: int):
        self.program, self.nodes = program, program.trace.nodes
        self.constants: dict[tuple[float, str], int] = {}
        self.order = program.live
        self.results: dict[int, list[tuple[int, int]]] = {}  # (output, ref) by value
        refs = dict.fromkeys((n, ref) for n, x in enumerate(program.outputs) for ref in x.refs)
        for n, ref in refs:
            self.results.setdefault(self.value(ref)[1], []).append((n, ref))
        uses = uses_of(self.nodes, self.order, [ref for x in program.outputs for ref in x.refs])
        self.absorbs = fused(self.nodes, self.order, uses)
        self.reads: dict[int, list[int]] = {}
        self.uses: dict[int, list[int]] = {}  # positions of uses to come, the next one last
        self.home: dict[int, Place] = {}  # of values that are in memory
        self.held: dict[int, int] = {}  # registers of values
        self.waiting: list[tuple[int, int]] = []  # values in registers by next use, the farthest first
        self.free = list(range(registers - 1, -1, -1))
        self.slots: list[int] = []  # that are free
        self.emptied: list[int] = []  # that will be
        self.places: dict[int, int] = {}
        self.outside = set[int]()  # values that other operations read
        self.room = 0
        self.code: list[tuple] = []

    # --- what there is to do

    def value(self, ref: int) -> tuple[bool, int]:
        """Is it negative, and of what? Constants are numbered -1, -2 ...; `opaque` and `still` are their operand."""
        negative = ref < 0
        node = self.nodes[abs(ref)]
        while node[0] in SAME:
            negative ^= node[1] < 0
            ref, node = node[1], self.nodes[abs(node[1])]
        if node[0] == "const":
            x = -node[1] if negative else node[1]
            key = (x, str(x))  # 0.0 and -0.0 are two
            return False, -1 - self.constants.setdefault(key, len(self.constants))
        return negative, abs(ref)

    def read(self, i: int) -> list[int]:
        """The values an operation reads, each once."""
        if i in self.reads:
            return self.reads[i]
        found = []
        name, *refs = self.nodes[i]
        for ref in () if name == "result" else refs[1:] if name in LOOPS else refs:  # results are made with their loop or call
            if abs(ref) == self.absorbs.get(i):
                found += [self.value(x)[1] for x in self.nodes[abs(ref)][1:]]
            else:
                found.append(self.value(ref)[1])
        self.reads[i] = found = list(dict.fromkeys(found))
        return found

    def plan(self) -> Plan:
        hidden, stage = set(self.absorbs.values()), stages(self.program, self.order)
        todo: dict[int, list[int]] = {}
        for i in self.order:
            if self.nodes[i][0] not in FREE and i not in hidden:
                todo.setdefault(stage[i], []).append(i)
            elif self.nodes[i][0] == "in":
                self.home[i] = self.nodes[i]
        work: list[int | list[int]] = []  # an operation of arithmetic, or a piece of others
        for number in sorted(todo):
            work += in_pieces(self.nodes, todo[number], PIECE) if number % 2 else todo[number]
        self._count_uses(work)
        stretches: list[Instructions | Others] = []
        for what in work:
            if isinstance(what, list):
                self._leave_registers()
                stretches += [Instructions(self.code), Others(what)]
                self.code = []
                self._others(what)
            else:
                self._operation(what)
        self._rest()
        stretches.append(Instructions(self.code))
        stretches = [x for x in stretches if isinstance(x, Others) or x.code]
        return Plan(stretches, self.places, [x for x, _ in self.constants], self.room)

    def _count_uses(self, work: list[int | list[int]]) -> None:
        for when in range(len(work) - 1, -1, -1):
            what = work[when]
            for v in dict.fromkeys(v for i in what for v in self.read(i)) if isinstance(what, list) else self.read(what):
                self.uses.setdefault(v, []).append(when)
        self.outside = {v for what in work if isinstance(what, list) for i in what for v in self.read(i)}
        made = {what for what in work if not isinstance(what, list)}
        for v in self.results:  # that no instruction makes: they are copied at the end
            if v not in made:
                self.uses.setdefault(v, []).insert(0, len(work))

    # --- registers

    def next_use(self, v: int) -> int:
        uses = self.uses.get(v)
        return uses[-1] if uses else NEVER

    def in_memory(self, v: int) -> bool:
        return v < 0 or v in self.home

    def place(self, v: int) -> Place:
        return ("const", -1 - v) if v < 0 else self.home[v]

    def at(self, v: int) -> int | Place:
        """Where an instruction finds a value."""
        return self.held[v] if v in self.held else self.place(v)

    def _hold(self, v: int, register: int) -> None:
        self.held[v] = register
        self._queue(v)

    def _queue(self, v: int) -> None:
        """Let a value wait that may give up its register."""
        heappush(self.waiting, (-self.next_use(v), v))

    def _farthest(self, but: Container[int]) -> tuple[int, int]:
        """The value in a register whose next use is farthest away: (its use, it), or (-1, 0)."""
        queue, passed, farthest = self.waiting, list[tuple[int, int]](), (-1, 0)
        while queue:
            when, v = queue[0]
            if v not in self.held or self.next_use(v) != -when:
                heappop(queue)  # it has changed since
            elif v in but:
                passed.append(heappop(queue))
            else:
                farthest = -when, v
                break
        for entry in passed:
            heappush(queue, entry)
        return farthest

    def _take(self, but: Container[int] = ()) -> int:
        """A register to write to."""
        if self.free:
            return self.free.pop()
        _, victim = self._farthest(but)
        self._save(victim)
        return self.held.pop(victim)

    def _save(self, v: int) -> None:
        if not self.in_memory(v):
            self._place(v)
            self.code.append(("store", None, self.held[v], self.home[v]))

    def _place(self, v: int) -> None:
        """Give a value a slot of the scratch memory."""
        if not self.slots:
            self.slots.append(self.room)
            self.room += 1
        self.places[v] = heappop(self.slots)
        self.home[v] = ("work", self.places[v])

    def _negated(self, source: int, but: Container[int]) -> int:
        """A register with the negative of another, which the next instruction reads and may write to."""
        register = self._take(but)
        self.code.append(("negate", None, source, register))
        self.free.append(register)
        return register

    def _bring(self, v: int, but: Container[int]) -> int:
        """Load a value."""
        if v not in self.held:
            register = self._take(but)
            self.code.append(("load", None, self.place(v), register))
            self._hold(v, register)
        return self.held[v]

    def _worth(self, v: int, but: Container[int]) -> bool:
        """Is it better to load a value than to read it from memory now and at its next use?"""
        own = self.next_use(v)
        return own != NEVER and (bool(self.free) or self._farthest(but)[0] > own)

    def _used(self, values: Iterable[int]) -> None:
        for v in values:
            self.uses[v].pop()
            if v in self.held:
                self._queue(v)

    def _release(self, values: Iterable[int]) -> None:
        """Give up what has no more uses."""
        for v in values:
            if not self.uses[v]:
                if v in self.held:
                    self.free.append(self.held.pop(v))
                self._forget(v)

    def _forget(self, v: int) -> None:
        """Its slot is free for others after the instruction that is being made, which may read it."""
        if v > 0 and self.home.get(v, ("",))[0] == "work":
            self.emptied.append(self.home.pop(v)[1])

    # --- operations

    def _operation(self, i: int) -> None:
        name, *refs = self.nodes[i]
        values = self.read(i)
        self._used(values)
        for v in values:
            if v not in self.held and self._worth(v, values):
                self._bring(v, values)
        self._hold(i, self._multiply_add(i, refs, values) if i in self.absorbs else self._written(name, refs, values))
        self._empty()
        self._give(i)

    def _written(self, name: str, refs, values) -> int:
        found = [self.value(ref) for ref in refs]
        if name in ("add", "mul"):
            return (self._add if name == "add" else self._mul)(values, *found)
        return self._rcp(values, *found) if name == "rcp" else self._of_one(name, values, *found)

    def _empty(self) -> None:
        while self.emptied:
            heappush(self.slots, self.emptied.pop())

    def _give(self, i: int) -> None:
        """Write a value that is a result."""
        for n, ref in self.results.get(i, ()):
            self._store(n, ref, self.value(ref)[0], i)
            if not self.value(ref)[0] and i not in self.home and i not in self.outside:
                self.home[i] = ("out", n, ref)
        if not self.uses.get(i):
            self.free.append(self.held.pop(i))

    def _store(self, n: int, ref: int, negative: bool, i: int) -> None:
        register = self._negated(self.held[i], {i}) if negative else self.held[i]
        self.code.append(("store", None, register, ("out", n, ref)))

    def _load_but_one(self, a: int, b: int, values: list[int]) -> None:
        """Of two values at most one may be in memory, and none if they are the same. The operands `values` keep their registers."""
        away = sorted((v for v in (a, b) if v not in self.held), key=self.next_use)
        for v in away[:-1]:
            self._bring(v, values)

    def _mul(self, values, x, y) -> int:
        (sx, x), (sy, y) = x, y
        self._load_but_one(x, y, values)
        if x not in self.held:
            x, y = y, x
        a, b = self.held[x], self.at(y)
        self._release(values)
        register = self._take()
        self.code.append(("mul", None, b, a, register))
        if sx != sy:
            self.code.append(("negate", None, register, register))
        return register

    def _add(self, values, x, y) -> int:
        (sx, x), (sy, y) = x, y
        if sx and not sy:
            (sx, x), (sy, y) = (sy, y), (sx, x)
        if not sy:
            self._load_but_one(x, y, values)
            x, y = (x, y) if x in self.held else (y, x)
        a, b = self._bring(x, values), self.at(y)
        if sx:  # both are negative
            a = self._negated(a, values)
        self._release(values)
        register = self._take()
        self.code.append(("sub" if sy else "add", None, b, a, register))
        return register

    def _rcp(self, values, x) -> int:
        negative, x = x
        one = -1 - self.constants.setdefault((1.0, "1.0"), len(self.constants))
        self.uses.setdefault(one, [])
        a, b = self._bring(one, values), self.at(x)
        if negative:
            b = self._negated(self._bring(x, {*values, one}), {*values, one})
        self._release([*values, one])
        register = self._take()
        self.code.append(("div", None, b, a, register))
        return register

    def _of_one(self, name: str, values, x) -> int:
        negative, x = x
        source = self._bring(x, values)
        if negative and name != "abs":
            source = self._negated(source, values)
        self._release(values)
        register = self._take()
        self.code.append((name, None, source, register))
        return register

    def _multiply_add(self, i: int, refs, values) -> int:
        """±x y ± c. The register of c, x or y takes the sum if it is not needed any more, else one that is loaded or copied to."""
        product = self.absorbs[i]
        signed, rest = (refs[1], refs[0]) if abs(refs[1]) == product else (refs[0], refs[1])
        (sx, x), (sy, y) = map(self.value, self.nodes[product][1:])
        minus, c = self.value(rest)
        signs = (signed < 0) ^ sx ^ sy, minus
        held = self.held
        last = [v for v in (c, x, y) if v in held and not self.uses[v] and (x, y, c).count(v) == 1]
        if last and last[0] == c:
            self._load_but_one(x, y, values)
            if x not in held:
                x, y = y, x
            text = "231", signs, self.at(y), held[x], held[c]
        elif last:
            x, y = (x, y) if last[0] == x else (y, x)
            self._load_but_one(y, c, values)
            text = ("213", signs, self.at(c), held[y], held[x]) if y in held else ("132", signs, self.at(y), held[c], held[x])
        else:
            return self._copied(signs, x, y, c, values)
        self.code.append(text)
        del held[last[0]]
        self._forget(last[0])
        self._release(v for v in values if v != last[0])
        return text[-1]

    def _copied(self, signs, x: int, y: int, c: int, values) -> int:
        held = self.held
        self._load_but_one(x, y, values)
        if x not in held:
            x, y = y, x
        register = self._take(values)
        self.code.append(("load" if c not in held else "copy", None, self.at(c), register))
        self.code.append(("231", signs, self.at(y), held[x], register))
        self._release(values)
        return register

    # --- other operations, and the end

    def _leave_registers(self) -> None:
        """All that is used later must be in memory: a function may change every register."""
        for v in list(self.held):
            if self.uses.get(v):
                self._save(v)
            self.free.append(self.held.pop(v))

    def _others(self, piece: list[int]) -> None:
        values = list(dict.fromkeys(v for i in piece for v in self.read(i)))
        self._used(values)
        for i in piece:
            if self.uses.get(i):
                self._place(i)
        self._release(values)
        self._empty()

    def _rest(self) -> None:
        """Results that are inputs, constants, or made by other operations."""
        for v, wanted in self.results.items():
            if self.uses.get(v):
                self._used([v])
                self._bring(v, [v])
                for n, ref in wanted:
                    self._store(n, ref, self.value(ref)[0], v)
                self._release([v])
