"""The statements of Jain's appendix B on rotations, quaternions and Gibbs vectors, one test each."""

import inspect

import numpy as np
import pytest

from linkwork import spatial
from linkwork.lie import SO3, attitude, euler
from linkwork.lie.attitude import E_minus, E_plus, conjugate, product, pure, rotation_matrix
from linkwork.lie.embedding import tilde

SHAPES = [(), (5,), (2, 3)]
STEP = 1e-30
E = np.array([0.0, 0.0, 0.0, 1.0])
I = np.eye(3)


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture
def q(rng, shape):
    return SO3.exp(rng.uniform(-1.5, 1.5, (*shape, 3)))


@pytest.fixture
def p(rng, shape):
    return SO3.exp(rng.uniform(-1.5, 1.5, (*shape, 3)))


@pytest.fixture
def omega(rng, shape):
    return rng.normal(size=(*shape, 3))


@pytest.fixture
def n(rng, shape):
    n = rng.normal(size=(*shape, 3))
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


@pytest.fixture
def angle(rng, shape):
    return rng.uniform(0.1, 3.0, shape)


def close(a, b, tolerance=1e-14):
    np.testing.assert_allclose(a, np.broadcast_to(b, a.shape), rtol=0, atol=tolerance)


def apply(A, x):
    return (A @ x[..., None])[..., 0]


def trace(R):
    return np.trace(R, axis1=-2, axis2=-1)


def test_B6_euler_rodrigues_is_the_exponential_of_the_axis(n, angle):
    R = attitude.matrix_from_axis_angle(n, angle)
    close(R, SO3.matrix(SO3.exp(n * angle[..., None]))[..., :3, :3])
    close(R, I + (1 - np.cos(angle))[..., None, None] * tilde(n) @ tilde(n) + np.sin(angle)[..., None, None] * tilde(n))


def test_B7_the_trace_gives_the_angle(n, angle):
    close(trace(attitude.matrix_from_axis_angle(n, angle)), 1 + 2 * np.cos(angle))


def test_B8_a_rotation_satisfies_its_characteristic_polynomial(n, angle):
    R = attitude.matrix_from_axis_angle(n, angle)
    g = trace(R)[..., None, None]
    close(R @ R @ R - g * R @ R + g * R, I)


def test_B9_the_skew_part_gives_the_axis(n, angle):
    R = attitude.matrix_from_axis_angle(n, angle)
    close((R - R.mT) / (2 * np.sin(angle)[..., None, None]), tilde(n))


def test_axis_and_angle_come_back_from_the_matrix_and_from_the_quaternion(n, angle):
    for axis, turn in (attitude.axis_angle_from_matrix(attitude.matrix_from_axis_angle(n, angle)),
                       attitude.axis_angle_from_quaternion(attitude.quaternion_from_axis_angle(n, angle))):
        close(axis, n)
        close(turn, angle)


def test_the_axis_of_the_identity_is_z():
    n, angle = attitude.axis_angle_from_matrix(I)
    assert tuple(n) == (0, 0, 1) and angle == 0


def test_B10_angle_axis_rates_give_the_angular_velocity(n, angle, omega):
    """R* Ṙ = ω~, by a complex step."""
    n_rate = np.cross(n, omega)
    R = attitude.matrix_from_axis_angle(n + 1j * STEP * n_rate, angle + 1j * STEP)
    w = attitude.angular_velocity_from_axis_angle(n, angle, n_rate, np.ones_like(angle))
    close(R.real.mT @ R.imag / STEP, tilde(w))


def test_B11_is_the_inverse_of_B10(n, angle, omega):
    n_rate, angle_rate = attitude.axis_angle_rates(n, angle, omega)
    close(np.sum(n * n_rate, -1), 0)
    close(attitude.angular_velocity_from_axis_angle(n, angle, n_rate, angle_rate), omega)


def test_B12_the_quaternion_of_axis_and_angle_is_the_exponential(n, angle):
    close(attitude.quaternion_from_axis_angle(n, angle), SO3.exp(n * angle[..., None]))


def test_B14_all_six_formulas_of_the_rotation_matrix_agree(q):
    e, w, R = q[..., :3], q[..., 3:, None], rotation_matrix(q)
    s, square, outer = tilde(e), np.sum(e * e, -1)[..., None, None], e[..., :, None] * e[..., None, :]
    close(R, (w * w - square) * I + 2 * outer + 2 * w * s)
    close(R, (2 * w * w - 1) * I + 2 * outer + 2 * w * s)
    close(R, I + 2 * s @ s + 2 * w * s)
    close(R, I + 2 * (w * I + s) @ s)
    close(R, (w * I + s) @ (w * I + s) + outer)
    close(R @ R.mT, I)


def test_the_matrix_of_a_quaternion_of_small_integers_is_exact():
    quarter = rotation_matrix(np.array([1.0, 0.0, 0.0, 1.0]))
    assert (quarter == [[1, 0, 0], [0, 0, -1], [0, 1, 0]]).all()
    assert (rotation_matrix(np.ones(4)) == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]).all()


def test_q_and_minus_q_are_the_same_rotation(q):
    close(rotation_matrix(q), rotation_matrix(-q), 0)


def test_B15_the_conjugate_is_the_inverse_rotation(q):
    close(rotation_matrix(conjugate(q)), rotation_matrix(q).mT)


def test_B16_the_trace_is_four_times_the_square_of_the_scalar_minus_one(q):
    close(trace(rotation_matrix(q)), 4 * q[..., 3] ** 2 - 1)


def test_B17_the_vector_part_is_the_axis(q):
    close(apply(rotation_matrix(q), q[..., :3]), q[..., :3])


def test_B18_the_skew_part_gives_the_vector_part(q):
    R = rotation_matrix(q)
    close((R - R.mT) / (4 * q[..., 3:, None]), tilde(q[..., :3]))


def test_the_quaternion_comes_back_from_its_matrix(q):
    close(attitude.quaternion_from_matrix(rotation_matrix(q)), q)


@pytest.mark.parametrize("axis", [*np.eye(3), [0.6, 0.8, 0.0], [2 / 7, -3 / 7, 6 / 7]], ids=str)
@pytest.mark.parametrize("miss", [0.0, 1e-15, 1e-9, 1e-5, 1e-2])
def test_extraction_from_a_matrix_is_accurate_near_pi(axis, miss):
    q = SO3.exp((np.pi - miss) * np.array(axis))
    r = attitude.quaternion_from_matrix(rotation_matrix(q))
    close(r * np.sign(r @ q), q, 1e-15)


def test_B20_E_matrices_are_orthogonal(q):
    close(E_plus(q).mT @ E_plus(q), np.eye(4))
    close(E_minus(q) @ E_minus(q).mT, np.eye(4))


def test_B21_E_matrices_multiply_to_the_rotation(q):
    T = SO3.matrix(q)
    close(E_minus(q).mT @ E_plus(q), T)
    close(E_plus(q) @ E_minus(q).mT, T)
    close(E_plus(q).mT @ E_minus(q), T.mT)


def test_B22_E_of_the_inverse_is_the_transpose(q):
    close(E_plus(conjugate(q)), E_plus(q).mT, 0)
    close(E_minus(conjugate(q)), E_minus(q).mT, 0)


def test_B23_B26_B27_the_product_is_either_E_matrix(p, q):
    close(apply(E_plus(p), q), product(p, q))
    close(apply(E_minus(q), p), product(p, q))


def test_B24_E_plus_and_E_minus_commute(p, q):
    for A in (E_minus(q), E_minus(q).mT):
        for B in (E_plus(p), E_plus(p).mT):
            close(A @ B, B @ A)


def test_B25_a_quaternion_is_an_eigenvector_of_its_rotation(q):
    close(apply(SO3.matrix(q), q), q)


def test_B28_rotations_compose_as_quaternions(p, q):
    close(rotation_matrix(product(p, q)), rotation_matrix(p) @ rotation_matrix(q))
    close(np.linalg.norm(product(p, q), axis=-1), 1)


def test_B29_the_product_is_associative(p, q):
    r = p[..., ::-1]
    close(product(p, product(q, r)), product(product(p, q), r))


def test_B30_products_with_an_inverse_are_transposed_E_matrices(p, q):
    close(product(conjugate(p), q), apply(E_plus(p).mT, q))
    close(product(p, conjugate(q)), apply(E_minus(q).mT, p))


def test_B31_the_identity_quaternion(q):
    close(product(q, E), q)
    close(product(q, conjugate(q)), E)


def test_B32_products_are_undone_from_either_side(p, q):
    r = product(p, q)
    close(conjugate(r), product(conjugate(q), conjugate(p)))
    close(product(conjugate(p), r), q)
    close(product(r, conjugate(q)), p)


def test_B33_a_vector_is_turned_between_q_and_its_inverse(q, omega):
    close(product(product(q, pure(omega)), conjugate(q)), pure(apply(rotation_matrix(q), omega)))


def test_B34_the_quaternion_rate_turns_the_matrix(q, omega):
    """R* Ṙ = ω~ in body axes, Ṙ R* = ω~ in world axes, by a complex step."""
    R = rotation_matrix(q + 1j * STEP * attitude.quaternion_rate(q, omega))
    close(R.real.mT @ R.imag / STEP, tilde(omega))
    R = rotation_matrix(q + 1j * STEP * attitude.quaternion_rate(q, omega, axes="world"))
    close(R.imag @ R.real.mT / STEP, tilde(omega))


def test_B35_the_quaternion_rate_keeps_the_norm(q, omega):
    close(np.sum(q * attitude.quaternion_rate(q, omega), -1), 0)


@pytest.mark.parametrize("axes", ["body", "world"])
def test_B36_B39_the_angular_velocity_comes_back_from_the_rate(q, omega, axes):
    close(attitude.angular_velocity(q, attitude.quaternion_rate(q, omega, axes=axes), axes=axes), omega)


def test_B37_B40_written_out_with_the_factor_on_both_terms(q, omega):
    rate = attitude.quaternion_rate(q, omega)
    e, w, e_rate, w_rate = q[..., :3], q[..., 3:], rate[..., :3], rate[..., 3:]
    close(2 * (w * e_rate - np.cross(e, e_rate) - e * w_rate), omega)
    close(2 * (w * e_rate + np.cross(e, e_rate) - e * w_rate), apply(rotation_matrix(q), omega))


def test_B38_B41_with_the_scalar_rate_eliminated(q, omega):
    e, w = q[..., :3], q[..., 3:]
    e_rate = attitude.quaternion_rate(q, omega)[..., :3]
    along = e * np.sum(e * e_rate, -1, keepdims=True) / w
    close(2 * (w * e_rate - np.cross(e, e_rate) + along), omega, 1e-13)
    close(2 * (w * e_rate + np.cross(e, e_rate) + along), apply(rotation_matrix(q), omega), 1e-13)


def test_B42_the_second_derivative_is_the_rate_of_the_rate(q, omega):
    """With the minus sign; q̇ = ½ q ⊗ ω differentiated by a complex step."""
    omega_rate = omega[..., ::-1] * 0.7
    moving = q + 1j * STEP * attitude.quaternion_rate(q, omega)
    second = attitude.quaternion_rate(moving, omega + 1j * STEP * omega_rate).imag / STEP
    close(attitude.quaternion_acceleration(q, omega, omega_rate), second)


def test_B43_the_angular_acceleration_comes_back(q, omega):
    """With the plus sign: [ω̇; 0] = 2 q⁻¹ ⊗ q̈ + ½ |ω|² [0; 1]."""
    omega_rate = omega[..., ::-1] * 0.7
    second = attitude.quaternion_acceleration(q, omega, omega_rate)
    close(attitude.angular_acceleration(q, second), omega_rate)
    close(2 * product(conjugate(q), second) + np.sum(omega * omega, -1, keepdims=True) / 2 * E, pure(omega_rate))


def test_B44_B45_the_cayley_map_is_a_quotient(omega):
    s, square = tilde(omega), (1 + np.sum(omega * omega, -1))[..., None, None]
    close((I - s) @ (I + (s @ s + s) / square), I)
    close((I - s) @ attitude.cayley(omega), I + s)
    close(attitude.cayley(omega), I + 2 * (s @ s + s) / square)


def test_B46_the_cayley_map_is_undone(omega):
    R = attitude.cayley(omega)
    g = trace(R)[..., None, None]
    close(attitude.cayley_inverse(R), omega, 1e-13)
    close(-(g * I - (1 + g) * R + R @ R) / (1 + g), tilde(omega), 1e-13)


def test_B47_the_gibbs_vector_is_the_tangent_of_half_the_angle(n, angle):
    q = attitude.quaternion_from_axis_angle(n, angle)
    s = attitude.gibbs_from_quaternion(q)
    close(s, np.tan(angle / 2)[..., None] * n, 1e-13)
    close(attitude.quaternion_from_gibbs(s), q)
    close(attitude.cayley(s), rotation_matrix(q))


@pytest.mark.parametrize("alpha", [0.0, 0.3, -2.0])
def test_B48_B49_the_rotations_that_take_a_to_b(omega, q, alpha):
    """With a cross product in (B.49)."""
    a, b = omega, apply(rotation_matrix(q), omega)
    s = attitude.rotations_between(a, b, alpha)
    close(np.cross(a + b, s), a - b, 1e-13)
    close(apply(attitude.cayley(s), a), b, 1e-13)


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1e-4])
def test_a_small_angle_keeps_its_digits_through_the_matrix(size):
    """Half the skew part has them; the trace (B.7) does not."""
    n = np.array([2.0, -3.0, 6.0]) / 7
    axis, angle = attitude.axis_angle_from_matrix(attitude.matrix_from_axis_angle(n, np.float64(size)))
    np.testing.assert_allclose(angle, size, rtol=1e-15)
    close(axis, n)


def test_float32_stays_float32(rng):
    x, angle = rng.normal(size=(5, 3)).astype(np.float32), np.ones(5, np.float32)
    q = SO3.exp(x)
    R = rotation_matrix(q)
    results = [R, E_plus(q), attitude.quaternion_from_matrix(R), *attitude.axis_angle_from_matrix(R),
               attitude.quaternion_from_axis_angle(x, angle), attitude.matrix_from_axis_angle(x, angle),
               attitude.quaternion_rate(q, x), attitude.quaternion_acceleration(q, x, x),
               attitude.cayley(x), attitude.rotations_between(x, x)]
    assert {r.dtype for r in results} == {np.dtype(np.float32)}


def test_lists_and_numbers_are_arrays():
    """Every function of attitude, euler and spatial gives the same of lists as of arrays."""
    n, q, R, T, z = [0, 0.6, 0.8], [0.1, 0.2, 0.3, 0.9], np.eye(3).tolist(), np.eye(4).tolist(), [1, 2, 3, 4, 5, 6]
    M = np.diag([2.0, 3, 4, 5, 5, 5]).tolist()
    values = {"n": n, "angle": 0.4, "q": q, "p": q, "R": R, "T": T, "z": z, "M": M, "A": M, "W": M, "B": M, "C": M, "D": M, "V": M}
    values |= {"n_rate": n, "angle_rate": 2, "omega": n, "omega_rate": n, "q_rate": q, "q_acceleration": q, "x": n, "s": n, "a": n, "b": n}
    values |= {"angles": n, "rates": n, "mass": 2, "center": n, "tensor": R, "masses": [1, 2], "points": [n, n]}
    functions = [f for name, f in vars(euler).items() if name[0] != "_" and getattr(f, "__module__", "") == euler.__name__]
    for f in (*functions, *(getattr(part, name) for part in (attitude, spatial) for name in part.__all__ if name != "Pose")):
        names = [x for x in inspect.signature(f).parameters if x not in ("axes", "alpha")]
        said = {x: "xyz" if x == "sequence" else n if f is spatial.homogeneous and x == "p" else values[x] for x in names}
        arrays = {x: y if x == "sequence" else np.asarray(y, float) for x, y in said.items()}
        for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (f(**said), f(**arrays)))):
            np.testing.assert_array_equal(one, other)
