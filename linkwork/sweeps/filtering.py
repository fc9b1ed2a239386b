"""The same sweeps as an estimator: a chain of links is a Kalman filter and smoother (Jain, section 6.4).

A vector x goes from tips to base and picks up noise w with covariance M on its way; each joint observes T = H x, with
observation noise of covariance `armature` where a joint has inertia of its own.

    x(k) = w(k) + Σ A(k,j) x(j),   T(k) = H(k) x(k)                                       Jain (6.45), (6.46)

Then R is the covariance of x, P that of what is still unknown of it before the observation at k, D that of the innovation,
G the Kalman gain. The forces in a mechanism at rest are the best estimate of x from the observations T.
"""

from .blocks import at_rest
from .forward_dynamics import forward_dynamics, innovations, interbody_forces


def kalman_filter(s, P, D, G, tau, base):
    """Best estimate z(k) of x(k) from the joints that k carries, and the innovations ε, white with covariance D: the
    inward sweep of forward dynamics at rest.                                               Jain (6.48), (6.49)
    """
    z, eps, _ = innovations(s, P, D, G, at_rest(s, base, tau))
    return z, eps


def smoother(s, P, D, G, tau, base):
    """Best estimate of x(k) from every joint: the filter's, corrected by what was observed later, f(k) = z(k) + P(k) α(k).

    The outward sweep of forward dynamics at rest, and its interbody forces.                Jain (6.50)
    """
    r = at_rest(s, base, tau)
    _, alpha, z = forward_dynamics(s, P, D, G, r)
    return interbody_forces(s, P, r, alpha, z)
