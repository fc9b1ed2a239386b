"""How the rows of constraints change: derivatives of what they say of a state, of an acceleration and of multipliers, by tracing."""

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine.derived import Derived
from ..engine.interpreter import called
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..errors import ModelError
from ..lie.scalars import like
from ..quantities import coordinate_rates
from .differences import first
from .kinematics import Kinematics
from .rows import stacked

if TYPE_CHECKING:
    from .set import ConstraintSet


class Slopes(NamedTuple):
    """Derivatives at a state with an acceleration v̇ and multipliers λ, those by q along the group:

        δ(Jc* λ) = pull δq                                                                   (..., nv, nv)
        δ(Jc v − U) = speed_q δq + Jc δv + speed_t δt                                        (..., m, nv), (..., m)
        δ(Jc v̇ + γ) = turn_q δq + turn_v δv + turn_t δt                                      with v̇ as it is
    """

    pull: Any
    speed_q: Any
    turn_q: Any
    turn_v: Any
    speed_t: Any
    turn_t: Any
    pull_t: Any  # (..., nv)


class RowSlopes:
    """The slopes of a set of constraints, as a kernel where they have one, else by the same program in NumPy."""

    def __init__(self, set_: "ConstraintSet"):
        self.set = set_
        for x in set_.constraints:
            if not x.traceable:
                why = f", which {x.why_plain}" if x.why_plain else ""
                raise ModelError(
                    f'derivatives under constraints of {set_.robot.model.name} take those of "{x.name}"{why}. Write its function with '
                    "NumPy, so that it can be traced (np.stack, not np.array), and it has them."
                )

    def __call__(self, q, v, vdot, lam, t: float) -> Slopes:
        set_, arrays = self.set, (q, v, vdot, lam)
        if not set_.drives:
            return Slopes(*self._run(*arrays), *map(np.zeros_like, (lam, lam, v)))
        given = np.array([x.given(t) for x in set_.drives])
        rate = np.array([drive_rate(x, t) for x in set_.drives])
        *found, speed, turn, pull = self._run(*arrays, given)
        by_t = (np.einsum("...ijk,jk->...i", x, rate) for x in (speed, turn, pull))
        return Slopes(*found, *by_t)

    @cached_property
    def _inputs(self) -> tuple[Input, ...]:
        lowered, m = self.set.robot.lowered, len(self.set)
        state = [lowered.input(x, ("nq" if x == "q" else "nv",)) for x in ("q", "v", "vdot")]
        drive = [Input("drive", (len(self.set.drives), 3))] if self.set.drives else []
        return (*state, Input("lam", (m,)), *drive)

    def _said(self, q, v, vdot, lam, *drive):
        """Jc* λ, Jc v − U and Jc v̇ + γ of one sample."""
        set_ = self.set
        nodes = set_.robot.lowered.nodes.mapped(lambda name, index, x: like(x, q))
        drive = set_.by_name(drive)
        motion = Kinematics(nodes, q, v, set_.time(drive), drive)
        rows = stacked([x.rows(motion) for x in set_.constraints], motion)
        return rows.Jc.mT @ lam, rows.Jc @ v - rows.U, rows.Jc @ vdot + rows.gamma

    @cached_property
    def _run(self):
        set_, lowered = self.set, self.set.robot.lowered
        derived = Derived("rows", self._said, self._inputs, {"q": partial(coordinate_rates, lowered.plain())})

        def slopes(*arrays):
            by_q = derived.jacobian((0, 1, 2), (0,), *arrays)
            by_v = derived.jacobian((2,), (1,), *arrays)
            by_drive = derived.jacobian((1, 2, 0), (4,), *arrays) if set_.drives else ()
            return *by_q, by_v, *by_drive

        content = (lowered.digest, set_.content) if set_.is_ours else None
        kernel = Kernel("constraint_slopes", slopes, self._inputs, content)
        return kernel.gufunc("d") if set_.traced else called(kernel.program)


def drive_rate(x, t: float) -> tuple[float, float, float]:
    """The rates of f, ḟ and f̈ of a constraint that moves; the last of them by differences of the one before."""
    _, rate, bend = x.given(t)
    return rate, bend, float(first(lambda s: np.array(x.given(t + s)[2])))
