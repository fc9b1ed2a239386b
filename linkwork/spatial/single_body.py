"""The four equations of motion of one rigid body (Jain, chapter 2, Table 2.2).

They differ in the reference point of the velocity and in the frame in which its rate is taken; the motion is the same.
Each function returns the gyroscopic force b of  f = M β̇ + b  for columns (..., 6, 1).
"""

import numpy as np

from ..lie.so3 import tilde as skew
from .shift import bar, tilde


def angular(V):
    """V^ω: the angular part of a column, its linear part set to zero."""
    return np.concatenate([V[..., :3, :], np.zeros_like(V[..., 3:, :])], -2)


def linear(V):
    """V^v: the linear part of a column, its angular part set to zero."""
    return np.concatenate([np.zeros_like(V[..., :3, :]), V[..., 3:, :]], -2)


def gyroscopic_body(M, V):
    """Rate taken in the body, at any of its points:  b = V̄ M V                          Jain (2.28); V* b = 0."""
    return bar(V[..., 0]) @ M @ V


def gyroscopic_inertial(M, V):
    """Rate taken in the inertial frame, at any point of the body:  b = V^ω~ M V^ω        Jain (2.26)."""
    W = angular(V)
    return tilde(W[..., 0]) @ M @ W


def gyroscopic_center(tensor, V):
    """The same at the centre of mass:  b = [ω~ 𝒥(C) ω; 0]                               Jain (2.23)."""
    w = V[..., :3, :]
    return np.concatenate([skew(w[..., 0]) @ tensor @ w, np.zeros_like(w)], -2)


def gyroscopic_fixed_point(M, V):
    """M and V referred to an inertially fixed point:  b = V̄ M V                         Jain (2.37)."""
    return gyroscopic_body(M, V)


def inertial_rate(V, rate_in_body):
    """β̇ taken in the inertial frame from β̇ taken in the body:  + [0; ω~ v]              Jain (2.19)."""
    w, v = V[..., :3, :], V[..., 3:, :]
    return rate_in_body + np.concatenate([np.zeros_like(v), skew(w[..., 0]) @ v], -2)
