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
from ..errors import OptionError, UnknownNameError, did_you_mean
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


def linearize(robot, q, v, tau, external=None, *, t=None, dt=None, method: str = "rk4", states=None) -> Linearization:
    """A and B at a state."""
    if method not in (*STEPS, "zoh"):
        raise OptionError(f'linearize has no method "{method}"; it takes {", ".join([*STEPS, "zoh"])}.')
    q, v, tau = (x if on_device(x) else np.asarray(x) for x in (q, v, tau))
    push = () if external is None else (external,)
    if robot.constraints is not None:
        return under_constraints(robot, q, v, tau, push, t, dt, method, states)
    if states is not None and list(states) != (whole := named_states(robot, range(robot.nv), range(robot.nv))):
        raise OptionError(f"the states of {robot.model.name}, which nothing binds, are {', '.join(whole)}, in this order.")
    if dt is None or method == "zoh":
        A, B = kernel(robot, continuous, push)(q, v, tau, *push)
        A, B = (A, B) if dt is None else held_over_a_step(A, B, dt)
    else:
        h = np.asarray(dt, v.dtype if v.dtype.kind == "f" else float) if not on_device(q) else dt
        end, _ = kernel(robot, step, push, method)(q, v, tau, h, *push)
        A, B = kernel(robot, linear_step, push, method)(q, v, tau, h, end, *push)
    return named(robot, A, B, range(robot.nv), range(robot.nv), dt)


def under_constraints(robot, q, v, tau, push, t, dt, method: str, states) -> Linearization:
    """A and B in minimal coordinates."""
    if dt is not None and method != "zoh":
        raise OptionError(
            f'{robot.model.name} has loops, couplings or constraints, and a step "{method}" of it goes back to these in a number of rounds '
            'that is not known before. linearize(..., dt=..., method="zoh") is the exponential of the continuous A and B.'
        )
    own, slopes = robot.passive_force(q, v), passive_slopes(robot, q, v)
    found = robot.constraints.linearization(q, v, tau + own, brackets(robot, v), slopes, *push, t=t, which=numbered(robot, states))
    A, B = (found.A, found.B) if dt is None else held_over_a_step(found.A, found.B, dt)
    return named(robot, A, B, found.positions, found.velocities, dt)


def named(robot, A, B, positions, velocities, dt) -> Linearization:
    _, names = entry_names(robot.model)
    return Linearization(A, B, named_states(robot, positions, velocities), [f"tau.{name}" for name in names], dt)


def named_states(robot, positions, velocities) -> list[str]:
    _, names = entry_names(robot.model)
    return [*(f"q.{names[i]}" for i in positions), *(f"v.{names[i]}" for i in velocities)]


def numbered(robot, states):
    """The numbers in v of positions and velocities that are named, or None."""
    if states is None:
        return None
    _, names = entry_names(robot.model)
    known = {f"{x}.{name}": i for x in "qv" for i, name in enumerate(names)}
    for x in states:
        if x not in known:
            raise UnknownNameError(f'{robot.model.name} has no state "{x}".{did_you_mean(x, known)}')
    return tuple(np.array([known[x] for x in states if x[0] == kind], int) for kind in "qv")


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

    def linearization(q, v, tau, external=None):
        by_q, by_v, by_tau = of_tree(robot, q, v, tau, external)
        zero = np.zeros_like(by_tau)
        A = [-brackets(robot, v) + zero, like(np.eye(robot.nv), zero) + zero], [by_q, by_v]
        return stacked(A), stacked([[zero], [by_tau]])

    return linearization


def of_tree(robot, q, v, tau, external=None):
    """∂v̇ by q, v and τ of a tree with the forces that it exerts on itself, over any scalar."""
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau + robot.passive_force(q, v), external)
    pull, damping = passive_slopes(robot, q, v)
    return by_q + by_tau @ pull, by_v + by_tau @ damping, by_tau


def passive_slopes(robot, q, v):
    """∂/∂q and ∂/∂v of the forces that a mechanism exerts on itself."""
    return robot.as_kernel("passive_force").jacobian()(q, v)


def accelerations(robot, q, v, tau, t=None):
    """∂v̇ by q and v with the forces that the mechanism exerts on itself; under constraints along them."""
    if robot.constraints is None:
        return of_tree(robot, q, v, tau)[:2]
    at = robot.constraints.derivatives(q, v, tau + robot.passive_force(q, v), t=t)
    return tuple(x + at.allowed.Y @ own for x, own in zip((at.by_q, at.by_v), passive_slopes(robot, q, v)))


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
