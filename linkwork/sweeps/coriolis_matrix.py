"""The Coriolis matrix whose symmetric part is half the rate of the mass matrix."""

from .composite_inertia import composite_inertia


def coriolis_matrix(s, d):
    """C with C v the velocity-dependent forces and C + C* = d𝓜/dt, tips to base, from the rates d of the blocks.

        C    = Σ J*(k) (M(k) J̊(k) + N(k) J(k))         J(k) the Jacobian of node k, J̊ its rate

    With the composites

        R(k) = M(k) + Σ A R A*,   S(k) = N(k) + Σ A S A* + A R Å*           over children of k

    and j on the path of k:

        C(j,k) = H(j) A(j,k) (R H̊ + S H*)(k)
        C(k,j) = F_R*(j) H̊(j) + F_S*(j) H*(j)
        F_R(p) = A F_R,   F_S(p) = A F_S + Å F_R                            from F_R = R H*, F_S = S* H* at k
    """
    tree, A, H, _, _ = s
    R, S, C = composite_inertia(s), tree.slots(), {}
    for k in tree.tips_to_base():
        S[k] = d.N[k] + tree.sum(A[j] @ S[j] @ A[j].mT + A[j] @ R[j] @ d.A[j].mT for j in tree.children[k])
    for k in tree.tips_to_base():
        start = R[k] @ d.H[k] + S[k] @ H[k].mT, R[k] @ H[k].mT, S[k].mT @ H[k].mT
        for j, (E, F_R, F_S) in tree.path(k, start, via=lambda i, F: (A[i] @ F[0], A[i] @ F[1], A[i] @ F[2] + d.A[i] @ F[1])):
            C[j, k] = H[j] @ E
            C[k, j] = F_R.mT @ d.H[j] + F_S.mT @ H[j].mT
    return tree.matrix(C)


def coriolis_matrix_times(s, d, u, base):
    """C u for one u, with the same C: base to tips, then tips to base; W and Y are velocities u and their rates.

        f(k) = M(k) Y(k) + N(k) W(k) + Σ A(k,j) f(j),   (C u)(k) = H(k) f(k)
    """
    tree, A, H, M, _ = s
    (W, Y), (f, out) = velocity_rates(s, d, u, base), tree.slots(2)
    for k in tree.tips_to_base():
        f[k]   = M[k] @ Y[k] + d.N[k] @ W[k] + tree.sum(A[j] @ f[j] for j in tree.children[k])
        out[k] = H[k] @ f[k]
    return out


def velocity_rates(s, d, u, base):
    """W = J u of every node and its rate Y = J̊ u, base to tips, from the rates d of the blocks.

        W(k) = A*(p,k) W(p) + H*(k) u(k)
        Y(k) = A*(p,k) Y(p) + Å*(p,k) W(p) + H̊(k) u(k)
    """
    tree, A, H, _, _ = s
    W, Y = tree.slots(2)
    W[tree.world] = Y[tree.world] = base
    for k in tree.base_to_tips():
        W[k] = A[k].mT @ W[tree.parent[k]] + H[k].mT @ u[k]
        Y[k] = A[k].mT @ Y[tree.parent[k]] + d.A[k].mT @ W[tree.parent[k]] + d.H[k] @ u[k]
    return W, Y
