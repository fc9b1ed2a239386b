"""Rigid trees: blocks of six, rates taken in each node's own frame."""

from copy import copy

import numpy as np

from ..spatial import bar, phi, tilde
from ..sweeps.blocks import BlockRates, Blocks, Rates, at_rest
from ..sweeps.kinematics import coriolis_accelerations, gyroscopic_forces, gyroscopic_matrices, velocities, without
from .system import System


def placements(nodes, q):
    """Pose of each node on its parent: the fixed placement of its joint, then the joint's motion (Jain, Algorithm 3.1)."""
    tree, q = nodes.tree, nodes.split(q)
    X = tree.slots()
    for k in tree.base_to_tips():
        X[k] = nodes.fixed[k] @ nodes.motion(k, q)
    return X


def shifts(tree, X):
    """φ(p,k) of every node (Jain, 1.31)."""
    shift = tree.slots()
    for k in tree.base_to_tips():
        shift[k] = phi(X[k])
    return shift


def placed_blocks(nodes, X) -> Blocks:
    """A = φ(p,k) from poses on the parents; H, M and armature are constants of the nodes."""
    return Blocks(nodes.tree, shifts(nodes.tree, X), nodes.H, nodes.M, nodes.joint_inertias)


def rates(nodes, s: Blocks, v, tau=None, external=None) -> Rates:
    """a = V~ H* v, b = V̄ M V less wrenches on the bodies, the world accelerating against gravity (Jain, 5.11, 2.28)."""
    rate = s.tree.split(v)
    V = velocities(s, rate, nodes.still)
    a, b = coriolis_accelerations(s, V, rate), gyroscopic_forces(s, V)
    if external is not None:
        b = without(s.tree, b, nodes.wrenches(external))
    return Rates(a, b, nodes.falling, None if tau is None else s.tree.split(tau))


def rates_at_rest(nodes, s: Blocks) -> Rates:
    """Those of v = 0: gravity alone."""
    return at_rest(s, nodes.falling)


def block_rates(nodes, s: Blocks, v) -> BlockRates:
    """H̊ = V~ H*, N = ½ (V̄ M − M V~ − (M V)^); seen in axes that turn with the nodes, φ does not change."""
    V = velocities(s, s.tree.split(v), nodes.still)
    H, N = gyroscopic_matrices(s, V)
    return BlockRates(s.tree.constant(nodes.still @ nodes.still.mT), H, N)


def entry_rates(nodes, s: Blocks, v) -> BlockRates:
    """Rates of the entries of the blocks, seen in the axes of each node: φ̇(p,k) = φ(p,k) Δ̄(k), Δ = H* v; H and M stay."""
    rate = s.tree.split(v)
    A, H, N = s.tree.slots(3)
    for k in s.tree.base_to_tips():
        A[k] = s.A[k] @ bar((s.H[k].mT @ rate[k])[..., 0])
        H[k], N[k] = np.zeros_like(s.H[k].mT), np.zeros_like(s.M[k])
    return BlockRates(A, H, N)


class RigidTree(System):
    """A rigid tree as a system. A class that inherits it has the tables of nodes as attributes."""

    # where a node is and how it moves; q, V and v are slots, one value for each node

    def motion(self, k: int, q):
        """The pose of node k where its joint stands."""
        return self.groups[k].matrix(q[k])  # type: ignore[attr-defined]

    def shift(self, k: int, X, q):
        """A(p,k) of a node at the pose X on its parent."""
        return phi(X)

    def joint_map(self, k: int, q):
        """H(k)."""
        return self.H[k]  # type: ignore[attr-defined]

    def coriolis(self, k: int, H, q, V, v):
        """a(k) = V~(k) H*(k) v(k)."""
        return tilde(V[k][..., 0]) @ (H.mT @ v[k])

    def coriolis_accelerations(self, s: Blocks, q, V, v):
        """a(k) of every node."""
        return coriolis_accelerations(s, V, v)

    def moments(self, q):
        """[m c; m] of each node, and last of the world."""
        return self.moment  # type: ignore[attr-defined]

    def weights(self, q):
        """The same of what gravity pulls."""
        return self.weighed

    def strain_energy(self, q):
        """Of deformation (...)."""
        return 0.0

    # at a state

    def blocks(self, q) -> Blocks:
        return self.placed_blocks(placements(self, q), q)

    def placed_blocks(self, X, q) -> Blocks:
        """The blocks from poses on the parents."""
        return placed_blocks(self, X)._replace(q=q)

    def rates(self, s: Blocks, v, tau=None, external=None) -> Rates:
        return rates(self, s, v, tau, external)

    def rates_at_rest(self, s: Blocks) -> Rates:
        return rates_at_rest(self, s)

    def block_rates(self, s: Blocks, v) -> BlockRates:
        return block_rates(self, s, v)

    def entry_rates(self, s: Blocks, v) -> BlockRates:
        return entry_rates(self, s, v)

    @property
    def weighed(self):
        """[m c; m] of what gravity pulls, node by node: here, of all that there is."""
        return self.moment  # type: ignore[attr-defined]

    is_rigid = True  # its blocks change as those of a rigid tree do

    def check_rigid(self, who: str) -> None:
        """Raises if the blocks are not those of a rigid tree, whose rates are known."""

    def whole(self, s: Blocks, r: Rates, vdot):
        return s.tree.join(vdot)

    def response(self, s: Blocks, vdot):
        return s.tree.join_rows(vdot)

    @property
    def kinematic(self):
        return self


class Wrapped(RigidTree):
    """A system made from nodes: in all that it does not say itself it is the nodes."""

    def __init__(self, nodes):
        self.nodes = nodes

    def __getattr__(self, name: str):
        if name == "nodes":
            raise AttributeError(name)  # not made yet, as when it is copied
        return getattr(self.nodes, name)

    def without_friction(self) -> "Wrapped":
        """The system of joints without dry friction."""
        made = copy(self)
        made.nodes = self.nodes.without_friction()
        return made

    def motion(self, k: int, q):
        return self.nodes.motion(k, q)

    def shift(self, k: int, X, q):
        return self.nodes.shift(k, X, q)

    def joint_map(self, k: int, q):
        return self.nodes.joint_map(k, q)

    def coriolis(self, k: int, H, q, V, v):
        return self.nodes.coriolis(k, H, q, V, v)

    def coriolis_accelerations(self, s: Blocks, q, V, v):
        return self.nodes.coriolis_accelerations(s, q, V, v)

    def moments(self, q):
        return self.nodes.moments(q)

    def strain_energy(self, q):
        return self.nodes.strain_energy(q)

    def placed_blocks(self, X, q) -> Blocks:
        return self.nodes.placed_blocks(X, q)
