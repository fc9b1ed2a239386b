"""The blocks of A* X B from its diagonal: the backward Lyapunov equation of a tree (Jain, section 9.3)."""

import numpy as np

from ..lie.scalars import like


def backward_element(tree, A, Y, B, i, j):
    """The block (i, j) of A* X B = Y + A~* Y + Y B~ + R, nothing where no node carries both.

        A*(k,i) Y(k) B(k,j)                           k the nearest that carries both, Jain (9.25)
    """
    above_i, above_j = products(tree, A, i, Y[i]), products(tree, B, j, Y[j])
    for k in above_i:
        if k in above_j:
            return above_i[k].mT @ Y[k] @ above_j[k]
    return np.zeros_like(Y[i], shape=(Y[i].shape[-2], Y[j].shape[-1]))


def products(tree, A, k, some):
    """A(i,k) for every i on the path of k, from k to its root (Jain, 8.16), over the scalars of `some`."""
    own = like(np.eye(some.shape[-1]), some)
    return dict(tree.path(k, own, via=lambda j, F: A[j] @ F))
