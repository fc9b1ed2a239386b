"""The two elementary sweeps: products with the propagation operator A and its transpose (Jain, Lemmas 9.1 and 9.2)."""


def gather(tree, A, x):
    """y = A x, tips to base.

        y(k) = x(k) + Σ A(k,j) y(j)                   over children j of k
    """
    y = tree.slots()
    for k in tree.tips_to_base():
        y[k] = x[k] + tree.sum(A[j] @ y[j] for j in tree.children[k])
    return y


def scatter(tree, A, x, base):
    """y = A* x, base to tips, the world holding `base`.

        y(k) = A*(p,k) y(p) + x(k)                    p the parent of k
    """
    y = tree.slots()
    y[tree.world] = base
    for k in tree.base_to_tips():
        y[k] = A[k].mT @ y[tree.parent[k]] + x[k]
    return y
