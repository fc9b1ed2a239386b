"""The forces of a motion, by Newton and Euler."""


def inverse_dynamics(tree, phi, H, M, J, a, b, vdot, base):
    """Generalized forces of given accelerations: base to tips, then tips to base.

        α(k) = φ*(p,k) α(p) + H*(k) v̇(k) + a(k)
        f(k) = M(k) α(k) + b(k) + Σ φ(k,j) f(j)       over children j of k
        τ(k) = H(k) f(k) + J(k) v̇(k)                  Jain, Algorithm 5.2; O(N)

    The world accelerates with `base`: minus gravity.
    """
    alpha, f, tau = tree.slots(3)
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        alpha[k] = phi[k].mT @ alpha[tree.parent[k]] + H[k].mT @ vdot[k] + a[k]
    for k in tree.tips_to_base():
        f[k]   = M[k] @ alpha[k] + b[k] + tree.sum(phi[j] @ f[j] for j in tree.children[k])
        tau[k] = H[k] @ f[k] + J[k] @ vdot[k]
    return tau, alpha, f


def composite_inverse_dynamics(tree, phi, H, M, J, a, b, vdot, base):
    """The same through composite inertias: tips to base, then base to tips.

        R(k)  = M(k) + Σ φ(k,j) R(j) φ*(k,j)
        y(k)  = b(k) + Σ φ(k,j) y⁺(j)                 over children j of k
        y⁺(k) = y(k) + R(k) (H*(k) v̇(k) + a(k))
        α(k)  = φ*(p,k) α(p) + H*(k) v̇(k) + a(k)
        f(k)  = R(k) α(k) + y(k),   τ(k) = H(k) f(k) + J(k) v̇(k)        Jain, Algorithm 5.3
    """
    R, y, y_plus, alpha, f, tau = tree.slots(6)
    for k in tree.tips_to_base():
        R[k]      = M[k] + tree.sum(phi[j] @ R[j] @ phi[j].mT for j in tree.children[k])
        y[k]      = b[k] + tree.sum(phi[j] @ y_plus[j] for j in tree.children[k])
        y_plus[k] = y[k] + R[k] @ (H[k].mT @ vdot[k] + a[k])
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        alpha[k] = phi[k].mT @ alpha[tree.parent[k]] + H[k].mT @ vdot[k] + a[k]
        f[k]     = R[k] @ alpha[k] + y[k]
        tau[k]   = H[k] @ f[k] + J[k] @ vdot[k]
    return tau, alpha, f
