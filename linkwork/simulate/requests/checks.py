"""Values that the settings of a motion may have."""

from math import inf

import numpy as np

from ...dynamics import Dynamics
from ...errors import SimulationError, deprecated, did_you_mean
from ...lie.scalars import numbers
from ..methods.diagonal import VELOCITIES
from ..rates.held import Keeper
from .options import METHODS
from .settings import FIXED, Settings, is_missing

FINEST = 1e-15  # below it the estimated error of a step is rounding, which shorter steps do not reduce
LEAST_ATOL = 1e-30  # a velocity that starts at zero has no relative error: with less, no first step is short enough
NUMBERS = "dt", "rtol", "atol", "restitution", "every", "first_step", "max_step", "tolerance", "max_steps", "timeout"


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
    if not s.fixed and max(s.rtol, s.atol) < FINEST:
        raise SimulationError(f"rtol is {s.rtol} and atol {s.atol}; errors below {FINEST} are rounding: use rtol={FINEST} or more.")
    if not s.fixed and s.atol < LEAST_ATOL:
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
