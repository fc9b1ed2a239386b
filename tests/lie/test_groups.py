"""One grid of laws over all groups: what makes them groups, and what makes their derivatives derivatives."""

import pickle

import numpy as np
import pytest
from scipy.linalg import expm

from linkwork.lie import CYLINDRICAL, SE2, SE3, SO2, SO3, Helical, R, X, embedding

MOTIONS = [SO2, SO3, SE2, SE3, X, CYLINDRICAL, Helical(0.3), R(0), R(1), R(2), R(3)]
GROUPS = [*MOTIONS, R(5)]
SHAPES = [(), (5,), (2, 3)]
STEP = 1e-30

every_group = pytest.mark.parametrize("G", GROUPS, ids=str)
every_motion = pytest.mark.parametrize("G", MOTIONS, ids=str)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
both_sides = pytest.mark.parametrize("side", ["left", "right"])


def algebra(G, rng, shape=()):
    return rng.uniform(-1.5, 1.5, (*shape, G.nv))


def element(G, rng, shape=()):
    return G.exp(algebra(G, rng, shape))


def close(a, b, tolerance=4e-15):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max(initial=0.0)))


@every_group
@every_shape
def test_composition_is_associative(G, shape, rng):
    a, b, c = (element(G, rng, shape) for _ in range(3))
    close(G.compose(G.compose(a, b), c), G.compose(a, G.compose(b, c)))


@every_group
@every_shape
def test_the_identity_changes_nothing(G, shape, rng):
    q = element(G, rng, shape)
    close(G.compose(q, G.identity), q)
    close(G.compose(G.identity, q), q)


@every_group
@every_shape
def test_the_inverse_undoes(G, shape, rng):
    q = element(G, rng, shape)
    close(G.compose(q, G.inverse(q)), np.broadcast_to(G.identity, q.shape))
    close(G.compose(G.inverse(q), q), np.broadcast_to(G.identity, q.shape))


@every_group
@every_shape
def test_log_undoes_exp(G, shape, rng):
    xi = algebra(G, rng, shape)
    close(G.log(G.exp(xi)), xi)


@every_group
def test_exp_along_one_direction_is_a_motion_at_constant_velocity(G, rng):
    xi = algebra(G, rng)
    close(G.compose(G.exp(0.3 * xi), G.exp(0.5 * xi)), G.exp(0.8 * xi))


@every_motion
@every_shape
def test_matrix_is_a_homomorphism(G, shape, rng):
    p, q = element(G, rng, shape), element(G, rng, shape)
    close(G.matrix(G.compose(p, q)), G.matrix(p) @ G.matrix(q))
    close(G.matrix(G.inverse(q)) @ G.matrix(q), np.broadcast_to(np.eye(4), (*shape, 4, 4)))


@every_motion
def test_matrix_of_exp_is_the_exponential_of_hat(G, rng):
    xi = algebra(G, rng)
    close(G.matrix(G.exp(xi)), expm(G.hat(xi)))


@every_motion
def test_hat_is_the_twist_of_the_basis(G, rng):
    xi = algebra(G, rng, (5,))
    close(G.hat(xi), embedding.hat(xi @ G.basis))


@every_group
def test_Ad_is_a_homomorphism(G, rng):
    p, q = element(G, rng, (5,)), element(G, rng, (5,))
    close(G.Ad(G.compose(p, q)), G.Ad(p) @ G.Ad(q))


@every_motion
def test_Ad_is_conjugation(G, rng):
    q, xi = element(G, rng), algebra(G, rng)
    T = G.matrix(q)
    close(G.hat(G.Ad(q) @ xi), T @ G.hat(xi) @ G.matrix(G.inverse(q)))


@every_group
def test_Ad_of_exp_is_the_exponential_of_ad(G, rng):
    xi = algebra(G, rng)
    close(G.Ad(G.exp(xi)), expm(G.ad(xi)))


@every_motion
def test_ad_is_the_commutator(G, rng):
    xi, eta = algebra(G, rng), algebra(G, rng)
    close(G.hat(G.ad(xi) @ eta), G.hat(xi) @ G.hat(eta) - G.hat(eta) @ G.hat(xi))


@every_group
def test_ad_keeps_brackets(G, rng):
    """ad_[ξ,η] = ad_ξ ad_η - ad_η ad_ξ, the Jacobi identity."""
    xi, eta = algebra(G, rng), algebra(G, rng)
    a, b = G.ad(xi), G.ad(eta)
    close(G.ad(a @ eta), a @ b - b @ a)


@every_group
@every_shape
@both_sides
def test_dexp_inverse_is_the_inverse_of_dexp(G, shape, side, rng):
    xi = algebra(G, rng, shape)
    eye = np.broadcast_to(np.eye(G.nv), (*shape, G.nv, G.nv))
    close(G.dexp(xi, side=side) @ G.dexp_inverse(xi, side=side), eye, 2e-14)


@every_group
def test_left_dexp_is_Ad_times_right_dexp(G, rng):
    xi = algebra(G, rng, (5,))
    close(G.dexp(xi, side="left"), G.Ad(G.exp(xi)) @ G.dexp(xi, side="right"))


@every_motion
def test_S_maps_the_rate_of_exponential_coordinates_to_body_velocity(G, rng):
    """T⁻¹ Ṫ = (S(ξ) ξ̇)^ for T = exp ξ, by a complex step (From, 29)."""
    xi, xi_rate = algebra(G, rng), algebra(G, rng)
    T = G.matrix(G.exp(xi + 1j * STEP * xi_rate))
    close(np.linalg.inv(T.real) @ T.imag / STEP, G.hat(G.S(xi) @ xi_rate), 1e-14)


@every_group
def test_dexp_inverse_is_the_derivative_of_log(G, rng):
    """ξ(t) = log(q exp(v t)) starts with ξ̇ = S⁻¹(ξ) v."""
    xi, v, h = algebra(G, rng), algebra(G, rng), 1e-5
    q = G.exp(xi)
    difference = G.log(G.compose(q, G.exp(h * v))) - G.log(G.compose(q, G.exp(-h * v)))
    close(difference / (2 * h), G.dexp_inverse(xi, side="right") @ v, 1e-8)


@every_group
@every_shape
def test_rate_is_the_derivative_along_a_body_velocity(G, shape, rng):
    """q̇ = d/dt q exp(v t) at t = 0, by a complex step."""
    q, v = element(G, rng, shape), algebra(G, rng, shape)
    close(G.rate(q, v), G.compose(q, G.exp(1j * STEP * v)).imag / STEP)


@every_motion
def test_body_velocity_is_the_basis_times_v(G, rng):
    """T⁻¹ Ṫ = (basis* v)^ when q moves at q̇ = rate(q, v)."""
    q, v = element(G, rng), algebra(G, rng)
    T = G.matrix(q + 1j * STEP * G.rate(q, v))
    close(np.linalg.inv(T.real) @ T.imag / STEP, embedding.hat(G.basis.T @ v), 1e-14)


def results(G, xi):
    q = G.exp(xi)
    both = [G.exp(xi), G.log(q), G.compose(q, q), G.inverse(q), G.rate(q, xi), G.Ad(q), G.ad(xi), G.S(xi),
            G.dexp(xi), G.dexp_inverse(xi)]
    return both if G.basis is None else [*both, G.matrix(q), G.hat(xi)]


@every_group
@every_shape
def test_float32_stays_float32(G, shape, rng):
    assert {x.dtype for x in results(G, algebra(G, rng, shape).astype(np.float32))} == {np.dtype(np.float32)}


@every_group
def test_a_batch_is_its_samples(G, rng):
    xi = algebra(G, rng, (2, 3))
    for batch, sample in zip(results(G, xi), results(G, xi[1, 2])):
        assert batch.shape == (2, 3, *sample.shape)
        close(batch[1, 2], sample)


@every_group
def test_batch_axes_broadcast(G, rng):
    q, v = element(G, rng, (5,)), algebra(G, rng)
    assert G.rate(q, v).shape == G.compose(q, G.exp(v)).shape == G.compose(G.exp(v), q).shape == q.shape


@every_group
def test_nan_stays_in_its_sample(G, rng):
    xi = algebra(G, rng, (3,))
    clean = results(G, xi)
    xi[1] = np.nan
    for a, b in zip(clean, results(G, xi)):
        close(b[[0, 2]], a[[0, 2]])


@every_group
def test_no_method_writes_to_its_input(G, rng):
    xi = algebra(G, rng)
    xi.flags.writeable = False
    results(G, xi)


@every_group
def test_groups_are_values(G):
    copy = pickle.loads(pickle.dumps(G))
    assert copy == G and hash(copy) == hash(G)
    assert sum(other == G for other in GROUPS) == 1
    with pytest.raises(AttributeError):
        G.pitch = 1.0


@every_group
def test_units_are_the_slices_that_hold_quaternions(G, rng):
    q = element(G, rng, (5,))
    assert len(G.units) == G.nq - G.nv
    for unit in G.units:
        close((q[..., unit] ** 2).sum(-1), np.ones(5))


def test_angles_do_not_wrap():
    assert SO2.compose(np.array([3.0]), np.array([4.0])) == 7.0
    assert SE2.log(SE2.exp(np.array([5.0, 1.0, 2.0])))[0] == 5.0


@pytest.mark.parametrize("G", [SO2, CYLINDRICAL, Helical(0.3)], ids=str)
def test_a_full_turn_about_one_axis_is_nothing_special(G):
    assert (G.dexp_inverse(np.full(G.nv, 2 * np.pi)) == np.eye(G.nv)).all()


def test_compose_removes_the_drift_of_the_norm(rng):
    q = SO3.exp(rng.normal(size=3)) * (1 + 1e-6)
    close(np.linalg.norm(SO3.compose(q, q)), 1.0)


def test_the_pose_of_a_quaternion_does_not_depend_on_its_norm(rng):
    q = SE3.exp(rng.normal(size=6))
    longer = q * np.array([3.0] * 4 + [1.0] * 3)
    close(SE3.matrix(longer), SE3.matrix(q))
