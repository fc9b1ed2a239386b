"""What may be asked of an ensemble: states and constants of a batch, controls and functions that can be compiled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dynamics import Dynamics
from ...errors import ShapeError, SimulationError, UnknownNameError, did_you_mean, listed
from ...kernels import UserKernel
from ...lie.scalars import numbers
from ...varying import Varying
from ..events.events import Event
from ..events.watch import Watch
from ..rates.control import Hold, parts_of
from ..rates.held import Keeper
from ..rates.kernels import own_robot
from ..rates.on_constraints import OnConstraints
from ..requests.settings import Settings
from ..requests.start_state import pair_of, unit_quaternions
from .ensemble_start import finite, on_constraints

STORE = "steps", "last"


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of an ensemble, checked; arrays have one axis for all samples."""

    robot: Dynamics | Varying
    settings: Settings
    start: float
    until: float
    Q: np.ndarray
    V: np.ndarray
    batch: tuple[int, ...]
    controls: tuple[UserKernel, ...]
    functions: tuple[Callable, ...]  # controls of Python, which take the whole batch
    external: UserKernel | Callable | None
    holds: tuple[Hold, ...]
    watch: Watch | None  # in compiled steps
    events: tuple[Event, ...]  # that the host looks for
    settled: bool  # are there steps that the host settles?
    given: Mapping[str, np.ndarray]
    store: str  # "steps", "grid" or "last"
    keeper: Keeper
    constraints: OnConstraints | None
    reasons: np.ndarray  # of each sample why it cannot start, 0 if it can

    @property
    def varying(self) -> Varying | None:
        """The robot, if constants vary."""
        return self.robot if isinstance(self.robot, Varying) else None

    @property
    def own(self) -> Dynamics:
        return own_robot(self.robot)


def request(
    robot, state, settings: Settings, start: float, until: float, given: Mapping, statistics: Mapping, store, settled: bool
) -> Request:
    """The request of a user, or an error that says what is wrong with it. The host looks for events if it settles samples, else compiled
    steps do."""
    own = own_robot(robot)
    controls, functions, holds = _controls(settings.control)
    watch = _watch(statistics, settings.events)
    external: Any = settings.external
    held: Any = [hold.function for hold in holds if isinstance(hold.function, UserKernel)]
    kernels = [x for x in (*controls, *held, *watch.kernels, external) if isinstance(x, UserKernel)]
    stored = store_of(settings, store, watch.any)
    events, watch = (watch.events, replace(watch, events=())) if settled else ((), watch)
    Q, V, arrays, batch = arrays_of(robot, state, kernels, given)
    kept, keeper = watch if watch.any else None, Keeper(own, settings.constraints, settings.keep, tolerance=settings.tolerance)
    constraints, reasons = _constraints(robot, keeper), finite(Q, V, arrays)
    Q[reasons == 0] = unit_quaternions(own, Q[reasons == 0])
    if constraints is not None:
        Q, V, reasons = on_constraints(keeper, constraints, start, Q, V, arrays, reasons)
    return Request(
        robot, settings, start, until, Q, V, batch, controls, functions, external, holds, kept, events, settled, arrays, stored, keeper,
        constraints, reasons,
    )  # fmt: skip


def store_of(settings: Settings, store, watched: bool) -> str:
    """What is stored: "steps", "grid" or "last"."""
    if store not in (*STORE, None):
        raise SimulationError(f'store is {store!r}; it is "steps" (all rows) or "last" (the ends). For rows at multiples of dt give dt.')
    if settings.dt is not None and store is not None:
        raise SimulationError(f'dt is {settings.dt} and store "{store}"; give one: rows at multiples of dt, at all steps, or none.')
    return "grid" if settings.dt is not None else store or ("last" if watched else "steps")


def _constraints(robot: Dynamics | Varying, keeper: Keeper) -> OnConstraints | None:
    """Those that each step returns to."""
    own = own_robot(robot)
    if own.constraints is None:
        return None
    return OnConstraints.of(keeper, robot if isinstance(robot, Varying) else None)


def _controls(control) -> tuple[tuple[UserKernel, ...], tuple[Callable, ...], tuple[Hold, ...]]:
    """The kernels, the functions of Python, and the sampled controllers of a control."""
    parts = parts_of(control)
    functions = tuple(x for x in parts if not isinstance(x, (UserKernel, Hold)))
    return tuple(x for x in parts if isinstance(x, UserKernel)), functions, tuple(x for x in parts if isinstance(x, Hold))


def force_of_kernel(function: UserKernel, at: Mapping, velocities: tuple[int, ...]):
    """The answer of a controller for all samples, an array of the shape of their velocities."""
    answer = function(*(at[name] for name in function.names))
    if tuple(np.shape(answer)) != velocities:
        shapes = f"shape {tuple(np.shape(answer))[1:]} for one robot; as control it must return {velocities[1:]}"
        raise ShapeError(f"{function.__name__} returns {shapes}.")
    return answer


def _watch(statistics: Mapping, events) -> Watch:
    made = [event if isinstance(event, Event) else Event(event, getattr(event, "__name__", "event")) for event in events]
    names = [event.name for event in made]
    if len(set(names)) < len(names):
        made = [replace(event, name=f"{event.name} {k}") if names.count(event.name) > 1 else event for k, event in enumerate(made)]
    return Watch(dict(statistics), tuple(made))


def _batch(axes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The axes that those of several arrays broadcast to."""
    try:
        return np.broadcast_shapes(*axes.values())
    except ValueError:
        said = ", ".join(f"{name} {shape}" for name, shape in axes.items())
        raise ShapeError(f"batch axes do not fit together: {said}. They must be equal, or 1, or missing.") from None


def arrays_of(robot: Dynamics | Varying, state, kernels: list, given: Mapping):
    """The states and what is given, with one axis for all samples; and the axes of the batch."""
    own = own_robot(robot)
    q, v = pair_of(own, state)
    for name, x, size, count in (("q", q, "nq", own.nq), ("v", v, "nv", own.nv)):
        if x.shape[-1:] != (count,):
            raise ShapeError(f"{name} has shape {x.shape}, but {own.model.name} has {size} = {count} ({listed(own.joints, 2)}).")
    shapes = {name: kernel.shapes.get(name) for kernel in kernels for name in kernel.names if name not in ("t", "q", "v")}
    if needed := sorted(set(shapes) - set(given)):
        raise SimulationError(f'a kernel needs "{needed[0]}": pass given={{"{needed[0]}": ...}}.')
    shapes |= {name: x.shape for name, x in robot.own.items()} if isinstance(robot, Varying) else {}
    batch = _batch({"q": q.shape[:-1], "v": v.shape[:-1]})
    values = {}
    for name in sorted(given):
        if name not in shapes:
            raise UnknownNameError(f'nothing in this simulation has the input "{name}".{did_you_mean(name, list(shapes))}')
        x, shape = numbers(given[name], name), shapes[name]
        shapes[name] = shape = x.shape[len(batch) :] if shape is None else shape
        if x.shape[x.ndim - len(shape) :] != shape:
            raise ShapeError(f"{name} has shape {x.shape}; it must end with {shape}, its axes for one sample.")
        values[name] = x
        batch = _batch({"the states and what is given before": batch, name: x.shape[: x.ndim - len(shape)]})
    if isinstance(robot, Varying):
        robot.check_masses(values)
    count = int(np.prod(batch, dtype=int))

    def flat(x, shape):
        return np.ascontiguousarray(np.broadcast_to(x, (*batch, *shape))).reshape(count, *shape).copy()

    return flat(q, (own.nq,)), flat(v, (own.nv,)), {name: flat(x, shapes[name]) for name, x in values.items()}, batch
