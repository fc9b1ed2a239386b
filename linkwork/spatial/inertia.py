"""Spatial inertia of a rigid body, its momentum and its kinetic energy (Jain, chapter 2)."""

import numpy as np

from ..errors import ShapeError
from ..lie.scalars import like, of_arrays
from ..lie.so3 import tilde
from .shift import blocks


@of_arrays
def inertia(mass, center, tensor):
    """Spatial inertia about the frame's origin, from the tensor about the centre of mass, all in the frame's axes. The tensor is
    (..., 3, 3), or three principal moments (3,).

        M = [[𝒥, m p~], [−m p~, m I]],   𝒥 = 𝒥(C) − m p~ p~                       Jain (2.7), (2.11)
    """
    mass, tensor = mass[..., None, None], whole_tensor(tensor)
    p = tilde(center)
    mp = mass * p
    about_origin = tensor - mp @ p
    o = np.zeros_like(about_origin)  # broadcasts all four to one shape if only some have batch axes
    return blocks(about_origin, o + mp, o - mp, o + mass * like(np.eye(3), tensor))


def whole_tensor(tensor):
    """A tensor (..., 3, 3) as it is, or the diagonal one of principal moments (3,)."""
    if tensor.shape == (3,):
        return tensor[:, None] * like(np.eye(3), tensor)
    if tensor.shape[-2:] != (3, 3):
        raise ShapeError(f"tensor has shape {tensor.shape}; it takes (..., 3, 3), or three principal moments (3,).")
    return tensor


@of_arrays
def parallel_axis(tensor, mass, center):
    """𝒥(x) = 𝒥(C) − m p~ p~: the tensor about a point from that about the centre of mass, p from the point to the centre."""
    p = tilde(center)
    return whole_tensor(tensor) - mass * p @ p


@of_arrays
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


@of_arrays
def momentum(M, V):
    """h = M V, about the frame's origin; V a column."""
    return M @ V


@of_arrays
def kinetic_energy(M, V):
    """½ V* M V, V a column (..., 6, 1); the result has shape (...)."""
    return 0.5 * (V.mT @ M @ V)[..., 0, 0]


@of_arrays
def is_physical(mass, tensor):
    """Can a rigid body have these? Principal moments not negative, the largest no more than the sum of the others."""
    a, b, c = np.linalg.eigvalsh(whole_tensor(tensor))
    slack = 1e-6 * abs(c) + 1e-300
    return bool(mass >= 0 and a >= -slack and c <= a + b + slack)
