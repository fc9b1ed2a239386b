"""simulate for a batch of states: blocks of samples, each advanced by compiled code until it is done."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from ...dynamics import Dynamics
from ...engine.loading.gufunc import get_threads
from ...engine.loading.kernel import Kernel
from ...errors import ShapeError
from ...kernels import UserKernel
from ...lie.scalars import numbers
from ...motion import equations
from ..methods.interpolate import Polynomial
from ..rates.control import at_state, read_only
from ..rates.kernels import cache_of, kernel
from ..requests.grid import Grid
from ..requests.progress import Progress
from ..requests.settings import PAIRS
from ..runs.segments import FORCES, POLYNOMIAL, Equations, Rates, Segments, observer
from .ensemble import EVENT, FAILED, FINISHED, STOPPED, Carried, Ensemble, EventTimes, Statistic
from .ensemble_request import Request, force_of_kernel

ROWS = {"steps": ("t", "q", "v"), "grid": ("t", "h", "t0", "late0", "q0", POLYNOMIAL), "last": ()}
SECONDS = 0.25  # that a block of samples takes, so that Ctrl-C and the progress bar are served
ROOM = 1 << 26  # bytes of the rows of one call
CAPACITY = 64  # rows of a sample in one call
SEEN = "least of ", "greatest of ", "integral of ", "last of ", "first of "  # that samples without motion have not
FIRST_BLOCK = 64  # samples for each thread
MAX_STEPS = 1_000_000  # of a sample, unless `max_steps` says otherwise


class OutOfTime(Exception):
    """A call has taken as long as it may."""


class EnsembleRun:
    """The arrays of all samples, and the compiled code that advances them."""

    def __init__(self, asked: Request, earlier: Ensemble | None = None):
        """Of an ensemble that goes on from an `earlier` one, or begins."""
        self.asked, self.own = asked, asked.own
        self.shapes = {name: x.shape[1:] for name, x in asked.given.items()}
        self.asks = self.own.nv if asked.functions else 0
        controls = () if self.asks else asked.controls
        self.equations = Equations.of(asked.robot, controls, self.shapes, asked.constraints, asked.external, asks=self.asks)
        self.segments, self.observe, self.rates = self._compiled()
        n = len(asked.Q)
        self.state = {name: np.zeros((n, *self.segments.shapes.get(name, ()))) for name in self.segments.state}
        for name, x in (("q", asked.Q), ("v", asked.V), ("t", asked.start), ("stuck", asked.reasons)):
            self.state[name][:] = x
        self.status = np.full(n, STOPPED, "<U8")
        self.grid = Grid(asked.start, asked.settings.dt, asked.start, asked.until)
        count = self.grid.number(asked.until) + 1 if asked.store == "grid" else 0
        self.on_grid = [np.full((n, count, x.shape[1]), np.nan) for x in (asked.Q, asked.V)]
        self.parts: list[list[tuple]] = [[] for _ in range(n if asked.store == "steps" else 0)]
        self.calls = np.full((len(asked.holds), n), -inf)
        self.answers = [np.zeros((n, self.own.nv)) for _ in asked.holds]
        if earlier is not None:
            self._take(earlier)

    def _take(self, earlier: Ensemble) -> None:
        """Begin where an earlier part has ended."""
        was, n = earlier.carried, len(self.asked.Q)
        assert was is not None
        for name, x in was.state.items():
            self.state[name][:] = x
        self.status = earlier.status.reshape(n).copy()
        self.calls, self.answers = was.calls.copy(), [x.copy() for x in was.answers]
        for rows, x in zip(self.on_grid, (earlier.Q, earlier.V)):
            if x is not None:
                rows[:, : x.shape[-2]] = x.reshape(n, *x.shape[-2:])
        self.parts = [[part] for part in earlier.ragged] if earlier.ragged is not None else []

    def _compiled(self):
        """The steps, the kernel of what is watched, and the rates at the start; kept with what they are made of."""
        a, of = self.asked, self.equations
        kernels = [*a.controls, *(() if a.watch is None else a.watch.kernels), a.external]
        watched = () if a.watch is None else (tuple(a.watch.statistics), *((x.direction, x.terminal) for x in a.watch.events))
        source = a.robot.lowered if isinstance(a.robot, Dynamics) else a.robot

        def make() -> tuple:
            segments = Segments(of, PAIRS[a.settings.method](), ROWS[a.store], wide=True, watch=a.watch)
            return segments, None if a.watch is None else observer(of, a.watch).gufunc("d"), self._start_rates()

        key = source, a.settings.method, a.store, repr(self.shapes), tuple(kernels), len(a.controls), watched, self.asks
        return cache_of(a.robot, *kernels).once(make, *key)

    def _start_rates(self):
        """The function (t, q, v, held, given...) -> v̇, τ of states to start from, with the bits of a single run where there can be one.
        What functions of Python answer is part of what is held."""
        of, own, controls = self.equations, self.own, self.equations.controls
        if not self.shapes:
            external, moves = self.asked.external, self.asked.keeper.timed
            rates = kernel(own, equations.local_rates, *(() if external is None else ("external",)))

            def start(t, q, v, held):
                tau = held
                for control in controls:
                    tau = tau + at_state(control, t, q, v)
                push = () if external is None else (at_state(external, t, q, v),)
                return rates(q, np.zeros_like(v), v, tau, *push, **({"t": float(t[0])} if moves else {}))[1], tau

            return start
        shapes = {"t": (), "q": (own.nq,), "v": (own.nv,), "held": (own.nv,), **self.shapes}

        def traced(t, q, v, held, *given):
            out, rates = (np.zeros_like(v), np.zeros_like(v)), Rates(of, {"held": held, **dict(zip(self.shapes, given))})
            rates(t, q, np.zeros_like(v), v, out)
            return out[1], rates.tau

        return Kernel("start_rates", traced, tuple(own.lowered.input(name, x) for name, x in shapes.items()), content=of).gufunc("d")

    def go(self) -> Ensemble:
        """All samples, block after block; those that Ctrl-C or the deadline do not let end are "stopped" and as they began."""
        todo, done, current = self._todo(), 0, None
        block = len(todo) if self.asks else FIRST_BLOCK * get_threads()
        deadline, self.status[todo] = self.asked.settings.deadline, STOPPED
        progress = Progress(0.0, float(len(todo)), self.asked.settings.progress)
        try:
            with np.errstate(all="ignore"):
                while done < len(todo):
                    began, some = monotonic(), todo[done : done + block]
                    some = some[: int(np.argmax(np.append(self.state["t"][some] != self.state["t"][some[0]], True)))]  # of one time
                    current = Block(self, some, deadline)
                    current.go()
                    done, current = done + len(some), None
                    progress.update(float(done))
                    block = int(block * np.clip(SECONDS / max(monotonic() - began, 1e-6), 0.25, 4.0)) + 1
        except (KeyboardInterrupt, OutOfTime):
            if current is not None:
                current.keep(np.flatnonzero(current.ended))
            self._forget(todo[self.status[todo] == STOPPED])
        finally:
            progress.close()
        return self._result()

    def answer(self, function: Callable, samples: np.ndarray, t, q, v) -> np.ndarray:
        """What a function of Python answers for some samples, of which this is the state: it is asked for all samples of the batch."""
        whole, batch = [self.state[name].copy() for name in ("t", "q", "v")], self.asked.batch
        for x, new in zip(whole, (t, q, v)):
            x[samples] = new
        found = function(*read_only(*(x.reshape((*batch, *x.shape[1:])) for x in whole)))
        tau, wanted = numbers(found, "what control returned"), (*batch, self.own.nv)
        if found is None or tau.shape != wanted:
            came = "None" if found is None else f"an array of shape {tau.shape}"
            raise ShapeError(f"control returned {came}; of a batch with q of shape {(*batch, self.own.nq)} it must return shape {wanted}.")
        return tau.reshape(-1, self.own.nv)[samples]

    def _todo(self) -> np.ndarray:
        """The samples that go on, by the times where they are."""
        t, until = self.state["t"], self.asked.until
        goes = (self.status == STOPPED) | ((self.status == FINISHED) & (t < until))
        some = np.flatnonzero(goes)
        return some[np.argsort(t[some], kind="stable")]

    def _forget(self, samples: np.ndarray) -> None:
        """Take back the rows of samples that are not done, since they began or went on."""
        t, new = self.state["t"], samples[self.state["t"][samples] == self.asked.start]
        for rows in self.on_grid:
            after = np.arange(rows.shape[1]) > self.grid.numbers(t[samples])[:, None]
            rows[samples] = np.where(after[..., None], np.nan, rows[samples])
            rows[new] = np.nan
        for k in samples if self.parts else ():
            self.parts[k] = [tuple(x[part[0] <= t[k]] for x in part) for part in self.parts[k]]
        for k in new if self.parts else ():
            self.parts[k] = []
        for name, x in self.state.items():
            if name.startswith(SEEN):
                x[new] = np.nan

    def _result(self) -> Ensemble:
        a, s, batch = self.asked, self.state, self.asked.batch

        def shaped(x):
            return x.reshape((*batch, *x.shape[1:]))

        time, statistics, events = s["t"] - a.start, {}, {}
        for name in a.watch.statistics if a.watch is not None else ():
            least, greatest, total, last = (s[f"{what} of {name}"] for what in ("least", "greatest", "integral", "last"))
            spans = time.reshape(-1, *(1,) * (total.ndim - 1))
            mean = np.divide(total, spans, out=last.copy(), where=spans > 0)
            statistics[name] = Statistic(*map(shaped, (least, greatest, mean, last)))
        for k, event in enumerate(a.watch.events if a.watch is not None else ()):
            events[event.name] = EventTimes(shaped(s[f"first of event {k}"]), shaped(s[f"count of event {k}"]).astype(int))
        steps = s["steps"].astype(int)
        none = s["t"][:0], s["q"][:0], s["v"][:0]
        ragged = [tuple(map(np.concatenate, zip(none, *parts))) for parts in self.parts] if a.store == "steps" else None
        t, q, v, status, steps, rejected = map(shaped, (s["t"], s["q"], s["v"], self.status, steps, s["tries"].astype(int) - steps))
        carried = Carried(a, s, self.calls, self.answers)
        made = Ensemble(self.own, t, q, v, status, steps, rejected, shaped(s["stuck"]), statistics, events, ragged=ragged, carried=carried)
        if a.store != "grid":
            return made
        times = self.grid.times(np.arange(self.on_grid[0].shape[1]))
        times = np.where(times > a.until - self.grid.slack, a.until, times)
        return replace(made, times=times, Q=shaped(self.on_grid[0]), V=shaped(self.on_grid[1]))


class Block:
    """Samples that are advanced together, from one time to the end."""

    def __init__(self, run: EnsembleRun, samples: np.ndarray, deadline: float):
        self.run, self.asked, self.segments, self.samples = run, run.asked, run.segments, samples
        self.state = {name: x[samples].copy() for name, x in run.state.items()}  # written back when all is done
        self.given = {name: np.ascontiguousarray(x[samples]) for name, x in run.asked.given.items()}
        self.count, self.deadline = len(self.state["t"]), deadline
        self.ended = ~self._goes()  # which samples are done, with all that is stored of them
        self.answers = [x[samples] for x in run.answers]
        self.calls = [float(x) for x in run.calls[:, samples[0]]]
        self.held = sum(self.answers, np.zeros((self.count, run.own.nv)))

    def go(self) -> None:
        a, state, t = self.asked, self.state, float(self.state["t"][0])
        begins, anew = t == a.start, t == a.start
        if begins:
            self._begin()
        elif a.store == "grid" and self.run.grid.is_at(t):  # as single runs go on, whose state is their last row
            anew = True
            for rows, name in zip(self.run.on_grid, "qv"):
                state[name][:] = rows[self.samples, self.run.grid.number(t)]
        while t < a.until and self._goes().any():
            sampled = self._sample(t)
            target = min([a.until, *((k + 1) / hold.rate for hold, k in zip(a.holds, self.calls))])
            if sampled or anew:
                everyone = np.arange(self.count)
                held = self._forces(everyone)(*(state[name] for name in ("t", "q", "v"))) if self.run.asks else self.held
                vdot, tau = self.run.rates(state["t"], state["q"], state["v"], held, *self.given.values())
                goes = self._goes()
                state["vdot"][goes], state["tau"][goes] = vdot[goes], tau[goes]
            bounds = self._bounds(target)
            if begins:
                asked = {FORCES: self._forces(np.arange(self.count))} if self.run.asks else {}
                state["wanted"][:] = a.settings.first_step or self.segments.first(*state.values(), *bounds, **asked)
            begins = anew = False
            self._advance(target, bounds)
            t = target
        self.keep(np.arange(self.count))

    def keep(self, some: np.ndarray) -> None:
        """Write back samples that are done."""
        state, run, samples = self.state, self.run, self.samples[some]
        for name, x in state.items():
            run.state[name][samples] = x[some]
        for i, answer in enumerate(self.answers):
            run.answers[i][samples], run.calls[i, samples] = answer[some], self.calls[i]
        by_event = state["ended"][some] > 0 if "ended" in state else False
        run.status[samples] = np.where(state["stuck"][some] > 0, FAILED, np.where(by_event, EVENT, FINISHED))

    def _begin(self) -> None:
        """What is watched and stored of the first state."""
        a, state, run = self.asked, self.state, self.run
        if a.watch is not None:
            values = run.observe(state["t"], state["q"], state["v"], *self.given.values())
            for name, x in a.watch.start(list(values) if isinstance(values, tuple) else [values]).items():
                state[name][:] = x
        first = [state[name] for name in ("t", "q", "v")]
        for k in range(self.count) if a.store == "steps" else ():
            run.parts[self.samples[k]] = [tuple(x[k : k + 1].copy() for x in first)]
        for rows, x in zip(run.on_grid, first[1:]) if a.store == "grid" else ():
            rows[self.samples, 0] = x

    def _goes(self) -> np.ndarray:
        """Which samples go on."""
        goes = self.state["stuck"] == 0
        return goes & (self.state["ended"] == 0) if "ended" in self.state else goes

    def _sample(self, t: float) -> bool:
        """Ask the held controllers that are due."""
        due = [i for i, hold in enumerate(self.asked.holds) if hold.index(t) > self.calls[i]]
        at = {"t": np.full(self.count, t), "q": self.state["q"], "v": self.state["v"], **self.given}
        for i in due:
            function = self.asked.holds[i].function
            if isinstance(function, UserKernel):
                self.answers[i] = force_of_kernel(function, at, self.held.shape)
            else:
                self.answers[i] = self.run.answer(function, self.samples, at["t"], at["q"], at["v"])
            self.calls[i] = self.asked.holds[i].index(t)
        if due:
            self.held = np.zeros_like(self.held)
            for answer in self.answers:
                self.held = self.held + answer
        return bool(due)

    def _forces(self, some: np.ndarray) -> Callable:
        """The function of (t, q, v) of some samples that gives all of τ, where functions of Python are part of it."""
        functions, controls, samples = self.asked.functions, self.asked.controls, self.samples[some]

        def forces(t, q, v):
            at = {"t": t, "q": q, "v": v, **{name: x[some] for name, x in self.given.items()}}
            tau = self.held[some]
            for control in controls:
                tau = tau + force_of_kernel(control, at, v.shape)
            for function in functions:
                tau = tau + self.run.answer(function, samples, t, q, v)
            return tau

        return forces

    def _bounds(self, target: float) -> list[np.ndarray]:
        s = self.asked.settings
        now = {"target": target, "slack": 16 * np.spacing(abs(target)), "max_step": s.max_step, "rtol": s.rtol, "atol": s.atol}
        now |= {"start": self.asked.start, "span": self.asked.until - self.asked.start, "max_steps": s.most_steps(MAX_STEPS)}
        values = now | {"held": self.held, **self.given}
        shapes = self.segments.shapes
        return [np.broadcast_to(np.asarray(values[name], float), (self.count, *shapes.get(name, ()))) for name in self.segments.given]

    def _advance(self, target: float, bounds: list[np.ndarray]) -> None:
        """Take all samples that go on to a time, in calls that have room for their rows."""
        some = np.flatnonzero(self._goes())
        while len(some):
            arrays = [np.ascontiguousarray(x[some]) for x in self.state.values()]
            fixed = [x[some] if x.strides[0] else x[: len(some)] for x in bounds]
            capacity = int(np.clip(ROOM // (self.segments.bytes_of_row() * len(some)), 1, CAPACITY)) if self.segments.rows else 1 << 62
            room = self.segments.room(len(some), capacity) if self.segments.rows else []
            asked: dict[str, Any] = {}
            if self.run.asks:
                last = min(self.deadline, monotonic() + SECONDS)
                asked = {FORCES: self._forces(some), "enough": lambda _, last=last: monotonic() > last}
            self.segments.run([*arrays, *fixed], room, made := np.zeros(len(some)), capacity, **asked)
            counts = made.astype(int)
            for x, new in zip(self.state.values(), arrays):
                x[some] = new
            self._store(self.samples[some], counts, room)
            goes = self._goes()[some]
            self.ended[some] = ~goes | (self.state["t"][some] >= self.asked.until)
            some = some[(self.state["t"][some] < target) & goes]
            if monotonic() >= self.deadline and not self.ended.all():
                raise OutOfTime

    def _store(self, samples, counts, room) -> None:
        """Store rows of some samples: all of them, or those at multiples of dt."""
        if self.asked.store == "steps":
            for i, k in enumerate(samples):
                self.run.parts[k].append(tuple(x[i, : counts[i]].copy() for x in room))
        elif self.asked.store == "grid":
            self._on_grid(samples, counts, dict(zip(self.segments.rows, room)))

    def _on_grid(self, samples, counts, rows) -> None:
        """The rows at multiples of dt within steps."""
        i, j = np.nonzero(np.arange(rows["t"].shape[1]) < counts[:, None])
        t1, h, t0, late0, q0, c = (rows[name][i, j] for name in ROWS["grid"])
        robot = self.run.own
        s, numbers, times, x = self.run.grid.within(t0, late0, h, t1)
        y, n = Polynomial.value(c[s], x[:, None]), robot.nv
        there = self._on_constraints(times, robot.integrate(q0[s], y[:, :n]), y[:, n:], samples[i[s]])
        for out, values in zip(self.run.on_grid, there):
            out[samples[i[s]], numbers] = values

    def _on_constraints(self, t, q, v, samples):
        """States within steps of these samples, put back on their constraints."""
        a = self.asked
        if a.constraints is None or a.constraints.varying is None:
            return a.keeper.back(t, q, v)
        return a.constraints.put_back(t, q, v, {name: x[samples] for name, x in a.given.items()})[:2]
