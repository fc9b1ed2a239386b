"""Forward dynamics under constraints: by kernels of embedded loops, or in NumPy by one of three methods. Methods of `Constrained`."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...engine.loading.gufunc import put_into
from ...engine.running.checks import run_into
from ...engine.running.device import on_device
from ...engine.tracing.array import Traced
from ...errors import LinkworkError, ModelError, OptionError, TraceError
from ...lie.scalars import numbers
from ...quantities import forward_dynamics as dynamics
from ...quantities.bound import Bound
from ..solution.arguments import arrays_of, some, where_finite, with_arrays
from ..solution.at_state import AtState
from ..solution.augmented import Solution, augmented
from ..solution.reduced import projected
from .choice_kernels import complete
from .embedded_view import embedded_dynamics

if TYPE_CHECKING:
    from ..constrained import Constrained

METHODS = ("augmented", "projected", "embedded")


def picked(self: "Constrained") -> str:
    """How forward dynamics runs by default: without kernels, large robots and those with joints that move nothing with inertia
    by embedding in plain NumPy, others by correction of the tree's."""
    if self.acceleration_kernels is not None:
        return "embedded kernel" if self.rolled is None else "embedded rolled kernel"
    return "embedded" if self.set.embeddable and (self.robot.rolled or self.set.massless) else "augmented"


def kernels(self: "Constrained"):
    """Forward dynamics as kernels, without wrenches from outside and with them; None where it runs in NumPy."""
    if self.rolled is not None:
        return self.rolled.dynamics
    if not self.compiled:
        return None

    def function(system, *state):
        return (dynamics(system, *state),)

    state = "q", "v", "tau"
    return (
        self.function("constrained_forward_dynamics", function, *state),
        self.function("constrained_forward_dynamics_external", function, *state, "external"),
    )


def forward_dynamics(self: "Constrained", q, v, tau, external=None, *, t=None, method=None, stabilization=None, out=None):
    """v̇ (..., nv) that forces τ make under the constraints; `method` as in `solution`, None for `picked`.

    Where there are kernels (`picked` is "embedded kernel", or "embedded rolled kernel" of long mechanisms) they run by default.
    """
    quick = method is None and stabilization is None and self.acceleration_kernels is not None
    try:
        if quick and type(q) is np.ndarray and q.dtype.char == "d" and q.size:
            return _by_kernels(self, q, v, tau, external, self.time(t), out)
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, LinkworkError) and not isinstance(error, TraceError):
            raise
    arrays = {"q": q, "v": v, "tau": tau, **some(external=external)}
    if method is None and stabilization is None and any(isinstance(x, Traced) or on_device(x) for x in arrays.values()):
        return self.formula(Bound(dynamics, self.robot.lowered, (), tuple(arrays)[3:]))(tuple(arrays.values()), t, out)
    (q, v, tau, *push), kind = arrays_of(self.set, "forward_dynamics", arrays)
    if quick:
        vdot = _by_kernels(self, q, v, tau, push[0] if push else None, self.time(t))
    else:
        run = partial(in_numpy, self, t=t, method=method, stabilization=stabilization)
        vdot = where_finite([q, v, tau, *push], (1, 1, 1, 2), run)
    vdot = vdot.astype(kind, copy=False)
    return run_into(lambda x, out=None: x if out is None else put_into(out, x), (vdot,), out, "forward_dynamics")


def _by_kernels(self: "Constrained", q, v, tau, external, t: float, out=None):
    arrays = (q, v, tau) if external is None else (q, v, tau, external)
    run = self.acceleration_kernels[external is not None]
    if not np.size(q):
        return np.zeros((*np.broadcast_shapes(*(x.shape[: x.ndim - len(i.shape)] for x, i in zip(arrays, run.inputs))), self.nv))
    if out is not None and any(np.may_share_memory(out, x) for x in arrays):  # which are needed to the end
        return put_into(out, _by_kernels(self, q, v, tau, external, t))
    (vdot,), bad = run(*arrays, out=None if out is None else (out,), t=t)
    if bad is not None:
        complete([vdot], bad, run.inputs, arrays, lambda *state: [in_numpy(self, *state, t=t)])
    return vdot


def in_numpy(self: "Constrained", q, v, tau, external=None, *, t=None, method=None, stabilization=None):
    """v̇ without kernels: by correction of the tree's accelerations and singular values, or, where the tree alone has none
    or is large, by embedding."""
    if method is None:
        large = self.set.massless or (self.robot.compiled and self.robot.rolled)
        method = "embedded" if self.set.embeddable and large and stabilization is None else "augmented"
    if method == "embedded" and stabilization is None:  # no multipliers: linear in the number of loops
        return embedded_dynamics(self.loops, q, v, tau, external, self.time(t))
    return self.solution(q, v, tau, external, t=t, method=method, stabilization=stabilization).vdot


@with_arrays(finite=True)
def solution(self: "Constrained", q, v, tau, external=None, *, t=None, method="augmented", stabilization=None) -> Solution:
    """v̇ and multipliers."""
    t = self.time(t)
    if not (isinstance(method, str) and method in METHODS):
        raise ModelError(f'there is no method "{method}"; there are {", ".join(METHODS)}.')
    if stabilization is not None:
        pair = numbers(stabilization)
        if pair.shape != (2,) or not ((pair >= 0) & (pair < np.inf)).all():
            raise OptionError(f"stabilization is {stabilization!r}; it takes a pair (ω, ζ) of numbers, ω in rad/s, none negative.")
    if method == "augmented":
        return augmented(self.set, q, v, tau, external, t, stabilization)
    if stabilization is not None:
        raise ModelError(f'method "{method}" takes no stabilization; "augmented" does.')
    vdot = embedded_dynamics(self.loops, q, v, tau, external, t) if method == "embedded" else projected(self.set, q, v, tau, external, t)
    at = AtState(self.set, q, v, self.set.rows(q, v, t))  # 𝓜 v̇ + 𝓒 − τ = Jc* λ
    lam, _, rank = at.multipliers(at.needed(vdot, external) - tau)
    return Solution(vdot, lam, rank, at.rows.Jc)
