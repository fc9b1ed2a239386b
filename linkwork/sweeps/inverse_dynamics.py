"""The forces of a motion, by Newton and Euler."""


def inverse_dynamics(s, r, vdot):
    """Generalized forces of given accelerations: base to tips, then tips to base.

        α(k) = A*(p,k) α(p) + H*(k) v̇(k) + a(k)
        f(k) = M(k) α(k) + b(k) + Σ A(k,j) f(j)       over children j of k
        τ(k) = H(k) f(k) + armature(k) v̇(k)           Jain, Algorithms 5.2 and 9.1; O(N)

    The world accelerates with `base`: minus gravity.
    """
    tree, A, H, M, armature = s
    alpha, f, tau = tree.slots(3)
    alpha[tree.world] = r.base
    for k in tree.base_to_tips():
        alpha[k] = A[k].mT @ alpha[tree.parent[k]] + H[k].mT @ vdot[k] + r.a[k]
    for k in tree.tips_to_base():
        f[k]   = M[k] @ alpha[k] + r.b[k] + tree.sum(A[j] @ f[j] for j in tree.children[k])
        tau[k] = H[k] @ f[k] + armature[k] @ vdot[k]
    return tau, alpha, f
