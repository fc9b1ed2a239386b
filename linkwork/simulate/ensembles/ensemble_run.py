"""simulate for a batch of states: blocks of samples, each advanced by compiled code until it is done, on the CPU or on a GPU."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from ...dynamics import Dynamics
from ...engine.loading.gufunc import get_threads
from ...engine.loading.kernel import Kernel
from ...errors import ShapeError, SimulationError
from ...kernels import UserKernel
from ...lie.scalars import numbers
from ...motion import equations
from ..events.guard import FOUND, INSTANT
from ..methods.record import End
from ..rates.control import at_state, read_only
from ..rates.kernels import cache_of, kernel
from ..requests.grid import Grid
from ..requests.progress import Progress
from ..requests.settings import PAIRS
from ..runs.segments import POLYNOMIAL, STATE, WRENCHES, Equations, Rates, observed_shapes, observer
from ..runs.transitions import Transitions
from .ensemble import FINISHED, STOPPED, Carried, Ensemble, EventTimes, Ragged, Statistic
from .ensemble_block import SECONDS, Block
from .ensemble_request import Request
from .host import LEAVES, Host, OutOfTime
from .places import Place

ROWS = {"steps": ("t", "q", "v"), "grid": ("t", "h", "t0", "late0", "q0", POLYNOMIAL), "last": ()}
SEEN = "least of ", "greatest of ", "integral of ", "last of ", "first of "  # that samples without motion have not
MAX_STEPS = 1_000_000  # of a sample, unless `max_steps` says otherwise
MOST_COUNTED = 1 << 24  # steps: beyond it one more is none in float32
FIRST_BLOCK = 64  # samples for each thread
EVENTFUL = 16.0  # times as long where samples have events of joints
FINEST = 1e-6  # in float32: below it the estimated error of a step is rounding


class EnsembleRun:
    """The arrays of all samples, and the compiled code that advances them."""

    def __init__(self, asked: Request, place: Place, earlier: Ensemble | None = None):
        """An ensemble that goes on from an `earlier` one, or begins."""
        self.asked, self.own, self.place, settings = asked, asked.own, place, asked.settings
        if place.dtype == np.float32 and max(settings.rtol, settings.atol) < FINEST:
            raise SimulationError(
                f"rtol is {settings.rtol} and atol {settings.atol}; in float32 errors below {FINEST} are rounding: "
                f"use rtol={FINEST} or more, or float64."
            )
        self.shapes = {name: x.shape[1:] for name, x in asked.given.items()}
        push: Any = asked.external
        in_python = bool(asked.functions) or not (push is None or isinstance(push, UserKernel))
        self.asks = in_python * (self.own.nv + 6 * len(self.own.bodies) * (push is not None))
        controls, external = ((), None) if in_python else (asked.controls, push)
        of = Equations.of(asked.robot, controls, self.shapes, asked.constraints, external, asks=self.asks)
        self.equations = replace(of, in_place=not place.library.host)
        self.most_steps = min(settings.most_steps(MAX_STEPS), inf if place.dtype == np.float64 else MOST_COUNTED)
        self.host: Host | None = None
        if asked.settled:
            self.host = Host(self) if earlier is None or earlier.carried is None else earlier.carried.host
        n = len(asked.Q)
        self.given = {name: place.put(x) for name, x in asked.given.items()}
        shapes = self._shapes()
        state = {name: np.full((n, *shape), np.nan if name.startswith(SEEN) else 0.0) for name, shape in shapes.items()}
        state |= {INSTANT: np.full(n, -inf)} if INSTANT in shapes else {}
        state |= {"q": asked.Q, "v": asked.V, "t": np.full(n, asked.start), "stuck": asked.reasons}
        state["wanted"] += settings.first_step or 0.0
        self.state = {name: place.library.copy(place.put(x)) for name, x in state.items()}
        self.status, self.times = np.full(n, STOPPED, "<U8"), np.full(n, asked.start)
        self.grid = Grid(asked.start, settings.dt, asked.start, asked.until)
        count = self.grid.number(asked.until) + 1 if asked.store == "grid" else 0
        self.on_grid = [place.full((n, count, x.shape[1]), np.nan) for x in (asked.Q, asked.V)]
        self.parts: list[tuple] = []  # samples of some rows, on the host; their t, q and v
        self.calls = np.full((len(asked.holds), n), -inf)
        self.answers = [place.full((n, self.own.nv), 0.0) for _ in asked.holds]
        if earlier is not None:
            self._take(earlier)
        if self.host is not None:
            carried = None if earlier is None else earlier.carried
            self.host.serve(self, {} if carried is None else carried.memories, [] if carried is None else carried.occurrences)

    def _take(self, earlier: Ensemble) -> None:
        """Begin where an earlier part has ended."""
        was, n, copy = earlier.carried, len(self.asked.Q), self.place.library.copy
        assert was is not None
        self.state = {name: copy(x) for name, x in was.state.items()}
        self.calls, self.answers = was.calls.copy(), [copy(x) for x in was.answers]
        self.status, self.times = earlier.status.reshape(n).copy(), self.host_times(self.state["t"], was.asked.until)
        for rows, x in zip(self.on_grid, () if earlier.on_grid is None else earlier.on_grid[1:]):
            rows[:, : x.shape[-2]] = x.reshape((n, *x.shape[-2:]))
        if earlier.ragged is not None:
            self.parts = [(np.repeat(np.arange(n), np.diff(earlier.ragged.starts)), *earlier.ragged.rows)]

    def host_times(self, t, until: float) -> np.ndarray:
        """Times as numbers of the host, the first and the last of them, which may be rounded in float32, as they were given."""
        times, rounded = self.place.library.to_host(t).astype(float), self.place.dtype.type
        times = np.where(times == rounded(until), until, times)
        return np.where(times == rounded(self.asked.start), self.asked.start, times)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the numbers that each sample has, by name."""
        host = {} if self.host is None else self.host.state
        if self.host is not None and not self.host.compiles:
            own = {"q": (self.own.nq,), **dict.fromkeys(("v", "vdot", "tau"), (self.own.nv,))}
            watch = {} if self.asked.watch is None else self.asked.watch.state(observed_shapes(self.equations, self.asked.watch))
            return {name: own.get(name, ()) for name in (*STATE, FOUND)} | watch | host
        steps = self.steps_of(False)
        return {name: steps.shapes.get(name, ()) for name in steps.state} | host

    def steps_of(self, holds: bool):
        """The compiled steps: those of samples in which joints are held at rest, or those of others."""
        return self._compiled[0](holds)

    @property
    def transition(self) -> Transitions | None:
        """The kernel that settles samples at events of joints, where there is one."""
        if self.host is None or not self.host.compiles or self.place.dtype == np.float32:  # in which limits are rounded
            return None
        return self._compiled[1]

    @property
    def observe(self) -> Any:
        """The compiled function (t, q, v, given...) of what is watched."""
        return self._compiled[1]

    @property
    def rates(self) -> Any:
        """The function (t, q, v, held, given...) -> v̇, τ of states to start from."""
        return self._compiled[2]

    @cached_property
    def _compiled(self) -> tuple:
        """The steps, the kernel of what is watched, and the rates at the start; kept with what they are made of."""
        a, of, place, host = self.asked, self.equations, self.place, self.host
        functions = [x.function for x in a.events if isinstance(x.function, UserKernel)]
        kernels = [*a.controls, *(() if a.watch is None else a.watch.kernels), *functions]
        kernels += [a.external] if isinstance(a.external, UserKernel) else []
        watched = () if a.watch is None else (tuple(a.watch.statistics), *((x.direction, x.terminal) for x in a.watch.events))
        source = a.robot.lowered if isinstance(a.robot, Dynamics) else a.robot

        def make() -> tuple:
            @cache
            def steps(holds: bool):
                guard, pair = None if host is None else host.guard(holds), PAIRS[a.settings.method]()
                modes = () if guard is None or guard.joints is None else guard.joints.modes
                rows = ROWS[a.store] if guard is None else tuple(dict.fromkeys((*LEAVES, *ROWS[a.store])))
                return place.steps(replace(of, modes=modes, made={}), pair, rows, a.watch, guard, guard is not None and a.store == "last")

            if host is not None:
                return steps, host.transition(replace(of, made={}), PAIRS[a.settings.method]()), None
            return steps, None if a.watch is None else place.compiled(observer(of, a.watch)), self._start_rates()

        key = type(place), source, a.settings.method, a.store, repr(self.shapes), tuple(kernels), len(a.controls), watched, self.asks
        return cache_of(a.robot, *kernels).once(make, *key, None if host is None else host.key)

    def _start_rates(self):
        """The function (t, q, v, held, given...) -> v̇, τ of states to start from, with the bits of a single run where there can be one.
        What functions of Python answer is part of what is held."""
        of, own, controls = self.equations, self.own, self.equations.controls
        if not self.shapes and self.place.library.host:
            external, moves = self.asked.external, self.asked.keeper.timed
            rates = kernel(own, equations.local_rates, *(() if external is None else ("external",)))

            def start(t, q, v, held):
                tau, answered = held[:, : own.nv], held[:, own.nv :].reshape(len(q), -1, 6)
                for control in controls:
                    tau = tau + at_state(control, t, q, v)
                push = () if external is None else (answered,) if self.asks else (at_state(external, t, q, v),)
                return rates(q, np.zeros_like(v), v, tau, *push, **({"t": float(t[0])} if moves else {}))[1], tau

            return start
        shapes = {"t": (), "q": (own.nq,), "v": (own.nv,), "held": (self.asks or own.nv,), **self.shapes}

        def traced(t, q, v, held, *given):
            at = {"held": held[: own.nv], WRENCHES: held[own.nv :].reshape(-1, 6), **dict(zip(of.varied, given))}
            out, rates = (np.zeros_like(v), np.zeros_like(v)), Rates(of, at)
            rates(t, q, np.zeros_like(v), v, out)
            return out[1], rates.tau

        inputs = tuple(own.lowered.input(name, x) for name, x in shapes.items())
        return self.place.compiled(Kernel("start_rates", traced, inputs, content=of))

    def go(self) -> Ensemble:
        """All samples, block after block; those that Ctrl-C or the deadline do not let end are "stopped" and as they began."""
        todo, done, current = self._todo(), 0, None
        first, (seconds, least) = FIRST_BLOCK * get_threads(), (SECONDS, 1)
        if self.transition is not None:  # each event of a sample is a call, for all that have some then
            seconds, least = EVENTFUL * SECONDS, first
        block = first if self.place.in_blocks and not self.asks else len(todo)
        self.deadline, self.status[todo] = self.asked.settings.deadline, STOPPED
        progress = Progress(0.0, float(len(todo)), self.asked.settings.progress)
        try:
            with np.errstate(all="ignore"):
                while done < len(todo):
                    began, some = monotonic(), todo[done : done + block]
                    some = some[: int(np.argmax(np.append(self.times[some] != self.times[some[0]], True)))]  # of one time
                    current = Block(self, some)
                    current.go()
                    done, current = done + len(some), None
                    progress.update(float(done))
                    if self.place.in_blocks:
                        block = max(int(block * np.clip(seconds / max(monotonic() - began, 1e-6), 0.25, 4.0)) + 1, least)
        except (KeyboardInterrupt, OutOfTime):
            if current is not None:
                current.keep()
        finally:
            progress.close()
        if self.host is not None and len(todo) and len(self.host.errors) == len(self.status):
            raise self.host.errors[0]
        return self._result()

    def answer(self, function: Callable, samples: np.ndarray, t, q, v, shape: tuple[int, ...] = ()) -> np.ndarray:
        """What a function of Python answers for some samples, of which this is the state: it is asked for all samples of the batch. It is
        τ, or what has another `shape` for each sample."""
        whole, batch = [self.state[name].copy() for name in ("t", "q", "v")], self.asked.batch
        for x, new in zip(whole, (t, q, v)):
            x[samples] = new
        found = function(*read_only(*(x.reshape((*batch, *x.shape[1:])) for x in whole)))
        who, shape = "external" if shape else "control", shape or (self.own.nv,)
        answer, wanted = numbers(found, f"what {who} returned"), (*batch, *shape)
        if found is None or answer.shape != wanted:
            came = "None" if found is None else f"an array of shape {answer.shape}"
            raise ShapeError(f"{who} returned {came}; of a batch with q of shape {(*batch, self.own.nq)} it must return shape {wanted}.")
        return answer.reshape(-1, *shape)[samples]

    def _todo(self) -> np.ndarray:
        """The samples that go on, by the times where they are."""
        goes = (self.status == STOPPED) | ((self.status == FINISHED) & (self.times < self.asked.until))
        some = np.flatnonzero(goes)
        return some[np.argsort(self.times[some], kind="stable")]

    def _result(self) -> Ensemble:
        a, s, host, where = self.asked, self.state, self.place.library.to_host, self.place.library.module.where

        def shaped(x):
            return x.reshape((*a.batch, *x.shape[1:]))

        statistics, events = {}, {}
        for name in a.watch.statistics if a.watch is not None else ():
            least, greatest, total, last = (s[f"{what} of {name}"] for what in ("least", "greatest", "integral", "last"))
            span = (s["t"] - a.start).reshape((-1, *(1,) * (len(total.shape) - 1)))
            mean = where(span > 0, total / (span + 1.0 * (span == 0)), last)  # where no time has passed, the mean is the value
            statistics[name] = Statistic(*map(shaped, (least, greatest, mean, last)))
        for k, event in enumerate(a.watch.events if a.watch is not None else ()):
            first, count = s[f"first of event {k}"], s[f"count of event {k}"]
            events[event.name] = EventTimes(shaped(first), shaped(count.astype(int) if self.place.library.host else count))
        settling, messages = self.host, None
        if settling is not None:
            names = [x.name for x in a.events]
            events, messages = settling.events(names, len(self.status), shaped), settling.messages
        steps, t, q, v = host(s["steps"]).astype(int), *(shaped(s[name]) for name in ("t", "q", "v"))
        status, steps, rejected, reasons = map(shaped, (self.status, steps, host(s["tries"]).astype(int) - steps, host(s["stuck"])))
        known = (None, {}, []) if settling is None else (settling, settling.memories, settling.occurrences)
        carried = Carried(a, s, self.calls, self.answers, self.place, *known)
        counts, watched = (status, steps, rejected, reasons), (statistics, events)
        made = Ensemble(self.own, End(t, q, v), *counts, *watched, ragged=self._ragged(), carried=carried, said=messages)
        if a.store != "grid":
            return made
        times = self.grid.times(np.arange(self.on_grid[0].shape[1]))
        times = self.place.put(np.where(times > a.until - self.grid.slack, a.until, times))
        return replace(made, on_grid=End(times, *map(shaped, self.on_grid)))

    def _ragged(self) -> Ragged | None:
        """All rows, those of one sample after those of another."""
        if self.asked.store != "steps":
            return None
        none = np.zeros(0, int), *(self.place.full((0, *self.state[name].shape[1:]), 0.0) for name in ("t", "q", "v"))
        samples, *rows = zip(none, *self.parts)
        numbers = np.concatenate(samples)
        (order,) = self.place.index(np.argsort(numbers, kind="stable"))
        starts = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(self.status)))])
        return Ragged(starts, *(self.place.library.joined(x)[order] for x in rows))
