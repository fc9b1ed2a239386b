"""The same sweeps as an estimator: a chain of links is a Kalman filter and smoother (Jain, section 6.4).

A vector x goes from tips to base and picks up noise w with covariance M on its way; each joint observes T = H x, with
observation noise of covariance J where a joint has inertia of its own.

    x(k) = w(k) + Σ A(k,j) x(j),   T(k) = H(k) x(k)                                       Jain (6.45), (6.46)

Then R is the covariance of x, P that of what is still unknown of it before the observation at k, D that of the innovation,
G the Kalman gain. The forces in a mechanism at rest are the best estimate of x from the observations T.
"""

import numpy as np

from ..spatial import solve


def kalman_filter(tree, A, H, D, G, tau):
    """Best estimate of x(k) from the joints that k carries, and the innovations, tips to base.

        z(k)  = Σ A(k,j) z⁺(j)                        before the observation at k
        ε(k)  = T(k) − H(k) z(k)                      white, with covariance D
        z⁺(k) = z(k) + G(k) ε(k)                      after it, Jain (6.48), (6.49)
    """
    z, eps, z_plus = tree.slots(3)
    for k in tree.tips_to_base():
        nothing   = np.zeros_like(G[k], shape=(G[k].shape[-2], 1))
        z[k]      = nothing + tree.sum(A[j] @ z_plus[j] for j in tree.children[k])
        eps[k]    = tau[k] - H[k] @ z[k]
        z_plus[k] = z[k] + G[k] @ eps[k]
    return z, eps, z_plus


def smoother(tree, A, H, P, D, G, z, eps, base):
    """Best estimate of x(k) from every joint, base to tips: the filter's, corrected by what was observed later.

        α(k) = ψ*(p,k) α(p) + H*(k) D⁻¹(k) ε(k),   f(k) = z(k) + P(k) α(k)                  Jain (6.50)
    """
    alpha, f = tree.slots(2)
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        alpha_plus = A[k].mT @ alpha[tree.parent[k]]
        alpha[k]   = alpha_plus + H[k].mT @ (solve(D[k], eps[k]) - G[k].mT @ alpha_plus)
        f[k]       = z[k] + P[k] @ alpha[k]
    return f
