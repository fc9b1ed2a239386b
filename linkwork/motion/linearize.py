"""Linearization: how small changes of a state and of the forces go on, in continuous time or over one step.

    δẋ = A δx + B δτ,    or over a step  δx' = A δx + B δτ,    x = (δq, δv)

δq is along the group, q ∘ exp δq, from the motion itself: while that goes on with v, δq changes with δv − ad(v) δq.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import Signature, signature
from typing import Any

import numpy as np

from ..contact import refuse_contacts
from ..engine.running.checks import array_of
from ..engine.running.device import on_device
from ..errors import OptionError, UnknownNameError, did_you_mean
from ..kernels import UserKernel
from ..lie.scalars import like, numbers
from ..model.coordinates import entry_names
from ..quantities import SIZES, ad, difference
from ..systems import Mechanism
from . import equations
from .equations import STEPS
from .runge_kutta import RK4, RungeKutta


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
    if not isinstance(method, str) or method not in (*STEPS, "zoh"):
        raise OptionError(f'linearize has no method "{method}"; it takes {", ".join([*STEPS, "zoh"])}.')
    if dt is not None and not on_device(dt) and (not (numbers(dt) > 0).all() or not np.isfinite(numbers(dt)).all()):
        raise OptionError(f"dt is {dt!r}; it is the length of a step in seconds, a positive number.")
    refuse_contacts(robot.model, "linearize")
    q, v, tau = (x if on_device(x) else np.asarray(array_of(name, x)) for name, x in (("q", q), ("v", v), ("tau", tau)))
    push = () if external is None else (external,)
    if robot.constraints is not None:
        return under_constraints(robot, q, v, tau, push, t, dt, method, states)
    if not any(map(on_device, (q, v, tau, *push))):
        inputs = [robot.lowered.input(name, SIZES[name]) for name in ("q", "v", "tau", "external")[: 3 + len(push)]]
        (q, v, tau, *push), _ = robot.lowered.checked(inputs, (q, v, tau, *push))
    whole = named_states(robot, range(robot.nv), range(robot.nv))
    if states is not None and (not isinstance(states, Iterable) or list(map(str, states)) != whole):
        raise OptionError(f"the states of {robot.model.name}, which nothing binds, are {', '.join(whole)}, in this order.")
    if dt is not None and method == "zoh" and on_device(q):
        raise OptionError('method="zoh" takes NumPy arrays; "rk4" and "euler" run on a GPU, and so does linearize without dt.')
    if dt is None or method == "zoh":
        A, B = runner(robot, continuous, q, push)(q, v, tau, *push)
        A, B = (A, B) if dt is None else held_over_a_step(A, B, dt)
    else:
        h = q[..., 0] * 0 + dt if on_device(q) else np.asarray(dt, v.dtype if v.dtype.kind == "f" else float)
        A, B = runner(robot, LINEAR_STEPS[method], q, push)(q, v, tau, h, *push)
    return named(robot, A, B, range(robot.nv), range(robot.nv), dt)


def under_constraints(robot, q, v, tau, push, t, dt, method: str, states) -> Linearization:
    """A and B in minimal coordinates."""
    if dt is not None and method != "zoh":
        raise OptionError(
            f'{robot.model.name} has loops, couplings or constraints, and a step "{method}" of it goes back to these in a number of rounds '
            'that is not known before. linearize(..., dt=..., method="zoh") is the exponential of the continuous A and B.'
        )
    q, v, tau, *push = robot.constraints.batch("linearize", q, v, tau, *push)
    own, slopes = robot.passive_force(q, v), robot.passive_force_derivatives(q, v)
    found = robot.constraints.linearization(q, v, tau + own, ad(robot.lowered.nodes, v), slopes, *push, t=t, which=numbered(robot, states))
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
    if isinstance(states, str) or not isinstance(states, Iterable):
        raise OptionError(f'states is {states!r}; it takes names of states, such as ["q.joint", "v.joint"].')
    _, names = entry_names(robot.model)
    known = {f"{x}.{name}": i for x in "qv" for i, name in enumerate(names)}
    for x in states:
        if not isinstance(x, str) or x not in known:
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


# --- over any scalar: in NumPy, the parts of it as kernels, and on a GPU as one kernel


def runner(robot, function: Callable, q, push) -> Callable:
    """A function below for one robot: as it is, or as a kernel where arrays are on a GPU."""
    run = partial(function, robot)
    if not on_device(q):
        return run

    def make() -> UserKernel:
        parameters = list(signature(function).parameters.values())[1:]
        taken = [x.replace(default=x.empty) for x in parameters if x.name != "external" or push]
        made = lambda *arrays: run(*arrays)
        made.__name__, made.__signature__ = function.__name__, Signature(taken)  # type: ignore[attr-defined]
        return UserKernel(robot, made, {"h": ()} if any(x.name == "h" for x in taken) else {})

    return robot.made.once(make, function, bool(push))


def continuous(robot, q, v, tau, external=None):
    """A, B, with the forces that the mechanism exerts on itself."""
    by_q, by_v, by_tau = of_tree(robot, q, v, tau, external)
    zero = np.zeros_like(by_tau)
    A = [-ad(robot.lowered.nodes, v) + zero, like(np.eye(robot.nv), zero) + zero], [by_q, by_v]
    return stacked(A), stacked([[zero], [by_tau]])


def linear_euler(robot, q, v, tau, h, external=None):
    """A, B of `euler_step`."""
    matrix = euler_matrix(robot, partial(_stage, robot, tau, external), q, v, h)
    return matrix[..., : 2 * robot.nv], matrix[..., 2 * robot.nv :]


def linear_rk4(robot, q, v, tau, h, external=None):
    """A, B of `rk4_step`."""
    matrix = explicit_matrix(robot, RK4, partial(_stage, robot, tau, external), q, v, h, 3 * robot.nv)[2]
    return matrix[..., : 2 * robot.nv], matrix[..., 2 * robot.nv :]


def _stage(robot, tau, external, c, q, v):
    """v̇ at a stage, and its derivatives by q, v and τ."""
    return robot.forward_dynamics(q, v, tau + robot.passive_force(q, v), external), *of_tree(robot, q, v, tau, external)


LINEAR_STEPS = {"euler": linear_euler, "rk4": linear_rk4}


# --- the derivative of a step, along the group: what it makes of changes (δq, δv, δu), u being constant during the step. `stage` of a
# fraction c, q and v gives v̇ there and its derivatives by q, v and u


def euler_matrix(robot, stage: Callable, q, v, h):
    """The derivative (..., 2 nv, columns) of a semi-implicit Euler step: the chain rule through v̇, from the configuration after it."""
    vdot, by_q, by_v, by_u = stage(0.0, q, v)
    own = kernels(robot)
    qq, qv, qa, vq, vv, va = own["euler slopes"](q, v, vdot, h, own["euler"](q, v, vdot, h)[0])
    return stacked([[qq + qa @ by_q, qv + qa @ by_v, qa @ by_u], [vq + va @ by_q, vv + va @ by_v, va @ by_u]])


def explicit_matrix(robot, method: RungeKutta, stage: Callable, q, v, h, columns: int, seen: Callable = lambda dq, dv: None):
    """ξ and v after a step of an explicit method, and its derivative (..., 2 nv, columns): the chain rule through its stages, of which
    each is `seen`. At ξ the configuration q ∘ exp δq ∘ exp ξ changes by Ad(exp −ξ) δq + S(ξ) δξ."""
    n, batch = robot.nv, np.broadcast_shapes(q.shape[:-1], v.shape[:-1], h.shape)
    changes = np.zeros_like(v, shape=(*batch, 2 * n, columns)) + like(np.eye(2 * n, columns), v)
    dq, v = changes[..., :n, :], np.broadcast_to(v, (*batch, n))
    y = stacked([[0.0 * v[..., None], 0.0 * dq], [v[..., None], changes[..., n:, :]]])  # (ξ, v), and beside it its changes

    def rates(c, y):
        y = y.reshape(*batch, 2 * n, 1 + columns)
        xi, v, dxi, dv = y[..., :n, 0], y[..., n:, 0], y[..., :n, 1:], y[..., n:, 1:]
        S, inverse, back, bend = chart(robot, xi, v)
        moved = back @ dq + S @ dxi
        vdot, by_q, by_v, by_u = stage(c, robot.integrate(q, xi), v)
        seen(moved, dv)
        rate, change = np.matvec(inverse, v)[..., None], by_q @ moved + by_v @ dv
        change[..., 2 * n :] = change[..., 2 * n :] + by_u
        return stacked([[rate, bend @ dxi + inverse @ dv], [vdot[..., None], change]]).reshape(*batch, -1)

    y = y.reshape(*batch, -1)
    y = method.end(rates, rates(method.C[0], y), y, h[..., None]).reshape(*batch, 2 * n, 1 + columns)
    xi, v = y[..., :n, 0], y[..., n:, 0]
    S, _, back, _ = chart(robot, xi, v)
    return xi, v, np.concatenate([back @ dq + S @ y[..., :n, 1:], y[..., n:, 1:]], -2)


def chart(robot, xi, v):
    """S(ξ), S⁻¹(ξ), Ad(exp −ξ) and the derivative of S⁻¹(ξ) v by ξ, each (..., nv, nv)."""
    if robot.lowered.nodes.additive:
        eye = np.zeros_like(xi)[..., None] + like(np.eye(robot.nv), xi)
        return eye, eye, eye, np.zeros_like(eye)
    own = kernels(robot)
    return *own["chart"](xi), own["bend"](xi, v)


def kernels(robot) -> dict[str, Any]:
    """What of a step concerns the groups of the joints alone, as kernels."""
    return robot.made.once(lambda: _kernels(robot))


def _kernels(robot) -> dict[str, Any]:

    def euler(q, v, vdot, h):
        return equations.euler_end(nodes_like(robot, q), q, v, vdot, h)

    def euler_change(q, v, vdot, h, q1):
        end, v = euler(q, v, vdot, h)
        return difference(nodes_like(robot, q), q1, end), v

    def matrices(xi):
        nodes, parts = nodes_like(robot, xi), robot.lowered.nodes.tree.split(xi)
        diagonal = lambda f: nodes.tree.matrix({(k, k): f(nodes.groups[k], x[..., 0]) for k, x in parts.items()})
        inverse = diagonal(lambda group, x: group.dexp_inverse(x, side="right"))
        return diagonal(lambda group, x: group.dexp(x, side="right")), inverse, diagonal(lambda group, x: group.Ad(group.exp(-x)))

    bend = UserKernel(robot, lambda xi, v: equations.local_velocity(nodes_like(robot, xi), xi, v), {"xi": robot.nv}).jacobian(by="xi")
    slopes = UserKernel(robot, euler_change, {"h": ()}).jacobian(by=("q", "v", "vdot"))
    return {
        "euler": UserKernel(robot, euler, {"h": ()}), "euler slopes": slopes,
        "chart": UserKernel(robot, matrices, {"xi": robot.nv}), "bend": bend,
    }  # fmt: skip


def of_tree(robot, q, v, tau, external=None):
    """∂v̇ by q, v and τ of a tree with the forces that it exerts on itself, over any scalar."""
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau + robot.passive_force(q, v), external)
    pull, damping = robot.passive_force_derivatives(q, v)
    return by_q + by_tau @ pull, by_v + by_tau @ damping, by_tau


def accelerations(robot, q, v, tau, t=None):
    """∂v̇ by q, v and τ with the forces that the mechanism exerts on itself; under constraints along them."""
    if robot.constraints is None:
        return of_tree(robot, q, v, tau)
    at = robot.constraints.derivatives(q, v, tau + robot.passive_force(q, v), t=t).slopes
    pull, damping = robot.passive_force_derivatives(q, v)
    return at.by_q + at.allowed.Y @ pull, at.by_v + at.allowed.Y @ damping, at.allowed.Y


def nodes_like(robot, some):
    return Mechanism(robot.lowered, robot.lowered.joint_space).at(some)


def stacked(rows):
    return np.concatenate([np.concatenate(row, -1) for row in rows], -2)
