"""Inertia of whole subtrees, moving freely."""

import numpy as np

from ..spatial import logdet, solve


def articulated_inertia(s):
    """Inertia of each subtree as felt through its joints, tips to base.

        P(k)  = M(k) + Σ A(k,j) P⁺(j) A*(k,j)         over children j of k
        D(k)  = H(k) P(k) H*(k) + armature(k)
        G(k)  = P(k) H*(k) D⁻¹(k)
        P⁺(k) = P(k) − G(k) H(k) P(k)                 Jain, Algorithms 6.1 and 9.4; O(N)
    """
    tree, A, H, M, armature = s
    P, D, G, P_plus = tree.slots(4)
    for k in tree.tips_to_base():
        P[k]      = M[k] + tree.sum(A[j] @ P_plus[j] @ A[j].mT for j in tree.children[k])
        D[k]      = H[k] @ P[k] @ H[k].mT + armature[k]
        G[k]      = solve(D[k], H[k] @ P[k]).mT
        P_plus[k] = P[k] - G[k] @ (H[k] @ P[k])
    return P, D, G, P_plus


def log_determinant(s, D):
    """log det 𝓜 = Σ log det D(k)                      Jain (9.53), (18.66)."""
    own = s.tree.slots()
    for k in s.tree.base_to_tips():
        own[k] = np.zeros_like(s.M[k], shape=()) + logdet(D[k])
    return s.tree.total(own)
