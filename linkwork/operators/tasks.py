"""A task: places of a mechanism that are to move in some way, seen as a mechanism of its own (Jain, chapter 10)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import LinkworkError, ModelError, OptionError, ShapeError, TraceError
from ..lie.scalars import is_zero, like, rounding
from ..model import Model
from ..spatial import ldl


class RankError(LinkworkError, ValueError):
    """A task asks for directions that are not independent at this configuration."""


@dataclass(frozen=True, eq=False)
class Task:
    """The motion of m directions at a state: α = J v̇ + drift, and Λ α + C_os = f for a force f along them.

    Λ exists only while the directions are independent. Whether they are is decided here from numbers, sample by sample:
    `rank` tells, and what needs Λ refuses with a RankError. A task made with deficient="ignore" takes the
    pseudo-inverse instead: what cannot be moved gets no force, and of an acceleration that is asked for the part that can be reached is
    met exactly, the part orthogonal to it left out. Orthogonal is meant with turns as lengths, at a distance that is the size of the
    mechanism: so no choice of axes changes anything. Inside a kernel Λ is not a number in samples whose directions are dependent.
    """

    names: tuple[str, ...]  # of the places
    J: np.ndarray  # (..., m, nv)
    compliance: np.ndarray  # Λ̲ = J Y J* (..., m, m), Y = 𝓜⁻¹ or under constraints Y_C, what a force does to v̇
    response: np.ndarray  # Y J* (..., nv, m)
    bias: np.ndarray  # 𝓒 of the mechanism (..., nv)
    drift: np.ndarray  # J̇ v (..., m)
    imposed: np.ndarray | float = 0.0  # J v̇ of what constraints make of v alone (..., m)
    lengths: np.ndarray | float = 1.0  # that directions are measured at (m,): the size of the mechanism for turns, 1 for others
    deficient: str = "refuse"  # or "ignore"
    tolerance: float = 1e-12  # least eigenvalue of Λ̲, scaled to ones on its diagonal, that counts as not zero

    def __post_init__(self):
        if self.deficient not in ("refuse", "ignore"):
            raise OptionError(f'deficient is "{self.deficient}"; it may be "refuse" or "ignore".')

    @cached_property
    def _modes(self):
        """(scale, eigenvalues, eigenvectors): Λ̲ = s Q diag(λ) Q* s with s² the diagonal."""
        diagonal = np.diagonal(self.compliance, axis1=-2, axis2=-1)
        return self._scaled(np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))

    @property
    def _is_traced(self) -> bool:
        """Is it made inside a kernel, where values decide nothing?"""
        return not isinstance(self.compliance, np.ndarray)

    def _scaled(self, scale):
        return scale, *np.linalg.eigh(self.compliance / scale[..., :, None] / scale[..., None, :])

    @property
    def rank(self):
        """How many directions are independent (...)."""
        if self._is_traced:
            raise TraceError("the rank of a task is found from numbers, not inside a kernel; there its inertia is NaN below full rank.")
        least = 10 * self.compliance.shape[-1] * np.finfo(self.compliance.dtype).eps
        return (self._modes[1] > max(self.tolerance, least)).sum(-1)

    @cached_property
    def inertia(self):
        """Λ = (J Y J*)⁻¹ (..., m, m)."""
        if self._is_traced:
            return self._traced_inertia()
        m = self.compliance.shape[-1]
        poor = np.argwhere(self.rank < m)
        if len(poor) and self.deficient == "refuse":
            at, where = tuple(int(i) for i in poor[0]), ""
            if at:
                where = f" (first at sample {at}, {len(poor)} of {self.rank.size} samples)"
            raise RankError(
                f"the task of {', '.join(self.names)} has {m} directions, but only {int(self.rank[at])} of them are "
                f"independent here{where}. Ask for fewer directions, move off the singular configuration, "
                'or make the task with deficient="ignore".'
            )
        whole = (self.rank == m)[..., None]
        lengths = np.broadcast_to(1 / np.asarray(self.lengths, self.compliance.dtype), self.compliance.shape[:-1])
        scale, values, vectors = self._scaled(np.where(whole, self._modes[0], lengths))
        counts = np.arange(m) >= m - self.rank[..., None]  # eigenvalues ascend
        left = vectors / scale[..., :, None] * np.where(counts, 1 / np.where(counts, values, 1.0), 0.0)[..., None, :]
        return left @ (vectors / scale[..., :, None]).mT

    def _traced_inertia(self):
        """Λ inside a kernel. The norm of an inverse bounds its largest eigenvalue, so it tells whether the rank is full."""
        if self.deficient == "ignore":
            raise TraceError(
                'a task with deficient="ignore" needs eigenvalues, which kernels have not: without it, Λ is NaN where directions '
                "are dependent; or make the task outside of the kernel."
            )
        m = self.compliance.shape[-1]
        diagonal = np.diagonal(self.compliance, axis1=-2, axis2=-1)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        L, d = ldl.factor(self.compliance / scale[..., :, None] / scale[..., None, :], judged=self._independent)
        inverse = ldl.substituted(L, d, like(np.eye(m), self.compliance))
        least = np.maximum(self.tolerance, 10 * m * rounding(diagonal))
        whole = np.sqrt(np.sum(inverse * inverse, axis=(-2, -1))) * least < 1.0
        return inverse / scale[..., :, None] / scale[..., None, :] * np.where(whole, 1.0, np.nan)[..., None, None]

    def _independent(self, pivot, diagonal):
        if is_zero(pivot):
            raise RankError(
                f"the directions of the task of {', '.join(self.names)} are dependent in every configuration: ask for fewer of them, "
                "such as a point in place of a body."
            )
        return pivot

    @cached_property
    def consistent_inverse(self):
        """J̄ = Y J* Λ (..., nv, m): of all v̇ with J v̇ = α, J̄ α is the one of least 𝓜-norm."""
        return self.response @ self.inertia

    @cached_property
    def null_space(self):
        """N = I − J̄ J (..., nv, nv): what is left of a motion; N* τ is a force that does not move the task."""
        return np.eye(self.J.shape[-1]) - self.consistent_inverse @ self.J

    def _fitting(self, x, name: str):
        """The acceleration of the task, or a force of the joints, if its last axis fits; a force may be one number."""
        x = x if hasattr(x, "shape") else np.asarray(x, float)
        size, of = (self.J.shape[-2], "directions") if name == "the acceleration" else (self.J.shape[-1], "velocities")
        if x.shape[-1:] != (size,) and (x.shape or of == "directions"):
            raise ShapeError(f"{name} of the task of {', '.join(self.names)} has shape {x.shape}; there are {size} {of}: (..., {size}).")
        return x

    def acceleration(self, tau):
        """α = J v̇ + drift (..., m), J v̇ = J Y (τ − 𝓒) + imposed: rates of the velocities of the places, component-wise in the axes of
        the task."""
        return np.matvec(self.response.mT, self._fitting(tau, "tau") - self.bias) + self.imposed + self.drift

    def task_bias(self, tau=0.0):
        """C_os = −Λ α(τ) (..., m): the force that keeps the task from accelerating            Jain (10.8), (10.42)."""
        return -np.matvec(self.inertia, self.acceleration(np.zeros_like(self.bias) + self._fitting(tau, "tau")))

    def force(self, acceleration):
        """f = Λ u + C_os (..., m): what to exert along the task to have the acceleration u         Jain (10.9)."""
        return np.matvec(self.inertia, self._fitting(acceleration, "the acceleration")) + self.task_bias()

    def control(self, acceleration, posture=0.0):
        """τ = J* (Λ u + C_os) + N* posture (..., nv): the task accelerates with u, what is left follows the posture."""
        left = np.matvec(self.null_space.mT, np.zeros_like(self.bias) + self._fitting(posture, "the posture"))
        return np.matvec(self.J.mT, self.force(acceleration)) + left


@dataclass(frozen=True, eq=False)
class RobotState:
    """A robot (a Dynamics, or a Model) and the state that operators are taken at; t where constraints move in time."""

    robot: Any
    q: Any
    v: Any
    t: Any

    @property
    def model(self) -> Model:
        return self.robot if isinstance(self.robot, Model) else self.robot.model

    @property
    def constraints(self):
        """Of the robot; None where there are none."""
        if not isinstance(self.robot, Model):
            return self.robot.constraints
        model = self.model
        if any(x.active for x in model.loops) or any(x.active for x in model.couplings) or model.constraints:
            raise ModelError(
                f"{self.model.name} has loops, couplings or constraints, which a task must keep: use lw.Dynamics(model).operators(q)."
            )
        return None


def task(op, *places, deficient="refuse", axes="body") -> Task:
    """The task of places of a model whose operators `op` are, at their state:

        Λ̲ = J Y J*,   α = J Y (τ − 𝓒) + imposed + drift       Y = 𝓜⁻¹, under constraints Y_C = ∂v̇/∂τ   Jain, chapters 10, 11
    """
    if axes not in ("body", "world"):
        raise OptionError(f'axes is "{axes}"; it may be "body" or "world".')
    if not places:
        raise OptionError('a task takes the places that are to move: op.task("hand"), op.task(("hand", (0, 0, 0.1))).')
    found = [op.find(place) for place in places]
    J = op.jacobian(*places).dense()
    drift = (op.B(*places).T @ (op.phi.T @ op.a[..., None]))[..., 0]
    constraints = None if op.state is None else op.state.constraints
    compliance, response = op.sko.compliance(*found), op.sko.joint_compliance(*found)
    if axes == "world":
        turn, rate = _to_world(op, found)
        J, drift, compliance, response = turn @ J, np.matvec(turn, drift) + rate, turn @ compliance @ turn.mT, response @ turn.mT
    imposed = np.zeros_like(drift)
    if constraints is not None and isinstance(J, np.ndarray):
        compliance, response, imposed = _constrained(op, constraints, J)
    elif constraints is not None:
        compliance, response, imposed = _constrained_in_a_kernel(op, places, axes, drift)
    names = tuple(place if isinstance(place, str) else f"a place on {place[0]}" for place in places)
    return Task(names, J, compliance, response, op.sko.bias, drift, imposed, _lengths(op, found), deficient)


def _lengths(op, found):
    """Where turns count as lengths (m,): at the size of the mechanism; operators of a bare SKO model know of no such size."""
    size = 1.0 if op.state is None else op.state.model.size
    each = [np.repeat((size, 1.0), (n - 3, 3)) if n in (3, 6) else np.ones(n) for n in (B.shape[-1] for _, B in found)]
    return np.concatenate(each)


def _constrained(op, constraints, J):
    """J Y_C J*, Y_C J*, and J (v̇ + Y_C 𝓒) of no forces: what of the acceleration does not come from τ − 𝓒."""
    q, v, t = op.state.q, op.state.v, op.state.t
    still = np.zeros(op.sko.nv)
    vdot = constraints.forward_dynamics(q, still if v is None else v, still, t=t)
    root = constraints.compliance_root(q, t)
    moved = J @ root
    response = (root @ moved.mT).astype(J.dtype, copy=False)
    more = np.matvec(J, vdot) + np.matvec(response.mT, op.sko.bias)
    return (moved @ moved.mT).astype(J.dtype, copy=False), response, more.astype(J.dtype, copy=False)


def _constrained_in_a_kernel(op, places, axes, drift):
    """The three results of `_constrained` at a traced state, from quantities of the robot."""
    still = np.zeros_like(op.sko.bias)
    rows = [(*((place, None) if isinstance(place, str) else place), axes) for place in places]
    ask = lambda what, *state: op.state.robot.ask((what, *rows), op.state.q, *state)
    response = ask("joint_response")
    moving = ask("task_acceleration", still if op.state.v is None else op.state.v, still)
    return ask("task_compliance"), response, moving - drift + np.matvec(response.mT, op.sko.bias)


def _to_world(op, found):
    """The directions of places in world axes from those in their own (..., m, m), and [0; ω × u], the rate that those have because
    their own axes turn (..., m)."""
    if op.state is None:
        raise ModelError("operators of a bare SKO model know of no world axes: turn the directions of the places.")
    v = np.zeros(op.sko.nv) if op.state.v is None else op.state.v
    V, outward = op.sko.velocities(v), lambda j, F: op.sko.A[j] @ F
    turns, rates = [], []
    for k, B in found:
        W = op.tree.carried(k, B, via=outward)  # phi from the place to the world: a rotation in its last rows
        R = W[..., 3:, -3:]
        node = op.tree.carried(k, like(np.eye(6), B), via=outward)[..., :3, :3]
        u = np.matvec(R, (B.mT @ V[k])[..., -3:, 0])
        omega = np.matvec(node, V[k][..., :3, 0])
        turns += [R] * (B.shape[-1] // 3)
        rates += [np.zeros_like(u)] * (B.shape[-1] // 3 - 1) + [np.cross(omega, u)]
    batch = np.broadcast_shapes(*(R.shape[:-2] for R in turns), *(x.shape[:-1] for x in rates))
    turn = np.zeros_like(turns[0], shape=(*batch, 3 * len(turns), 3 * len(turns)))
    for i, R in enumerate(turns):
        turn[..., 3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = R
    return turn, np.concatenate([np.broadcast_to(x, (*batch, 3)) for x in rates], -1)
