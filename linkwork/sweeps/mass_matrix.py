"""The mass matrix by composite bodies."""


def mass_matrix(tree, phi, H, J, R):
    """𝓜 = H φ M φ* H* + J from the composite inertias, each column carried from its joint to the root.

        F(k)   = R(k) H*(k)
        𝓜(j,k) = H(j) φ(j,k) F(k)                     j on the path of k, Jain, Algorithm 9.3; O(N depth)
    """
    mass = {}
    for k in tree.tips_to_base():
        for j, F in tree.path(k, R[k] @ H[k].mT, via=lambda i, F: phi[i] @ F):
            mass[j, k] = H[j] @ F
            mass[k, j] = mass[j, k].mT
        mass[k, k] = mass[k, k] + J[k]
    return tree.matrix(mass)
