"""How the mass matrix changes: along a motion, and along each velocity (Jain, section 18.3)."""

import numpy as np

from ..spatial import bar
from .coriolis_matrix import coriolis_matrix, velocity_rates


def mass_matrix_rate(s, d):
    """d𝓜/dt = C + C*, from the rates d of the blocks, in whichever axes these are taken.          Jain (18.23)"""
    C = coriolis_matrix(s, d)
    return C + C.mT


def mass_matrix_rate_times(s, d, u, base):
    """d𝓜/dt u for one u: base to tips, then tips to base; W and Y are velocities u and their rates.

        h(k) = M(k) W(k) + Σ A(k,j) h(j)                                      over children j of k
        f(k) = M(k) Y(k) + (N + N*)(k) W(k) + Σ A(k,j) f(j) + Å(k,j) h(j)
        d𝓜/dt u (k) = H(k) f(k) + H̊*(k) h(k)                                                       O(N)
    """
    tree, A, H, M, _ = s
    (W, Y), (h, f, out) = velocity_rates(s, d, u, base), tree.slots(3)
    for k in tree.tips_to_base():
        h[k]   = M[k] @ W[k] + tree.sum(A[j] @ h[j] for j in tree.children[k])
        f[k]   = M[k] @ Y[k] + (d.N[k] + d.N[k].mT) @ W[k] + tree.sum(A[j] @ f[j] + d.A[j] @ h[j] for j in tree.children[k])
        out[k] = H[k] @ f[k] + d.H[k].mT @ h[k]
    return out


def mass_matrix_derivative(s, R):
    """∂𝓜/∂q of a rigid tree along each of its velocities (..., nv, nv, nv), the last axis the direction, tips to base.

    With h a row of H(i) and j above i, that is on its path but not i itself:

        ∂𝓜(j,k) = H(j) φ(j,i) h̄ φ(i,k) R(k) H*(k)                            k = i or beyond
        ∂𝓜(j,k) = H(j) φ(j,i) [h̄ R(i) + R(i) h̄*] φ*(k,i) H*(k)                k above i too

    and nothing else: a joint does not change what lies beyond it.             Jain, Lemma 18.9, in the axes of the nodes; O(N depth²)
    """
    tree, A, H, _, _ = s
    found: dict = {}
    up = lambda i, F: A[i] @ F
    around = lambda i, B: A[i] @ B @ A[i].mT
    for k in tree.tips_to_base():
        for c, turn in enumerate(turns(H[k])):
            B = around(k, turn @ R[k] + R[k] @ turn.mT)
            for j, above in tree.path(tree.parent[k], B, via=around):
                for i, F in tree.path(j, above @ H[j].mT, via=up):
                    found[i, j, k, c] = H[i] @ F
        for i, F in tree.path(k, R[k] @ H[k].mT, via=up):
            for c, turn in enumerate(turns(H[i])):
                for j, E in tree.path(tree.parent[i], A[i] @ (turn @ F), via=up):
                    found[j, k, i, c] = H[j] @ E
    return symmetric_slices(tree, found, R)


def turns(H):
    """h̄ for each row h of H: the rate of φ(p,k) per velocity is φ(p,k) times this."""
    return [bar(H[..., c, :]) for c in range(H.shape[-2])]


def symmetric_slices(tree, found: dict, some):
    """(..., nv, nv, nv) of blocks (i, j) of the slice of velocity c of node k, and the same transposed at (j, i)."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in found.values()))
    filler = some[0] if len(tree) else np.zeros(0)
    out = np.zeros_like(filler, shape=(*batch, tree.nv, tree.nv, tree.nv))
    for (i, j, k, c), block in found.items():
        rows, columns, at = tree.rows[i], tree.rows[j], tree.rows[k].start + c
        out[..., rows, columns, at] = block
        out[..., columns, rows, at] = block.mT
    return out
