"""Recursions of the book that no quantity needs: they are checked here, beside the sweeps that are used."""

import numpy as np

from linkwork.sweeps import composite_inertia


def composite_inverse_dynamics(s, r, vdot):
    """Inverse dynamics through composite inertias: tips to base, then base to tips.

        y(k)  = b(k) + Σ A(k,j) y⁺(j)                 over children j of k
        y⁺(k) = y(k) + R(k) (H*(k) v̇(k) + a(k))
        α(k)  = A*(p,k) α(p) + H*(k) v̇(k) + a(k)
        f(k)  = R(k) α(k) + y(k),   τ(k) = H(k) f(k) + armature(k) v̇(k)        Jain, Algorithm 5.3
    """
    tree, A, H, _, armature = s
    R = composite_inertia(s)
    y, y_plus, alpha, f, tau = tree.slots(5)
    for k in tree.tips_to_base():
        y[k] = r.b[k] + tree.sum(A[j] @ y_plus[j] for j in tree.children[k])
        y_plus[k] = y[k] + R[k] @ (H[k].mT @ vdot[k] + r.a[k])
    alpha[tree.world] = r.base
    for k in tree.base_to_tips():
        alpha[k] = A[k].mT @ alpha[tree.parent[k]] + H[k].mT @ vdot[k] + r.a[k]
        f[k] = R[k] @ alpha[k] + y[k]
        tau[k] = H[k] @ f[k] + armature[k] @ vdot[k]
    return tau, alpha, f


def forward_lyapunov(tree, A, X, B):
    """The diagonal of A X B*, tips to base: Y with X = Y − 𝓔_A Y 𝓔_B*.

        Y(k) = X(k) + Σ A(k,j) Y(j) B*(k,j)           over children j of k, Jain, Lemma 9.3
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
    return above_i[j].mT if j in above_i else np.zeros((Y[i].shape[-2], Y[j].shape[-1]))


def backward_lyapunov(tree, A, X, B, base):
    """The diagonal of A* X B, base to tips, the world holding `base`: Y with X = Y − diagOf{𝓔_A* Y 𝓔_B}.

        Y(k) = X(k) + A*(p,k) Y(p) B(p,k)             p the parent of k, Jain, Lemma 9.5
    """
    Y = tree.slots()
    Y[tree.world] = base
    for k in tree.base_to_tips():
        Y[k] = X[k] + A[k].mT @ Y[tree.parent[k]] @ B[k]
    return Y
