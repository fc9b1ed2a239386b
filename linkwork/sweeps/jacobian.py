"""Jacobians of places on nodes."""


def jacobian(tree, phi, H, k, place):
    """(B* φ* H*) of one place on node k: spatial velocity there from v, angular rows first, carried to the root.

        J(j) = (H(j) φ(j,k) φ(k,place))*               j on the path of k, Jain (3.53); O(depth)
    """
    J = {}
    for j, F in tree.path(k, place, via=lambda i, F: phi[i] @ F):
        J[j] = (H[j] @ F).mT
    return tree.matrix(J, height=place.shape[-1])
