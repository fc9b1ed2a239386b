"""Euler angles of all twenty-four sequences, turning about body axes (capitals) and world axes."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from linkwork.lie import euler
from linkwork.lie.attitude import rotation_matrix
from linkwork.lie.embedding import tilde

SEQUENCES = [
    case(f"{a}{b}{c}") for a, b, c in product("xyz", repeat=3) if a != b != c for case in (str.upper, str.lower)
]
SHAPES = [(), (5,), (2, 3)]
STEP = 1e-30

every_sequence = pytest.mark.parametrize("sequence", SEQUENCES)


def proper(sequence):
    return sequence[0] == sequence[2]


def random_angles(sequence, rng, shape=()):
    """Away from the singularity, the middle angle in its range."""
    a, b, c = (rng.uniform(-x, x, shape) for x in (3.1, 1.4, 3.1))
    return np.stack([a, b + np.pi / 2 if proper(sequence) else b, c], axis=-1)


def close(a, b, tolerance=1e-14):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def test_B1_the_matrix_of_ZXZ():
    """With R₃₃ = cos γ and R₂₁ = sin ψ cos φ + cos ψ cos γ sin φ."""
    angles = np.array([0.3, 1.1, -0.7])
    (sp, sg, sf), (cp, cg, cf) = np.sin(angles), np.cos(angles)
    close(euler.matrix_from_euler(angles, "ZXZ"), [
        [cp * cf - sp * cg * sf, -cp * sf - sp * cg * cf, sp * sg],
        [sp * cf + cp * cg * sf, -sp * sf + cp * cg * cf, -cp * sg],
        [sg * sf, sg * cf, cg],
    ])


def test_B2_B3_the_rates_of_ZXZ():
    angles = np.array([0.3, 1.1, -0.7])
    (_, sg, sf), (_, cg, cf) = np.sin(angles), np.cos(angles)
    close(euler.euler_velocity_map(angles, "ZXZ"), [[sg * sf, cf, 0], [sg * cf, -sf, 0], [cg, 0, 1]])
    inverse = np.array([[sf, cf, 0], [sg * cf, -sg * sf, 0], [-cg * sf, -cg * cf, sg]]) / sg
    close(euler.euler_rates(np.array([angles] * 3), np.eye(3), "ZXZ").T, inverse)


@every_sequence
def test_matrix_and_quaternion_are_the_same_rotation(sequence, rng):
    angles = random_angles(sequence, rng, (5,))
    R = euler.matrix_from_euler(angles, sequence)
    close(rotation_matrix(euler.quaternion_from_euler(angles, sequence)), R)
    close(Rotation.from_euler(sequence, angles).as_matrix(), R)


@every_sequence
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_angles_come_back(sequence, shape, rng):
    angles = random_angles(sequence, rng, shape)
    close(euler.euler_from_quaternion(euler.quaternion_from_euler(angles, sequence), sequence), angles)
    close(euler.euler_from_matrix(euler.matrix_from_euler(angles, sequence), sequence), angles)


@every_sequence
@pytest.mark.parametrize("miss", [0.0, 1e-12, 1e-8, 1e-4])
def test_the_rotation_comes_back_at_the_singularity(sequence, miss):
    for edge in ((0.0, np.pi) if proper(sequence) else (-np.pi / 2, np.pi / 2)):
        inside = miss if edge <= 0 else -miss
        q = euler.quaternion_from_euler(np.array([0.4, edge + inside, 0.9]), sequence)
        close(rotation_matrix(euler.quaternion_from_euler(euler.euler_from_quaternion(q, sequence), sequence)),
              rotation_matrix(q))


@every_sequence
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_angle_rates_give_the_angular_velocity_of_the_body(sequence, shape, rng):
    """R* Ṙ = ω~, by a complex step."""
    angles, rates = random_angles(sequence, rng, shape), rng.normal(size=(*shape, 3))
    R = euler.matrix_from_euler(angles + 1j * STEP * rates, sequence)
    omega = euler.angular_velocity_from_euler(angles, rates, sequence)
    close(R.real.mT @ R.imag / STEP, tilde(omega))
    close(euler.euler_rates(angles, omega, sequence), rates, 1e-13)


@every_sequence
def test_angular_velocity_is_no_derivative_of_coordinates(sequence, rng):
    """∂(A θ̇)/∂θ - Ȧ = ω~ A, with ω in body axes (Jain, remark 4.2, which says world axes: there the sign flips)."""
    angles, rates = random_angles(sequence, rng), rng.normal(size=3)
    A, A_rate = (part(euler.euler_velocity_map(angles + 1j * STEP * rates, sequence)) for part in (np.real, np.imag))
    gradient = euler.angular_velocity_from_euler(angles + 1j * STEP * np.eye(3), rates, sequence).imag.T
    close((gradient - A_rate) / STEP, tilde(A @ rates) @ A)


@pytest.mark.parametrize("sequence", ["XXY", "xYz", "abc", "xy", ""])
def test_a_wrong_sequence_is_named(sequence):
    with pytest.raises(ValueError, match=f'"{sequence}" is not an Euler sequence'):
        euler.matrix_from_euler(np.zeros(3), sequence)
