"""Jain, chapter 1: the identities of spatial vectors, each for one sample and for a batch."""

import numpy as np
import pytest

from linkwork.lie import embedding, so3
from linkwork.spatial import bar, hat, homogeneous, inertia, kinetic_energy, momentum, phi, phi_inverse, tilde
from linkwork.spatial.single_body import angular, linear


@pytest.fixture(params=[(), (4,), (2, 3)], ids=str)
def random(request, rng):
    """Makes random arrays with the batch axes of this run before their own."""
    return lambda *shape: rng.standard_normal((*request.param, *shape))


@pytest.fixture
def vectors(random):
    """Three spatial vectors."""
    return random(6), random(6), random(6)


@pytest.fixture
def T(random):
    """A pose."""
    return homogeneous(so3.rotation_matrix(random(4)), random(3))


def column(x):
    return x[..., None]


def times(A, x):
    return (A @ x[..., None])[..., 0]


def dot(a, b):
    return (a * b).sum(-1)


def shift(l):
    """φ without rotation, l from x to y."""
    return phi(homogeneous(np.broadcast_to(np.eye(3), (*l.shape, 3)), l))


def rate(f, x, xdot):
    """The derivative of f(x) along ẋ, by a complex step."""
    return np.imag(f(x + 1e-20j * xdot)) / 1e-20


# --- cross products


def test_ex_1_2_a_vector_crossed_with_itself_is_zero(vectors):
    """A~ A = 0."""
    A, _, _ = vectors
    assert np.allclose(times(tilde(A), A), 0)


def test_ex_1_2_the_cross_product_is_antisymmetric(vectors):
    """A~ B = −B~ A."""
    A, B, _ = vectors
    assert np.allclose(times(tilde(A), B), -times(tilde(B), A))


def test_ex_1_2_the_jacobi_identity(vectors):
    """A~ B~ C + B~ C~ A + C~ A~ B = 0."""
    A, B, C = vectors
    a, b, c = map(tilde, vectors)
    assert np.allclose(times(a @ b, C) + times(b @ c, A) + times(c @ a, B), 0)


def test_1_24_the_commutator_is_the_cross_product(vectors):
    """A~ B~ − B~ A~ = (A~ B)~."""
    A, B, _ = vectors
    a, b = tilde(A), tilde(B)
    assert np.allclose(a @ b - b @ a, tilde(times(a, B)))


def test_1_26_bar_is_minus_the_transpose_of_tilde(vectors):
    """z̄ = −(z~)*."""
    z, _, _ = vectors
    assert np.array_equal(bar(z), -tilde(z).mT)


def test_1_26_bar_of_a_vector_on_itself(vectors):
    """z̄* z = 0 and z̄ z = [0; x~ y]."""
    z, _, _ = vectors
    assert np.allclose(times(bar(z).mT, z), 0)
    assert np.allclose(times(bar(z), z)[..., :3], 0)
    assert np.allclose(times(bar(z), z)[..., 3:], np.cross(z[..., :3], z[..., 3:]))


def test_1_25_hat_is_skew(vectors):
    """ẑ* = −ẑ."""
    z, _, _ = vectors
    assert np.array_equal(hat(z).mT, -hat(z))


def test_1_27a_bar_is_antisymmetric_from_the_left(vectors):
    """A* B̄ = −B* Ā."""
    A, B, _ = vectors
    assert np.allclose(column(A).mT @ bar(B), -column(B).mT @ bar(A))


def test_1_27b_hat_swaps_what_bar_acts_on(vectors):
    """Â* B = B̄ A and B̂ A = −B̂* A = −Ā B (corrected)."""
    A, B, _ = vectors
    assert np.allclose(times(hat(A).mT, B), times(bar(B), A))
    assert np.allclose(times(hat(B), A), -times(hat(B).mT, A))
    assert np.allclose(times(hat(B), A), -times(bar(A), B))


def test_1_27c_the_triple_product_turns_around(vectors):
    """A* B~ C = B* C̄ A = C* Â B."""
    A, B, C = vectors
    once = dot(A, times(tilde(B), C))
    assert np.allclose(once, dot(B, times(bar(C), A)))
    assert np.allclose(once, dot(C, times(hat(A), B)))


# --- shifts


def test_lemma_1_1_shifts_compose(random):
    """φ(x,x) = I, φ(x,z) = φ(x,y) φ(y,z), φ⁻¹(x,y) = φ(y,x)."""
    l, k = random(3), random(3)
    assert np.array_equal(shift(0 * l), np.broadcast_to(np.eye(6), (*l.shape[:-1], 6, 6)))
    assert np.allclose(shift(l) @ shift(k), shift(l + k))
    assert np.allclose(np.linalg.inv(shift(l)), shift(-l))


def test_lemma_1_1_shifts_between_turned_frames_compose(random, T):
    """φ(T S) = φ(T) φ(S) and φ(T)⁻¹ = φ(T⁻¹)."""
    S = homogeneous(so3.rotation_matrix(random(4)), random(3))
    assert np.allclose(phi(T @ S), phi(T) @ phi(S))
    assert np.allclose(phi_inverse(T), np.linalg.inv(phi(T)))
    assert np.allclose(phi_inverse(T), phi(np.linalg.inv(T)))


def test_1_31_the_transpose_of_a_shift_is_the_inverse_adjoint(T):
    """φ* = Ad⁻¹: velocities go out as twists do."""
    assert np.allclose(phi(T).mT @ embedding.Ad(T), np.eye(6))


def test_1_47_power_is_the_same_at_every_point(vectors, T):
    """f*(x) V(x) = f*(y) V(y) with f(x) = φ f(y), V(y) = φ* V(x)."""
    f, V, _ = vectors
    assert np.allclose(dot(times(phi(T), f), V), dot(f, times(phi(T).mT, V)))


def test_1_34_hat_and_tilde_of_a_shifted_vector(vectors, T):
    """(φ X)^ = φ X̂ φ* and (φ* X)~ = φ* X~ φ⁻*."""
    X, _, _ = vectors
    p = phi(T)
    assert np.allclose(hat(times(p, X)), p @ hat(X) @ p.mT)
    assert np.allclose(tilde(times(p.mT, X)), p.mT @ tilde(X) @ np.linalg.inv(p.mT))


def test_1_35_crosses_pass_through_a_shift(vectors, T):
    """φ*(x,y) V~(x) = V~(y) φ*(x,y) and V̄(x) φ(x,y) = φ(x,y) V̄(y)."""
    V, _, _ = vectors
    p = phi(T)
    W = times(p.mT, V)
    assert np.allclose(p.mT @ tilde(V), tilde(W) @ p.mT)
    assert np.allclose(bar(V) @ p, p @ bar(W))


# --- the two parts of a vector


def parts(X):
    return angular(column(X))[..., 0], linear(column(X))[..., 0]


def test_1_22_a_vector_is_the_sum_of_its_parts(vectors):
    """X = X^ω + X^v."""
    X, _, _ = vectors
    assert np.array_equal(sum(parts(X)), X)


def test_1_36a_the_bar_of_a_linear_part_kills_angular_parts(vectors):
    """X̄^v Y^ω = 0."""
    X, Y, _ = vectors
    assert not times(bar(parts(X)[1]), parts(Y)[0]).any()


def test_1_36b_linear_parts_do_not_cross(vectors):
    """X^v~ Y^v = 0 and X^v~ Y = X^v~ Y^ω."""
    X, Y, _ = vectors
    cross = tilde(parts(X)[1])
    assert not times(cross, parts(Y)[1]).any()
    assert np.allclose(times(cross, Y), times(cross, parts(Y)[0]))


def test_1_36c_the_bar_of_a_linear_part_kills_its_vector(vectors):
    """X̄^v X = 0."""
    X, _, _ = vectors
    assert np.allclose(times(bar(parts(X)[1]), X), 0)


def test_1_36d_the_bar_of_a_vector_on_itself_is_a_cross_of_its_parts(vectors):
    """X̄ X = X^ω~ X = X^ω~ X^v."""
    X, _, _ = vectors
    w, v = parts(X)
    assert np.allclose(times(bar(X), X), times(tilde(w), X))
    assert np.allclose(times(tilde(w), X), times(tilde(w), v))


def test_1_36e_shifts_do_not_change_the_bar_of_a_linear_part(vectors, random):
    """φ X̄^v = X̄^v φ = X̄^v."""
    X, _, _ = vectors
    B, p = bar(parts(X)[1]), shift(random(3))
    assert np.allclose(p @ B, B)
    assert np.allclose(B @ p, B)


# --- rates


def test_1_37_the_rate_of_a_shift_is_the_difference_of_velocities(random):
    """d_I φ(x,y)/dt = V̄^v(y) − V̄^v(x)."""
    l, vx, vy = random(3), random(3), random(3)
    x, y = (np.concatenate([0 * v, v], -1) for v in (vx, vy))
    assert np.allclose(rate(shift, l, vy - vx), bar(y) - bar(x))


def test_1_38_on_one_body_whole_velocities_will_do(random):
    """d_I φ(x,y)/dt = V̄(y) − V̄(x), V(y) = φ*(x,y) V(x)."""
    l, V = random(3), random(6)
    W = times(shift(l).mT, V)
    assert np.allclose(rate(shift, l, W[..., 3:] - V[..., 3:]), bar(W) - bar(V))


def relative(T, V):
    """V_F(F,G) in the axes of G is V; V_G(F,G), whose linear part is the rate of l seen from G, in the axes of F."""
    R, p = T[..., :3, :3], T[..., :3, 3]
    w, v = times(R, V[..., :3]), times(R, V[..., 3:])
    return np.concatenate([w, v - np.cross(w, p)], -1)


def test_1_39_relative_velocity_seen_from_either_frame(T, vectors):
    """V_F(F,G) = φ*(F,G) V_G(F,G)."""
    V, _, _ = vectors
    assert np.allclose(times(phi(T).mT, relative(T, V)), V)


def test_1_42_the_rate_of_a_shift_between_moving_frames(T, vectors):
    """d φ*(F,G)/dt = V_F~(G,F) φ* = φ* V_G~(G,F), with V(G,F) = −V(F,G)."""
    V, _, _ = vectors
    dphi = rate(lambda T: phi(T).mT, T, T @ embedding.hat(V))
    assert np.allclose(dphi, tilde(-V) @ phi(T).mT)
    assert np.allclose(dphi, phi(T).mT @ tilde(-relative(T, V)))


def test_1_44_the_rate_of_the_inverse(T, vectors):
    """d φ*(G,F)/dt = −φ*(G,F) (d φ*(F,G)/dt) φ*(G,F)."""
    V, _, _ = vectors
    Tdot = T @ embedding.hat(V)
    back = phi_inverse(T).mT
    there, here = (rate(lambda T, f=f: f(T).mT, T, Tdot) for f in (phi_inverse, phi))
    assert np.allclose(there, -back @ here @ back)


def test_1_45_the_product_rule(T, vectors, random):
    """d φ*(F,H)/dt = (d φ*(G,H)/dt) φ*(F,G) + φ*(G,H) d φ*(F,G)/dt."""
    V, W, _ = vectors
    S = homogeneous(so3.rotation_matrix(random(4)), random(3))
    Tdot, Sdot = T @ embedding.hat(V), S @ embedding.hat(W)
    whole = rate(lambda X: phi(X).mT, T @ S, Tdot @ S + T @ Sdot)
    dT, dS = (rate(lambda X: phi(X).mT, X, Xdot) for X, Xdot in ((T, Tdot), (S, Sdot)))
    assert np.allclose(whole, dS @ phi(T).mT + phi(S).mT @ dT)


# --- what a shift does to each kind of quantity


def test_table_2_1_momentum_and_energy_shift_with_the_frame(random, T):
    """M(x) = φ M(y) φ*, h(x) = φ h(y), and the kinetic energy is the same."""
    A = random(3, 3)
    M = inertia(np.abs(random()) * np.ones(()), random(3), A @ A.mT)
    V, p = column(random(6)), phi(T)
    W = p.mT @ V
    shifted = p @ M @ p.mT
    assert np.allclose(momentum(shifted, V), p @ momentum(M, W))
    assert np.allclose(kinetic_energy(shifted, V), kinetic_energy(M, W))
