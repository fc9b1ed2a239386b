"""Samples of an ensemble that are advanced together, on the CPU or on a GPU."""

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels import UserKernel
from ..runs.segments import FORCES, POLYNOMIAL
from .ensemble import EVENT, FAILED, FINISHED
from .ensemble_request import force_of_kernel

if TYPE_CHECKING:
    from .ensemble_run import EnsembleRun

SECONDS = 0.25  # that a block of samples takes, so that Ctrl-C and the progress bar are served
MAX_STEPS = 1_000_000  # of a sample, unless `max_steps` says otherwise
MOST_COUNTED = 1 << 24  # steps: beyond it one more is none in float32


class OutOfTime(Exception):
    """A call has taken as long as it may."""


class Block:
    """Samples that are advanced together, from one time to the end."""

    def __init__(self, run: "EnsembleRun", samples: np.ndarray):
        self.run, self.asked, self.place, self.samples = run, run.asked, run.place, samples
        (self.there,) = self.place.index(samples)
        self.state = {name: x[self.there] for name, x in run.state.items()}  # copies, written back when all is done
        self.given = {name: x[self.there] for name, x in run.given.items()}
        self.count, self.t = len(samples), float(run.times[samples[0]])
        self.parts: list[tuple] = []
        self.ended = ~self._goes()  # which samples are done, with all that is stored of them
        self.answers = [x[self.there] for x in run.answers]
        self.calls = [float(x) for x in run.calls[:, samples[0]]]
        self._hold()

    def go(self) -> None:
        a, state, run, t = self.asked, self.state, self.run, self.t
        begins = anew = t == a.start
        if begins:
            self._begin()
        elif a.store == "grid" and run.grid.is_at(t):  # as single runs go on, whose state is their last row
            anew = True
            for rows, name in zip(run.on_grid, "qv"):
                state[name][...] = rows[self.there, run.grid.number(t)]
        while t < a.until and self._goes().any():
            if self._sample(t) or anew:
                everyone = np.arange(self.count)
                held = self._forces(everyone)(*(state[name] for name in ("t", "q", "v"))) if run.asks else self.held
                vdot, tau = run.rates(state["t"], state["q"], state["v"], held, *self.given.values())
                (goes,) = self.place.index(np.flatnonzero(self._goes()))
                state["vdot"][goes], state["tau"][goes] = vdot[goes], tau[goes]
            target = min([a.until, *((k + 1) / hold.rate for hold, k in zip(a.holds, self.calls))])
            bounds = self._bounds(target)
            if begins:
                state["wanted"][...] = a.settings.first_step or run.steps.first(*state.values(), *bounds, **self._functions(None))
            begins = anew = False
            self._advance(target, bounds)
            t = target
        self.ended[:] = True
        self.keep()

    def keep(self) -> None:
        """Write back samples that are done; of the others nothing is stored."""
        run, some, others, host = self.run, np.flatnonzero(self.ended), np.flatnonzero(~self.ended), self.place.library.to_host
        here, there, forgotten = self.place.index(some, self.samples[some], self.samples[others])
        for name, x in self.state.items():
            run.state[name][there] = x[here]
        for i, answer in enumerate(self.answers):
            run.answers[i][there], run.calls[i, self.samples[some]] = answer[here], self.calls[i]
        by_event = host(self.state["ended"])[some] > 0 if "ended" in self.state else False
        run.status[self.samples[some]] = np.where(host(self.state["stuck"])[some] > 0, FAILED, np.where(by_event, EVENT, FINISHED))
        run.times[self.samples[some]] = run.host_times(self.state["t"][here], self.asked.until)
        for local, *rows in self.parts:
            kept = np.flatnonzero(self.ended[local]) if len(others) else slice(None)
            index = self.place.index(kept)[0] if len(others) else kept
            run.parts.append((self.samples[local[kept]], *(x[index] for x in rows)))
        for x in run.on_grid if len(others) else ():
            x[forgotten, 0 if self.t == self.asked.start else run.grid.number(self.t) + 1 :] = np.nan

    def _begin(self) -> None:
        """What is watched and stored of the first state."""
        a, state, run = self.asked, self.state, self.run
        if a.watch is not None:
            values = run.observe(state["t"], state["q"], state["v"], *self.given.values())
            for name, x in a.watch.start(list(values) if isinstance(values, tuple) else [values]).items():
                state[name][...] = x
        if a.store == "steps":
            self.parts.append((np.arange(self.count), *(self.place.library.copy(state[name]) for name in ("t", "q", "v"))))
        for rows, name in zip(run.on_grid, "qv") if a.store == "grid" else ():
            rows[self.there, 0] = state[name]

    def _goes(self, target: float = inf) -> np.ndarray:
        """Which samples go on to a time."""
        s = self.state
        goes = (s["stuck"] == 0) & (s["t"] < float(self.place.dtype.type(target)))
        return self.place.library.to_host(goes & (s["ended"] == 0) if "ended" in s else goes)

    def _sample(self, t: float) -> bool:
        """Ask the held controllers that are due."""
        due = [i for i, hold in enumerate(self.asked.holds) if hold.index(t) > self.calls[i]]
        at = {"t": self.place.full((self.count,), t), "q": self.state["q"], "v": self.state["v"], **self.given}
        for i in due:
            function = self.asked.holds[i].function
            if isinstance(function, UserKernel):
                self.answers[i] = force_of_kernel(function, at, (self.count, self.run.own.nv))
            else:
                self.answers[i] = self.run.answer(function, self.samples, at["t"], at["q"], at["v"])
            self.calls[i] = self.asked.holds[i].index(t)
        if due:
            self._hold()
        return bool(due)

    def _hold(self) -> None:
        """The sum of the answers of held controllers."""
        self.held = self.place.full((self.count, self.run.own.nv), 0.0)
        for answer in self.answers:
            self.held = self.held + answer

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

    def _functions(self, some: np.ndarray | None) -> dict[str, Any]:
        """What compiled steps ask of Python, for some samples, in one call; or for all of them, once."""
        if not self.run.asks:
            return {}
        if some is None:
            return {FORCES: self._forces(np.arange(self.count))}
        last = min(self.run.deadline, monotonic() + SECONDS)
        return {FORCES: self._forces(some), "enough": lambda _: monotonic() > last}

    def _bounds(self, target: float) -> list:
        s, there = self.asked.settings, self.place.dtype.type(target)
        most = min(s.most_steps(MAX_STEPS), inf if self.place.dtype == np.float64 else MOST_COUNTED)
        now = {"target": there, "slack": 16 * np.spacing(abs(there)), "max_step": s.max_step, "rtol": s.rtol, "atol": s.atol}
        now |= {"start": self.asked.start, "span": self.asked.until - self.asked.start, "max_steps": most}
        values = {name: self.place.full((self.count,), float(x)) for name, x in now.items()} | {"held": self.held, **self.given}
        return [values[name] for name in self.run.steps.given]

    def _advance(self, target: float, bounds: list) -> None:
        """Take all samples that go on to a time, in calls that have room for their rows."""
        steps, until = self.run.steps, self.asked.until
        while len(some := np.flatnonzero(self._goes(target))):
            if monotonic() >= self.run.deadline:
                raise OutOfTime
            (index,) = self.place.index(some)
            arrays, capacity = [x[index] for x in (*self.state.values(), *bounds)], self.place.capacity(steps, len(some))
            new, rows, counts = self.place.advance(steps, arrays, capacity, self._functions(some))
            for x, there in zip(self.state.values(), new):
                x[index] = there
            self._store(some, dict(zip(steps.rows, rows)), counts, capacity)
            self.ended[some] = ~self._goes(until)[some]

    def _store(self, some: np.ndarray, rows: dict[str, Any], counts: np.ndarray, capacity: int) -> None:
        """Store rows of some samples: all of them, or those at multiples of dt within their steps."""
        if not rows:
            return
        i, j = np.nonzero(np.arange(capacity) < counts[:, None])
        at = self.place.index(i, j)
        if self.asked.store == "steps":
            self.parts.append((some[i], *(rows[name][at] for name in ("t", "q", "v"))))
            return
        t1, h, t0, late0 = (self.place.library.to_host(rows[name][at]).astype(float) for name in ("t", "h", "t0", "late0"))
        if self.place.dtype == np.float32:  # times that are sums of two numbers, or ends that are rounded
            last, t0 = t0 + late0 + h, t0 + late0
            t1, late0 = np.where(t1 == np.float32(self.asked.until), self.asked.until, last), 0.0 * late0
        s, numbers, times, x = self.run.grid.within(t0, late0, h, t1)
        if not len(s):
            return
        there, (sample, here, number) = self.place.index(i[s], j[s]), self.place.index(self.samples[some[i[s]]], some[i[s]], numbers)
        given = {name: value[here] for name, value in self.given.items()}
        values = self.place.within(self.run, times, x, rows["q0"][there], rows[POLYNOMIAL][there], given)
        for out, new in zip(self.run.on_grid, values):
            out[sample, number] = new
