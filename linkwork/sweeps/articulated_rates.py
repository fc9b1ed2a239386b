"""How composite and articulated inertias, and what follows from them, change along a motion (Jain, section 18.4).

Each takes the rates d of the blocks; what comes out is seen in the axes that d is taken in. Those of D are the same in all.
"""

import numpy as np

from ..spatial import solve


def composite_rates(s, d, R):
    """Rates of composite inertias, tips to base.

        Ṙ(k) = (N + N*)(k) + Σ A Ṙ A* + A R Å* + Å R A*                       over children of k
    """
    tree, A = s.tree, s.A
    rate = tree.slots()
    for k in tree.tips_to_base():
        rate[k] = d.N[k] + d.N[k].mT + tree.sum(carried_rate(A[j], d.A[j], R[j], rate[j]) for j in tree.children[k])
    return rate


def articulated_rates(s, d, P, D, G, P_plus):
    """Rates of articulated inertias, tips to base.

        Ṗ(k)  = (N + N*)(k) + Σ A Ṗ⁺ A* + A P⁺ Å* + Å P⁺ A*                   over children of k
        Ḋ(k)  = H Ṗ H* + H P H̊ + H̊* P H*
        Ġ(k)  = (Ṗ H* + P H̊ − G Ḋ) D⁻¹
        Ṗ⁺(k) = Ṗ − Ġ H P − G (Ṗ H* + P H̊)*                                   Jain, Algorithm 18.1, Lemma 18.13; O(N)

    Where H does not change in its axes, H̊ = 0, these are Ḋ = H Ṗ H*, Ġ = (I − G H) Ṗ H* D⁻¹, Ṗ⁺ = (I − G H) Ṗ (I − G H)*.
    """
    tree, A, H, _, _ = s
    P_dot, D_dot, G_dot, P_plus_dot = tree.slots(4)
    for k in tree.tips_to_base():
        P_dot[k] = d.N[k] + d.N[k].mT + tree.sum(carried_rate(A[j], d.A[j], P_plus[j], P_plus_dot[j]) for j in tree.children[k])
        moved    = P_dot[k] @ H[k].mT + P[k] @ d.H[k]
        D_dot[k] = H[k] @ moved + d.H[k].mT @ (P[k] @ H[k].mT)
        G_dot[k] = solve(D[k], (moved - G[k] @ D_dot[k]).mT).mT
        P_plus_dot[k] = P_dot[k] - G_dot[k] @ (H[k] @ P[k]) - G[k] @ moved.mT
    return P_dot, D_dot, G_dot, P_plus_dot


def transition_rates(s, d, G, G_dot):
    """ψ̇(p,k) = Å (I − G H) − A (Ġ H + G H̊*)                                  Jain, Lemma 18.11."""
    rate = s.tree.slots()
    for k in s.tree.base_to_tips():
        A, H = s.A[k], s.H[k]
        rate[k] = d.A[k] - d.A[k] @ G[k] @ H - A @ (G_dot[k] @ H + G[k] @ d.H[k].mT)
    return rate


def compliance_rates(s, d, D, D_dot, psi, psi_dot, Upsilon, base):
    """Rates of Υ(k) = ψ*(p,k) Υ(p) ψ(p,k) + H*(k) D⁻¹(k) H(k), base to tips.

        Υ̇(k) = ψ* Υ̇ ψ + ψ* Υ ψ̇ + ψ̇* Υ ψ + H̊ D⁻¹ H + H* D⁻¹ H̊* − H* D⁻¹ Ḋ D⁻¹ H
    """
    tree, rate = s.tree, s.tree.slots()
    rate[tree.world] = base
    for k in tree.base_to_tips():
        p, eased = tree.parent[k], solve(D[k], s.H[k])
        own = d.H[k] @ eased
        rate[k] = carried_rate(psi[k].mT, psi_dot[k].mT, Upsilon[p], rate[p]) + own + own.mT - eased.mT @ D_dot[k] @ eased
    return rate


def log_determinant_rate(s, D, D_dot):
    """d log det 𝓜/dt = Σ Tr{D⁻¹(k) Ḋ(k)}                                     Jain (18.66)."""
    own = s.tree.slots()
    for k in s.tree.base_to_tips():
        own[k] = np.trace(solve(D[k], D_dot[k]), axis1=-2, axis2=-1)
    return s.tree.total(own)


def log_determinant_slopes(s, P_plus, Upsilon):
    """∂ log det 𝓜/∂q of a rigid tree, columns, from the compliances.

        ∂ log det 𝓜(k) = 2 Tr{Υ⁺(k) h̄ P⁺(k)},  Υ⁺(k) = φ*(p,k) Υ(p) φ(p,k)      for each row h of H(k)

                                                                              Jain (18.67), (18.68), in the axes of the nodes; O(N)
    """
    tree, slope = s.tree, s.tree.slots()
    for k in tree.base_to_tips():
        X = P_plus[k] @ (s.A[k].mT @ Upsilon[tree.parent[k]] @ s.A[k])
        slope[k] = s.H[k] @ (2 * moment(X))
    return slope


def moment(X):
    """The column u with u · z = Tr(z̄ X) for every z."""
    vex = lambda S: np.stack([S[..., 1, 2] - S[..., 2, 1], S[..., 2, 0] - S[..., 0, 2], S[..., 0, 1] - S[..., 1, 0]], -1)
    turning = X[..., :3, :3] + X[..., 3:, 3:]
    return np.concatenate([vex(turning), vex(X[..., 3:, :3])], -1)[..., None]


def carried_rate(A, A_dot, X, X_dot):
    """d/dt (A X A*)."""
    bent = A_dot @ X @ A.mT
    return A @ X_dot @ A.mT + bent + bent.mT
