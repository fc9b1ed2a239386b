"""A joint that is driven: it follows a function of time."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...engine.differentiation.derivatives import along, rate
from ...errors import LinkworkError, ModelError, TraceError
from ...lie.scalars import like
from ...model import Driven
from .coordinate_rows import CoordinateRows
from .differences import with_rates
from .kinematics import Kinematics


@dataclass(frozen=True, eq=False)
class DrivenRows(CoordinateRows):
    """A joint follows a function of time:  c = q − f(t),   U = ḟ,   γ = −f̈.

    Derivatives that are not given come from its trace, or, of a function that only gives numbers, from differences of sixth order.
    """

    moves = True

    @staticmethod
    def of(x: Driven, robot) -> "DrivenRows":
        return DrivenRows.over(x, robot, x.joint)

    @property
    def labels(self):
        return (f"{self.bond.joint} driven",)

    def given(self, t) -> tuple[float, float, float]:
        """f, ḟ and f̈."""
        x = self.bond
        try:
            value, *more = self._rates[0](t) if x.rate is None else (x.function(t), *self._rates[1](t))
            bend = more[1] if x.acceleration is None else x.acceleration(t)
            value, speed, bend = (float(np.asarray(y, float).reshape(())) for y in (value, more[0], bend))
        except LinkworkError:
            raise
        except (TypeError, ValueError) as error:
            raise ModelError(f'drive "{self.name}" gives no single number at t = {t}, or its rate or acceleration: {error}.') from error
        return value, speed, bend

    def traced_given(self, t):
        """The same (3,) at a time that is traced."""
        x, one = self.bond, lambda f: t.like(f(t)).reshape(())
        try:
            value = one(x.function)
            speed = rate(value, along(t, 1.0)) if x.rate is None else one(x.rate)
            bend = rate(speed, along(t, 1.0)) if x.acceleration is None else one(x.acceleration)
        except Exception as error:  # whatever it does with what is no number
            raise TraceError(
                f'drive "{self.name}" is a function that cannot be traced ({type(error).__name__}: {error}), so the time in this kernel '
                "may not be one of its arguments: write it with NumPy, or give t a number."
            ) from error
        return np.stack([value, speed, bend])

    def jerk(self, t) -> float:
        order = 2 if self.bond.acceleration is not None else 1 if self.bond.rate is not None else 0
        return float(self._rates[order](t)[3 - order])

    @cached_property
    def _rates(self) -> tuple:
        """The function, its rate and its acceleration, as far as they are given, each with its own rates up to the third of the drive."""
        x = self.bond
        return tuple(f and with_rates(f, 3 - n) for n, f in enumerate((x.function, x.rate, x.acceleration)))

    def relation(self, motion: Kinematics):
        ((i, _),), q = self.places, motion.q
        f = like(np.array(self.given(motion.t)), q) if motion.drive is None else motion.drive[self.name]
        zero = np.zeros_like(q[..., :1])
        return q[..., i] - f[..., 0], (1.0,), zero + f[..., 1:2], None if motion.v is None else zero - f[..., 2:]
