"""Flexible bodies: nodes for modal coordinates, and for the frames that they move (Jain, chapter 13).

A flexible body is a few nodes: that of its joint, which carries the frame O of the body and is rigid; one of height n + 6 on it, with
the modal coordinates η and all mass of the body; and one of height 6 without velocities for each frame c on the body.

    modes     X = [η̇; V],   A(O, body) = [0, S],     H = [I, −Λ_O* S],   S = φ⁻¹(body, O)
              a = [0; −S* (V_O~ Λ_O η̇ + Λ̇_O η̇)],    M and b of the body                            (13.25) to (13.50)
    frame     A(body, c) = [Λ_c*; φ(body, c)],       a = V_c~ Λ_c η̇ + Λ̇_c η̇

The articulated sweep then eliminates the modes before the joint: the two-stage form (13.64) to (13.69). Other bodies stand on frames,
of height 6, as on any rigid body.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..flexible import Attachment, Deformation
from ..lie.scalars import like
from ..model.tree import concatenated
from ..spatial import bar, phi, phi_inverse, tilde
from ..sweeps.blocks import Blocks
from .nodes import Nodes
from .rigid import RigidNode


class ModesNode(RigidNode):
    """A node of modal coordinates."""

    def __init__(self, nodes, k: int, deformation: Deformation):
        super().__init__(nodes, k)
        self.body, self.root, self.n, self.size = deformation.body, deformation.attachment, deformation.nv, deformation.nv + 6

    def shift(self, X, q):
        S = phi(X)
        return np.concatenate([np.zeros_like(S, shape=(*S.shape[:-1], self.n)), S], -1)

    def joint_map(self, q):
        lower = -self._outward(q).mT
        eye = np.zeros_like(lower, shape=(*lower.shape[:-1], self.n)) + like(np.eye(self.n), lower)
        return np.concatenate([eye, lower], -1)

    def _outward(self, q):
        """S* Λ_O."""
        return phi_inverse(self.root.place(q[self.k])).mT @ self.root.map(q[self.k])

    def _outward_rate(self, q, V, v, x):
        """S* (V_O~ Λ_O + Λ̇_O) x of columns x, V_O the velocity of the frame on the joint: S* V_O = V + S* Λ_O η̇."""
        eta, rate = q[self.k], v[self.k]
        S, outward = phi_inverse(self.root.place(eta)).mT, self._outward(q)
        moved = V[self.k][..., self.n :, :] + outward @ rate
        return tilde(moved[..., 0]) @ (outward @ x) + S @ self.root.map_rate(eta, rate, x)

    def inertia(self, q):
        return self.body.inertia(q[self.k])

    def coriolis(self, H, q, V, v):
        return below(self.n, -self._outward_rate(q, V, v, v[self.k]))

    def bias(self, M, q, V):
        return self.body.bias(q[self.k], V[self.k])

    def rest(self, M, q):
        """[K η; 0]: elasticity does not rest."""
        return above(self.body.elastic(q[self.k]), 6)

    def moment(self, q):
        return self.body.moment(q[self.k])

    def rates(self, s: Blocks, q, V, v):
        M, turn = s.M[self.k], tilde(V[self.k][..., self.n :, 0])
        N = self.body.gyroscopic(q[self.k], V[self.k]) - beside(self.n, M[..., self.n :] @ turn)
        eye = like(np.eye(self.n), M)
        return np.zeros_like(s.A[self.k]), below(self.n, -self._outward_rate(q, V, v, eye)), N

    def entry_rates(self, s: Blocks, q, V, v):
        eta, rate = q[self.k], v[self.k]
        outward = self._outward(q)
        own = -outward @ rate  # of the body's own frame, as seen from the joint
        A = beside(self.n, phi(self.placement(q)) @ bar(own[..., 0]))
        turned = phi_inverse(self.root.place(eta)).mT @ self.root.map_rate(eta, rate, like(np.eye(self.n), eta))
        H = tilde(own[..., 0]) @ outward - turned
        N = self.body.gyroscopic(eta, V[self.k])
        return A, below(self.n, H), (N + N.mT) / 2


class FrameNode(RigidNode):
    """A node of a frame on a flexible body."""

    def __init__(self, nodes, k: int, frame: Attachment):
        super().__init__(nodes, k)
        self.frame, self.on, self.n = frame, nodes.tree.parent[k], frame.linear.shape[1]

    def motion(self, q):
        return self.frame.place(q[self.on])

    def shift(self, X, q):
        return np.concatenate([self.frame.map(q[self.on]).mT, phi(X)], -2)

    def _map_rate(self, q, V, x):
        """(V_c~ Λ_c + Λ̇_c) x of columns x."""
        return tilde(V[self.k][..., 0]) @ (self.frame.map(q[self.on]) @ x) + self._own_rate(q, V, x)

    def _own_rate(self, q, V, x):
        """Λ̇_c x of columns x."""
        return self.frame.map_rate(q[self.on], V[self.on][..., : self.n, :], x)

    def coriolis(self, H, q, V, v):
        return self._map_rate(q, V, V[self.on][..., : self.n, :])

    def rates(self, s: Blocks, q, V, v):
        _, H, N = super().rates(s, q, V, v)
        return above(self._map_rate(q, V, like(np.eye(self.n), V[self.k])).mT, 6), H, N

    def entry_rates(self, s: Blocks, q, V, v):
        own = self.frame.map(q[self.on]) @ V[self.on][..., : self.n, :]
        upper = self._own_rate(q, V, like(np.eye(self.n), own)).mT
        lower = phi(self.placement(q)) @ bar(own[..., 0])
        return concatenated([upper, lower], -2), np.zeros_like(s.H[self.k].mT), np.zeros_like(s.M[self.k])


def below(n: int, x):
    """[0; x], n rows of zeros."""
    return np.concatenate([np.zeros_like(x, shape=(*x.shape[:-2], n, x.shape[-1])), x], -2)


def above(x, n: int):
    """[x; 0], n rows of zeros."""
    return np.concatenate([x, np.zeros_like(x, shape=(*x.shape[:-2], n, x.shape[-1]))], -2)


def beside(n: int, x):
    """[0, x], n columns of zeros."""
    return np.concatenate([np.zeros_like(x, shape=(*x.shape[:-1], n)), x], -1)


@dataclass(frozen=True)
class FlexibleNodes(Nodes):
    """Nodes some of which deform."""

    deformations: tuple[Any, ...] = ()  # per node: Deformation, Attachment or None

    is_rigid = False

    def node(self, k: int) -> RigidNode:
        """How node k moves."""
        x = self.deformations[k]
        if x is None:
            return RigidNode(self, k)
        return FrameNode(self, k, x) if isinstance(x, Attachment) else ModesNode(self, k, x)

    def placed_blocks(self, X, q) -> Blocks:
        at, q, (A, H, M) = q, self.split(q), self.tree.slots(3)
        for k in self.tree.base_to_tips():
            node = self.node(k)
            A[k], H[k], M[k] = node.shift(X[k], q), node.joint_map(q), node.inertia(q)
        return Blocks(self.tree, A, H, M, self.joint_inertias, at)

    def moments(self, q):
        q = self.split(q)
        return [*(self.node(k).moment(q) for k in self.tree.base_to_tips()), self.moment[-1]]

    def weights(self, q):
        return self.moments(q)

    def strain_energy(self, q):
        q = self.split(q)
        return sum(x.body.strain_energy(q[k]) for k, x in enumerate(self.deformations) if isinstance(x, Deformation))

    def at_rest(self):
        return {k: like(np.zeros((self.node(k).size, 1)), self.gravity) for k in self.tree.base_to_tips()}

    def with_coordinates(self, nodes):
        return nodes | {self.tree.parent[k] for k in nodes if isinstance(self.deformations[k], Attachment)}

    def renumbered(self, old):
        return {"deformations": tuple(None if k is None else self.deformations[k] for k in old)}

    def digest(self) -> str:
        own = [None if x is None else x.name if isinstance(x, Deformation) else x.content for x in self.deformations]
        return hashlib.sha256((super().digest() + repr(own)).encode()).hexdigest()

    def regrouped(self):
        return self

    def check_rigid(self, who: str):
        raise ModelError(
            f"{who} is written for rigid trees here, and this mechanism has flexible bodies. robot.derivative(name, ..., by=...) "
            "differentiates programs, also where constants vary; robot.forward_dynamics, robot.mass_matrix and robot.task_inertia "
            "know flexible bodies."
        )
