"""Trees of nodes as systems: each node says how it moves, in its own frame. Those of rigid bodies have blocks of six."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..spatial import bar, hat, phi, tilde
from ..sweeps.blocks import BlockRates, Blocks, Rates, at_rest
from ..sweeps.kinematics import velocities
from ..sweeps.neighbours import each
from .system import System


def placements(nodes, q):
    """Pose of each node on its parent: the fixed placement of its joint, then the joint's motion (Jain, Algorithm 3.1)."""
    tree, q = nodes.tree, nodes.split(q)
    X = tree.slots()
    for k in tree.base_to_tips():
        X[k] = nodes.node(k).placement(q)
    return X


class RigidNode:
    """How node k of a rigid tree moves; q, V and v are slots, one value for each node."""

    size = 6

    def __init__(self, nodes, k: int):
        self.nodes, self.k = nodes, k

    def motion(self, q):
        """Its pose where its joint stands."""
        return self.nodes.groups[self.k].matrix(q[self.k])

    def placement(self, q):
        """Its pose on its parent."""
        return self.nodes.fixed[self.k] @ self.motion(q)

    def shift(self, X, q):
        """A(p,k), at the pose X on its parent."""
        return phi(X)

    def joint_map(self, q):
        """H(k)."""
        return self.nodes.H[self.k]

    def inertia(self, q):
        """M(k)."""
        return self.nodes.M[self.k]

    def moment(self, q):
        """[m c; m]."""
        return self.nodes.moment[self.k]

    def coriolis(self, H, q, V, v):
        """a(k) = V~(k) H*(k) v(k), for joint maps constant in their own frame             Jain (5.11) in its own-frame form."""
        return tilde(V[self.k][..., 0]) @ (H.mT @ v[self.k])

    def bias(self, M, q, V):
        """b(k) = V̄(k) M(k) V(k)                                                          Jain (2.28)."""
        return bar(V[self.k][..., 0]) @ (M @ V[self.k])

    def rest(self, M, q):
        """b(k) without velocities."""
        return np.zeros_like(M, shape=(M.shape[-1], 1))

    def rates(self, s: Blocks, q, V, v):
        """Å = 0, H̊ = V~ H*, and N = ½ (V̄ M − M V~ − (M V)^): N V = V̄ M V, the rest is a rate of inertia. Seen in axes that turn with
        the node, φ does not change."""
        M, Vk = s.M[self.k], V[self.k][..., 0]
        h, H  = (M @ V[self.k])[..., 0], tilde(Vk) @ s.H[self.k].mT
        return np.zeros_like(s.A[self.k]), H, 0.5 * (bar(Vk) @ M - M @ tilde(Vk) - hat(h))

    def entry_rates(self, s: Blocks, q, V, v):
        """Rates of the entries of A and H*, and half that of M: φ̇(p,k) = φ(p,k) Δ̄(k), Δ = H* v; H and M stay."""
        A, own = s.A[self.k], (s.H[self.k].mT @ v[self.k])[..., 0]
        return A @ bar(own), np.zeros_like(s.H[self.k].mT), np.zeros_like(s.M[self.k])


class RigidTree(System):
    """A tree as a system, rigid unless its nodes say otherwise. A class that inherits it has the tables of nodes as attributes."""

    H: Any
    M: Any
    joint_inertias: Any
    moment: Any  # [m c; m] of each node, and last of the world
    still: Any
    falling: Any
    split: Any
    wrenches: Any
    is_rigid = True  # do its blocks change as those of a rigid tree?

    def node(self, k: int) -> RigidNode:
        """How node k moves."""
        return RigidNode(self, k)

    def moments(self, q):
        """[m c; m] of each node, and last of the world."""
        return self.moment

    def weights(self, q):
        """The same of what gravity pulls."""
        return self.weighed

    @property
    def weighed(self):
        """[m c; m] of what gravity pulls, node by node: here, of all that there is."""
        return self.moment

    def strain_energy(self, q):
        """Of deformation (...)."""
        return 0.0

    # at a state

    def blocks(self, q) -> Blocks:
        return self.placed_blocks(placements(self, q), q)

    def placed_blocks(self, X, q) -> Blocks:
        """A = φ(p,k) from poses on the parents (Jain, 1.31); H, M and armature are constants of the nodes."""
        return Blocks(self.tree, each(self.tree, phi, X), self.H, self.M, self.joint_inertias, q)

    def rates(self, s: Blocks, v, tau=None, external=None) -> Rates:
        """a and b less wrenches on the bodies, the world accelerating against gravity."""
        q, rate, (a, b) = self.split(s.q), s.tree.split(v), s.tree.slots(2)
        V = velocities(s, rate, self.still)
        for k in s.tree.base_to_tips():
            a[k], b[k] = self.node(k).coriolis(s.H[k], q, V, rate), self.node(k).bias(s.M[k], q, V)
        if external is not None:
            b = each(s.tree, np.subtract, b, self.wrenches(external))
        return Rates(a, b, self.falling, None if tau is None else s.tree.split(tau))

    def rates_at_rest(self, s: Blocks) -> Rates:
        """Those of v = 0."""
        q, b = self.split(s.q), s.tree.slots()
        for k in s.tree.base_to_tips():
            b[k] = self.node(k).rest(s.M[k], q)
        return at_rest(s, self.falling)._replace(b=b)

    def block_rates(self, s: Blocks, v) -> BlockRates:
        """Rates of the blocks in axes that turn with the nodes."""
        return self._each_rate(s, v, lambda k: self.node(k).rates)

    def entry_rates(self, s: Blocks, v) -> BlockRates:
        """Rates of the entries of the blocks, seen in the axes of each node."""
        return self._each_rate(s, v, lambda k: self.node(k).entry_rates)

    def _each_rate(self, s: Blocks, v, of: Callable) -> BlockRates:
        q, rate, (A, H, N) = self.split(s.q), s.tree.split(v), s.tree.slots(3)
        V = velocities(s, rate, self.still)
        for k in s.tree.base_to_tips():
            A[k], H[k], N[k] = of(k)(s, q, V, rate)
        return BlockRates(A, H, N)

    def check_rigid(self, who: str) -> None:
        """Raises if the blocks are not those of a rigid tree, whose rates are known."""

    def whole(self, s: Blocks, r: Rates, vdot):
        return s.tree.join(vdot)

    def response(self, s: Blocks, vdot):
        return s.tree.join_rows(vdot)

    @property
    def kinematic(self):
        return self
