"""Ensembles on a GPU: one thread for each sample makes all its steps, the attempts of `segments` in a loop inside of one kernel."""

from dataclasses import replace
from math import inf

import numpy as np

from ..engine.cuda import DeviceError
from ..engine.device import DeviceKernel, Library, name_of, on_device
from ..engine.kernel import Kernel
from ..errors import SimulationError
from ..lie.iteration import iterate
from .ensemble import EVENT, FAILED, FINISHED, Ensemble, EventTimes, Statistic
from .ensemble_request import Request, held_force
from .kernels import cache_of
from .segments import Arguments, Equations, Rates, attempt, first, observer
from .settings import PAIRS

ATTEMPTS = 20_000  # of a sample in one launch


def is_on_device(state, given) -> bool:
    """Do the states of an ensemble live on a GPU?"""
    arrays = [*state, *(given or {}).values()] if isinstance(state, (tuple, list)) else []
    return any(on_device(x) for x in arrays)


def on_host(state, given: dict) -> tuple:
    """The states and what is given as arrays of NumPy, and an array on the GPU that says where they were."""
    like = next(x for x in (*state, *given.values()) if on_device(x))
    if name_of(like.dtype) != "double":
        raise DeviceError("adaptive steps are in float64, also on a GPU: x.double(), or x.astype(float). For float32 use lw.rollout.")
    library = Library(like)
    return tuple(map(library.to_host, state)), {name: library.to_host(x) for name, x in given.items()}, like


class DeviceEnsembleRun:
    """The arrays of all samples on a GPU, and the kernels that advance them."""

    def __init__(self, asked: Request, like):
        if asked.store != "last":
            raise SimulationError('on a GPU no rows are stored: store="last" and statistics, without dt; or move the states to the CPU.')
        self.asked, self.own, self.like, self.library = asked, asked.own, like, Library(like)
        self.shapes = {name: x.shape[1:] for name, x in asked.given.items()}
        self.equations = replace(Equations.of(asked.robot, asked.controls, self.shapes, asked.constraints), in_place=True)
        self.names = Arguments(self.equations, PAIRS[asked.settings.method](), asked.watch)
        self.steps, self.first, self.rates, self.observe = self._kernels()
        n = len(asked.Q)
        state = {name: np.zeros((n, *self.names.shapes.get(name, ()))) for name in self.names.state}
        state |= {"q": asked.Q, "v": asked.V, "t": np.full(n, asked.start), "stuck": asked.reasons}
        self.state = {name: self._put(x) for name, x in state.items()}
        self.given = {name: self._put(x) for name, x in asked.given.items()}

    def _put(self, x):
        return self.library.put(np.ascontiguousarray(x, float), self.like)

    def _kernels(self):
        a, of, names = self.asked, self.equations, self.names
        kernels = [*a.controls, *(() if a.watch is None else a.watch.kernels)]
        watched = () if a.watch is None else (tuple(a.watch.statistics), *((x.direction, x.terminal) for x in a.watch.events))
        key = "ensemble on a GPU", a.own.lowered, a.settings.method, repr(self.shapes), tuple(kernels), len(a.controls), watched
        ready = cache_of(a.robot, *kernels)
        if key not in ready:
            made = [
                Kernel("ensemble", self._all_attempts(), names.inputs),
                Kernel("first_step", lambda *x: first(of, names.pair, names.by_name(x)), names.inputs),
                Kernel("start_rates", self._start_rates(), self._rate_inputs()),
            ]
            ready[key] = [DeviceKernel(x) for x in (*made, *(() if a.watch is None else (observer(of, a.watch),)))]
        return (*ready[key], None)[:4]

    def _all_attempts(self):
        of, names, watch = self.equations, self.names, self.asked.watch

        def run(*values):
            at = names.by_name(values)

            def once(*carried):
                now = at | dict(zip(names.state, carried))
                *new, _, done = attempt(of, names.pair, (), watch, now)
                goes = (now["t"] < now["target"]) & (now["stuck"] == 0)
                goes = goes & (now["ended"] == 0) if watch is not None else goes
                return *(np.where(goes, x, old) for x, old in zip(new, carried)), ~goes | (done != 0)

            return iterate(once, tuple(at[name] for name in names.state), most=ATTEMPTS)[0]

        return run

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

    def go(self) -> Ensemble:
        a, s, t = self.asked, self.state, self.asked.start
        n, held = len(a.Q), self._put(np.zeros((len(a.Q), self.own.nv)))
        answers, calls = [held for _ in a.holds], [-inf for _ in a.holds]
        if a.watch is not None and n:
            values = self.observe(s["t"], s["q"], s["v"], *self.given.values())
            s |= a.watch.start(_listed(values)) | {"ended": s["ended"]}
        while t < a.until and n:
            due = [i for i, hold in enumerate(a.holds) if hold.index(t) > calls[i]]
            for i in due:
                at = {"t": s["t"], "q": s["q"], "v": s["v"], **self.given}
                answers[i], calls[i] = held_force(a.holds[i], at, (n, self.own.nv)), a.holds[i].index(t)
            held = sum(answers[1:], answers[0]) if answers else held
            if due or t == a.start:
                s["vdot"], s["tau"] = self.rates(s["t"], s["q"], s["v"], held, *self.given.values())
            target = min([a.until, *((k + 1) / hold.rate for hold, k in zip(a.holds, calls))])
            bounds = self._bounds(target, held)
            if t == a.start:
                wanted = a.settings.first_step
                s["wanted"] = self._put(np.full(n, wanted)) if wanted else self.first(*s.values(), *bounds)
            self._advance(target, bounds)
            s, t = self.state, target
        return self._result()

    def _bounds(self, target: float, held) -> list:
        a = self.asked.settings
        now = {"target": target, "slack": 16 * np.spacing(abs(target)), "max_step": a.max_step, "rtol": a.rtol, "atol": a.atol}
        values = {name: self._put(np.full(len(self.asked.Q), x)) for name, x in now.items()} | {"held": held, **self.given}
        return [values[name] for name in self.names.given]

    def _advance(self, target: float, bounds: list) -> None:
        """Launch until all samples are there, or can go no further."""
        while True:
            self.state = dict(zip(self.names.state, _listed(self.steps(*self.state.values(), *bounds))))
            left = (self.state["t"] < target) & (self.state["stuck"] == 0)
            left = left & (self.state["ended"] == 0) if "ended" in self.state else left
            if not bool(left.any()):
                return

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
        ended = host(s["ended"]) > 0 if a.watch is not None else np.zeros(len(a.Q), bool)
        status = np.where(host(s["stuck"]) > 0, FAILED, np.where(ended, EVENT, FINISHED))
        steps = host(s["steps"]).astype(int)
        t, q, v = (shaped(s[name]) for name in ("t", "q", "v"))
        rejected, reasons = host(s["tries"]).astype(int) - steps, host(s["stuck"])
        status, steps, rejected, reasons = map(shaped, (status, steps, rejected, reasons))
        return Ensemble(self.own, t, q, v, status, steps, rejected, reasons, statistics, events)


def _listed(results) -> list:
    return list(results) if isinstance(results, tuple) else [results]
