"""How the rows of constraints change: derivatives of what they say of a state, of an acceleration and of multipliers, by tracing."""

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...engine.differentiation.derived import Derived
from ...engine.loading.interpreter import called
from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...errors import ModelError
from ...lie.scalars import like
from ...quantities import coordinate_rates, qdot

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
        given, rate = self._driven(t)
        *found, speed, turn, pull = self._run(*arrays, given)
        by_t = (np.einsum("...ijk,jk->...i", x, rate) for x in (speed, turn, pull))
        return Slopes(*found, *by_t)

    def pull(self, q, lam, t: float):
        """∂(Jc* λ)/∂q alone (nv, nv) at one configuration: direction by direction, by one program whatever their number."""
        return self._pulled(q, lam, np.eye(self.set.robot.nv), *self.set.driven(t)).T

    def sharing(self, q, y, t: float) -> tuple[Any, Any, Any, Any]:
        """How Jc y and half the squared lengths of the rows change with q (..., m, nv) and with time (..., m): what decides how rows
        that follow from each other share a load. Velocities are measured against their reach."""
        set_ = self.set
        if not set_.drives:
            return *self._shared(q, y), np.zeros((*y.shape[:-1], len(set_))), np.zeros((*y.shape[:-1], len(set_)))
        given, rate = self._driven(t)
        *found, product, length = self._shared(q, y, given)
        return *found, *(np.einsum("...ijk,jk->...i", x, rate) for x in (product, length))

    def _driven(self, t: float):
        """f, ḟ and f̈ of what is driven, and their rates, each (n, 3)."""
        given = np.array([(*x.given(t), x.jerk(t)) for x in self.set.drives])
        return given[:, :3], given[:, 1:]

    def _rows(self, q, v, drive):
        return self.set.stacked(self.set.moved(self.set.robot.lowered.nodes.over(q), q, v, drive))

    def _said(self, q, v, vdot, lam, *drive):
        """Jc* λ, Jc v − U and Jc v̇ + γ of one sample."""
        rows = self._rows(q, v, drive)
        return rows.Jc.mT @ lam, rows.Jc @ v - rows.U, rows.Jc @ vdot + rows.gamma

    def _lengths(self, q, y, *drive):
        """Jc y and ½ |row|² of one sample."""
        Jc = self._rows(q, None, drive).Jc * like(self.set.reach, q)
        return Jc @ y, 0.5 * (Jc * Jc).sum(-1)

    @cached_property
    def _run(self):
        def slopes(derived, *arrays):
            by_q = derived.jacobian((0, 1, 2), (0,), *arrays)
            by_drive = derived.jacobian((1, 2, 0), (4,), *arrays) if self.set.drives else ()
            return *by_q, derived.jacobian((2,), (1,), *arrays), *by_drive

        return self._kernel("constraint_slopes", self._said, slopes, ("q", "v", "vdot", "lam"))

    @cached_property
    def _pulled(self):
        set_, nodes = self.set, self.set.robot.lowered.plain()

        def pulled(q, lam, *drive):
            return self._rows(q, None, drive).Jc.mT @ lam

        def along(q, lam, dq, *drive):
            still = [np.zeros_like(x) for x in (lam, *drive)]
            return Derived("constraint_pull", pulled, (made[0], made[1], *made[3:])).jvp(q, lam, *drive, qdot(nodes, q, dq), *still)

        made = self._inputs(("q", "lam", "dq"))
        kernel = Kernel("constraint_pull", along, made, content=set_)
        return kernel.gufunc("d") if set_.traced else called(kernel.program)

    @cached_property
    def _shared(self):
        def slopes(derived, *arrays):
            by_q = derived.jacobian((0, 1), (0,), *arrays)
            return *by_q, *(derived.jacobian((0, 1), (2,), *arrays) if self.set.drives else ())

        return self._kernel("constraint_sharing", self._lengths, slopes, ("q", "y"))

    def _kernel(self, name: str, said, slopes, inputs):
        set_, lowered = self.set, self.set.robot.lowered
        made = self._inputs(inputs)
        derived = Derived(name, said, made, {"q": partial(coordinate_rates, lowered.plain())})
        kernel = Kernel(name, partial(slopes, derived), made, content=set_)
        return kernel.gufunc("d") if set_.traced else called(kernel.program)

    def _inputs(self, names) -> tuple[Input, ...]:
        set_, lowered = self.set, self.set.robot.lowered
        sizes = {"q": ("nq",), "lam": (len(set_),)}
        return (*(lowered.input(x, sizes.get(x, ("nv",))) for x in names), *set_.inputs)
