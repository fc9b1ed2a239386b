"""Inertia of whole subtrees, moving freely."""

from ..spatial import solve


def articulated_inertia(tree, phi, H, M, J):
    """Inertia of each subtree as felt through its joints, tips to base.

        P(k)  = M(k) + Σ φ(k,j) P⁺(j) φ*(k,j)         over children j of k
        D(k)  = H(k) P(k) H*(k) + J(k)
        G(k)  = P(k) H*(k) D⁻¹(k)
        P⁺(k) = P(k) − G(k) H(k) P(k)                 Jain, Algorithm 6.1; O(N)
    """
    P, D, G, P_plus = tree.slots(4)
    for k in tree.tips_to_base():
        P[k]      = M[k] + tree.sum(phi[j] @ P_plus[j] @ phi[j].mT for j in tree.children[k])
        D[k]      = H[k] @ P[k] @ H[k].mT + J[k]
        G[k]      = solve(D[k], H[k] @ P[k]).mT
        P_plus[k] = P[k] - G[k] @ (H[k] @ P[k])
    return P, D, G, P_plus
