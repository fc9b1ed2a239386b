"""The mass matrix by composite bodies."""


def mass_matrix(s, R):
    """𝓜 = H A M A* H* + armature from the composite inertias, each column carried from its joint to the root.

        F(k)   = R(k) H*(k)
        𝓜(j,k) = H(j) A(j,k) F(k)                     j on the path of k, Jain, Algorithm 9.3; O(N depth)
    """
    tree, A, H, _, armature = s
    mass = {}
    for k in tree.tips_to_base():
        for j, F in tree.path(k, R[k] @ H[k].mT, via=lambda i, F: A[i] @ F):
            mass[j, k] = H[j] @ F
            mass[k, j] = mass[j, k].mT
        mass[k, k] = mass[k, k] + armature[k]
    return tree.matrix(mass)
