"""Geared joints without nodes of their own: a rotor is inertia of the body it stands on, inertia in its joint, and a
coupling of the two (Jain, Exercises 12.1 and 12.2, the indices put right).

    M(p) = M_l(p) + Σ φ_m M_m φ_m*            over the rotors that stand on p
    J(k) = μ² H_m M_m H_m*
    L(k) = μ φ_m(p,k) M_m(k) H_m*(k)           what the joint's acceleration asks of the parent p; zero without a rotor

Without L these are the sweeps of ungeared joints with armature, which is the usual approximation.
"""

from ..spatial import solve


def geared_mass_matrix(tree, phi, H, J, L, R):
    """𝓜 from composite inertias, each column carried from its joint to the root.

        F(p)   = φ(p,k) R(k) H*(k) + L(k),   𝓜(k,k) = H(k) R(k) H*(k) + J(k)
        𝓜(j,k) = H(j) φ(j,p) F(p)                     j on the path of k's parent p, Jain, Algorithm 12.2
    """
    mass = {}
    for k in tree.tips_to_base():
        F = R[k] @ H[k].mT
        mass[k, k] = H[k] @ F + J[k]
        for j, F in tree.path(tree.parent[k], phi[k] @ F + L[k], via=lambda i, F: phi[i] @ F):
            mass[j, k] = H[j] @ F
            mass[k, j] = mass[j, k].mT
    return tree.matrix(mass)


def geared_inverse_dynamics(tree, phi, H, M, J, L, a, b, vdot, base):
    """τ of given accelerations: base to tips, then tips to base.

        α(k) = φ*(p,k) α(p) + H*(k) v̇(k) + a(k)
        f(k) = M(k) α(k) + b(k) + Σ φ(k,j) f(j) + L(j) v̇(j)
        τ(k) = H(k) f(k) + J(k) v̇(k) + L*(k) α(p)
    """
    alpha, f, tau = tree.slots(3)
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        alpha[k] = phi[k].mT @ alpha[tree.parent[k]] + H[k].mT @ vdot[k] + a[k]
    for k in tree.tips_to_base():
        f[k]   = M[k] @ alpha[k] + b[k] + tree.sum(phi[j] @ f[j] + L[j] @ vdot[j] for j in tree.children[k])
        tau[k] = H[k] @ f[k] + J[k] @ vdot[k] + L[k].mT @ alpha[tree.parent[k]]
    return tau, alpha, f


def geared_articulated_inertia(tree, phi, H, M, J, L):
    """P, D and K, tips to base.

        P(k)   = M(k) + Σ φ(k,j) P(j) φ*(k,j) − K(k,j) D(j) K*(k,j)
        D(k)   = H(k) P(k) H*(k) + J(k)
        K(p,k) = (φ(p,k) P(k) H*(k) + L(k)) D⁻¹(k)    Jain (12.26), Algorithm 12.5
    """
    P, D, K = tree.slots(3)
    for k in tree.tips_to_base():
        P[k] = M[k] + tree.sum(phi[j] @ P[j] @ phi[j].mT - K[j] @ D[j] @ K[j].mT for j in tree.children[k])
        D[k] = H[k] @ P[k] @ H[k].mT + J[k]
        K[k] = solve(D[k], (phi[k] @ (P[k] @ H[k].mT) + L[k]).mT).mT
    return P, D, K


def geared_forward_dynamics(tree, phi, H, P, D, K, a, b, tau, base):
    """v̇ of given forces: tips to base, then base to tips.

        z(k) = P(k) a(k) + b(k) + Σ φ(k,j) z(j) + K(k,j) ε(j),   ε(k) = τ(k) − H(k) z(k)
        v̇(k) = D⁻¹(k) ε(k) − K*(p,k) α(p),   α(k) = φ*(p,k) α(p) + H*(k) v̇(k) + a(k)
    """
    z, eps, vdot, alpha = tree.slots(4)
    for k in tree.tips_to_base():
        z[k]   = P[k] @ a[k] + b[k] + tree.sum(phi[j] @ z[j] + K[j] @ eps[j] for j in tree.children[k])
        eps[k] = tau[k] - H[k] @ z[k]
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        above    = alpha[tree.parent[k]]
        vdot[k]  = solve(D[k], eps[k]) - K[k].mT @ above
        alpha[k] = phi[k].mT @ above + H[k].mT @ vdot[k] + a[k]
    return vdot, alpha
