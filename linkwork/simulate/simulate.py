"""simulate: the motion of one robot from a state to a later time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from ..dynamics import Dynamics
from ..errors import ShapeError, SimulationError, deprecated, did_you_mean, listed
from ..lie.scalars import numbers
from ..varying import Varying
from .archive import is_missing
from .capabilities import BATCH, EACH, GPU, refuse, road_of
from .control import Control
from .diagonal import VELOCITIES
from .ensemble_device import DeviceEnsembleRun, is_on_device, on_host
from .ensemble_request import request
from .ensemble_run import EnsembleRun
from .ensemble_single import SingleRuns
from .features import Asked
from .held import Keeper
from .options import Baumgarte, ContactLaw, Embed, Method, Project, Save, settings_of
from .run import Run
from .sensitivity import check, named
from .settings import ADAPTIVE, FIXED, Carry, Settings
from .start_state import pair_of, unit_quaternions
from .trajectory import Trajectory
from .whole_step import own_robot

METHODS = (*ADAPTIVE, *FIXED)
FINEST = 1e-15  # below it the estimated error of a step is rounding, which shorter steps do not reduce
LEAST_ATOL = 1e-30  # a velocity that starts at zero has no relative error: with less, no first step is short enough
NUMBERS = "dt", "rtol", "atol", "restitution", "every", "first_step", "max_step", "tolerance", "max_steps", "timeout"


def simulate(
    robot: Dynamics | Varying,
    state,
    *,
    until: float,
    start: float = 0.0,
    method: str | Method = "rk45",
    control: Control = None,
    external: Callable | None = None,
    events: Iterable = (),
    contact: ContactLaw | None = None,
    loops: "str | Project | Embed | Baumgarte | None" = "project",
    given: Mapping | None = None,
    on_step: Callable | None = None,
    save: str | Save | None = None,
    progress: bool | None = None,
    timeout: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    dt: float | None = None,
    max_step: float | None = None,
    limits: bool = False,
    **old,
) -> Any:
    """Integrate the motion of a robot from state (q, v) until a time, with the springs, damping and friction of its joints: a Trajectory.
    For q (..., nq), v (..., nv) with batch axes, or `robot.varying(...)`, those of all samples, each with its own steps: an Ensemble.

    method     adaptive, on the group: "rk45" (order 5), "dop853" (order 8, for small tolerances), "stiff" (linearly implicit, order 4, in
               compiled steps; "radau" where there are none), "radau" (implicit, order 5), "rosenbrock" (as "stiff", never "radau")
               with fixed steps dt: "rk4", "euler" (semi-implicit), "midpoint" (variational: no energy drift),
               "contact" (Moreau's midpoint rule: the contacts of the model, joint limits and dry friction in one problem)
               or an object with its numbers: lw.RK45(rtol=1e-8), lw.DOP853, lw.Stiff, lw.Radau, lw.Rosenbrock, lw.RK4(dt), lw.Euler(dt),
               lw.Midpoint(dt), lw.Moreau(dt)
    control    (t, q, v) -> tau; lw.hold(function, rate=100.0) for a controller with its own sampling rate; or a list
    external   (t, q, v) -> wrenches (nb, 6), one for each body, in its axes, at its origin
    events     functions of (t, q, v) or lw.Event: recorded, or they end the run, or they change the state
    contact    an lw.ContactLaw: whether joints stop at their limits, how they bounce, how contacts are solved. `run.contact` has gaps and
               forces of all steps of method "contact"; event by event, of all rows
    loops      how constraints are kept: lw.Project(), after each step; lw.Embed(), by independent velocities; lw.Baumgarte(omega, zeta);
               None, by accelerations alone
    given      of ensembles, arrays (..., shape) by name: constants that vary, and inputs of kernels besides t, q, v
    on_step    (t, q, v) is called after each step; the run stops if it returns something true
    save       an lw.Save: rows at all steps, at multiples of dt, or none; dense output; statistics of an ensemble. "steps" and "last" too
    progress   True: a progress bar; None: a bar if the run is long and stderr is a terminal
    timeout    seconds after which the call returns, status "stopped", to be resumed: what it returns depends on the machine's speed
    rtol, atol, dt, max_step, limits  short for fields of method, save (dt of an adaptive method: the spacing of rows) and contact

    With joint limits, dry friction or resets, the samples of an ensemble are single runs, one after another. Others are compiled code on
    all threads, by "rk45", "dop853" or "stiff"; external and events are then kernels of the robot (`robot.kernel`), and so is control, or
    it is a function of t (...), q and v of the whole batch.

    Functions act by what they return: the arrays of control, external and events are read only, those of a reset and of
    on_step are copies. A run that fails, or is stopped with Ctrl-C, returns the trajectory so far: see `status`, `message`
    and `resume`.
    """
    if not isinstance(robot, (Dynamics, Varying)):
        raise SimulationError(f"simulate takes a Dynamics, not a {type(robot).__name__}: lw.Dynamics(model).")
    if not isinstance(events, Iterable):
        raise SimulationError(f"events is one {type(events).__name__}; it takes a list: events=[...].")
    short = {"rtol": rtol, "atol": atol, "dt": dt, "max_step": max_step, "contact": contact, "save": save}
    said: dict[str, Any] = {"method": method} | {name: x for name, x in short.items() if x is not None}
    said |= {} if isinstance(loops, str) and loops == "project" else {"loops": loops}
    said |= {"limits": limits} if limits is not False else {}
    how = settings_of(said | old, ())
    statistics, store, by = how.pop("statistics", None), how.pop("store", None), how.pop("sensitivity", ())
    how["limits"], how["restitution"] = limit_settings(how.get("limits", False), how.get("restitution", 0.0))
    around: dict[str, Any] = {"on_step": on_step, "progress": progress, "timeout": timeout}
    settings = Settings(control=control, external=external, events=tuple(events), **around, **how)
    until, given, statistics = checked_until(until, start), dict(given or {}), dict(statistics or {})
    checked(own_robot(robot), settings)
    settings = replace(settings, sensitivity=names) if (names := named(by)) else settings
    asked, on_gpu = Asked.of(robot, settings, given=given, statistics=statistics), is_on_device(state, given)
    road = road_of(asked, batch=is_batch(state) or store is not None, on_gpu=on_gpu)
    refuse(asked, road)
    if road == GPU:
        state, given, like = on_host(state, given)
        made = request(robot, state, settings, float(start), until, given, statistics, store or (None if settings.dt else "last"))
        return DeviceEnsembleRun(made, like).go()
    if road == EACH:
        return SingleRuns(robot, state, settings, float(start), until, store).go()
    if road == BATCH:
        return EnsembleRun(request(robot, state, settings, float(start), until, given, statistics, store)).go()
    own = own_robot(robot)
    if names:
        check(own, settings)
        settings = replace(settings, dense=True)
    q, v = _state(own, state)
    run = Run(own, settings, float(start), q, v, until, Carry(grid=float(start)))
    run.go()
    return Trajectory.of(run)


def is_batch(state) -> bool:
    """Does a state have batch axes?"""
    return isinstance(state, (tuple, list)) and len(state) == 2 and any(numbers(x, "the state").ndim > 1 for x in state)


def limit_settings(limits, restitution: float) -> tuple[bool, float]:
    """`limits` and `restitution`, also from the old form, in which `limits` was the restitution or None."""
    if isinstance(limits, (bool, np.bool_)):
        return bool(limits), restitution
    if limits is None:
        deprecated("limits=None", "limits=False", level=4)
        return False, restitution
    deprecated(f"limits={limits}", f"contact=lw.ContactLaw(limits=True, restitution={limits})", level=4)
    return True, limits


def checked(robot: Dynamics, s: Settings) -> None:
    """Raise SimulationError if a setting has a value that it cannot have; `capabilities` says which go together."""
    if not isinstance(s.method, str) or s.method not in METHODS:
        raise SimulationError(f'there is no method "{s.method!s:.60}".{did_you_mean(str(s.method), METHODS)}')
    for name in NUMBERS:
        value = getattr(s, name)
        if value is not None and not (np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiub"):
            wanted = "a number of 64 bits, or inf" if isinstance(value, int) else "a number"
            raise SimulationError(f"{name} is {value!r:.60}; it must be {wanted}.")
    if s.method in FIXED and s.dt is None:
        raise SimulationError(f'method "{s.method}" has fixed steps: give their length, e.g. dt=0.001.')
    if s.velocities not in VELOCITIES:
        raise SimulationError(f'velocities is "{s.velocities}"; it may be "v" or "eta".{did_you_mean(str(s.velocities), VELOCITIES)}')
    if not (s.external is None or callable(s.external) or is_missing(s.external)):
        raise SimulationError(f"external is {s.external!r:.60}; it must be a function of (t, q, v) that returns wrenches (nb, 6).")
    Keeper.check(robot, s.constraints, s.keep, s.tolerance)
    for name in ("dt", "first_step", "max_step", "timeout"):
        value = getattr(s, name)
        if value is not None and not (value > 0 and (name != "dt" or value < np.inf)):
            raise SimulationError(f"{name} is {value}; it must be a positive number of seconds.")
    if not (0 <= s.rtol < 1e6 and s.atol >= 0 and s.rtol + s.atol > 0):
        raise SimulationError(f"rtol is {s.rtol} and atol {s.atol}; they may not be negative, nor both zero.")
    if s.method in ADAPTIVE and max(s.rtol, s.atol) < FINEST:
        raise SimulationError(f"rtol is {s.rtol} and atol {s.atol}; errors below {FINEST} are rounding: use rtol={FINEST} or more.")
    if s.method in ADAPTIVE and s.atol < LEAST_ATOL:
        raise SimulationError(
            f"atol is {s.atol}; what is at rest, or passes through zero, has no relative error: use atol={LEAST_ATOL} or more, e.g. 1e-12."
        )
    if not 0 <= s.restitution <= 1:
        raise SimulationError(f"restitution is {s.restitution}; it must be a number from 0 to 1.")
    if s.restitution and not s.limits:
        raise SimulationError(f"restitution is {s.restitution}, but joint limits are off: limits=True turns them on.")
    if s.dense not in (True, False, None):
        raise SimulationError(f"dense is {s.dense!r}; it may be True, False or None.")
    for name in ("every", "max_steps"):
        if (value := getattr(s, name)) is not None and not (value >= 1 and (value == inf or int(value) == value)):
            raise SimulationError(f"{name} is {value}; it must be a whole number, at least 1.")


def checked_until(until: float, start: float) -> float:
    if not (all(np.ndim(x) == 0 and np.isfinite(numbers(x, "until")) for x in (until, start)) and numbers(until) >= numbers(start)):
        said = f"a run cannot go from {start} s until {until} s; until is one finite time, not before the start"
        raise SimulationError(f"{said}. The states at many are run.at(times).")
    return float(until)


def _state(robot: Dynamics, state) -> tuple[np.ndarray, np.ndarray]:
    q, v = map(np.array, pair_of(robot, state))
    for name, x, size, count in (("q", q, "nq", robot.nq), ("v", v, "nv", robot.nv)):
        if x.shape != (count,):
            raise ShapeError(f"{name} has shape {x.shape}, but {robot.model.name} has {size} = {count} ({listed(robot.joints, 2)}).")
        if not np.isfinite(x).all():
            raise SimulationError(f"{name} of the state has entries that are not finite: {x}.")
    return unit_quaternions(robot, q), v
