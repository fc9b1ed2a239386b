"""Samples of an ensemble that are advanced together, on the CPU or on a GPU."""

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...kernels import UserKernel
from ..events.guard import ALERT, FOUND, RESTITUTION
from ..runs.segments import BEYOND, FORCES, NO_NUMBER, OFF, POLYNOMIAL, TOO_SHORT
from ..runs.transitions import BEGINS, SETTLED, STEP
from .ensemble import EVENT, FAILED, FINISHED
from .ensemble_request import force_of_kernel
from .host import ALONE, AT_REST, CHANGED, FREELY, LEAVES, Host, OutOfTime

if TYPE_CHECKING:
    from .ensemble_run import EnsembleRun

SECONDS = 0.25  # that a block of samples takes, so that Ctrl-C and the progress bar are served
UNMADE = TOO_SHORT, NO_NUMBER, BEYOND, OFF  # why compiled code cannot make a step that the host may make


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
        self.earlier = run.host.snapshots(samples) if run.host is not None else {}

    def go(self) -> None:
        a, state, run, t = self.asked, self.state, self.run, self.t
        begins = t == a.start
        if begins:
            self._begin()
        while t < a.until and self._goes().any():
            sampled = self._sample(t)
            if run.host is not None:
                self._start_on_host(begins, sampled)
            elif sampled or begins:
                everyone = np.arange(self.count)
                held = self._forces(everyone)(*(state[name] for name in ("t", "q", "v"))) if run.asks else self.held
                vdot, tau = run.rates(state["t"], state["q"], state["v"], held, *self.given.values())
                (goes,) = self.place.index(np.flatnonzero(self._goes()))
                state["vdot"][goes], state["tau"][goes] = vdot[goes], tau[goes]
            target = min([a.until, *((k + 1) / hold.rate for hold, k in zip(a.holds, self.calls))])
            begins = False
            self._advance(target)
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
        if run.host is not None and len(others):
            run.host.forget(self.samples[others], self.earlier)

    def _begin(self) -> None:
        """What is watched and stored of the first state."""
        a, state, run = self.asked, self.state, self.run
        if run.host is not None:
            return
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
        shape = (len(some), len(self.run.own.bodies), 6)

        def forces(t, q, v):
            at = {"t": t, "q": q, "v": v, **{name: x[some] for name, x in self.given.items()}}
            tau = self.held[some]
            for control in controls:
                tau = tau + force_of_kernel(control, at, v.shape)
            for function in functions:
                tau = tau + self.run.answer(function, samples, t, q, v)
            if self.asked.external is None:
                return tau
            push: Any = self.asked.external
            in_python = not isinstance(push, UserKernel)
            wrenches = self.run.answer(push, samples, t, q, v, shape[1:]) if in_python else force_of_kernel(push, at, shape)
            return np.concatenate([tau, wrenches.reshape(len(tau), -1)], 1)

        return forces

    def _functions(self, some: np.ndarray) -> dict[str, Any]:
        """What compiled steps ask of Python, for some samples, in one call."""
        if not self.run.asks:
            return {}
        last = min(self.run.deadline, monotonic() + SECONDS)
        return {FORCES: self._forces(some), "enough": lambda _: monotonic() > last}

    def _bounds(self, target: float) -> dict[str, Any]:
        """Inputs of compiled steps besides their state, by name."""
        s, there = self.asked.settings, self.place.dtype.type(target)
        now = {"target": there, "slack": 16 * np.spacing(abs(there)), "max_step": s.max_step, "rtol": s.rtol, "atol": s.atol}
        now |= {"start": self.asked.start, "span": self.asked.until - self.asked.start, "max_steps": self.run.most_steps}
        values = {name: self.place.full((self.count,), float(x)) for name, x in now.items()}
        return self.state | values | {"held": self.held, **self.given}

    def _advance(self, target: float) -> None:
        """Take all samples that go on to a time, in calls that have room for their rows."""
        bounds, host = self._bounds(target), cast(Host, self.run.host)
        while len(goes := np.flatnonzero(self._goes(target))):
            kinds = self.place.library.to_host(self.state["steps of"])[goes] if self.asked.settled else np.zeros(len(goes))
            for kind in np.unique(kinds):
                if monotonic() >= self.run.deadline:
                    raise OutOfTime
                samples = goes[kinds == kind]
                if kind == ALONE:
                    self._settle(samples, lambda _, *at: host.advance(at, target, self.run.deadline), one_by_one=True)
                else:
                    self._call(self.run.steps_of(kind > 0), samples, bounds)
                self.ended[samples] = ~self._goes(self.asked.until)[samples]

    def _call(self, steps, samples: np.ndarray, bounds: dict[str, Any]) -> None:
        """Advance samples by one call of compiled steps."""
        (index,), place, asked = self.place.index(samples), self.place, self._functions(samples)
        arrays = [x[index] for x in (*(self.state[name] for name in steps.state), *(bounds[name] for name in steps.given))]
        before, wanted = place.library.to_host(self.state["steps"][index]), arrays[steps.state.index("wanted")]
        if len(first := np.flatnonzero(place.library.to_host(wanted) == 0)):
            (begins,) = place.index(first)
            functions = {name: x for name, x in self._functions(samples[first]).items() if name == FORCES}
            wanted[begins] = steps.first(*(x[begins] for x in arrays), **functions)
        capacity = place.capacity(steps, len(samples))
        new, rows, counts = place.advance(steps, arrays, capacity, asked)
        for name, x in zip(steps.state, new):
            self.state[name][index] = x
        by_name = dict(zip(steps.rows, rows))
        if self.run.host is None:
            self._store(samples, by_name, counts, capacity)
            return
        leaves = np.flatnonzero(place.library.to_host(self.state[FOUND][index]) > 0)
        stored = counts.copy()
        stored[leaves] -= 1
        if not steps.sparse:
            self._store(samples, by_name, stored, capacity)
        stuck, steps_after = (place.library.to_host(self.state[name][index]) for name in ("stuck", "steps"))
        unmade = np.isin(stuck, UNMADE)
        unmade[leaves] = False
        (alone,) = place.index(samples[unmade])
        self.state["stuck"][alone], self.state["again"][alone] = 0.0, 0.0
        (alone,) = place.index(samples[unmade & (steps_after == before)])
        self.state["steps of"][alone] = ALONE
        at = place.index(leaves, stored[leaves])
        hard = self._change(samples[leaves], {name: by_name[name][at] for name in LEAVES})
        at = place.index(leaves[hard], stored[leaves][hard])
        ends, host = {name: place.library.to_host(by_name[name][at]).astype(float) for name in LEAVES}, self.run.host
        self._settle(samples[leaves[hard]], lambda j, *at: host.settle(at, {name: x[j] for name, x in ends.items()}))

    # --- what transitions do

    def _change(self, samples: np.ndarray, step: dict[str, Any] | None, begins: float = 0.0) -> np.ndarray:
        """Settle what joints do in a step of samples, or where they begin or go on; returns the numbers of those left to the host."""
        place, to_host, transition, host = self.place, self.place.library.to_host, self.run.transition, cast(Host, self.run.host)
        if transition is None or not len(samples):
            return np.arange(len(samples))
        (index,), count = place.index(samples), len(samples)
        numbers = {name: x[index] for name, x in (self.state | self.given | {"held": self.held}).items()}
        if step is None:
            none = place.full((count, *transition.shapes[POLYNOMIAL]), 0.0)
            step = {"t0": numbers["t"], "late0": numbers["late"], "q0": numbers["q"], "h": numbers["t"], POLYNOMIAL: none}
        numbers |= {name: place.full((count, *shape), 0.0) for name, shape in transition.answers.items()}
        numbers |= {name: step[name] for name in STEP} | {BEGINS: place.full((count,), begins)}
        after = transition(numbers | {RESTITUTION: place.full((count,), host.restitution)})
        settled = (to_host(after[SETTLED]) > 0) & (to_host(numbers["stuck"]) == 0)
        here, kept = place.index(samples[settled], np.flatnonzero(settled))
        after = {name: x[kept] for name, x in after.items()}
        for name in self.state.keys() & after.keys():
            self.state[name][here] = after[name]
        for name in (ALERT, FOUND, "again", "creeping", *(() if begins else ("wanted",))):
            self.state[name][here] = 0.0
        self.state[CHANGED][here] = 1.0
        self.state["steps of"][here] = place.put(np.where(to_host(after["rests"]).any(1), AT_REST, FREELY))
        if not begins:
            event = {"t": after["t"], **{name: after[f"{name} before"] for name in "qv"}}
            rows = {name: x[kept] for name, x in step.items()} | event
            if self.asked.store != "last":
                self._store(samples[settled], {name: x[:, None] for name, x in rows.items()}, np.ones(len(here), int), 1)
            host.note(self.samples[samples[settled]], to_host(after["t"]), transition, after)
        if begins < 2:
            self._store_states(samples[settled], *(after[name] for name in ("t", "q", "v")))
        self.ended[samples[settled]] = ~self._goes(self.asked.until)[samples[settled]]
        return np.flatnonzero(~settled)

    # --- what the host does

    def _start_on_host(self, begins: bool, sampled: bool) -> None:
        """Let the host start samples, or tell it that they go on with other forces."""
        host, goes = cast(Host, self.run.host), np.flatnonzero(self._goes())
        if begins:
            self._settle(goes[self._change(goes, None, begins=1.0)], lambda _, *at: host.begin(at))
        elif sampled:
            alone = self.place.library.to_host(self.state["steps of"])[goes] == ALONE
            together = goes[~alone]
            hard = together[self._change(together, None, begins=2.0)]
            self._settle(np.concatenate([goes[alone], hard]), lambda _, *at: host.go_on(at))

    def _settle(self, samples: np.ndarray, settle: Callable, one_by_one: bool = False) -> None:
        """Let the host change the numbers of samples: settle(j, *At) does so with number j of them."""
        for part in [] if not len(samples) else np.split(samples, len(samples)) if one_by_one else [samples]:
            (index,), to_host, host = self.place.index(part), self.place.library.to_host, cast(Host, self.run.host)
            columns = {name: to_host(x[index]).astype(float) for name, x in self.state.items()}
            forces = to_host(self.held[index]).astype(float)
            for j, k in enumerate(part):
                numbers = {name: x[j].copy() for name, x in columns.items()}
                settle(j, int(self.samples[k]), numbers, forces[j])
                for name, x in columns.items():
                    x[j] = numbers[name]
                t, *state = host.rows
                self._store_states(np.full(len(t), k), *map(self.place.put, (t, *state)))
            for name, x in columns.items():
                self.state[name][index] = self.place.put(x)
            self.ended[part] = ~self._goes(self.asked.until)[part]

    def _store_states(self, samples: np.ndarray, t, q, v) -> None:
        """Store states of some samples where they begin, or at events."""
        run, store, times = self.run, self.asked.store, self.place.library.to_host(t).astype(float)
        if store == "steps" and len(times):
            self.parts.append((samples, t, q, v))
        elif store == "grid":
            numbers = run.grid.numbers(times)
            at = np.flatnonzero(np.abs(run.grid.times(numbers) - times) <= run.grid.slack)
            there, number, here = self.place.index(self.samples[samples[at]], numbers[at], at)
            for out, x in zip(run.on_grid, (q, v)):
                out[there, number] = x[here]  # of two rows at one time the later

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
