"""The motion that forces make, by articulated bodies."""

from ..spatial import solve


def forward_dynamics(s, P, D, G, r):
    """Accelerations of given generalized forces: tips to base, then base to tips.

        Jain, Algorithms 7.2 and 9.5; O(N)

    Columns may be blocks of columns: with a = b = base = 0 this is the product with the inverse of the mass matrix.
    """
    z, _, nu = innovations(s, P, D, G, r)
    vdot, alpha = accelerations(s, G, r, nu)
    return vdot, alpha, z


def innovations(s, P, D, G, r):
    """What each joint feels beyond what the joints outboard of it have taken, tips to base.

        z(k)  = P(k) a(k) + b(k) + Σ A(k,j) z⁺(j)     over children j of k
        ε(k)  = τ(k) − H(k) z(k),    ν(k) = D⁻¹(k) ε(k)
        z⁺(k) = z(k) + G(k) ε(k)                      Jain (7.18)
    """
    tree, A, H, _, _ = s
    z, z_plus, eps, nu = tree.slots(4)
    for k in tree.tips_to_base():
        z[k]      = P[k] @ r.a[k] + r.b[k] + tree.sum(A[j] @ z_plus[j] for j in tree.children[k])
        eps[k]    = r.tau[k] - H[k] @ z[k]
        nu[k]     = solve(D[k], eps[k])
        z_plus[k] = z[k] + G[k] @ eps[k]
    return z, eps, nu


def accelerations(s, G, r, nu):
    """From innovations to accelerations, base to tips.

        α⁺(k) = A*(p,k) α(p)
        v̇(k)  = ν(k) − G*(k) α⁺(k)
        α(k)  = α⁺(k) + H*(k) v̇(k) + a(k)

    The world accelerates with `base`: minus gravity.
    """
    tree, A, H, _, _ = s
    vdot, alpha = tree.slots(2)
    alpha[tree.world] = r.base
    for k in tree.base_to_tips():
        alpha_plus = A[k].mT @ alpha[tree.parent[k]]
        vdot[k]    = nu[k] - G[k].mT @ alpha_plus
        alpha[k]   = alpha_plus + H[k].mT @ vdot[k] + r.a[k]
    return vdot, alpha


def interbody_forces(s, P, r, alpha, z):
    """f(k) = P(k) (α(k) − a(k)) + z(k): what each joint carries, without another sweep (Jain, 7.34)."""
    f = s.tree.slots()
    for k in s.tree.base_to_tips():
        f[k] = P[k] @ (alpha[k] - r.a[k]) + z[k]
    return f
