"""The Coriolis matrix whose symmetric part is half the rate of the mass matrix."""

from ..model.tree import concatenated
from ..spatial import bar, hat, tilde


def coriolis_matrix(tree, phi, H, M, V):
    """C with C v the velocity-dependent forces and C + C* = d𝓜/dt, tips to base.

        B(k) = ½ (V̄ M − M V~ − (M V)^)                B V = V̄ M V, the rest is a rate of inertia
        C    = Σ J*(k) (M(k) J̊(k) + B(k) J(k))         J(k) the Jacobian of node k, J̊ its rate seen from the world

    With R and S the composites of M and B, J̊'s columns V~ H*, and j on the path of k:

        C(j,k) = H(j) φ(j,k) (R V~ H* + S H*)(k)
        C(k,j) = (φ(j,k) R H*(k))* V~ H*(j) + (φ(j,k) S* H*(k))* H*(j)
    """
    R, S, turned = tree.slots(3)
    C = {}
    for k in tree.tips_to_base():
        Vk, h     = V[k][..., 0], (M[k] @ V[k])[..., 0]
        B         = 0.5 * (bar(Vk) @ M[k] - M[k] @ tilde(Vk) - hat(h))
        R[k]      = M[k] + tree.sum(phi[j] @ R[j] @ phi[j].mT for j in tree.children[k])
        S[k]      = B + tree.sum(phi[j] @ S[j] @ phi[j].mT for j in tree.children[k])
        turned[k] = tilde(Vk) @ H[k].mT
    for k in tree.tips_to_base():
        r = H[k].shape[-2]
        F = concatenated([R[k] @ turned[k] + S[k] @ H[k].mT, R[k] @ H[k].mT, S[k].mT @ H[k].mT], -1)
        for j, F in tree.path(k, F, via=lambda i, F: phi[i] @ F):
            C[j, k] = H[j] @ F[..., :r]
            C[k, j] = F[..., r : 2 * r].mT @ turned[j] + F[..., 2 * r :].mT @ H[j].mT
    return tree.matrix(C)


def coriolis_matrix_times(tree, phi, H, M, V, u, base):
    """C u for one u, with the same C: base to tips, then tips to base.

        W(k) = φ*(p,k) W(p) + H*(k) u(k)
        A(k) = φ*(p,k) A(p) + V~(k) H*(k) u(k)
        f(k) = M(k) A(k) + B(k) W(k) + Σ φ(k,j) f(j),   (C u)(k) = H(k) f(k)

    with B(k) W = ½ (V̄ M W − M V~ W + W̄ M V).
    """
    W, A, f, out = tree.slots(4)
    W[tree.world] = A[tree.world] = base
    for k in tree.base_to_tips():
        W[k] = phi[k].mT @ W[tree.parent[k]] + H[k].mT @ u[k]
        A[k] = phi[k].mT @ A[tree.parent[k]] + tilde(V[k][..., 0]) @ (H[k].mT @ u[k])
    for k in tree.tips_to_base():
        Vk, Wk = V[k][..., 0], W[k][..., 0]
        BW     = 0.5 * (bar(Vk) @ (M[k] @ W[k]) - M[k] @ (tilde(Vk) @ W[k]) + bar(Wk) @ (M[k] @ V[k]))
        f[k]   = M[k] @ A[k] + BW + tree.sum(phi[j] @ f[j] for j in tree.children[k])
        out[k] = H[k] @ f[k]
    return out
