"""Euler angles of any sequence (Jain, section B.1): "ZXZ", "XYZ", "zyx" ...

Capital letters are rotations about the axes of the body, one after another: "ZXZ" is R = Rz(a) Rx(b) Rz(c).
Small letters are rotations about axes fixed in the world: "xyz" is R = Rz(c) Ry(b) Rx(a), the roll, pitch and yaw of URDF.
Adjacent letters differ. Angles are (..., 3), in the order of the letters.

Rates are singular where the first and last axis coincide: sin b = 0 if their letters are the same, else cos b = 0.
"""

import numpy as np

from .attitude import matrix_from_axis_angle, quaternion_from_axis_angle, quaternion_from_matrix
from .embedding import cross
from .scalars import dot, like, of_arrays
from .so3 import product

AXES = np.eye(3)


@of_arrays
def matrix_from_euler(angles, sequence):
    """R = R₁(a) R₂(b) R₃(c) (B.1, which prints R₃₃ = 1 for cos γ and loses a sign in R₂₁)."""
    first, second, third = _rotations(matrix_from_axis_angle, angles, sequence)
    return first @ second @ third


@of_arrays
def quaternion_from_euler(angles, sequence):
    """q = q₁(a) ⊗ q₂(b) ⊗ q₃(c)."""
    first, second, third = _rotations(quaternion_from_axis_angle, angles, sequence)
    return product(product(first, second), third)


@of_arrays
def euler_from_matrix(R, sequence):
    """The angles of a rotation matrix, in the ranges of `euler_from_quaternion`."""
    return euler_from_quaternion(quaternion_from_matrix(R), sequence)


@of_arrays
def euler_from_quaternion(q, sequence):
    """The angles of a quaternion: a, c in [-π, π]; b in [0, π] if first and last letter are the same, else [-π/2, π/2].

    For letters i j i, with k the third axis and ε = ±1 the sign of (i, j, k),
        q₀  = cos b/2 cos (a+c)/2        q_j =   sin b/2 cos (a-c)/2
        q_i = cos b/2 sin (a+c)/2        q_k = ε sin b/2 sin (a-c)/2
    and letters i j k become i j i by a rotation of 90° about j. Where the rates are singular only a+c or a-c is determined,
    and half of it is assigned to each angle.
    """
    i, j, k = _letters(sequence)
    proper  = i == k
    k       = 3 - i - j
    sign    = 1.0 if (j - i) % 3 == 1 else -1.0
    quarter = 0.0 if proper else -sign * np.pi / 2
    branch  = 1.0 if proper else -sign
    q       = product(q, like(quaternion_from_axis_angle(AXES[j], quarter), q))
    x, y, z, w = q[..., i], branch * q[..., j], branch * sign * q[..., k], q[..., 3]
    half_sum, half_difference = np.arctan2(x, w), np.arctan2(z, y)
    a = _wrap(half_sum + half_difference)
    b = branch * 2 * np.arctan2(np.sqrt(y * y + z * z), np.sqrt(x * x + w * w)) - quarter
    c = _wrap(half_sum - half_difference)
    return np.stack([a, b, c] if sequence.isupper() else [c, b, a], axis=-1)


@of_arrays
def euler_velocity_map(angles, sequence):
    """A with ω = A d(angles)/dt, ω in body axes: the three axes of rotation in body axes (B.2 for "ZXZ")."""
    _, second, third = _rotations(matrix_from_axis_angle, angles, sequence)
    u, v, w = (like(AXES[i], angles)[:, None] for i in _letters(sequence))
    u, v    = (second @ third).mT @ u, third.mT @ v
    w       = np.zeros_like(u) + w
    return np.concatenate([u, v, w] if sequence.isupper() else [w, v, u], axis=-1)


@of_arrays
def angular_velocity_from_euler(angles, rates, sequence):
    """ω = A d(angles)/dt, in body axes (B.2)."""
    return (euler_velocity_map(angles, sequence) @ rates[..., None])[..., 0]


@of_arrays
def euler_rates(angles, omega, sequence):
    """d(angles)/dt = A⁻¹ ω, ω in body axes (B.3). With A = [u v w], A⁻¹ ω = [v × w, w × u, u × v]* ω / (u · v × w)."""
    A       = euler_velocity_map(angles, sequence)
    u, v, w = A[..., 0], A[..., 1], A[..., 2]
    vw      = cross(v, w)
    return np.concatenate([dot(vw, omega), dot(cross(w, u), omega), dot(cross(u, v), omega)], axis=-1) / dot(u, vw)


def _letters(sequence):
    """The axes, in the order in which their rotations are multiplied."""
    letters = sequence.lower()
    if not (len(letters) == 3 and set(letters) <= set("xyz") and letters[0] != letters[1] != letters[2]
            and (sequence.isupper() or sequence.islower())):
        raise ValueError(f'"{sequence}" is not an Euler sequence: expected three letters, adjacent ones different, '
                         'all of XYZ (body axes) or all of xyz (world axes), such as "ZXZ" or "xyz".')
    axes = ["xyz".index(letter) for letter in letters]
    return axes if sequence.isupper() else axes[::-1]


def _rotations(rotation, angles, sequence):
    """The three rotations, in the order in which they are multiplied."""
    order = (0, 1, 2) if sequence.isupper() else (2, 1, 0)
    return [rotation(like(AXES[axis], angles), angles[..., k]) for axis, k in zip(_letters(sequence), order)]


def _wrap(angle):
    """An angle in (-2π, 2π], reduced to [-π, π]."""
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    return np.where(angle < -np.pi, angle + 2 * np.pi, angle)
