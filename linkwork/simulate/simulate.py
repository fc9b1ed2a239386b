"""simulate: the motion of one robot from a state to a later time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..dynamics import Dynamics
from ..errors import SimulationError
from ..lie.scalars import numbers
from ..varying import Varying
from .derivatives.sensitivity import check, named
from .ensembles.ensemble_device import Threads, is_on_device, on_host
from .ensembles.ensemble_request import request
from .ensembles.ensemble_run import EnsembleRun
from .ensembles.places import Lanes, Place
from .methods.contact_law import ContactLaw
from .rates.control import Control
from .rates.kernels import own_robot
from .requests.capabilities import GPU, RUN, is_settled, refuse, road_of
from .requests.checks import checked, checked_until, limit_settings
from .requests.features import Asked
from .requests.options import Baumgarte, Embed, Method, Project, Save, settings_of
from .requests.settings import Settings
from .requests.start_state import state_of
from .runs.run import Run
from .state import State
from .trajectory import Trajectory


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

    The samples of an ensemble are compiled code on all threads, by "rk45", "dop853" or "stiff". Control and external are kernels of the
    robot (`robot.kernel`), or functions of t (...), q and v of the whole batch. Joint limits, dry friction, resets and events that are
    functions of one state are settled between steps, sample by sample, as in single runs.

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
    if road != RUN:
        place: Place = Lanes()
        if road == GPU:
            state, given, like = on_host(state, given)
            place, store = Threads(like), store or (None if settings.dt else "last")
        return EnsembleRun(request(robot, state, settings, float(start), until, given, statistics, store, is_settled(asked)), place).go()
    own = own_robot(robot)
    if names:
        check(own, settings)
        settings = replace(settings, dense=True)
    q, v = state_of(own, state)
    run = Run(own, settings, State(float(start), 0.0, q, v, start=float(start), next_step=settings.first_step), until)
    run.go()
    return Trajectory.of(run)


def is_batch(state) -> bool:
    """Does a state have batch axes?"""
    return isinstance(state, (tuple, list)) and len(state) == 2 and any(numbers(x, "the state").ndim > 1 for x in state)
