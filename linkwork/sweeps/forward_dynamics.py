"""The motion that forces make, by articulated bodies."""

from ..spatial import solve


def forward_dynamics(tree, phi, H, P, D, G, a, b, tau, base):
    """Accelerations of given generalized forces: tips to base, then base to tips.

        z(k)  = P(k) a(k) + b(k) + Σ φ(k,j) z⁺(j)     over children j of k
        ε(k)  = τ(k) − H(k) z(k),    ν(k) = D⁻¹(k) ε(k)
        z⁺(k) = z(k) + G(k) ε(k)
        α⁺(k) = φ*(p,k) α(p)
        v̇(k)  = ν(k) − G*(k) α⁺(k)
        α(k)  = α⁺(k) + H*(k) v̇(k) + a(k)             Jain, Algorithm 7.2; O(N)

    The world accelerates with `base`: minus gravity. Columns may be blocks of columns: with a = b = base = 0 this is
    the product with the inverse of the mass matrix.
    """
    z, z_plus, eps, nu, vdot, alpha = tree.slots(6)
    for k in tree.tips_to_base():
        z[k]      = P[k] @ a[k] + b[k] + tree.sum(phi[j] @ z_plus[j] for j in tree.children[k])
        eps[k]    = tau[k] - H[k] @ z[k]
        nu[k]     = solve(D[k], eps[k])
        z_plus[k] = z[k] + G[k] @ eps[k]
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        alpha_plus = phi[k].mT @ alpha[tree.parent[k]]
        vdot[k]    = nu[k] - G[k].mT @ alpha_plus
        alpha[k]   = alpha_plus + H[k].mT @ vdot[k] + a[k]
    return vdot, alpha, z


def interbody_forces(tree, P, a, alpha, z):
    """f(k) = P(k) (α(k) − a(k)) + z(k): what each joint carries, without another sweep (Jain, 7.34)."""
    f = tree.slots()
    for k in tree.base_to_tips():
        f[k] = P[k] @ (alpha[k] - a[k]) + z[k]
    return f
