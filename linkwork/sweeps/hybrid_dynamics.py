"""Some joints moved as told, the others moved by forces."""

import numpy as np

from ..lie.scalars import like
from ..spatial import solve


def hybrid_articulated_inertia(tree, phi, H, M, J, s):
    """Inertia of each subtree with prescribed velocities held, tips to base: composite there, articulated elsewhere.

        P(k)  = M(k) + Σ φ(k,j) P⁺(j) φ*(k,j)         over children j of k
        Hₚ(k) = (I − s(k)) H(k)                       the rows of what is free
        D(k)  = Hₚ(k) P(k) Hₚ*(k) + (I − s) J(k) (I − s) + s
        G(k)  = P(k) Hₚ*(k) D⁻¹(k)
        P⁺(k) = P(k) − G(k) Hₚ(k) P(k)                Jain, Algorithm 16.1, (16.6); O(N)

    s(k) is a column of ones, where the acceleration is given, and zeros: data, not structure.
    """
    P, D, G, P_plus, H_p = tree.slots(5)
    for k in tree.tips_to_base():
        free      = 1 - s[k]
        I         = like(np.eye(s[k].shape[-2]), s[k])
        P[k]      = M[k] + tree.sum(phi[j] @ P_plus[j] @ phi[j].mT for j in tree.children[k])
        H_p[k]    = free * H[k]
        D[k]      = H_p[k] @ P[k] @ H_p[k].mT + free * J[k] * free.mT + s[k] * I
        G[k]      = solve(D[k], H_p[k] @ P[k]).mT
        P_plus[k] = P[k] - G[k] @ (H_p[k] @ P[k])
    return P, D, G, H_p


def hybrid_dynamics(tree, phi, H, M, J, a, b, given, s, base):
    """Forces where accelerations are given, accelerations where forces are: tips to base, then base to tips.

        v̇ₐ(k) = s(k) given(k),   τₚ(k) = (I − s(k)) given(k),   ā(k) = a(k) + H*(k) v̇ₐ(k)
        z(k)  = P(k) ā(k) + b(k) + Σ φ(k,j) z⁺(j)     over children j of k
        ε(k)  = τₚ(k) − (I − s) J(k) v̇ₐ(k) − Hₚ(k) z(k),   ν(k) = D⁻¹(k) ε(k)
        z⁺(k) = z(k) + G(k) ε(k)
        α⁺(k) = φ*(p,k) α(p),   v̇(k) = v̇ₐ(k) + ν(k) − G*(k) α⁺(k),   α(k) = α⁺(k) + H*(k) v̇(k) + a(k)
        τ(k)  = H(k) (P(k) (α(k) − ā(k)) + z(k)) + J(k) v̇(k)      Jain, Algorithm 16.2, (16.15) corrected; O(N)

    With s = 0 everywhere this is forward dynamics, with s = 1 inverse dynamics by composite bodies.
    """
    P, D, G, H_p = hybrid_articulated_inertia(tree, phi, H, M, J, s)
    z, z_plus, nu, a_bar, v_a, other, alpha = tree.slots(7)
    for k in tree.tips_to_base():
        v_a[k]    = s[k] * given[k]
        a_bar[k]  = a[k] + H[k].mT @ v_a[k]
        z[k]      = P[k] @ a_bar[k] + b[k] + tree.sum(phi[j] @ z_plus[j] for j in tree.children[k])
        eps       = (1 - s[k]) * (given[k] - J[k] @ v_a[k]) - H_p[k] @ z[k]
        nu[k]     = solve(D[k], eps)
        z_plus[k] = z[k] + G[k] @ eps
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        alpha_plus = phi[k].mT @ alpha[tree.parent[k]]
        vdot       = v_a[k] + nu[k] - G[k].mT @ alpha_plus
        alpha[k]   = alpha_plus + H[k].mT @ vdot + a[k]
        tau        = H[k] @ (P[k] @ (alpha[k] - a_bar[k]) + z[k]) + J[k] @ vdot
        other[k]   = s[k] * tau + (1 - s[k]) * vdot
    return other, alpha
