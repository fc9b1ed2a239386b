"""An event of joints as a kernel: where it is, what strikes, what then rests or slides, and how the motion goes on.

Compiled steps end where a joint may strike a limit, stick or slip. A transition takes the state there, and which joints rest, as data; it
settles all samples that it is sure of, with the rules of `rest/resting.py`: the event is one sign that changes, at a time of its own, and
the forces and impulses are unique (`rest/unique.py`). What it is not sure of is as it was, and the host settles it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ... import quantities
from ...contact.cone import mean_compliance, norm
from ...contact.kinds import Contact
from ...contact.kinds.coulomb import local
from ...contact.quantities import contact_gaps
from ...contact.solver.accelerations import SPEED as SPEED_OF_SLIP
from ...engine.loading.kernel import Kernel
from ...engine.running.repeat import Form, Repeat
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

    def place(self, least, sought):
        """The fraction of the step where the least of the values comes to zero, and whether it does so once, after it was positive."""
        looks = [least(float(x)) for x in SAMPLES[1:]]
        low, high, above, below, found = 0.0 * sought, 1.0 + 0.0 * sought, -1.0 + 0.0 * sought, looks[-1], sought < 0
        for k, value in enumerate(looks):
            here = ~found & (value <= 0)
            low, high = np.where(here, SAMPLES[k], low), np.where(here, SAMPLES[k + 1], high)
            above, below, found = np.where(here, looks[k - 1] if k else -1.0, above), np.where(here, value, below), found | here
        found = found & (sought > 0)

        def nearer(low, high, above, below):
            """From the zero at the start of a step to where the values are positive."""
            half = high / 2
            value = least(half)
            out = value > 0
            return np.where(out, half, low), np.where(out, high, half), np.where(out, value, above), np.where(out, below, value), out

        (low, high, above, below), _ = iterate(nearer, (low, high, above, below), HALVINGS, ~found | (above > 0))
        found = found & (above > 0)
        return root(least, (low, high, above, below), found), found

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
        return q, np.where(strikes, v1, v), fastest, np.where(told, 1.0, 0.0), ~strikes | solved

    def strike_point(self, points: OpenPoints, at: Mapping, system, C, q, v, hits):
        """v, the fastest impacts, the slack of the gaps, and whether that is certain, after one point has struck: see `resting.strike`.

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
        return v, fastest, np.zeros_like(gaps), single & unique & leaves & (left <= EXACT * norm(own))

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

    # --- all of it

    def __call__(self, at: Mapping) -> dict[str, Any]:
        """The numbers after the event, those of a sample that is not settled as they were."""
        joints, n, limits = self.joints, self.joints.nv, len(self.joints.limits)
        rates, begins, h, t0 = Rates(self.of, at), at[BEGINS] > 0, at["h"], at["t0"]
        ends = opaque(at["q"]), opaque(at["v"])
        within = Within(rates.system(at["q0"]), (t0, at["q0"], at["v"]), ends, h, at[POLYNOMIAL], rates.at)
        x, found = self.place(lambda x: np.min(self.values(rates, within.at(x), at)), np.where(begins, 0.0, 1.0))
        there, rest = later(t0, at["late0"], x * h)
        t = opaque(np.where(begins, at["t"], t0 + x * h))
        whole = begins | (x >= 1.0)
        q, v = (opaque(np.where(whole, a, b)) for a, b in zip(ends, within.state(x)))
        same = SAME * ULP * np.abs(t)
        certain = (begins | (found & (t - t0 > same) & (at[ALERT] <= 0))) & ~(np.abs(t - at[INSTANT]) <= same)
        for event in self.watched.events:
            certain = certain & (begins | self.watched.keeps_its_sign(event, within))
        new: dict[str, Any] = {"q before": q, "v before": v, PART: x}
        new["vdot before"], new["tau before"] = rates.of_modes(at["slides"], at["rests"], t, q, v)
        values = self.values(rates, {"t": t, "q": q, "v": v}, at)
        first, earlier, least = [], like(False, q), np.min(values)
        count = limits + (0 if joints.points is None else len(joints.points))
        for k in range(count + 2 * n):
            here = (values[k] == least) & ~earlier & ~begins
            first.append(np.where(here, 1.0, 0.0))
            earlier = earlier | here
        hits = np.stack(first)
        C = quantities.mass_matrix_inverse(self.of.mechanism.at(q, rates.at), q)
        C = (C + C.mT) / 2
        new |= {SPEED: np.maximum(at[SPEED], np.abs(v))}
        if limits:
            gaps = self._gaps(q)
            new[REACH] = np.maximum(at[REACH], gaps)
            _, bound = self._limits("side", "bound")
            certain = certain & (~begins | np.all(gaps >= -NEAR * np.abs(bound)))
            struck = np.any(hits[:limits] > 0)
            q1, v1, fastest, told, solved = self.strike(at, C, q, v, hits[:limits])
            q, v = np.where(struck, q1, q), np.where(struck, v1, v)
            new |= {FASTEST: np.where(struck, fastest, at[FASTEST]), STRUCK: np.where(struck, told, 0.0)}
            certain = certain & (~struck | solved)
        touched = like(False, q)
        if (points := joints.points) is not None:
            system = rates.system(q)
            touched = np.any(hits[limits:count] > 0)
            v1, fastest, slack, solved = self.strike_point(points, at, system, C, q, v, hits[limits:count])
            gaps = contact_gaps(system, q, points.pairs)
            apart = np.all((hits[limits:count] > 0) | (gaps > points.near))
            at_limit = np.any(self._gaps(q) <= NEAR * np.maximum(new[REACH], np.abs(bound))) if limits else like(False, q)
            certain = certain & apart & (~touched | (solved & ~at_limit))
            new |= {POINT_FASTEST: np.where(touched, fastest, at[POINT_FASTEST]), SLACK: slack, POINT_STRUCK: hits[limits:count]}
            new[STRUCK] = np.concatenate([new.get(STRUCK, np.zeros(0)), hits[limits:count]])
            v = np.where(touched, v1, v)
        stops, freed = hits[count : count + n] > 0, hits[count + n :] > 0
        slow = (np.any(stops) | touched) & (rates.friction(q) > 0) & (np.abs(v) <= NEAR * new[SPEED])
        v = np.where(stops | slow, 0.0, v)
        force = rates.holding(t, q, v)
        let_go = np.where(freed, np.where(force - at["low"] < at["high"] - force, at["low"], at["high"]), np.nan)
        modes, solved = self.choose(rates, at, C, t, q, v, freed, let_go)
        new |= modes | {"t": t, "late": np.where(begins, at["late"], (there - t) + rest), "q": q, "v": v, INSTANT: t, LET_GO: let_go}
        new["vdot"], new["tau"] = rates.of_modes(new["slides"], new["rests"], t, q, v)
        new[FREE] = rates.free
        for event in self.watched.events:  # the step after it is looked at if it starts from a zero
            value = np.reshape(result_of(event.function, {**rates.at, "t": t, "q": q, "v": v}), ())  # type: ignore[arg-type]
            certain = certain & (np.abs(value) > 0)
        sizes = np.max(np.abs(np.concatenate([q, v])))
        if self.watch is not None:
            state, part = {**rates.at, "t": t, "q": q, "v": v}, self.watch.part(within, at, x)
            part = {name: np.where(begins, at[name], value) for name, value in part.items()}
            part |= self.watch.jump(state, {**at, **part})
            start = self.watch.start(self.watch.values(state))
            new |= {name: np.where(at[BEGINS] == 1, start[name], value) for name, value in part.items()}
        fits = certain & solved & np.all(np.isfinite(np.concatenate([new["vdot"], new[FREE]]))) & (sizes <= LARGEST)
        return {name: np.where(fits, value, at[name]) for name, value in new.items()} | {SETTLED: np.where(fits, 1.0, 0.0)}


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
