"""Functions node by node, and one step of travel: products with the kernel operator 𝓔_A, that is with A − I cut down to neighbours
(Jain, equation 8.9)."""

import numpy as np


def from_children(tree, A, x, heights):
    """y = 𝓔_A x: each node hears its children only, a tip hears nothing.

        y(k) = Σ A(k,j) x(j)                          over children j of k
    """
    y = tree.slots()
    for k in tree.tips_to_base():
        nothing = np.zeros_like(x[k], shape=(heights[k], x[k].shape[-1]))
        y[k]    = nothing + tree.sum(A[j] @ x[j] for j in tree.children[k])
    return y


def from_parent(tree, A, x, base):
    """y = 𝓔_A* x: each node hears its parent only, a root hears `base`.

        y(k) = A*(p,k) x(p)                           p the parent of k
    """
    x = {**x, tree.world: base}
    y = tree.slots()
    for k in tree.base_to_tips():
        y[k] = A[k].mT @ x[tree.parent[k]]
    return y


def each(tree, function, *slots):
    """y(k) of x(k): a function node by node."""
    y = tree.slots()
    for k in tree.base_to_tips():
        y[k] = function(*(x[k] for x in slots))
    return y
