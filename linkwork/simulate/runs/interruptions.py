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


def state_at(run: "Run", crossing: Crossing, step: Step):
    """The time and the state of an event within a step."""
    t = run.now.t + crossing.x * step.h  # as the detector has it
    if crossing.x >= 1:
        return t, step.q, step.v
    q, v = run.flow.within(run.now.t, step, np.array([crossing.x]))
    return t, q[0], v[0]


def note(run: "Run", crossing: Crossing, step: Step) -> None:
    """Record an event that changes nothing."""
    t, q, v = state_at(run, crossing, step)
    run.stored.up_to(t, run.now, step)
    run.occurrences.append(Occurrence(t, run.detector.events[crossing.number].name, q, v))
    vdot, tau = run.flow.at(t, q, v)
    run.stored.row(run.now._replace(t=t, q=q, v=v, vdot=vdot, tau=tau))


def interrupt(run: "Run", crossing: Crossing, step: Step) -> None:
    """End the step at an event that ends the run or changes the state or the forces."""
    before = run.now
    run.stored.up_to(before.t + crossing.x * step.h, before, step)
    t, q, v = state_at(run, crossing, step)
    _arrive(run, crossing, step, t, q, v)
    if t > before.t:
        run.store()
        run.accept_step()
    run.repeats = 0 if t - before.t > SAME * np.spacing(abs(t)) else run.repeats + 1
    own = crossing.number < len(run.detector.events)
    names, rate = _own_event(run, crossing.number) if own else (_event_of_joint(run, crossing.number), 0.0)
    run.occurrences += [Occurrence(t, name, q, v) for name in names]
    if run.repeats > REPEATS[not own] + len(run.detector.events):
        raise Failure(_repeats(", ".join(names), own), complete=True)
    if run.status in ("finished", "stopped"):  # after a stop by on_step the run may be resumed
        _go_on(run, crossing.number if own else None, rate)
    elif run.status == "event":  # for resume, which starts from this event and does not meet it again
        run.begin(crossing.number, jump=True)


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


def _arrive(run: "Run", crossing: Crossing, step: Step, t: float, q, v) -> None:
    """Make the state of the event the present one."""
    s, rates = run.now, run.flow.at(t, q, v)
    run.stored.step(s, step, crossing.x, rates[1])
    there, rest = later(s.t, s.late, crossing.x * step.h)
    run.at(t, (there - t) + rest, q, v, rates)


def _own_event(run: "Run", number: int) -> tuple[list[str], float]:
    """Do what an event of the user asks for: its name alone in a list, and the rate of its function before a reset."""
    event, rate, s = run.detector.events[number], 0.0, run.now
    if event.terminal:
        run.end("event", f'event "{event.name}"')
    elif event.reset is not None:
        rate, v = run.detector.rate(number, s.t, s.q, s.v), without_drift(run.flow.stops, s.t, s.q, s.v)
        q, v = run.flow.keeper.start(s.t, *checked_reset(event, s.t, s.q, v, run.flow.stops))
        run.now = s._replace(q=q, v=v)
    return [event.name], rate


def _event_of_joint(run: "Run", number: int) -> list[str]:
    """Let a joint stop, stick or slip, or contact points strike: the names of all that happens, as far as it has some."""
    s, stops = run.now, run.flow.stops
    assert stops is not None
    q, v, names = stops.change(number - len(run.detector.events), s.t, s.q, s.v, run.flow)
    run.now = s._replace(q=q, v=v)
    return names


def _go_on(run: "Run", just: int | None, rate: float) -> None:
    """Continue after the user's event `just`, or, if that is None, after one of a joint at rest."""
    s = run.now
    if just is not None:
        run.restart(just, rate)
    else:
        run.at(s.t, s.late, s.q, s.v, run.flow.at(s.t, s.q, s.v))
        run.begin(jump=True)
    check_motion(run.now.vdot, run.now.q, run.now.v)
    run.store()
