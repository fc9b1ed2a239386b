"""Rigid trees: blocks of six, rates taken in each node's own frame."""

import numpy as np

from ..spatial import bar, phi
from ..sweeps.blocks import BlockRates, Blocks, Rates, at_rest
from ..sweeps.kinematics import coriolis_accelerations, gyroscopic_forces, gyroscopic_matrices, velocities, without


def placements(nodes, q):
    """Pose of each node on its parent: the fixed placement of its joint, then the joint's motion (Jain, Algorithm 3.1)."""
    tree, q = nodes.tree, nodes.split(q)
    X = tree.slots()
    for k in tree.base_to_tips():
        X[k] = nodes.fixed[k] @ nodes.groups[k].matrix(q[k])
    return X


def shifts(tree, X):
    """φ(p,k) of every node (Jain, 1.31)."""
    shift = tree.slots()
    for k in tree.base_to_tips():
        shift[k] = phi(X[k])
    return shift


def blocks(nodes, q) -> Blocks:
    """A = φ(p,k); H, M and armature are constants of the nodes."""
    return placed_blocks(nodes, placements(nodes, q))


def placed_blocks(nodes, X) -> Blocks:
    """The same from poses on the parents."""
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


class RigidTree:
    """The interface of a system, for a rigid tree: blocks and rates at a state, and the way back to the velocities of the tree.

    A class that inherits it has the tables of nodes as attributes; other systems have these methods too.
    """

    def blocks(self, q) -> Blocks:
        return blocks(self, q)

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

    def whole(self, s: Blocks, vdot):
        """The accelerations (..., nv) of the tree from those of the blocks."""
        return s.tree.join(vdot)

    def response(self, s: Blocks, vdot):
        """Columns of accelerations (..., nv, m) that forces alone make, of the tree, from those of the blocks."""
        return s.tree.join_rows(vdot)

    def place(self, k: int, B):
        """Directions B on node k, in the height of its block."""
        return k, B

    @property
    def kinematic(self):
        """The nodes that say where bodies are."""
        return self
