"""An event of joints as a kernel: where it is, what strikes, what then rests or slides, and how the motion goes on.

Compiled steps end where a joint may strike a limit, stick or slip. A transition takes the state there, and which joints rest, as data; it
settles all samples that it is sure of, with the rules of `rest/resting.py`: the event is one sign that changes, at a time of its own, and
the forces and impulses are unique (`rest/unique.py`). What it is not sure of is as it was, and the host settles it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from ... import quantities
from ...contact.cone import mean_compliance, norm
from ...contact.kinds import Contact
from ...contact.kinds.coulomb import local
from ...contact.quantities import contact_gaps
from ...contact.solver.accelerations import SPEED as SPEED_OF_SLIP
from ...engine.loading.kernel import Kernel
from ...engine.running.repeat import Form, Repeat
from ...kernels import UserKernel
from ...lie.iteration import iterate
from ...lie.scalars import like, opaque
from ..events.events import SAME, SAMPLES
from ..events.guard import (
    ALERT,
    FASTEST,
    INSTANT,
    LET_GO,
    OFF,
    POINT_FASTEST,
    POINT_STRUCK,
    PUSH,
    REACH,
    RESTITUTION,
    SLACK,
    SPEED,
    Guard,
    Joints,
    OpenPoints,
    dips,
)
from ..events.watch import Watch, Within, result_of, root
from ..methods.pairs import Pair
from ..rates.compliance import BOUND
from ..requests.grid import later
from ..requests.motion_checks import LARGEST
from ..rest.contact_events import REST as REST_OF_POINTS
from ..rest.contact_events import STILL
from ..rest.resting import REST
from ..rest.stops import NEAR
from ..rest.unique import unique_forces
from .segments import FREE, POLYNOMIAL, Equations, Named, Rates, observed_shapes

SETTLED = "settled"  # is it settled?
STRUCK = "struck"  # limits, then points, that were struck
BEFORE = "q before", "v before", "vdot before", "tau before"  # the state just before
PART = "part"  # the fraction of the step that was made
BEGINS = "begins"  # 1 where a run begins, 2 where it goes on with other forces, 0 for a step
MOTION = "t", "late", "q", "v", "vdot", "tau", FREE
STEP = "t0", "late0", "h", "q0", POLYNOMIAL  # the step in which something may happen
TIE = 1e-9  # of a value at the end of the quarter: two that come to zero as near together are one event
HALVINGS = 50  # in search of a place between a value that is zero and the next time that it is
MOST_POINTS = 8
MOST_VELOCITIES = 16  # the kernel has as many operations as the inverse of the mass matrix, many times
ULP = 2.0**-52
LOCAL = 16  # steps of Newton's method for the impulse of one contact
EXACT = 1e-10  # of the velocity of an impact: the residual of the impulse
MARGIN = 1e-3  # of the condition under which there is one impulse


@dataclass(frozen=True, eq=False)
class Transition:
    """Settles what joints do: a function of numbers by name, which are those of a sample."""

    of: Equations
    joints: Joints
    watched: Guard  # events of the user, in whose steps it settles nothing
    watch: Watch | None = None  # statistics of an ensemble

    @staticmethod
    def serves(of: Equations, guard: Guard | None) -> bool:
        """Is there a transition for joints under these equations?"""
        tree = of.constraints is None and not of.asks and of.robot.constraints is None
        if not tree or guard is None or guard.joints is None or guard.always or of.robot.nv > MOST_VELOCITIES:
            return False
        return guard.joints.points is None or len(guard.joints.points) <= MOST_POINTS

    # --- where it is

    def values(self, rates: Rates, state: Mapping, at: Mapping):
        """One number for each limit and contact point, and for each velocity the slip and the room of the force that holds it: positive as
        long as nothing happens."""
        gap = np.where(at["open"] > 0, self._gaps(state["q"]), np.inf) if self.joints.limits else np.zeros(0)
        slip = np.where((at["slides"] != 0) & ~(at["rests"] > 0), at["slides"] * state["v"], np.inf)
        force = rates.holding(state["t"], state["q"], state["v"])
        room = np.where(at["rests"] > 0, np.minimum(force - at["low"], at["high"] - force), np.inf)
        points, q = self.joints.points, state["q"]
        near = np.zeros(0) if points is None else contact_gaps(rates.system(q), q, points.pairs) + at[SLACK]
        return np.concatenate([gap, near, slip, room])

    def _gaps(self, q):
        row, side, bound = self._limits("row", "side", "bound")
        return side * (q[row] - bound)

    def _limits(self, *names: str):
        """Properties of all limits."""
        return (np.array([getattr(x, name) for x in self.joints.limits]) for name in names)

    def speeds(self, rates: Rates, state: Mapping):
        """Gaps of limits and contact points, and how fast they grow."""
        q, v, points, gaps, along = state["q"], state["v"], self.joints.points, [np.zeros(0)], [np.zeros(0)]
        if self.joints.limits:
            rate, side = self._limits("rate", "side")
            gaps, along = [self._gaps(q)], [side * v[rate]]
        if points is not None:
            near, _, u = points.at(rates.system(q), q, v)
            gaps, along = [*gaps, near], [*along, u[:, 0]]
        return np.concatenate(gaps), np.concatenate(along)

    def place(self, rates: Rates, within: Within, at: Mapping, begins):
        """The fraction of the step where a value comes to zero first, 1 for that value, and whether that is certain.

        Values that are below zero at the end of the first quarter in which there are some come to it, and no others: each is divided by
        what it is there. A gap that may have shrunk to zero and grown again before is left to the host, as is another value near zero.
        """
        states = [within.at(float(x)) for x in SAMPLES]
        looks, (gaps, speeds) = [self.values(rates, x, at) for x in states[1:]], zip(*(self.speeds(rates, x) for x in states))
        found, dip = begins, like(False, within.h)
        low, high, before, after = 0.0 * within.h, 1.0 + 0.0 * within.h, 0.0 * looks[0], looks[-1]
        for k, value in enumerate(looks):
            here = ~found & np.any(value <= 0)
            low, high = np.where(here, SAMPLES[k], low), np.where(here, SAMPLES[k + 1], high)
            before, after = np.where(here, looks[k - 1] if k else 0.0 * value, before), np.where(here, value, after)
            (a, b), (u, w), part = gaps[k : k + 2], speeds[k : k + 2], (SAMPLES[k + 1] - SAMPLES[k]) * within.h
            dip = dip | (~found & np.any(dips(a, b, u, w, part) & (a > 0) & (b > 0)))
            found = found | here
        falls, found = after <= 0, found & ~begins
        size = np.where(falls & (after < 0), -after, 1.0)

        def each(x):
            return np.where(falls, self.values(rates, within.at(x), at) / size, np.inf)

        def nearer(low, high, above, below):
            """From the zero at the start of a step to where the values are positive."""
            half = high / 2
            value = np.min(each(half))
            out = value > 0
            return np.where(out, half, low), np.where(out, high, half), np.where(out, value, above), np.where(out, below, value), out

        above, below = (np.min(np.where(falls, x / size, np.inf)) for x in (before, after))
        (low, high, above, below), _ = iterate(nearer, (low, high, above, below), HALVINGS, ~found | (above > 0))
        found = found & (above > 0) & ~dip
        x = root(lambda x: np.min(each(x)), (low, high, above, below), found)
        values, first, earlier = each(x), [], begins
        for k in range(values.shape[-1]):
            here = (values[k] == np.min(values)) & ~earlier
            first.append(np.where(here, 1.0, 0.0))
            earlier = earlier | here
        hits, limits = np.stack(first), len(self.joints.limits)
        together = np.arange(values.shape[-1]) < limits  # limits that are struck at the same time are one impact
        of_limit = np.any(hits[:limits] > 0) if limits else like(False, within.h)
        alone = np.all((values - np.min(values) > TIE) | (hits > 0) | (of_limit & together))
        return x, hits, found & alone

    # --- what happens

    def strike(self, at: Mapping, C, q, v, hits):
        """q, v, the fastest impacts, and which limits are told of, after limits were struck: `hits` is 1 for the one that was found. See
        `resting.strike`."""
        n = self.joints.nv
        row, rate, side, bound = self._limits("row", "rate", "side", "bound")
        to_v, to_q = np.eye(n)[:, rate], np.eye(len(q))[:, row]
        along, fastest = side * v[rate], at[FASTEST][rate]
        there = (self._gaps(q) <= NEAR * np.maximum(at[REACH], np.abs(bound))) & ((along <= 0) | (along < REST * fastest))
        there = there | (hits > 0)
        one = np.where(there, 1.0, 0.0)
        q = np.where(to_q @ one > 0, to_q @ (bound * one), q)
        way, known = to_v @ (side * one), to_v @ one > 0  # of each joint
        u = way * v
        strikes = np.any(u < 0)
        approaches = np.all(~(hits > 0) | (along < 0))
        told = (hits > 0) | (there & strikes & (along < -REST * fastest))
        fastest = np.where(known, np.maximum(at[FASTEST], -u), at[FASTEST])
        slow, e = REST * fastest, np.where(u < 0, at[RESTITUTION], 0.0)
        back = np.where((e < 1) & (-e * u < slow), 0.0, e) * u
        both = known[:, None] & known[None, :]
        G = np.where(both, way[:, None] * C * way[None, :], like(np.eye(n), q))
        high = np.where(known, np.inf, 0.0)
        found = unique_forces(G, np.where(known, u + back, 0.0), 0.0 * u, high)
        after = found.w - back
        stays = known & ~(found.place == 0) & (after < slow)
        held = unique_forces(G, np.where(known, np.where(stays, u, u + back), 0.0), np.where(stays, -np.inf, 0.0 * u), high)
        some = np.any(stays)
        impulse, pressed = (np.where(some, a, b) for a, b in ((held.z, found.z), (held.place, found.place)))
        after = np.where(stays, 0.0, np.where(some, held.w, found.w) - back)
        v1 = np.where(known & ((pressed == 0) | stays), way * after, v + C @ (way * impulse))
        solved = found.solved & (~some | held.solved)
        return q, v1, fastest, np.where(told, 1.0, 0.0), approaches & solved

    def strike_point(self, points: OpenPoints, at: Mapping, system, C, q, v, hits):
        """v, the fastest impacts, and whether that is certain, after one point has struck: see `resting.strike`.

        The tangents answer an impulse by S; with μ |w| below 2 √κ/(1 + κ), κ the ratio of the eigenvalues of S, there is one impulse.
        """
        gaps, J, u = points.at(system, q, v)
        which = np.where(hits > 0, 1.0, 0.0)
        rows, own, mu = np.sum(which[:, None, None] * J, 0), which @ u, which @ points.friction
        fastest = np.where((hits > 0) & (u[:, 0] < 0), np.maximum(at[POINT_FASTEST], -u[:, 0]), at[POINT_FASTEST])
        slow = np.maximum(SPEED_OF_SLIP * 1e-3, np.maximum(REST_OF_POINTS * fastest, points.rtol * norm(u)))
        single = np.all((hits > 0) | (gaps > points.near)) & (own[0] < -(which @ slow))
        G = rows @ C @ rows.mT
        back = u[:, 0] @ (which * points.restitution)
        free = own + np.stack([back, 0.0 * back, 0.0 * back])
        impulse = local(G, free, mu, 0.0 * own, LOCAL)
        law = Contact(free, mean_compliance(G), np.zeros_like(mu)[None], mu[None])
        S = G[1:, 1:] - G[1:, :1] @ G[:1, 1:] / G[0, 0]
        w, trace, root_of = norm(G[1:, 0]) / G[0, 0], S[0, 0] + S[1, 1], np.sqrt(np.maximum(S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0], 0.0))
        unique = (mu * w * trace <= (2.0 - MARGIN) * root_of) | (mu * w <= EXACT)
        left = law.left((G @ impulse[:, None])[:, 0] + free, impulse)
        v = v + (C @ (rows.mT @ impulse[:, None]))[:, 0]
        leaves = -back > np.maximum(STILL, which @ slow)
        return v, fastest, single & unique & leaves & (left <= EXACT * norm(own))

    def choose(self, rates, at: Mapping, C, t, q, v, pinned, let_go):
        """Finds what rests and what slides from here on, and whether that is certain; `pinned` are rows that have just been let go, whose
        forces are `let_go`. See `resting.choose`."""
        n, dry = self.joints.nv, rates.friction(q)
        low, high = -dry, dry
        if self.joints.limits:
            row, rate, side, bound = self._limits("row", "rate", "side", "bound")
            touches, to_v = (q[row] == bound) & (v[rate] == 0), np.eye(n)[:, rate]
            high = np.where(to_v @ np.where(touches & (side > 0), 1.0, 0.0) > 0, np.inf, high)
            low = np.where(to_v @ np.where(touches & (side < 0), 1.0, 0.0) > 0, -np.inf, low)
        rows = (v == 0) & (low < high)
        slides = np.where(rows | ~(dry > 0), 0.0, np.where(v > 0, 1.0, np.where(v < 0, -1.0, 0.0)))
        none = 0.0 * v
        free, _ = rates.of_modes(slides, none, t, q, v)
        b, some = np.where(rows, free, 0.0), np.any(rows)
        push = np.where(some, np.maximum(at[PUSH], np.max(np.abs(free))), at[PUSH])
        least, most = (np.where(rows, np.where(pinned, let_go, x), 0.0) for x in (low, high))
        found = unique_forces(C, b, least, most)
        w = (C @ found.z[:, None])[:, 0] + free
        up = let_go == high
        wrong = pinned & rows & (np.where(up, w, -w) > BOUND * push)
        held = rows & (found.place == 0) & ~pinned
        ways = np.where((pinned & up) | (~pinned & (found.place > 0)), -1.0, 1.0)
        slides = np.where(rows, np.where(held | ~(dry > 0), 0.0, ways), slides)
        new = {"slides": slides, "rests": np.where(held, 1.0, 0.0), PUSH: push, OFF: np.where(rows & ~held, 1.0, 0.0)}
        new |= {"low": np.where(held, low, -np.inf), "high": np.where(held, high, np.inf)}
        if self.joints.limits:
            unbounded = np.where(side > 0, high[rate], -low[rate])
            new["open"] = np.where(held[rate] & (unbounded == np.inf), 0.0, 1.0)
        return new, found.solved & np.all(found.clear | pinned) & ~np.any(wrong)

    def impacts(self, rates: Rates, at: Mapping, C, event: "EventPlace", begins) -> tuple:
        """q and v after what strikes, what else changes by it, and whether that is certain."""
        joints, limits, (_, _, _, q, v, _, hits) = self.joints, len(self.joints.limits), event
        new: dict[str, Any] = {SPEED: np.maximum(at[SPEED], np.abs(v))}
        certain = struck = touched = at_limit = like(False, q)
        certain, told = ~certain, []
        if limits:
            gaps, (bound,) = self._gaps(q), self._limits("bound")
            new[REACH], struck = np.maximum(at[REACH], gaps), np.any(hits[:limits] > 0)
            at_limit = np.any(gaps <= NEAR * np.maximum(new[REACH], np.abs(bound)))
            q1, v1, fastest, struck_limits, solved = self.strike(at, C, q, v, hits[:limits])
            certain = (~begins | np.all(gaps >= -NEAR * np.abs(bound))) & (~struck | solved)
            new[FASTEST], told = np.where(struck, fastest, at[FASTEST]), [np.where(struck, struck_limits, 0.0)]
        if joints.points is not None:
            system, mine = rates.system(q), hits[limits : self.count]
            touched, gaps = np.any(mine > 0), contact_gaps(system, q, joints.points.pairs)
            v2, fastest, solved = self.strike_point(joints.points, at, system, C, q, v, mine)
            apart = np.all((mine > 0) | (gaps > joints.points.near))
            certain = certain & apart & (~touched | (solved & ~at_limit))
            new |= {POINT_FASTEST: np.where(touched, fastest, at[POINT_FASTEST]), SLACK: 0.0 * gaps, POINT_STRUCK: mine}
            v, told = np.where(touched, v2, v), [*told, mine]
        if limits:
            q, v = np.where(struck, q1, q), np.where(struck, v1, v)
        if told:
            new[STRUCK] = np.concatenate(told)
        return q, v, touched, new, certain

    # --- all of it

    @property
    def count(self) -> int:
        """The number of limits and points."""
        return len(self.joints.names)

    def event(self, rates: Rates, at: Mapping, within: Within, begins) -> "EventPlace":
        """The event in a step, or the state where a run begins."""
        x, hits, happens = self.place(rates, within, at, begins)
        there, rest = later(at["t0"], at["late0"], x * at["h"])
        t = opaque(np.where(begins, at["t"], at["t0"] + x * at["h"]))
        whole, same = begins | (x >= 1.0), SAME * ULP * np.abs(t)
        q, v = (opaque(np.where(whole, a, b)) for a, b in zip(within.end, within.state(x)))
        certain = (begins | (happens & (t - at["t0"] > same) & (at[ALERT] <= 0))) & ~(np.abs(t - at[INSTANT]) <= same)
        for event in self.watched.events:
            certain = certain & (begins | self.watched.keeps_its_sign(event, within))
        return EventPlace(x, t, np.where(begins, at["late"], (there - t) + rest), q, v, certain, hits)

    def __call__(self, at: Mapping) -> dict[str, Any]:
        """The numbers after the event, those of a sample that is not settled as they were."""
        n, rates, begins = self.joints.nv, Rates(self.of, at), at[BEGINS] > 0
        ends = opaque(at["q"]), opaque(at["v"])
        within = Within(rates.system(at["q0"]), (at["t0"], at["q0"], at["v"]), ends, at["h"], at[POLYNOMIAL], rates.at)
        event = self.event(rates, at, within, begins)
        x, t, late, q, v, certain, hits = event
        new: dict[str, Any] = {"q before": q, "v before": v, PART: x}
        new["vdot before"], new["tau before"] = rates.of_modes(at["slides"], at["rests"], t, q, v)
        C = quantities.mass_matrix_inverse(self.of.mechanism.at(q, rates.at), q)
        C = (C + C.mT) / 2
        q, v, touched, changed, solved = self.impacts(rates, at, C, event, begins)
        new, certain = new | changed, certain & solved
        stops, freed = hits[self.count : self.count + n] > 0, hits[self.count + n :] > 0
        slow = (np.any(stops) | touched) & (rates.friction(q) > 0) & (np.abs(v) <= NEAR * new[SPEED])
        v = np.where(stops | slow, 0.0, v)
        force = rates.holding(t, q, v)
        let_go = np.where(freed, np.where(force - at["low"] < at["high"] - force, at["low"], at["high"]), np.nan)
        modes, solved = self.choose(rates, at, C, t, q, v, freed, let_go)
        new |= modes | {"t": t, "late": late, "q": q, "v": v, INSTANT: t, LET_GO: let_go}
        new["vdot"], new["tau"] = rates.of_modes(new["slides"], new["rests"], t, q, v)
        new[FREE], state = rates.free, {**rates.at, "t": t, "q": q, "v": v}
        for watched in self.watched.events:  # the step after it is looked at if it starts from a zero
            certain = certain & (np.abs(np.reshape(result_of(cast(UserKernel, watched.function), state), ())) > 0)
        new |= {} if self.watch is None else self.statistics(self.watch, within, x, state, at)
        sizes = np.max(np.abs(np.concatenate([q, v])))
        fits = certain & solved & np.all(np.isfinite(np.concatenate([new["vdot"], new[FREE]]))) & (sizes <= LARGEST)
        return {name: np.where(fits, value, at[name]) for name, value in new.items()} | {SETTLED: np.where(fits, 1.0, 0.0)}

    @staticmethod
    def statistics(watch: Watch, within: Within, x, state: Mapping, at: Mapping) -> dict[str, Any]:
        """The statistics after the part x of a step, and with the state after it."""
        part = {name: np.where(at[BEGINS] > 0, at[name], value) for name, value in watch.part(within, at, x).items()}
        part |= watch.jump(state, {**at, **part})
        start = watch.start(watch.values(state))
        return {name: np.where(at[BEGINS] == 1, start[name], value) for name, value in part.items()}


class EventPlace(NamedTuple):
    """Where something happens: the fraction of the step, time and state; whether that is certain; 1 for the value that has come to zero."""

    x: Any
    t: Any
    late: Any
    q: Any
    v: Any
    certain: Any
    hits: Any


class Transitions(Named):
    """The compiled transition of some equations, for many samples at once."""

    def __init__(
        self, of: Equations, pair: Pair, guard: Guard, once: Callable[[Kernel, int], Callable[[list], list]], watch: Watch | None = None
    ):  # fmt: skip
        """`once` compiles a kernel that makes its states anew, when it is first needed."""
        joints, n = guard.joints, of.robot.nv
        assert joints is not None
        settle = Transition(of, joints, Guard(None, guard.events), watch)
        watched = {} if watch is None else watch.state(observed_shapes(of, watch))
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("q", "q0", "q before"), (of.robot.nq,)) | {POLYNOMIAL: (pair.degree + 1, 2 * n)}
        shapes |= dict.fromkeys(("v", "vdot", "tau", FREE, "held", *BEFORE[1:]), (n,)) | joints.known | watched | dict(of.varied)
        more: dict[str, tuple[int, ...]] = {STRUCK: (len(joints.names),)} if joints.names else {}
        states = *MOTION, *joints.known, *watched, *BEFORE, PART, SETTLED, *more
        super().__init__(of, states, (*STEP, BEGINS, ALERT, RESTITUTION, "held", *of.varied), shapes | more)
        self.joints, self.once = joints, once
        content = of, type(pair), joints, guard.events, watch, "transition"
        self.kernel = Kernel("transition", lambda *x: self._after(settle, x), self.inputs, content)

    def _after(self, settle: Transition, values: tuple) -> tuple:
        at = self.by_name(values)
        after = settle(at)
        return *(after.get(name, at[name]) for name in self.state), like(1.0, at["q"])

    @cached_property
    def _compiled(self) -> Callable[[list], list]:
        return self.once(self.kernel, len(self.state))

    def __call__(self, numbers: Mapping) -> dict[str, Any]:
        """All states after the transition of samples, from numbers (samples, shape...) by name; new arrays."""
        return dict(zip(self.state, self._compiled([numbers[name] for name in (*self.state, *self.given)])))

    @property
    def answers(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what it tells besides the state of a sample."""
        return {name: self.shapes.get(name, ()) for name in (*BEFORE, PART, SETTLED, STRUCK) if name in self.state}

    def names(self, after: Mapping) -> list[str]:
        """The names of what was struck in the transition of one sample."""
        return [name for name, x in zip(self.joints.names, after.get(STRUCK, ())) if x]


def alone(kernel: Kernel, states: int) -> Callable[[list], list]:
    """A kernel that makes its states anew, for one sample at a time."""
    repeated = Repeat(kernel, "d", Form(states, leaves=True), wide=False)

    def made(arrays: list) -> list:
        repeated.rounds(arrays, [], np.zeros(1), most=1)
        return arrays[:states]

    return made
