"""Linearization: how small changes of a state and of the forces go on, in continuous time or over one step.

    δẋ = A δx + B δτ,    or over a step  δx' = A δx + B δτ,    x = (δq, δv)

δq is along the group, q ∘ exp δq, from the motion itself: while that goes on with v, δq changes with δv − ad(v) δq.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any

import numpy as np

from ..engine.device import on_device
from ..errors import OptionError
from ..kernels import UserKernel
from ..lie.scalars import like
from ..model.coordinates import entry_names
from ..quantities import difference
from ..quantities.bound import on_scalars
from .equations import STEPS


@dataclass(frozen=True, eq=False)
class Linearization:
    """A (..., n, n) and B (..., n, m), and the names of their rows and columns; `A, B = robot.linearize(...)`.

    states    of each row and column of A: q.<joint> is a change of the configuration along that velocity, v.<joint> one of the velocity
    inputs    of each column of B
    dt        the length of the step; None in continuous time
    """

    A: Any
    B: Any
    states: list[str]
    inputs: list[str]
    dt: float | None = None

    def __iter__(self) -> Iterator:
        return iter((self.A, self.B))

    def __repr__(self) -> str:
        how = "continuous" if self.dt is None else f"dt = {self.dt} s"
        return f"Linearization({how}; states {', '.join(self.states)}; inputs {', '.join(self.inputs)})"


def linearize(robot, q, v, tau, external=None, *, dt=None, method: str = "rk4") -> Linearization:
    """A and B of a tree at a state."""
    if method not in (*STEPS, "zoh"):
        raise OptionError(f'linearize has no method "{method}"; it takes {", ".join([*STEPS, "zoh"])}.')
    q, v, tau = (x if on_device(x) else np.asarray(x) for x in (q, v, tau))
    push = () if external is None else (external,)
    if dt is None or method == "zoh":
        A, B = kernel(robot, continuous, push)(q, v, tau, *push)
        A, B = (A, B) if dt is None else held_over_a_step(A, B, dt)
    else:
        h = np.asarray(dt, v.dtype if v.dtype.kind == "f" else float) if not on_device(q) else dt
        end, _ = kernel(robot, step, push, method)(q, v, tau, h, *push)
        A, B = kernel(robot, linear_step, push, method)(q, v, tau, h, end, *push)
    _, names = entry_names(robot.model)
    return Linearization(A, B, [f"{x}.{name}" for x in "qv" for name in names], [f"tau.{name}" for name in names], dt)


def held_over_a_step(A, B, dt):
    """A and B after dt of a system that does not change with time, its input held: those of exp [A B; 0 0] dt."""
    from scipy.linalg import expm

    n, m = B.shape[-2:]
    whole = np.zeros((*B.shape[:-2], n + m, n + m), B.dtype)
    whole[..., :n, :n], whole[..., :n, n:] = A, B
    whole = expm(whole * np.asarray(dt)[..., None, None]).astype(B.dtype)
    return whole[..., :n, :n], whole[..., :n, n:]


# --- as kernels


def kernel(robot, maker: Callable, push: tuple, *options: str) -> Callable:
    """What a maker below makes for a robot, as a kernel that is kept with it; with an argument `external` if there is a push."""
    key = maker.__name__, bool(push), *options
    if key not in robot.made:
        function = maker(robot, bool(push), *options)
        taken = [x.replace(default=x.empty) for x in signature(function).parameters.values() if x.name != "external" or push]
        function.__signature__ = Signature(taken)
        long = robot.rolled and maker is continuous  # which then runs in NumPy, its parts as loops over the joints
        robot.made[key] = function if long else UserKernel(robot, function, {"h": ()} if options else {})
    return robot.made[key]


def continuous(robot, pushed: bool) -> Callable:
    """(q, v, τ) -> A, B, with the forces that the mechanism exerts on itself."""
    passive = robot.as_kernel("passive_force").jacobian()

    def linearization(q, v, tau, external=None):
        own = robot.passive_force(q, v)
        by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau + own, external)
        pull, damping = passive(q, v)
        zero = np.zeros_like(by_tau)
        A = [-brackets(robot, v) + zero, like(np.eye(robot.nv), zero) + zero], [by_q + by_tau @ pull, by_v + by_tau @ damping]
        return stacked(A), stacked([[zero], [by_tau]])

    return linearization


def step(robot, pushed: bool, method: str) -> Callable:
    """(q, v, τ, h) -> the state after a step."""

    def one_step(q, v, tau, h, external=None):
        return STEPS[method](nodes_like(robot, q), q, v, tau, h, external)

    return one_step


def change(robot, pushed: bool, method: str) -> Callable:
    """(q, v, τ, h, q') -> the state after a step, its configuration counted from q'."""

    def changed_step(q, v, tau, h, q1, external=None):
        nodes = nodes_like(robot, q)
        end, v = STEPS[method](nodes, q, v, tau, h, external)
        return difference(nodes, q1, end), v

    return changed_step


def linear_step(robot, pushed: bool, method: str) -> Callable:
    """(q, v, τ, h, q') -> A, B, q' being the configuration after the step."""
    slopes = kernel(robot, change, (None,) * pushed, method).jacobian(by=("q", "v", "tau"))  # type: ignore[attr-defined]

    def linearization(q, v, tau, h, q1, external=None):
        qq, qv, qt, vq, vv, vt = slopes(q, v, tau, h, q1, *(() if external is None else (external,)))
        return stacked([[qq, qv], [vq, vv]]), stacked([[qt], [vt]])

    return linearization


def nodes_like(robot, some):
    return robot.lowered.system(on_scalars(robot.lowered.joint_space, some))


def brackets(robot, v):
    """ad(v) (..., nv, nv), joint by joint."""
    nodes = robot.lowered.nodes
    parts = nodes.tree.split(v)
    return nodes.tree.matrix({(k, k): nodes.groups[k].ad(parts[k][..., 0]) for k in nodes.tree.base_to_tips()})


def stacked(rows):
    return np.concatenate([np.concatenate(row, -1) for row in rows], -2)
