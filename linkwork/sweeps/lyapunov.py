"""The two Lyapunov equations of a tree: A X B* and A* X B from their diagonals (Jain, section 9.4)."""

import numpy as np

from ..lie.scalars import like


def forward_lyapunov(tree, A, X, B):
    """The diagonal of A X B*, tips to base: Y with X = Y − 𝓔_A Y 𝓔_B*.

        Y(k) = X(k) + Σ A(k,j) Y(j) B*(k,j)           over children j of k, Jain, Lemma 9.3; O(N)
    """
    Y = tree.slots()
    for k in tree.tips_to_base():
        Y[k] = X[k] + tree.sum(A[j] @ Y[j] @ B[j].mT for j in tree.children[k])
    return Y


def forward_element(tree, A, Y, B, i, j):
    """The block (i, j) of A X B* = Y + A~ Y + Y B~*, nothing where neither node carries the other.

        A(i,j) Y(j)  or  Y(i) B*(j,i)                 Jain (9.15)
    """
    above_j = dict(tree.path(j, Y[j], via=lambda k, F: A[k] @ F))
    above_i = dict(tree.path(i, Y[i].mT, via=lambda k, F: B[k] @ F))
    if i in above_j:
        return above_j[i]
    return above_i[j].mT if j in above_i else np.zeros_like(Y[i], shape=(Y[i].shape[-2], Y[j].shape[-1]))


def backward_lyapunov(tree, A, X, B, base):
    """The diagonal of A* X B, base to tips: Y with X = Y − diagOf{𝓔_A* Y 𝓔_B}.

        Y(k) = X(k) + A*(p,k) Y(p) B(p,k)             p the parent of k, Jain, Lemma 9.5; O(N)

    The world holds `base`: zero for the operators of the book.
    """
    Y = tree.slots()
    Y[tree.world] = base
    for k in tree.base_to_tips():
        Y[k] = X[k] + A[k].mT @ Y[tree.parent[k]] @ B[k]
    return Y


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
