"""Where places of a mechanism are and how they move: what constraints ask for."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..lie.scalars import like
from ..model import Nodes
from ..spatial import Pose, homogeneous, phi
from ..sweeps.gather_scatter import scatter
from ..sweeps.jacobian import jacobian
from ..sweeps.kinematics import coriolis_accelerations, placements, poses, shifts, velocities


@dataclass(frozen=True, eq=False)
class Place:
    """A frame on a body: pose in the world, Jacobian, velocity and the acceleration it has with v̇ = 0, in its own axes."""

    T: Any  # (..., 4, 4)
    J: Any  # (..., 6, nv)
    V: Any  # (..., 6, 1) or None
    alpha: Any  # (..., 6, 1) or None


@dataclass(frozen=True, eq=False)
class Motion:
    """A state of a mechanism, or a batch of them; without v only where it is."""

    nodes: Nodes
    q: Any
    v: Any = None
    t: Any = 0.0

    @property
    def batch(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.q.shape[:-1], () if self.v is None else self.v.shape[:-1])

    @cached_property
    def _X(self):
        return placements(self.nodes, self.q)

    @cached_property
    def phi(self):
        return shifts(self.nodes.tree, self._X)

    @cached_property
    def _T(self):
        return poses(self.nodes.tree, self._X, like(np.eye(4), self.q))

    @cached_property
    def V(self):
        return velocities(self.nodes.tree, self.phi, self.nodes.H, self.nodes.tree.split(self.v), self.nodes.still)

    @cached_property
    def _alpha(self):
        tree = self.nodes.tree
        a = coriolis_accelerations(tree, self.nodes.H, self.V, tree.split(self.v))
        return scatter(tree, self.phi, a, self.nodes.still)

    def place(self, body: int | None, pose: Pose) -> Place:
        """A frame placed on a body (its number), or on the world (None)."""
        nodes, tree = self.nodes, self.nodes.tree
        k, on = (tree.world, nodes.exactly(pose)) if body is None else nodes.on_node(body, pose)
        shift = phi(on)
        T = self._T[k] @ on
        J = jacobian(tree, self.phi, nodes.H, k, shift) if k != tree.world else np.zeros_like(on, shape=(6, tree.nv))
        if self.v is None:
            return Place(T, J, None, None)
        V = self.V[k] if k != tree.world else nodes.still
        alpha = self._alpha[k] if k != tree.world else nodes.still
        return Place(T, J, shift.mT @ V, shift.mT @ alpha)


def inverse(T):
    """The pose that undoes T."""
    R = T[..., :3, :3].mT
    return homogeneous(R, -(R @ T[..., :3, 3:])[..., 0])
