"""Jacobians of places on nodes."""


def jacobian(s, k, place):
    """(B* A* H*) of one place on node k: velocity there from v, angular rows first, carried to the root.

        J(j) = (H(j) A(j,k) B)*                        j on the path of k, Jain (3.53); O(depth)
    """
    J = {}
    for j, F in s.tree.path(k, place, via=lambda i, F: s.A[i] @ F):
        J[j] = (s.H[j] @ F).mT
    return s.tree.matrix(J, height=place.shape[-1])
