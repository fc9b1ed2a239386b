"""The dual model: a free tree as each of its nodes feels the rest of it (Jain, section 17.2).

Seen from node k, the rest of the tree hangs on its joint as a subtree would, its joint drawn the other way round. Its inertia S(k)
and residual z_dl(k) go from the base outwards, while P(k) and z(k) come inwards; the two sweeps do not wait for each other.
A joint with as many velocities as its node, that of a free base, passes no inertia on. There S = 0, and nodes that no such joint
carries have no S: the world is part of the rest, and has no finite inertia.
"""

import numpy as np

from ..spatial import solve
from .forward_dynamics import innovations


def free_nodes(tree, M):
    """The nodes whose joints let them move in every way."""
    return [k for k in tree.base_to_tips() if tree.widths[k] == M[k].shape[-1]]


def dual_articulated_inertia(s, P_plus, back):
    """Inertia of the rest of the tree as each node feels it through its joint, base to tips; `back` is A⁻¹(p,k).

        S⁺(k)   = A⁻¹ (S(p) + M(p) + Σ A(p,j) P⁺(j) A*(p,j)) A⁻*     over the other children j of p
        D_dl(k) = H(k) S⁺(k) H*(k) + armature(k)
        G_dl(k) = S⁺(k) H*(k) D_dl⁻¹(k)
        S(k)    = S⁺(k) − G_dl(k) H(k) S⁺(k)                         Jain, Algorithm 17.1, on a tree; O(N)
    """
    tree, A, H, M, armature = s
    S, S_plus, D, G = tree.slots(4)
    for k in free_nodes(tree, M):
        S[k] = np.zeros_like(M[k])
    for p in tree.base_to_tips():
        if p in S:
            moved = {j: A[j] @ P_plus[j] @ A[j].mT for j in tree.children[p]}
            for k in tree.children[p]:
                rest      = S[p] + M[p] + others(moved, k)
                S_plus[k] = back[k] @ rest @ back[k].mT
                D[k]      = H[k] @ S_plus[k] @ H[k].mT + armature[k]
                G[k]      = solve(D[k], H[k] @ S_plus[k]).mT
                S[k]      = S_plus[k] - G[k] @ (H[k] @ S_plus[k])
    return S, S_plus, D, G


def dual_innovations(s, S_plus, D, G, back, r, z_plus):
    """What the rest of the tree demands of each joint, base to tips; D and G those of the dual model.

        z_dl⁺(k) = A⁻¹ (z_dl(p) + b(p) + Σ A(p,j) z⁺(j)) − S⁺(k) a(k)     over the other children j of p
        ε_dl(k)  = τ(k) + H(k) z_dl⁺(k),    ν_dl(k) = D_dl⁻¹(k) ε_dl(k)
        z_dl(k)  = z_dl⁺(k) − G_dl(k) ε_dl(k)                             Jain, Algorithm 17.2 and (17.7) corrected

    Forces on a free base are what it demands: z_dl = −H* τ.
    """
    tree, A, H, M, _ = s
    z, nu = tree.slots(2)
    for k in free_nodes(tree, M):
        z[k] = -H[k].mT @ r.tau[k]
    for p in tree.base_to_tips():
        if p in z:
            moved = {j: A[j] @ z_plus[j] for j in tree.children[p]}
            for k in tree.children[p]:
                z_dl_plus = back[k] @ (z[p] + r.b[p] + others(moved, k)) - S_plus[k] @ r.a[k]
                eps       = r.tau[k] + H[k] @ z_dl_plus
                nu[k]     = solve(D[k], eps)
                z[k]      = z_dl_plus - G[k] @ eps
    return z, nu


def base_invariant_dynamics(s, P, D, G, P_plus, r, back):
    """Accelerations from both sweeps, each node for itself, whichever is the root.

        α(k) = (P(k) + S(k))⁻¹ (P(k) a(k) − z(k) − z_dl(k))
        v̇(k) = ν_dl(k) + G_dl*(k) α(k)                                   Jain, Lemma 17.1, Algorithm 17.3; O(N)

    At a free base v̇(k) = ν(k) − G*(k) α⁺(k), α⁺ being that of what it stands on.
    """
    tree, A, _, _, _ = s
    z, eps, nu = innovations(s, P, D, G, r)
    z_plus = {k: z[k] + G[k] @ eps[k] for k in tree.base_to_tips()}
    S, S_plus, D_dl, G_dl = dual_articulated_inertia(s, P_plus, back)
    z_dl, nu_dl = dual_innovations(s, S_plus, D_dl, G_dl, back, r, z_plus)
    vdot, alpha = tree.slots(2)
    alpha[tree.world] = r.base
    for k in tree.base_to_tips():
        if k in S:
            alpha[k] = solve(P[k] + S[k], P[k] @ r.a[k] - z[k] - z_dl[k])
        else:
            alpha[k] = A[k].mT @ alpha[tree.parent[k]]
        vdot[k] = nu_dl[k] + G_dl[k].mT @ alpha[k] if k in nu_dl else nu[k] - G[k].mT @ (A[k].mT @ alpha[tree.parent[k]])
    return vdot, alpha


def others(terms: dict, k):
    """The sum of all terms but that of k: not the whole less its own, which would lose digits where k is heavy."""
    return sum((x for j, x in terms.items() if j != k), 0.0)
