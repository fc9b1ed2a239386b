"""Forward dynamics of a chain by halving it: the answer of the sweep, in steps whose number grows as log N.

A piece of the chain, cut free, is held at two handles: its first node, and the inboard side of the joint after it.

    α₁ = Λ₁₁ f₁ + Λ₁₂ f₂ + C₁,   α₂ = Λ₂₁ f₁ + Λ₂₂ f₂ + C₂                       Jain (10.46)

Two pieces A and B with a joint between them are such a piece again. The joint's force f on B and its acceleration v̇ are

    N  = Λ₂₂(A) + Λ₁₁(B),   c = α₁(B) − α₂(A) were the joint cut
    f  = N⁻¹ (H* v̇ + a − c),   H f + armature v̇ = τ
    v̇  = D⁻¹ (τ − H N⁻¹ (a − c)),   D = H N⁻¹ H* + armature
    f  = Y τ + W (a − c),   Y = N⁻¹ H* D⁻¹,   W = N⁻¹ − Y H N⁻¹                 Jain, Lemma 10.6

The book's W is P* (P N P*)⁻¹ P, P a basis of what H leaves out: without rotors the same, and here no basis is needed.
Its (10.47) lacks the joint's bias a, and its (10.50) takes the rows of H for orthonormal; both are put right.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lie.scalars import like
from ..model.tree import Tree, concatenated
from ..spatial import solve
from .blocks import Blocks, Rates


@dataclass(frozen=True)
class Piece:
    """Part of a chain, cut free: its response at the handles, and the joint and two pieces it was made from."""

    Lambda: tuple  # Λ₁₁, Λ₁₂, Λ₂₂
    C: tuple  # C₁, C₂
    depth: int = 0
    parts: tuple[Any, ...] = ()


def divide_and_conquer(s, r):
    """v̇ of a chain and how many steps follow one another if all that can be done at once is: Jain, Algorithm 10.6.

    Every node needs an inertia of its own; `with_massive_nodes` merges those without into the next.
    """
    (tree, A, H, M, armature), (a, b, base, tau) = s, r
    n = len(tree)
    vdot = tree.slots()

    def assembled(first, last):
        """The piece of nodes first ... last, its halves assembled side by side."""
        if first == last:
            return leaf(M[first], b[first], A[first + 1] if first + 1 < n else None)
        middle = (first + last + 1) // 2
        return joined(assembled(first, middle - 1), assembled(middle, last), middle)

    def joined(one, other, k):
        joint = Joint.of(one.Lambda[2] + other.Lambda[0], H[k], armature[k])
        f = joint.force(tau[k], a[k] - other.C[0] + one.C[1])
        L12 = one.Lambda[1] @ joint.W
        Lambda = (
            one.Lambda[0] - L12 @ one.Lambda[1].mT,
            L12 @ other.Lambda[1],
            other.Lambda[2] - other.Lambda[1].mT @ joint.W @ other.Lambda[1],
        )
        C = one.C[0] - one.Lambda[1] @ f, other.C[1] + other.Lambda[1].mT @ f
        return Piece(Lambda, C, 1 + max(one.depth, other.depth), (one, other, k, joint))

    def released(piece, f1, f2):
        """From the forces on a piece's handles to what moves inside it: both halves side by side."""
        if piece.parts:
            one, other, k, joint = piece.parts
            rest = a[k] - (other.C[0] + other.Lambda[1] @ f2) + (one.C[1] + one.Lambda[1].mT @ f1)
            vdot[k], f = joint.acceleration(tau[k], rest), joint.force(tau[k], rest)
            released(one, f1, -f)
            released(other, f, f2)

    chain = assembled(0, n - 1)
    ground, rest = Joint.of(chain.Lambda[0], H[0], armature[0]), a[0] - chain.C[0] + A[0].mT @ base
    vdot[0] = ground.acceleration(tau[0], rest)
    f = ground.force(tau[0], rest)
    released(chain, f, np.zeros_like(chain.C[1]))
    return vdot, 2 * (chain.depth + 1)


def leaf(M, b, A):
    """One node: α₁ = M⁻¹ (f₁ + A f₂ − b), α₂ = A* α₁; at a tip the outer handle is the node itself."""
    I = like(np.eye(M.shape[-1]), M)
    A = I if A is None else A
    L11 = solve(M, I)
    C1 = -(L11 @ b)
    return Piece((L11, L11 @ A, A.mT @ L11 @ A), (C1, A.mT @ C1))


@dataclass(frozen=True)
class Joint:
    """What a joint between two pieces does with a mismatch r = a − c of their accelerations."""

    D: Any
    Y: Any
    W: Any
    H_N: Any  # H N⁻¹

    @staticmethod
    def of(N, H, armature):
        N_inverse = solve(N, like(np.eye(N.shape[-1]), N))
        H_N = H @ N_inverse
        D = H_N @ H.mT + armature
        Y = solve(D, H_N).mT
        return Joint(D, Y, N_inverse - Y @ H_N, H_N)

    def acceleration(self, tau, r):
        return solve(self.D, tau - self.H_N @ r)

    def force(self, tau, r):
        return self.Y @ tau + self.W @ r


def with_massive_nodes(s, r, has_mass):
    """The chain with each node without inertia merged into the next that has one: its joint becomes part of that one's.

        A(p,k) = A(p,j) A(j,k),   H = [H(j) A(j,k); H(k)],   a = A*(j,k) a(j) + a(k)          Jain (14.12) to (14.24)

    A force b(j) on a node without inertia goes to its joint and its parent:  τ(j) − H(j) b(j),   b(p) + A(p,j) b(j).
    """
    b, tau = ({k: x[k] for k in s.tree.base_to_tips()} for x in (r.b, r.tau))
    for j in s.tree.tips_to_base():
        if not has_mass[j]:
            tau[j] = tau[j] - s.H[j] @ b[j]
            if (p := s.tree.parent[j]) != s.tree.world:
                b[p] = b[p] + s.A[j] @ b[j]
    merged: tuple[list, ...] = tuple([] for _ in range(7))
    before: tuple = ()
    for k in s.tree.base_to_tips():
        A, H = s.A[k], s.H[k]
        block = (A, H, s.armature[k], r.a[k], tau[k])
        if before:
            shift, h, inertia, bias, force = before
            zero = np.zeros_like(H, shape=(h.shape[-2], H.shape[-2]))
            block = (
                shift @ A,
                concatenated([h @ A, H], -2),
                concatenated([concatenated([inertia, zero], -1), concatenated([zero.mT, s.armature[k]], -1)], -2),
                A.mT @ bias + r.a[k],
                concatenated([force, tau[k]], -2),
            )
        before = () if has_mass[k] else block
        if has_mass[k]:
            for room, x in zip(merged, (*block[:2], s.M[k], *block[2:], b[k])):
                room.append(x)
    A, H, M, armature, a, forces, rest = merged
    links = Tree(range(-1, len(A) - 1), [x.shape[-2] for x in H])
    return Blocks(links, A, H, M, armature), Rates(a, rest, r.base, forces)
