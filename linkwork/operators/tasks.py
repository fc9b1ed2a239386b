"""A task: places of a mechanism that are to move in some way, seen as a mechanism of its own (Jain, chapter 10)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import LinkworkError, OptionError


class RankError(LinkworkError, ValueError):
    """A task asks for directions that are not independent at this configuration."""


@dataclass(frozen=True, eq=False)
class Task:
    """The motion of m directions at a state: α = J v̇ + drift, and Λ α + C_os = f for a force f along them.

    Λ exists only while the directions are independent. Whether they are is decided here from numbers, sample by sample:
    `rank` tells, and what needs Λ refuses with a RankError. A task made with deficient="ignore" takes the
    pseudo-inverse instead, directions scaled to equal compliance: what cannot be moved gets no force.
    """

    names: tuple[str, ...]  # of the places
    J: np.ndarray  # (..., m, nv)
    compliance: np.ndarray  # Λ̲ = J 𝓜⁻¹ J* (..., m, m)
    response: np.ndarray  # 𝓜⁻¹ J* (..., nv, m)
    bias: np.ndarray  # 𝓒 of the mechanism (..., nv)
    drift: np.ndarray  # J̇ v (..., m)
    deficient: str = "refuse"  # or "ignore"
    tolerance: float = 1e-12  # least eigenvalue of Λ̲, scaled to ones on its diagonal, that counts as not zero

    def __post_init__(self):
        if self.deficient not in ("refuse", "ignore"):
            raise OptionError(f'deficient is "{self.deficient}"; it may be "refuse" or "ignore".')

    @cached_property
    def _modes(self):
        """(scale, eigenvalues, eigenvectors, which count): Λ̲ = s Q diag(λ) Q* s with s² the diagonal."""
        diagonal = np.diagonal(self.compliance, axis1=-2, axis2=-1)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        values, vectors = np.linalg.eigh(self.compliance / scale[..., :, None] / scale[..., None, :])
        return scale, values, vectors, values > self.tolerance

    @property
    def rank(self):
        """How many directions are independent (...)."""
        return self._modes[3].sum(-1)

    @cached_property
    def inertia(self):
        """Λ = (J 𝓜⁻¹ J*)⁻¹ (..., m, m)."""
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
        scale, values, vectors, counts = self._modes
        left = vectors / scale[..., :, None] * np.where(counts, 1 / np.where(counts, values, 1.0), 0.0)[..., None, :]
        return left @ (vectors / scale[..., :, None]).mT

    @cached_property
    def consistent_inverse(self):
        """J̄ = 𝓜⁻¹ J* Λ (..., nv, m): of all v̇ with J v̇ = α, J̄ α is the one of least 𝓜-norm."""
        return self.response @ self.inertia

    @cached_property
    def null_space(self):
        """N = I − J̄ J (..., nv, nv): what is left of a motion; N* τ is a force that does not move the task."""
        return np.eye(self.J.shape[-1]) - self.consistent_inverse @ self.J

    def acceleration(self, tau):
        """α = J 𝓜⁻¹ (τ − 𝓒) + drift (..., m): of the places, component-wise in their own axes."""
        return np.matvec(self.response.mT, tau - self.bias) + self.drift

    def task_bias(self, tau=0.0):
        """C_os = −Λ α(τ) (..., m): the force that keeps the task from accelerating            Jain (10.8), (10.42)."""
        return -np.matvec(self.inertia, self.acceleration(np.zeros_like(self.bias) + tau))

    def force(self, acceleration):
        """f = Λ u + C_os (..., m): what to exert along the task to have the acceleration u         Jain (10.9)."""
        return np.matvec(self.inertia, acceleration) + self.task_bias()

    def control(self, acceleration, posture=0.0):
        """τ = J* (Λ u + C_os) + N* posture (..., nv): the task accelerates with u, what is left follows the posture."""
        left = np.matvec(self.null_space.mT, np.zeros_like(self.bias) + posture)
        return np.matvec(self.J.mT, self.force(acceleration)) + left


def task(op, *places, deficient="refuse") -> Task:
    """The task of places of a model whose operators `op` are, at their state."""
    found = [op.find(place) for place in places]
    J = op.jacobian(*places)
    dense = J.dense()
    drift = op.B(*places).T @ (op.phi.T @ op.a[..., None])
    names = tuple(place if isinstance(place, str) else f"a place on {place[0]}" for place in places)
    compliance, response = op.sko.compliance(*found), op.sko.joint_compliance(*found)
    return Task(names, dense, compliance, response, op.sko.bias, drift[..., 0], deficient)
