"""Ensembles on a GPU: one thread for each sample makes all its steps, the attempts of `segments` in a loop inside of one kernel.

In float64 they are those of the CPU. In float32 time is a sum of two numbers, so that short steps are not lost in it, and tolerances are
such as float32 can meet.
"""

from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from ...dynamics import Dynamics
from ...engine.loading.cuda import DeviceError
from ...engine.loading.kernel import Kernel
from ...engine.running.device import DeviceKernel, DeviceRepeat, Library, name_of, on_device
from ...engine.running.repeat import Form
from ...errors import SimulationError
from ...quantities import integrate
from ..methods.interpolate import Polynomial
from ..rates.kernels import cache_of
from ..requests.grid import Grid
from ..requests.settings import PAIRS
from ..runs.segments import POLYNOMIAL, Arguments, Equations, Rates, attempt, first, observer
from .ensemble import EVENT, FAILED, FINISHED, STOPPED, Carried, Ensemble, EventTimes, Ragged, Statistic
from .ensemble_request import Request, force_of_kernel
from .ensemble_run import MAX_STEPS, ROWS, SEEN, OutOfTime

ATTEMPTS = 20_000  # of a sample in one launch
ROOM = 1 << 30  # bytes of the rows of one launch
CAPACITY = 256  # rows of a sample in one launch
MOST_COUNTED = 1 << 24  # steps: beyond it one more is none in float32
FINEST = 1e-6  # in float32: below it the estimated error of a step is rounding


def is_on_device(state, given) -> bool:
    """Do the states of an ensemble live on a GPU?"""
    arrays = [*state, *(given or {}).values()] if isinstance(state, (tuple, list)) else []
    return any(on_device(x) for x in arrays)


def on_host(state, given: dict) -> tuple:
    """The states and what is given as arrays of NumPy, and an array on the GPU that says where they were."""
    like = next(x for x in (*state, *given.values()) if on_device(x))
    if len(kinds := {name_of(x.dtype) for x in (*state, *given.values()) if on_device(x)}) > 1:
        raise DeviceError(f"arrays on the GPU mix {' and '.join(sorted(kinds))}; convert them to one.")
    library = Library(like)
    return tuple(map(library.to_host, state)), {name: library.to_host(x) for name, x in given.items()}, like


class DeviceEnsembleRun:
    """The arrays of all samples on a GPU, and the kernels that advance them."""

    def __init__(self, asked: Request, like, earlier: Ensemble | None = None):
        self.asked, self.own, self.like, self.library = asked, asked.own, like, Library(like)
        self.dtype = np.dtype(np.float64 if name_of(like.dtype) == "double" else np.float32)
        if self.dtype == np.float32 and max(asked.settings.rtol, asked.settings.atol) < FINEST:
            raise SimulationError(
                f"rtol is {asked.settings.rtol} and atol {asked.settings.atol}; in float32 errors below {FINEST} are rounding: "
                f"use rtol={FINEST} or more, or float64."
            )
        self.shapes = {name: x.shape[1:] for name, x in asked.given.items()}
        equations = Equations.of(asked.robot, asked.controls, self.shapes, asked.constraints, asked.external)
        self.equations, self.rows = replace(equations, in_place=True), ROWS[asked.store]
        self.names = Arguments(self.equations, PAIRS[asked.settings.method](), asked.watch)
        self.steps, self.first, self.rates, self.within, self.observe = self._kernels()
        n = self.count = len(asked.Q)
        self.given = {name: self._put(x) for name, x in asked.given.items()}
        self.grid = Grid(asked.start, asked.settings.dt, asked.start, asked.until)
        count = self.grid.number(asked.until) + 1 if asked.store == "grid" else 0
        self.on_grid = [self._put(np.full((n, count, x.shape[1]), np.nan)) for x in (asked.Q, asked.V)]
        self.parts: list[tuple] = []  # samples of some rows, on the host; their t, q and v on the GPU
        self.calls, self.answers = np.full((len(asked.holds), n), -inf), [self._put(np.zeros((n, self.own.nv))) for _ in asked.holds]
        state = {name: np.zeros((n, *self.names.shapes.get(name, ()))) for name in self.names.state}
        state |= {"q": asked.Q, "v": asked.V, "t": np.full(n, asked.start), "stuck": asked.reasons}
        self.state = {name: self._put(x) for name, x in state.items()}
        self.status, self.times = np.full(n, STOPPED, "<U8"), np.full(n, asked.start)
        if earlier is not None:
            self._take(earlier)

    def _take(self, earlier: Ensemble) -> None:
        """Begin where an earlier part has ended."""
        was, n = earlier.carried, self.count
        assert was is not None
        self.state, self.calls, self.answers = dict(was.state), was.calls.copy(), list(was.answers)
        self.status, self.times = earlier.status.reshape(n).copy(), self._times(self.state["t"], was.asked.until)
        for rows, x in zip(self.on_grid, (earlier.Q, earlier.V)):
            if x is not None:
                rows[:, : x.shape[-2]] = x.reshape((n, *x.shape[-2:]))
        if earlier.ragged is not None:
            self.parts = [(np.repeat(np.arange(n), np.diff(earlier.ragged.starts)), *earlier.ragged.rows)]

    def _times(self, t, until: float) -> np.ndarray:
        """Times of the GPU on the host, the last of them, which may be rounded, as it was given."""
        found = self.library.to_host(t).astype(float)
        found = np.where(found == self.dtype.type(until), until, found)
        return np.where(found == self.dtype.type(self.asked.start), self.asked.start, found)

    def _put(self, x):
        return self.library.put(np.ascontiguousarray(x, self.dtype), self.like)

    def _index(self, *arrays):
        return tuple(self.library.put(np.ascontiguousarray(x, np.int64), self.like) for x in arrays)

    def _kernels(self):
        a, of, names = self.asked, self.equations, self.names
        kernels = [*a.controls, *(() if a.watch is None else a.watch.kernels), a.external]
        source = a.robot.lowered if isinstance(a.robot, Dynamics) else a.robot
        watched = () if a.watch is None else (tuple(a.watch.statistics), *((x.direction, x.terminal) for x in a.watch.events))

        def make() -> list:
            content = of, type(names.pair), self.rows, a.watch
            step = Kernel("ensemble", lambda *x: attempt(of, names.pair, self.rows, a.watch, names.by_name(x)), names.inputs, content)
            state, inputs = self._within()
            made = [
                Kernel("first_step", lambda *x: first(of, names.pair, names.by_name(x)), names.inputs, content),
                Kernel("start_rates", self._start_rates(), self._rate_inputs(), content),
                Kernel("within_step", state, inputs, content),
            ]
            others = [DeviceKernel(x) for x in (*made, *(() if a.watch is None else (observer(of, a.watch),)))]
            return [DeviceRepeat(step, Form(len(names.state), keeps=True, leaves=True)), *others]

        key = source, a.settings.method, a.store, repr(self.shapes), tuple(kernels), len(a.controls), watched
        return (*cache_of(a.robot, *kernels).once(make, *key), None)[:5]

    def _rate_inputs(self):
        own = self.own
        shapes = {"t": (), "q": (own.nq,), "v": (own.nv,), "held": (own.nv,), **self.shapes}
        return tuple(own.lowered.input(name, shape) for name, shape in shapes.items())

    def _start_rates(self):
        of, shapes = self.equations, self.shapes

        def start(t, q, v, held, *given):
            out, rates = (np.zeros_like(v), np.zeros_like(v)), Rates(of, {"held": held, **dict(zip(shapes, given))})
            rates(t, q, np.zeros_like(v), v, out)
            return out[1], rates.tau

        return start

    def _within(self):
        """q and v at a fraction x of a step, at time t, on the constraints: the function and its inputs."""
        of, own = self.equations, self.own
        shapes = {"t": (), "x": (), "q": (own.nq,), POLYNOMIAL: self.names.shapes[POLYNOMIAL], **self.shapes}

        def state(t, x, q, coefficients, *given):
            at = dict(zip(self.shapes, given))
            y, n = Polynomial.value(coefficients, x), own.nv
            q1, v1 = integrate(of.mechanism.tree(q, at), q, y[:n]), y[n:]
            if of.constraints is None:
                return q1, v1
            q1, v1, fits = of.constraints.having(at).back(t, q1, v1)
            return np.where(fits, q1, np.nan), np.where(fits, v1, np.nan)

        return state, tuple(own.lowered.input(name, shape) for name, shape in shapes.items())

    def go(self) -> Ensemble:
        """All samples at once; those that Ctrl-C or the deadline has not let finish are "stopped" and as they began, or went on."""
        begun, parts = (dict(self.state), self.calls.copy(), list(self.answers)), len(self.parts)
        goes = (self.status == STOPPED) | ((self.status == FINISHED) & (self.times < self.asked.until))
        start, self.deadline = self.times.copy(), self.asked.settings.deadline
        try:
            for t in np.unique(start[goes]):
                self._run(float(t), goes & (start == t))
        except (KeyboardInterrupt, OutOfTime):
            self._forget(goes & ~self._there(), begun, parts, start)
        self._judge()
        return self._result()

    def _there(self) -> np.ndarray:
        """Which samples are where they should be, or can go no further."""
        s, host = self.state, self.library.to_host
        there = (host(s["t"]) >= self.dtype.type(self.asked.until)) | (host(s["stuck"]) > 0)
        return there | (host(s["ended"]) > 0) if "ended" in s else there

    def _judge(self) -> None:
        s, host = self.state, self.library.to_host
        ended = host(s["ended"]) > 0 if "ended" in s else np.zeros(self.count, bool)
        found = np.where(host(s["stuck"]) > 0, FAILED, np.where(ended, EVENT, np.where(self._there(), FINISHED, STOPPED)))
        self.status = found.astype("<U8")

    def _forget(self, samples: np.ndarray, begun: tuple, parts: int, start) -> None:
        """Take back what was made of samples that are not done."""
        (index,), (state, calls, answers), new = self._index(np.flatnonzero(samples)), begun, samples & (start == self.asked.start)
        (fresh,) = self._index(np.flatnonzero(new))
        for name, x in self.state.items():
            x[index] = state[name][index]
            if name.startswith(SEEN):
                x[fresh] = np.nan
        self.calls[:, samples] = calls[:, samples]
        for x, old in zip(self.answers, answers):
            x[index] = old[index]
        for rows in self.on_grid:
            number = self.grid.numbers(start)
            for k in np.unique(number[samples]):
                some = self._index(np.flatnonzero(samples & (number == k)))[0]
                rows[some, int(k) + 1 :] = np.nan
            rows[fresh] = np.nan
        self.parts = [part if j < parts else self._without(part, samples) for j, part in enumerate(self.parts)]

    def _without(self, part: tuple, samples: np.ndarray) -> tuple:
        kept = np.flatnonzero(~samples[part[0]])
        (index,) = self._index(kept)
        return part[0][kept], *(x[index] for x in part[1:])

    def _begin(self, mask, goes: np.ndarray) -> None:
        """What is watched and stored of first states."""
        a, s, n = self.asked, self.state, self.count
        if a.watch is not None:
            values = self.observe(s["t"], s["q"], s["v"], *self.given.values())
            for name, x in (a.watch.start(_listed(values)) | {"ended": s["ended"]}).items():
                s[name] = self._chosen(mask, x, s[name])
        (index,) = some = self._index(np.flatnonzero(goes))
        if a.store == "steps":
            self.parts.append((np.arange(n)[goes], *(s[name][index] for name in ("t", "q", "v"))))
        for rows, name in zip(self.on_grid, "qv") if a.store == "grid" else ():
            rows[(*some, 0)] = s[name][index]

    def _chosen(self, mask, new, old):
        """New values where the mask is one."""
        wide = mask.reshape((-1, *(1,) * (len(old.shape) - 1))) > 0
        return self.library.module.where(wide, new, old)

    def _run(self, t: float, goes: np.ndarray) -> None:
        """Take the samples that go from one time to the end."""
        a, s, n = self.asked, self.state, self.count
        mask, begins, anew = self._put(goes), t == a.start, t == a.start
        if begins:
            self._begin(mask, goes)
        elif a.store == "grid" and self.grid.is_at(t):  # as on the CPU
            anew = True
            for rows, name in zip(self.on_grid, "qv"):
                s[name] = self._chosen(mask, rows[:, self.grid.number(t)], s[name])
        some, calls = int(np.argmax(goes)), [-inf for _ in a.holds]
        calls = [float(x) for x in self.calls[:, some]]
        while t < a.until:
            s = self.state
            due = [i for i, hold in enumerate(a.holds) if hold.index(t) > calls[i]]
            for i in due:
                at = {"t": s["t"], "q": s["q"], "v": s["v"], **self.given}
                answer = force_of_kernel(a.holds[i].function, at, (n, self.own.nv))  # type: ignore[arg-type]
                self.answers[i], calls[i] = self._chosen(mask, answer, self.answers[i]), a.holds[i].index(t)
                self.calls[i, goes] = calls[i]
            held = self._put(np.zeros((n, self.own.nv)))
            for answer in self.answers:
                held = held + answer
            if due or anew:
                still = self._goes(mask, None)
                vdot, tau = self.rates(s["t"], s["q"], s["v"], held, *self.given.values())
                s["vdot"], s["tau"] = self._chosen(still, vdot, s["vdot"]), self._chosen(still, tau, s["tau"])
            target = min([a.until, *((k + 1) / hold.rate for hold, k in zip(a.holds, calls))])
            bounds = self._bounds(target, held)
            if begins:
                wanted = a.settings.first_step
                length = self._put(np.full(n, wanted)) if wanted else self.first(*s.values(), *bounds)
                s["wanted"] = self._chosen(mask, length, s["wanted"])
            begins = anew = False
            self._advance(mask, target, bounds)
            t = target

    def _bounds(self, target: float, held) -> list:
        a, there = self.asked.settings, self.dtype.type(target)
        now = {"target": there, "slack": 16 * np.spacing(abs(there)), "max_step": a.max_step, "rtol": a.rtol, "atol": a.atol}
        most = min(a.most_steps(MAX_STEPS), inf if self.dtype == np.float64 else MOST_COUNTED)
        now |= {"start": self.asked.start, "span": self.asked.until - self.asked.start, "max_steps": most}
        values = {name: self._put(np.full(self.count, x)) for name, x in now.items()} | {"held": held, **self.given}
        return [values[name] for name in self.names.given]

    def _goes(self, mask, target: float | None):
        """Which samples go on: 1 or 0, on the GPU."""
        s = self.state
        goes = (mask > 0) & (s["stuck"] == 0)
        goes = goes & (s["t"] < float(self.dtype.type(target))) if target is not None else goes
        goes = goes & (s["ended"] == 0) if "ended" in s else goes
        return self.library.cast(goes, self.like)

    def _advance(self, mask, target: float, bounds: list) -> None:
        """Launch until all samples are there, or can go no further."""
        size = self.dtype.itemsize * sum(int(np.prod(self.names.shapes.get(name, ()))) for name in self.rows)
        capacity = int(np.clip(ROOM // max(1, size * self.count), 1, CAPACITY)) if self.rows else 1 << 62
        while bool((goes := self._goes(mask, target)).any()):
            if monotonic() >= self.deadline:
                raise OutOfTime
            states, rows, counts = self.steps.rounds([*self.state.values(), *bounds], goes, capacity, ATTEMPTS)
            self.state = dict(zip(self.names.state, states))
            if self.rows:
                self._store(dict(zip(self.rows, rows)), self.library.to_host(counts).astype(int), capacity)

    def _store(self, rows: dict[str, Any], counts: np.ndarray, capacity: int) -> None:
        """Store rows: all of them, or those at multiples of dt within their steps."""
        i, j = np.nonzero(np.arange(capacity) < counts[:, None])
        at = self._index(i, j)
        if self.asked.store == "steps":
            self.parts.append((i, *(rows[name][at] for name in ("t", "q", "v"))))
            return
        host = self.library.to_host
        t1, h, t0, late0 = (host(rows[name][at]).astype(float) for name in ("t", "h", "t0", "late0"))
        if self.dtype == np.float32:  # times that are sums of two numbers, or ends that are rounded
            last, t0 = t0 + late0 + h, t0 + late0
            t1, late0 = np.where(t1 == self.dtype.type(self.asked.until), self.asked.until, last), 0.0 * late0
        s, numbers, times, x = self.grid.within(t0, late0, h, t1)
        if not len(s):
            return
        there, (sample, number) = self._index(i[s], j[s]), self._index(i[s], numbers)
        given = [value[sample] for value in self.given.values()]
        values = self.within(self._put(times), self._put(x), rows["q0"][there], rows[POLYNOMIAL][there], *given)
        for out, new in zip(self.on_grid, values):
            out[sample, number] = new

    def _result(self) -> Ensemble:
        a, s, host = self.asked, self.state, self.library.to_host

        def shaped(x):
            return x.reshape((*a.batch, *x.shape[1:]))

        statistics, events = {}, {}
        for name in a.watch.statistics if a.watch is not None else ():
            least, greatest, total, last = (s[f"{what} of {name}"] for what in ("least", "greatest", "integral", "last"))
            time = (s["t"] - a.start).reshape((-1, *(1,) * (len(total.shape) - 1)))
            still = time == 0.0  # where no time has passed, the mean is the value
            mean = (total + last * still) / (time + 1.0 * still)
            statistics[name] = Statistic(*map(shaped, (least, greatest, mean, last)))
        for k, event in enumerate(a.watch.events if a.watch is not None else ()):
            events[event.name] = EventTimes(shaped(s[f"first of event {k}"]), shaped(s[f"count of event {k}"]))
        steps, t, q, v = host(s["steps"]).astype(int), *(shaped(s[name]) for name in ("t", "q", "v"))
        status, steps, rejected, reasons = map(shaped, (self.status, steps, host(s["tries"]).astype(int) - steps, host(s["stuck"])))
        carried = Carried(a, s, self.calls, self.answers, self.like)
        made = Ensemble(self.own, t, q, v, status, steps, rejected, reasons, statistics, events, ragged=self._ragged(), carried=carried)
        if a.store != "grid":
            return made
        times = self.grid.times(np.arange(self.on_grid[0].shape[1]))
        times = self._put(np.where(times > a.until - self.grid.slack, a.until, times))
        return replace(made, times=times, Q=shaped(self.on_grid[0]), V=shaped(self.on_grid[1]))

    def _ragged(self) -> Ragged | None:
        """All rows, those of one sample after those of another."""
        if self.asked.store != "steps":
            return None
        if not self.parts:
            none = [self._put(np.zeros((0, *self.names.shapes.get(name, ())))) for name in ("t", "q", "v")]
            return Ragged(np.zeros(self.count + 1, int), *none)
        samples, *rows = zip(*self.parts)
        numbers = np.concatenate(samples)
        (order,) = self._index(np.argsort(numbers, kind="stable"))
        starts = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=self.count))])
        return Ragged(starts, *(self.library.joined(x)[order] for x in rows))


def _listed(results) -> list:
    return list(results) if isinstance(results, tuple) else [results]
