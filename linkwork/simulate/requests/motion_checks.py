"""What ends a run as failed: accelerations that are not finite, a motion that diverges or leaves the constraints, a bad reset."""

import numpy as np

from ...dynamics import Dynamics
from ...errors import SimulationError
from ...lie.scalars import numbers
from ..methods.step import Failure, Step
from ..rest.stops import Stops
from ..state import State
from .settings import Settings

LARGEST = 1e18  # a state past it, in rad, m, rad/s or m/s, has left: its rounding is larger than 100 of them


def check_motion(vdot, q, v) -> None:
    """Raise Failure if an acceleration is not finite, or the state has left."""
    if not np.isfinite(vdot).all():
        raise Failure("the acceleration is not finite", int(np.argmin(np.isfinite(vdot))))
    if max(np.abs(q).max(initial=0.0), np.abs(v).max(initial=0.0)) > LARGEST:
        raise Failure(
            f"the motion diverges: q is up to {np.abs(q).max():.2g}, v up to {np.abs(v).max():.2g}. A force or a controller drives it "
            "away, or the steps are too long: take a smaller dt, or an adaptive method",
            int(np.argmax(np.abs(v))),
        )


def check_projection(settings: Settings, step: Step, v, vdot, drives) -> None:
    """Raise Failure if the projection on the constraints changes the velocity by more than a small part of the motion: v is the
    velocity after it, vdot the acceleration before the step; `drives` move joints.

    A mechanism at rest has no motion but rounding: a change below atol, or one that moves it by less than the rounding of a
    radian in this step, is none. That of a driven joint is no matter of the configuration: its rate is not what its accelerations make.
    """
    most = 0.5 if settings.fixed else 0.1
    if not is_small(v - step.v, step.v, vdot, step.h, settings.atol, most):
        for drive in drives:
            row = [drive.places[0][1]]
            if not is_small(v[row] - step.v[row], step.v[row], vdot[row], step.h, settings.atol, most):
                raise Failure(
                    f'drive "{drive.name}" changes its rate by {float((v - step.v)[row][0]):.3g} in a step of {step.h:.3g} s, more than '
                    "its acceleration does: its function has a kink, or its rate and acceleration are not its derivatives. Round the "
                    "kink off, as a spline does, or simulate each smooth piece by itself, from the velocity after the kink",
                    complete=True,
                )
        raise Failure(
            "the velocity that satisfies the constraints differs from that of the motion: the configuration is near a singular one, "
            "where several motions are possible (see robot.constraint_report), or the steps are too long. Try other tolerances"
        )


def is_small(change, v, vdot, h, atol, most):
    """Is the change of a velocity v, by which it was put on the constraints, a part of the motion that is at most so large?"""
    none = np.sqrt(len(v)) * (atol + np.spacing(1.0) / h)
    return np.sqrt(change @ change) <= most * (np.sqrt(v @ v) + h * np.sqrt(vdot @ vdot)) + none


def gets_nowhere(s: State) -> Failure:
    """The failure of a run whose steps are too short to get anywhere."""
    assert s.vdot is not None
    return Failure(
        f"no step is short enough: {s.creeping} attempts were shorter than 1e-13 of the time passed, the next would be "
        f"{s.next_step or 0.0:.1g} s (v is up to {np.abs(s.v).max():.2g}, its rate up to {np.abs(s.vdot).max():.2g}). "
        "A force is discontinuous, the configuration is singular, or the motion blows up",
        int(np.argmax(np.abs(s.vdot))),
    )


def too_many_steps(count: int, v, adaptive: bool) -> Failure:
    """The failure of a run that has made as many steps as it may."""
    return Failure(
        f"{count:,} steps are made, the most that max_steps allows (v is up to {np.abs(v).max():.2g}). Give a larger max_steps"
        + (', looser tolerances, or method="stiff" if forces are stiff' if adaptive else ", or longer steps"),
        complete=True,
    )


def checked_reset(event, t: float, q, v, stops: Stops | None):
    """The state after the reset of an event at (t, q, v)."""
    shapes = q.shape, v.shape
    found = event.reset(t, q.copy(), v.copy())
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise Failure(f'the reset of event "{event.name}" returned {found!r:.60}; it must return a pair (q, v)', complete=True)
    q, v = (np.array(numbers(x, f'what the reset of event "{event.name}" returned')) for x in found)
    if (q.shape, v.shape) != shapes or not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise Failure(
            f'the reset of event "{event.name}" returned q of shape {q.shape} and v of shape {v.shape}; '
            f"it must return finite ones of shapes {shapes[0]} and {shapes[1]}"
        )
    if stops is not None:
        try:
            stops.check(q, f'is set by the reset of event "{event.name}" to')
        except SimulationError as error:
            raise Failure(str(error), complete=True) from None
    return q, v


def said_of(failure: Failure, robot: Dynamics, trouble: str) -> str:
    """What went wrong, in which joint, and `trouble`, what else there is to say, unless the failure says all."""
    joint = "" if failure.row is None else f' (joint "{joint_of(robot, failure.row)}")'
    return f"{failure}{joint}{'' if failure.complete else trouble}"


def joint_of(robot: Dynamics, row: int) -> str:
    """The joint, or the part of a joint, that a row of v belongs to."""
    return [name for name in robot.joints if robot.v_index(name).start <= row < robot.v_index(name).stop][-1]
