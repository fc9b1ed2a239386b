"""Velocities whose mass matrix is block diagonal, or the identity: the factors of 𝓜 as changes of velocity (Jain, chapter 19).

    𝓜 = F D F*,  F = I + H φ K,      ξ = F* v,      ε = F⁻¹ τ                      D ξ̇ + C(q,ξ) = ε
    𝓜 = m m*,    m = F W,  D = W W*,  η = W* ξ,     ζ = W⁻¹ ε                      η̇ + C(q,η) = ζ,  η · C = 0

W(k) is the lower triangular root of D(k), √D of a joint with one velocity. F and F⁻¹ are never formed.
"""

import numpy as np

from ..lie.scalars import like
from ..spatial import root, root_solve, root_transposed_solve
from .neighbours import each


def innovation_velocities(s, G, v, base):
    """ξ = F* v, base to tips.

        V⁺(k) = A*(p,k) V(p),  ξ(k) = v(k) + G*(k) V⁺(k),  V(k) = V⁺(k) + H*(k) v(k)               Jain, Table 19.1
    """
    tree, A, H, _, _ = s
    V, xi = tree.slots(2)
    V[tree.world] = base
    for k in tree.base_to_tips():
        V_plus = A[k].mT @ V[tree.parent[k]]
        xi[k]  = v[k] + G[k].mT @ V_plus
        V[k]   = V_plus + H[k].mT @ v[k]
    return xi


def joint_velocities(s, G, xi, base):
    """v of ξ, base to tips.

        V⁺(k) = A*(p,k) V(p),  v(k) = ξ(k) − G*(k) V⁺(k),  V(k) = V⁺(k) + H*(k) v(k)               Jain, Table 19.1
    """
    tree, A, H, _, _ = s
    V, v = tree.slots(2)
    V[tree.world] = base
    for k in tree.base_to_tips():
        V_plus = A[k].mT @ V[tree.parent[k]]
        v[k]   = xi[k] - G[k].mT @ V_plus
        V[k]   = V_plus + H[k].mT @ v[k]
    return v


def innovation_forces(s, G, tau):
    """ε = F⁻¹ τ, tips to base.

        z(k) = Σ A(k,j) z⁺(j),  ε(k) = τ(k) − H(k) z(k),  z⁺(k) = z(k) + G(k) ε(k)                 Jain, Table 19.2, corrected
    """
    tree, A, H, M, _ = s
    z_plus, eps = tree.slots(2)
    for k in tree.tips_to_base():
        z         = nothing(M[k], tau[k]) + tree.sum(A[j] @ z_plus[j] for j in tree.children[k])
        eps[k]    = tau[k] - H[k] @ z
        z_plus[k] = z + G[k] @ eps[k]
    return eps


def joint_forces(s, G, eps):
    """τ = F ε, tips to base.

        z(k) = Σ A(k,j) z⁺(j),  τ(k) = ε(k) + H(k) z(k),  z⁺(k) = z(k) + G(k) ε(k)                 Jain, Table 19.2, corrected
    """
    tree, A, H, M, _ = s
    z_plus, tau = tree.slots(2)
    for k in tree.tips_to_base():
        z         = nothing(M[k], eps[k]) + tree.sum(A[j] @ z_plus[j] for j in tree.children[k])
        tau[k]    = eps[k] + H[k] @ z
        z_plus[k] = z + G[k] @ eps[k]
    return tau


def joint_force_rates(s, d, G, G_dot, eps, eps_dot):
    """The rate of F ε, tips to base, from the rates d of the blocks.

        ż(k) = Σ A ż⁺ + Å z⁺,  τ̇(k) = ε̇(k) + H ż(k) + H̊* z(k),  ż⁺(k) = ż(k) + Ġ ε + G ε̇           Jain, Lemma 19.7
    """
    tree, A, H, M, _ = s
    z_plus, z_plus_dot, rate = tree.slots(3)
    for k in tree.tips_to_base():
        zero          = nothing(M[k], eps[k])
        z             = zero + tree.sum(A[j] @ z_plus[j] for j in tree.children[k])
        z_dot         = zero + tree.sum(A[j] @ z_plus_dot[j] + d.A[j] @ z_plus[j] for j in tree.children[k])
        rate[k]       = eps_dot[k] + H[k] @ z_dot + d.H[k].mT @ z
        z_plus[k]     = z + G[k] @ eps[k]
        z_plus_dot[k] = z_dot + G_dot[k] @ eps[k] + G[k] @ eps_dot[k]
    return rate


def innovation_rates(s, d, D, G, G_dot, eps, v, base, still):
    """D ξ̇ from the innovations ε of a motion (Jain, 7.18), base to tips.

        ξ̇(k) = D⁻¹(k) ε(k) + Ġ*(k) V⁺(k) + G*(k) [Å*(p,k) V(p) + A*(p,k) g(p)]

    V and V⁺ are velocities, g(k) = A*(p,k) g(p) is minus the acceleration `base` of the world in the axes of node k. With v̇ = D⁻¹ ε − G* α⁺
    this is the rate of ξ = v + G* V⁺: accelerations need not be computed. Without τ and gravity D ξ̇ = −C(q,ξ).

                                                                  Jain, Lemmas 19.9, 19.11, Algorithms 19.1 to 19.3, corrected; O(N)
    """
    tree, A, H, _, _ = s
    V, g, out = tree.slots(3)
    V[tree.world], g[tree.world] = still, -base
    for k in tree.base_to_tips():
        p      = tree.parent[k]
        V_plus = A[k].mT @ V[p]
        g[k]   = A[k].mT @ g[p]
        V[k]   = V_plus + H[k].mT @ v[k]
        out[k] = eps[k] + D[k] @ (G_dot[k].mT @ V_plus + G[k].mT @ (d.A[k].mT @ V[p] + g[k]))
    return out


def without_rest(s, r, rest, still):
    """Rates less those of a system at rest: what velocities alone add, and forces given."""
    return r._replace(a=each(s.tree, np.subtract, r.a, rest.a), b=each(s.tree, np.subtract, r.b, rest.b), base=still)


def nothing(M, columns):
    """Zero at a node: as many columns as are given."""
    return np.zeros_like(columns, shape=(M.shape[-1], columns.shape[-1]))


# --- roots of D


def roots(s, D):
    """W(k) with D = W W*, lower triangular with a positive diagonal: √D where there is one velocity."""
    return each(s.tree, lambda D: root(D), D)


def root_rates(s, W, D_dot):
    """(W⁻¹ Ẇ)(k) = ⌊W⁻¹ Ḋ W⁻*⌋: its lower triangle, half of its diagonal; ½ D⁻¹ Ḋ of one velocity           Jain, Exercise 19.1."""

    def own(W, D_dot):
        whole = root_solve(W, root_solve(W, D_dot).mT)
        n = whole.shape[-1]
        return whole * like(np.tril(np.ones((n, n)), -1) + np.eye(n) / 2, whole)

    return each(s.tree, own, W, D_dot)


def times(s, X, u):
    """X u, node by node."""
    return each(s.tree, lambda X, u: X @ u, X, u)


def normalized_velocities(s, W, xi):
    """η = W* ξ."""
    return each(s.tree, lambda W, xi: W.mT @ xi, W, xi)


def innovation_velocities_of(s, W, eta):
    """ξ = W⁻* η."""
    return each(s.tree, root_transposed_solve, W, eta)


def normalized_forces(s, W, eps):
    """ζ = W⁻¹ ε."""
    return each(s.tree, root_solve, W, eps)


def normalized_rates(s, W, X, forces, eta):
    """η̇ = W⁻¹ (D ξ̇) + X* η,  X = W⁻¹ Ẇ."""
    return each(s.tree, lambda W, X, f, eta: root_solve(W, f) + X.mT @ eta, W, X, forces, eta)
