"""Forward dynamics of a tree by merging its parts: the answer of the sweep, in steps whose number grows as log N.

A piece of a path, cut free, is held at two handles: its first node, and the inboard side of the joint after it.

    α₁ = Λ₁₁ f₁ + Λ₁₂ f₂ + C₁,   α₂ = Λ₂₁ f₁ + Λ₂₂ f₂ + C₂                       Jain (10.46)

Two pieces A and B with a joint between them are such a piece again. The joint's force f on B and its acceleration v̇ are

    N  = Λ₂₂(A) + Λ₁₁(B),   c = α₁(B) − α₂(A) were the joint cut
    f  = N⁻¹ (H* v̇ + a − c),   H f + armature v̇ = τ
    v̇  = D⁻¹ (τ − H N⁻¹ (a − c)),   D = H N⁻¹ H* + armature
    f  = Y τ + W (a − c),   Y = N⁻¹ H* D⁻¹,   W = N⁻¹ − Y H N⁻¹                 Jain, Lemma 10.6

The book's W is P* (P N P*)⁻¹ P, P a basis of what H leaves out: without rotors the same, and here no basis is needed.
Its (10.47) lacks the joint's bias a, and its (10.50) takes the rows of H for orthonormal; both are put right.

The book takes chains. Where a tree forks, a node p absorbs a branch B that is one piece with a free end: the same with N = Λ₁₁(B), A the
shift A(p,k), adds to its inertia and bias what the branch is to it,

    M(p) + A W A*,   b(p) + A (Y τ + W (a − C₁(B)))
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lie.scalars import like
from ..spatial import solve
from .schedule import Schedule


@dataclass(frozen=True)
class Piece:
    """Part of a path, cut free: its response at the handles."""

    Lambda: tuple  # Λ₁₁, Λ₁₂, Λ₂₂
    C: tuple  # C₁, C₂


def divide_and_conquer(s, r, plan: Schedule):
    """v̇ of a tree by the merges of its schedule: Jain, Algorithm 10.6, on trees. Merges of one level do not wait for each other.

    Every node needs an inertia of its own.
    """
    (tree, A, H, M, armature), (a, b, base, tau) = s, r
    M, b = ({k: x[k] for k in tree.base_to_tips()} for x in (M, b))
    after = {tree.parent[merge.joint]: merge.joint for merge in plan.merges if merge.inner is not None}  # the next node on the path
    pieces: dict = {}
    joints = tree.slots()

    def piece(ends):
        k, _ = ends
        if ends not in pieces:  # a node, all that it absorbs being there
            pieces[ends] = leaf(M[k], b[k], A[after[k]] if k in after else None)
        return pieces[ends]

    for _, k, inner, outer in plan.merges:
        B = piece(outer)
        if inner is None:
            joints[k] = Joint.of(B.Lambda[0], H[k], armature[k])
            p    = tree.parent[k]
            M[p] = M[p] + A[k] @ joints[k].W @ A[k].mT
            b[p] = b[p] + A[k] @ joints[k].force(tau[k], a[k] - B.C[0])
        else:
            one = piece(inner)
            joints[k] = Joint.of(one.Lambda[2] + B.Lambda[0], H[k], armature[k])
            pieces[inner[0], outer[1]] = joined(one, B, joints[k], joints[k].force(tau[k], a[k] - B.C[0] + one.C[1]))

    vdot, held = tree.slots(2)  # held: forces on the handles of pieces
    for k, ends in plan.whole.items():
        chain = piece(ends)
        joints[k], rest = Joint.of(chain.Lambda[0], H[k], armature[k]), a[k] - chain.C[0] + A[k].mT @ base
        vdot[k] = joints[k].acceleration(tau[k], rest)
        held[ends] = joints[k].force(tau[k], rest), np.zeros_like(chain.C[1])
    for _, k, inner, outer in reversed(plan.merges):
        B, free = piece(outer), np.zeros_like(piece(outer).C[1])
        if inner is None:
            p     = tree.parent[k]
            alpha = moved(piece((p, p)), *held[p, p])
            rest  = a[k] - B.C[0] + A[k].mT @ alpha
            held[outer] = joints[k].force(tau[k], rest), free
        else:
            one, (f1, f2) = piece(inner), held[inner[0], outer[1]]
            rest = a[k] - (B.C[0] + B.Lambda[1] @ f2) + (one.C[1] + one.Lambda[1].mT @ f1)
            f = joints[k].force(tau[k], rest)
            held[inner], held[outer] = (f1, -f), (f, f2)
        vdot[k] = joints[k].acceleration(tau[k], rest)
    return vdot


def joined(one, other, joint, f):
    """Two pieces and the joint between them as one; f is the joint's force while nothing acts at the handles."""
    L12 = one.Lambda[1] @ joint.W
    Lambda = (
        one.Lambda[0] - L12 @ one.Lambda[1].mT,
        L12 @ other.Lambda[1],
        other.Lambda[2] - other.Lambda[1].mT @ joint.W @ other.Lambda[1],
    )
    return Piece(Lambda, (one.C[0] - one.Lambda[1] @ f, other.C[1] + other.Lambda[1].mT @ f))


def moved(piece, f1, f2):
    """α₁ of a piece under forces on its handles."""
    return piece.Lambda[0] @ f1 + piece.Lambda[1] @ f2 + piece.C[0]


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
