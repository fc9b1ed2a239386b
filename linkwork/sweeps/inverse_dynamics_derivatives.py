"""How the forces of a rigid tree change with its state.

With V, α, f the velocities, accelerations (the world's minus gravity) and forces of inverse dynamics, p the parent of k, and
coordinates that move along the group, as `integrate` moves them:

    Ψ(k)  = (A* V(p))~ H*(k)                        rate of V(k) per velocity of its coordinates
    Ψ̇(k)  = (A* α(p))~ H*(k) + (A* V(p))~ Ψ(k)
"""

from ..model.tree import concatenated
from ..spatial import bar, hat, tilde
from .composite_inertia import composite_inertia


def inverse_dynamics_derivatives(s, d, V, alpha, f):
    """∂τ/∂q and ∂τ/∂v, tips to base; ∂τ/∂v̇ is the mass matrix. d are the rates of the blocks.

        R(k) = M(k) + Σ A R A*,   B(k) = N(k) + Σ A B A*                     over children of k

    With j on the path of k:

        ∂τ(j)/∂q(k) = H(j) A(j,k) [2 B Ψ + R Ψ̇ − f^ H*](k)                   for j = k without f
        ∂τ(j)/∂v(k) = H(j) A(j,k) [2 B H* + R (Ψ + H̊)](k)
        ∂τ(k)/∂q(j) = (A(j,k) 2 B* H*(k))* Ψ(j) + (A(j,k) R H*(k))* Ψ̇(j)
        ∂τ(k)/∂v(j) = (A(j,k) 2 B* H*(k))* H*(j) + (A(j,k) R H*(k))* (Ψ + H̊)(j)

    The form of Singh 2022, in the frames of the nodes; O(N depth).
    """
    tree, A, H, _, _ = s
    R, B = composite_inertia(s), tree.slots()
    for k in tree.tips_to_base():
        B[k] = d.N[k] + tree.sum(A[j] @ B[j] @ A[j].mT for j in tree.children[k])
    Psi, Psi_dot = joint_rates(s, V, alpha)
    by_q, by_v = {}, {}
    for k in tree.tips_to_base():
        own, r = 2 * (B[k] @ Psi[k]) + R[k] @ Psi_dot[k], H[k].shape[-2]
        moved = 2 * (B[k] @ H[k].mT) + R[k] @ (Psi[k] + d.H[k])
        start = concatenated([own - hat(f[k][..., 0]) @ H[k].mT, moved, R[k] @ H[k].mT, 2 * (B[k].mT @ H[k].mT)], -1)
        for j, F in tree.path(k, start, via=lambda i, F: A[i] @ F):
            F_q, F_v, F_R, F_B = (F[..., i * r : (i + 1) * r] for i in range(4))
            by_q[k, j] = F_B.mT @ Psi[j] + F_R.mT @ Psi_dot[j]
            by_v[k, j] = F_B.mT @ H[j].mT + F_R.mT @ (Psi[j] + d.H[j])
            by_q[j, k] = H[j] @ (F_q if j != k else own)
            by_v[j, k] = H[j] @ F_v
    return tree.matrix(by_q), tree.matrix(by_v)


def joint_rates(s, V, alpha):
    """Ψ and Ψ̇ of every node."""
    Psi, Psi_dot = s.tree.slots(2)
    for k in s.tree.base_to_tips():
        above, lifted = (tilde((s.A[k].mT @ X[s.tree.parent[k]])[..., 0]) for X in (V, alpha))
        Psi[k]     = above @ s.H[k].mT
        Psi_dot[k] = lifted @ s.H[k].mT + above @ Psi[k]
    return Psi, Psi_dot


def inverse_dynamics_rate(s, v, V, alpha, f, dq, dv, dvdot, still):
    """τ̇ while q moves with the velocity dq, v with the rate dv and v̇ with dvdot: base to tips, then tips to base.

        W(k) = H*(k) dq(k)
        V̇(k) = A* V̇(p) + (A* V(p))~ W(k) + H* dv
        α̇(k) = A* α̇(p) + (A* α(p))~ W(k) + H* dvdot + V̇~ H* v + V~ H* dv
        ḟ(k) = M α̇ + V̇‾ M V + V̄ M V̇ + Σ A (ḟ + W̄ f)(j)                     over children j of k
        τ̇(k) = H ḟ + armature dvdot                                          O(N)
    """
    tree, A, H, M, armature = s
    W, V_dot, alpha_dot, carried, tau_dot = tree.slots(5)
    V_dot[tree.world] = alpha_dot[tree.world] = still
    for k in tree.base_to_tips():
        p = tree.parent[k]
        W[k]     = H[k].mT @ dq[k]
        V_dot[k] = A[k].mT @ V_dot[p] + tilde((A[k].mT @ V[p])[..., 0]) @ W[k] + H[k].mT @ dv[k]
        alpha_dot[k] = (
            A[k].mT @ alpha_dot[p]
            + tilde((A[k].mT @ alpha[p])[..., 0]) @ W[k]
            + H[k].mT @ dvdot[k]
            + tilde(V_dot[k][..., 0]) @ (H[k].mT @ v[k])
            + tilde(V[k][..., 0]) @ (H[k].mT @ dv[k])
        )
    for k in tree.tips_to_base():
        f_dot = (
            M[k] @ alpha_dot[k]
            + bar(V_dot[k][..., 0]) @ (M[k] @ V[k])
            + bar(V[k][..., 0]) @ (M[k] @ V_dot[k])
            + tree.sum(A[j] @ carried[j] for j in tree.children[k])
        )
        tau_dot[k] = H[k] @ f_dot + armature[k] @ dvdot[k]
        carried[k] = f_dot + bar(W[k][..., 0]) @ f[k]
    return tau_dot


def inverse_dynamics_gradient(s, v, V, alpha, f, weight, still):
    """Gradients of weight · τ by q, v and v̇, the transpose of `inverse_dynamics_rate`: base to tips, then tips to base.

        U(k) = A* U(p) + H* weight
        g(k) = M U + Σ A g(j),   h(k) = (V̄ M + (M V)^*)* U − (H* v)~* g + Σ A h(j)         over children j of k
        ∂v̇:  H g + armature weight,   ∂v:  H (h + V~* g),   ∂q:  H (f^ A* U(p) + (A* α(p))~* g + (A* V(p))~* h)         O(N)
    """
    tree, A, H, M, armature = s
    U, g, h, by_q, by_v, by_vdot = tree.slots(6)
    U[tree.world] = still
    for k in tree.base_to_tips():
        U[k] = A[k].mT @ U[tree.parent[k]] + H[k].mT @ weight[k]
    for k in tree.tips_to_base():
        p, Vk = tree.parent[k], V[k][..., 0]
        g[k] = M[k] @ U[k] + tree.sum(A[j] @ g[j] for j in tree.children[k])
        h[k] = (hat((M[k] @ V[k])[..., 0]) @ U[k] - M[k] @ (tilde(Vk) @ U[k]) + bar((H[k].mT @ v[k])[..., 0]) @ g[k]
                + tree.sum(A[j] @ h[j] for j in tree.children[k]))
        lifted, above = (bar((A[k].mT @ X[p])[..., 0]) for X in (alpha, V))
        by_q[k]    = H[k] @ (hat(f[k][..., 0]) @ (A[k].mT @ U[p]) - lifted @ g[k] - above @ h[k])
        by_v[k]    = H[k] @ (h[k] - bar(Vk) @ g[k])
        by_vdot[k] = H[k] @ g[k] + armature[k] @ weight[k]
    return by_q, by_v, by_vdot
