"""Inertia of whole subtrees, frozen."""


def composite_inertia(tree, phi, M):
    """Inertia of each subtree with its joints held, tips to base.

        R(k) = M(k) + Σ φ(k,j) R(j) φ*(k,j)           Jain, Algorithm 4.1; O(N)
    """
    R = tree.slots()
    for k in tree.tips_to_base():
        R[k] = M[k] + tree.sum(phi[j] @ R[j] @ phi[j].mT for j in tree.children[k])
    return R
