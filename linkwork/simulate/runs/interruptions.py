"""Events within a step: those that are only recorded, and those that end the step because the run, the state or the forces change."""

from typing import TYPE_CHECKING

import numpy as np

from ..events.events import SAME, Crossing, Occurrence
from ..methods.step import Failure, Step
from ..requests.grid import later
from ..requests.motion_checks import check_motion, checked_reset
from ..rest.resting import without_drift

if TYPE_CHECKING:
    from .run import Run

REPEATS = 3, 50  # times that an event may repeat at the same time: the user's, and one of a joint at rest


def state_at(run: "Run", found: Crossing, step: Step):
    """The time and the state of an event within a step."""
    t = run.t + found.x * step.h  # as the detector has it
    if found.x >= 1:
        return t, step.q, step.v
    q, v = run.flow.within(run.t, step, np.array([found.x]))
    return t, q[0], v[0]


def note(run: "Run", found: Crossing, step: Step) -> None:
    """Record an event that changes nothing."""
    t, q, v = state_at(run, found, step)
    run.stored.up_to(t, run.t, run.late, step)
    run.occurrences.append(Occurrence(t, run.detector.events[found.number].name, q, v))
    run.stored.row(t, q, v, *run.flow.at(t, q, v))


def interrupt(run: "Run", found: Crossing, step: Step) -> None:
    """End the step at an event that ends the run or changes the state or the forces."""
    run.stored.up_to(run.t + found.x * step.h, run.t, run.late, step)
    t, q, v = state_at(run, found, step)
    passed, moved = t > run.t, t - run.t > SAME * np.spacing(abs(t))
    _arrive(run, found, step, t, q, v)
    if passed:
        run.store()
        run.accept_step()
    run.repeats = 0 if moved else run.repeats + 1
    own = found.number < len(run.detector.events)
    names, rate = _own_event(run, found.number, t, q, v) if own else (_event_of_joint(run, found.number, t, q, v), 0.0)
    run.occurrences += [Occurrence(t, name, q, v) for name in names]
    if run.repeats > REPEATS[not own] + len(run.detector.events):
        raise Failure(_repeats(", ".join(names), own), complete=True)
    if run.status in ("finished", "stopped"):  # after a stop by on_step the run may be resumed
        _go_on(run, found.number if own else None, rate)
    elif run.status == "event":  # for resume, which starts from this event and does not meet it again
        run.integrator.restart(jump=True)
        run.detector.begin(run.t, run.q, run.v, found.number)


def _repeats(name: str, own: bool) -> str:
    """What to say of an event that occurs again and again at the same time: the user's own, or one of a joint."""
    if own:
        return (
            f"{name} repeats at the same time. What comes to rest there is held by a joint limit, not by an event: "
            "give the joint a limit and simulate with limits=True, restitution=..., or make the event terminal"
        )
    return (
        f"{name or 'joints that stick and slip'}: this repeats at the same time. A force that switches with the motion it makes, like a "
        "controller that returns sign(v), has no solution there: make it continuous, or sample it with lw.hold(function, rate=...)"
    )


def _arrive(run: "Run", found: Crossing, step: Step, t: float, q, v) -> None:
    """Make the state of the event the present one."""
    vdot, tau = run.flow.at(t, q, v)
    run.stored.step(run.t, run.late, step, found.x, run.tau, tau)
    there, rest = later(run.t, run.late, found.x * step.h)
    run.t, run.late = t, (there - t) + rest
    run.q, run.v, run.vdot, run.tau = q, v, vdot, tau


def _own_event(run: "Run", number: int, t: float, q, v) -> tuple[list[str], float]:
    """Do what an event of the user asks for: its name alone in a list, and the rate of its function before a reset."""
    event, rate = run.detector.events[number], 0.0
    if event.terminal:
        run.end("event", f'event "{event.name}"')
    elif event.reset is not None:
        rate, v = run.detector.rate(number, t, q, v), without_drift(run.flow.stops, t, q, v)
        run.q, run.v = run.keeper.start(t, *checked_reset(event, t, q, v, run.flow.stops))
    return [event.name], rate


def _event_of_joint(run: "Run", number: int, t: float, q, v) -> list[str]:
    """Let a joint stop, stick or slip, or contact points strike: the names of all that happens, as far as it has some."""
    stops = run.flow.stops
    assert stops is not None
    run.q, run.v, names = stops.change(number - len(run.detector.events), t, q, v, run.flow)
    return names


def _go_on(run: "Run", just: int | None, rate: float) -> None:
    """Continue after the user's event `just`, or, if that is None, after one of a joint at rest."""
    if just is not None:
        run.restart(just, rate)
    else:
        run.vdot, run.tau = run.flow.at(run.t, run.q, run.v)
        run.integrator.restart(jump=True)
        run.integrator.creeping = 0
        run.detector.begin(run.t, run.q, run.v)
    check_motion(run.vdot, run.q, run.v)
    run.store()
