"""Inertia of whole subtrees, frozen."""


def composite_inertia(s):
    """Inertia of each subtree with its joints held, tips to base.

        R(k) = M(k) + Σ A(k,j) R(j) A*(k,j)           Jain, Algorithms 4.1 and 9.2; O(N)
    """
    tree, A, _, M, _ = s
    R = tree.slots()
    for k in tree.tips_to_base():
        R[k] = M[k] + tree.sum(A[j] @ R[j] @ A[j].mT for j in tree.children[k])
    return R
