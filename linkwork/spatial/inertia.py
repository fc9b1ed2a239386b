"""Spatial inertia of a rigid body and what follows from it (Jain, chapter 2)."""

import numpy as np

from ..lie.scalars import like
from ..lie.so3 import tilde
from .shift import blocks


def inertia(mass, center, tensor):
    """Spatial inertia about the frame's origin, from the tensor about the centre of mass, all in the frame's axes.

        M = [[J, m p~], [−m p~, m I]],   J = J(C) − m p~ p~                       Jain (2.7), (2.11)
    """
    mass = mass[..., None, None]
    p = tilde(center)
    mp = mass * p
    J = tensor - mp @ p
    o = np.zeros_like(J)  # brings all four to one shape where only some have batch axes
    return blocks(J, o + mp, o - mp, o + mass * like(np.eye(3), tensor))


def parallel_axis(tensor, mass, center):
    """J(x) = J(C) − m p~ p~: the tensor about a point from the one about the centre, p from the point to it."""
    p = tilde(center)
    return tensor - mass * p @ p


def inertia_parameters(M):
    """(mass, centre, tensor about the centre) of a spatial inertia: the inverse of `inertia`."""
    mass = M[..., 5, 5]
    mp = np.stack([M[..., 2, 4], M[..., 0, 5], M[..., 1, 3]], -1)
    center = mp / np.where(mass == 0, 1.0, mass)[..., None]
    return mass, center, M[..., :3, :3] + mass[..., None, None] * tilde(center) @ tilde(center)


def point_masses(masses, points):
    """Spatial inertia of particles, Σ mᵢ [[−pᵢ~ pᵢ~, pᵢ~], [−pᵢ~, I]]: masses (n,), points (n, 3)."""
    masses, points = np.asarray(masses, float), np.asarray(points, float)
    return inertia(masses, points, np.zeros((*masses.shape, 3, 3))).sum(-3)


def momentum(M, V):
    """h = M V, about the frame's origin; V a column."""
    return M @ V


def kinetic_energy(M, V):
    """½ V* M V, V a column (..., 6, 1); the result has shape (...)."""
    return 0.5 * (V.mT @ M @ V)[..., 0, 0]


def is_physical(mass, tensor):
    """Can a body be like this? Principal moments not negative, the largest no more than the sum of the others."""
    a, b, c = np.linalg.eigvalsh(tensor)
    slack = 1e-6 * abs(c) + 1e-300
    return bool(mass >= 0 and a >= -slack and c <= a + b + slack)
