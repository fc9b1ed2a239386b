"""The inverse of the mass matrix, entry by entry."""


def mass_matrix_inverse(s, G, psi, Upsilon, L, U):
    """𝓜⁻¹ = L − K* ψ* U* − U ψ K + K* R K from the compliances of the nodes, column after column.

        𝓜⁻¹(j,j) = L(j)
        F(p)     = K(p,j),   F carried on by ψ        from j's parent p to the root
        𝓜⁻¹(i,j) = −U(i) F(i)                         i on that path
        W(i)     = Υ(i) F(i) on the path, ψ*(p,i) W(p) beside it
        𝓜⁻¹(i,j) = G*(i) A*(p,i) W(p)                 i beside the path, Jain (10.29) to (10.32); O(N²)
    """
    tree, A = s.tree, s.A
    inverse = {}
    for j in tree.base_to_tips():
        inverse[j, j] = L[j]
        F = dict(tree.path(tree.parent[j], A[j] @ G[j], via=lambda i, F: psi[i] @ F))
        W = {i: Upsilon[i] @ F[i] for i in F}
        for i in range(j):
            p = tree.parent[i]
            if i in F:
                inverse[i, j] = -U[i] @ F[i]
            elif p in W:
                inverse[i, j] = G[i].mT @ (A[i].mT @ W[p])
                W[i]          = psi[i].mT @ W[p]
            if (i, j) in inverse:
                inverse[j, i] = inverse[i, j].mT
    return tree.matrix(inverse)
