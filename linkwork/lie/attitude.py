"""Conversions between representations of attitude, and their rates (Jain, appendix B). Euler angles are in `euler`.

Quaternions are x y z w, world from body; axes are unit vectors n (..., 3) and angles (...); Gibbs vectors s (..., 3).
An angular velocity is in body axes unless `axes="world"`.
"""

import numpy as np

from .embedding import cross, tilde
from .scalars import dot, like, of_arrays, unit
from .so3 import conjugate, product, pure, rotation_matrix

__all__ = [
    "E_minus", "E_plus", "angular_acceleration", "angular_velocity", "angular_velocity_from_axis_angle",
    "axis_angle_from_matrix", "axis_angle_from_quaternion", "axis_angle_rates", "cayley", "cayley_inverse", "conjugate",
    "gibbs_from_quaternion", "matrix_from_axis_angle", "product", "pure", "quaternion_acceleration",
    "quaternion_from_axis_angle", "quaternion_from_gibbs", "quaternion_from_matrix", "quaternion_rate",
    "rotation_matrix", "rotations_between",
]


@of_arrays
def matrix_from_axis_angle(n, angle):
    """Euler-Rodrigues: R = cos θ I + (1 - cos θ) n n* + sin θ n~ (B.6)."""
    c, s = np.cos(angle)[..., None, None], np.sin(angle)[..., None, None]
    return c * like(np.eye(3), n) + (1 - c) * (n[..., :, None] @ n[..., None, :]) + s * tilde(n)


@of_arrays
def quaternion_from_axis_angle(n, angle):
    """q = [sin(θ/2) n; cos(θ/2)] (B.12)."""
    c, s = np.cos(angle / 2)[..., None], np.sin(angle / 2)[..., None]
    return np.concatenate([s * n, c + np.zeros_like(n[..., :1])], axis=-1)


@of_arrays
def axis_angle_from_quaternion(q):
    """n and θ in [0, π]; the axis of the identity is z."""
    q       = np.where(q[..., 3:] < 0, -q, q)
    e, w    = q[..., :3], q[..., 3:]
    square  = dot(e, e)
    nonzero = square > 0
    s       = np.sqrt(np.where(nonzero, square, 1.0))
    angle   = np.where(nonzero, 2 * np.arctan2(s, w), 0.0)
    return np.where(nonzero, e / s, like([0.0, 0.0, 1.0], q)), angle[..., 0]


@of_arrays
def axis_angle_from_matrix(R):
    """n and θ in [0, π], by way of the quaternion: (B.7) and (B.9) lose half the digits near 0 and π."""
    return axis_angle_from_quaternion(quaternion_from_matrix(R))


@of_arrays
def angular_velocity_from_axis_angle(n, angle, n_rate, angle_rate):
    """ω = θ̇ n - (1 - cos θ) n~ ṅ + sin θ ṅ (B.10)."""
    c, s = np.cos(angle)[..., None], np.sin(angle)[..., None]
    return angle_rate[..., None] * n - (1 - c) * cross(n, n_rate) + s * n_rate


@of_arrays
def axis_angle_rates(n, angle, omega):
    """ṅ = ½ (n~ - cot(θ/2) n~ n~) ω and θ̇ = n* ω (B.11). Singular at θ = 0, where the axis is arbitrary."""
    c, s = np.cos(angle / 2)[..., None], np.sin(angle / 2)[..., None]
    turn = cross(n, omega)
    return (turn - c / s * cross(n, turn)) / 2, dot(n, omega)[..., 0]


@of_arrays
def quaternion_from_matrix(R):
    """The unit quaternion with q₀ ≥ 0 of a rotation matrix.

    The entries of R give 4 q q*; of its four rows the one with the largest diagonal entry, at least 1, is taken (all of
    B.14, B.16 and B.18, the best conditioned of them).
    """
    (a, b, c), (d, e, f), (g, h, i) = ([R[..., j, k] for k in range(3)] for j in range(3))
    rows = (np.stack([1 + a - e - i, b + d, c + g, h - f], axis=-1),
            np.stack([b + d, 1 - a + e - i, f + h, c - g], axis=-1),
            np.stack([c + g, f + h, 1 - a - e + i, d - b], axis=-1),
            np.stack([h - f, c - g, d - b, 1 + a + e + i], axis=-1))
    best, size = rows[3], rows[3][..., 3:]
    for k in range(3):
        diagonal = rows[k][..., k:k + 1]
        best = np.where(diagonal > size, rows[k], best)
        size = np.where(diagonal > size, diagonal, size)
    return unit(np.where(best[..., 3:] < 0, -best, best))


@of_arrays
def E_plus(q):
    """p ⊗ q = E₊(p) q, E₊ = [[q₀ I + ε~, ε], [-ε*, q₀]] (B.19, B.26)."""
    return _E(q, tilde(q[..., :3]))


@of_arrays
def E_minus(q):
    """p ⊗ q = E₋(q) p, E₋ = [[q₀ I - ε~, ε], [-ε*, q₀]] (B.19, B.26)."""
    return _E(q, -tilde(q[..., :3]))


def _E(q, skew):
    e, w  = q[..., :3, None], q[..., 3:, None]
    upper = np.concatenate([w * like(np.eye(3), q) + skew, e], axis=-1)
    return np.concatenate([upper, np.concatenate([-e.mT, w], axis=-1)], axis=-2)


@of_arrays
def quaternion_rate(q, omega, axes="body"):
    """q̇ = ½ q ⊗ [ω; 0] with ω in body axes (B.34), ½ [ω; 0] ⊗ q in world axes."""
    return {"body": product(q, pure(omega)), "world": product(pure(omega), q)}[axes] / 2


@of_arrays
def angular_velocity(q, q_rate, axes="body"):
    """[ω; 0] = 2 q⁻¹ ⊗ q̇ in body axes (B.36), 2 q̇ ⊗ q⁻¹ in world axes (B.39).

    (B.37) and (B.40), which write this out, lack a factor 2 on their last term.
    """
    back = conjugate(q)
    return 2 * {"body": product(back, q_rate), "world": product(q_rate, back)}[axes][..., :3]


@of_arrays
def quaternion_acceleration(q, omega, omega_rate):
    """q̈ = ½ q ⊗ [ω̇; 0] - ¼ |ω|² q, in body axes (B.42, which prints + for -)."""
    return product(q, pure(omega_rate)) / 2 - dot(omega, omega) / 4 * q


@of_arrays
def angular_acceleration(q, q_acceleration):
    """ω̇ in body axes, from [ω̇; 0] = 2 q⁻¹ ⊗ q̈ + ½ |ω|² [0; 1] (B.43, which prints - for +); its last row is 0 = 0."""
    return 2 * product(conjugate(q), q_acceleration)[..., :3]


@of_arrays
def gibbs_from_quaternion(q):
    """s = ε/q₀ = tan(θ/2) n (B.47). Singular at θ = π."""
    return q[..., :3] / q[..., 3:]


@of_arrays
def quaternion_from_gibbs(s):
    """[s; 1] / sqrt(1 + s·s)."""
    return unit(_homogeneous(s))


@of_arrays
def cayley(s):
    """R = (I - s~)⁻¹ (I + s~) = I + 2 (s~² + s~) / (1 + s·s) (B.45), the rotation matrix of the quaternion [s; 1]."""
    return rotation_matrix(_homogeneous(s))


@of_arrays
def cayley_inverse(R):
    """s with s~ = (R - I)(R + I)⁻¹ (B.46). Singular at θ = π."""
    return gibbs_from_quaternion(quaternion_from_matrix(R))


@of_arrays
def rotations_between(a, b, alpha=0.0):
    """Gibbs vectors of the rotations that take a to b, of equal length, one for each α; a = -b has none.

        s = (a - b) × (a + b) / |a + b|² + α (a + b)        (B.49, whose print lacks the ×)
    """
    middle = a + b
    return cross(a - b, middle) / dot(middle, middle) + alpha * middle


def _homogeneous(s):
    return np.concatenate([s, np.zeros_like(s[..., :1]) + 1], axis=-1)
