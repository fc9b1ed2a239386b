"""Jain, chapter 2: one rigid body, its inertia and its four equations of motion.

Truth is Newton's and Euler's law at the centre of mass, f(C) = d_I h(C)/dt. Rates are taken with a complex step along a
motion that is known to first order, which is all that a derivative asks for.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from linkwork.lie import so3
from linkwork.lie.so3 import tilde as skew
from linkwork.spatial import bar, homogeneous, inertia, inertia_parameters, kinetic_energy, parallel_axis, phi, tilde
from linkwork.spatial import point_masses as particles
from linkwork.spatial.single_body import (
    angular,
    gyroscopic_body,
    gyroscopic_center,
    gyroscopic_fixed_point,
    gyroscopic_inertial,
    inertial_rate,
    linear,
)

STEP = 1e-20


def shift(l):
    """φ(x,y) without rotation, l from x to y."""
    return phi(homogeneous(np.eye(3) + 0 * skew(l), l))


def turned(R, V):
    """Both parts of a column turned."""
    return np.concatenate([R @ V[..., :3, :], R @ V[..., 3:, :]], -2)


class Moving:
    """A rigid body in motion: its quantities at a (complex) time near zero, in inertial axes, at a body point z."""

    def __init__(self, rng, batch):
        A = rng.standard_normal((*batch, 3, 3))
        self.mass = rng.uniform(1, 2, batch)
        self.center, self.tensor = rng.standard_normal((*batch, 3)), A @ A.mT
        self.R = so3.rotation_matrix(rng.standard_normal((*batch, 4)))
        self.z = rng.standard_normal((*batch, 3))
        self.V, self.Vdot = rng.standard_normal((2, *batch, 6, 1))  # and its rate, both in body axes
        self.M = inertia(self.mass, self.center, self.tensor)

    def at(self, t):
        """All of it at time t."""
        R = self.R @ (np.eye(3) + t * skew(self.V[..., :3, 0]))
        z = self.z + t * (self.R @ self.V[..., 3:, :])[..., 0]
        p, J = (R @ self.center[..., None])[..., 0], R @ self.tensor @ R.mT
        V = turned(R, self.V + t * self.Vdot)
        M, M_C = inertia(self.mass + 0 * t, p, J), inertia(self.mass + 0 * t, 0 * p, J)
        V_C, V_I = shift(p).mT @ V, shift(-z).mT @ V
        M_I = shift(z) @ M @ shift(z).mT
        return SimpleNamespace(
            R=R, z=z, p=p, J=J, V=V, M=M, h=M @ V, V_C=V_C, M_C=M_C, h_C=M_C @ V_C, V_I=V_I, M_I=M_I, h_I=M_I @ V_I
        )

    def rate(self, name):
        """The inertial derivative of one of those quantities."""
        return np.imag(vars(self.at(STEP * 1j))[name]) / STEP

    def let_go(self):
        """The same body at the same moment with no force on it: f = 0 = M β̇ + b in body axes."""
        self.Vdot = -np.linalg.solve(self.M, gyroscopic_body(self.M, self.V))
        return self


@pytest.fixture(params=[(), (5,), (2, 3)], ids=str)
def body(request, rng):
    return Moving(rng, request.param)


@pytest.fixture
def now(body):
    """The body's quantities now, with the force on it: f(C) = d_I h(C)/dt, moved to z and to the inertial origin."""
    now = body.at(0.0)
    now.f_C = body.rate("h_C")
    now.f = shift(now.p) @ now.f_C
    now.f_I = shift(now.z) @ now.f
    return now


def power(V, f):
    return (V.mT @ f)[..., 0, 0]


# --- inertia


def test_2_7_a_body_is_the_sum_of_its_particles(rng):
    """M = Σ mᵢ [[−pᵢ~ pᵢ~, pᵢ~], [−pᵢ~, I]] has mass Σ mᵢ and its centre at Σ mᵢ pᵢ / m."""
    m, p = rng.uniform(0.5, 1, 8), rng.standard_normal((8, 3))
    mass, center, tensor = inertia_parameters(particles(m, p))
    assert np.isclose(mass, m.sum())
    assert np.allclose(center, m @ p / m.sum())
    assert np.allclose(tensor, sum(-mi * skew(pi - center) @ skew(pi - center) for mi, pi in zip(m, p)))


def test_2_11_the_parallel_axis_theorem(body):
    """J(x) = J(C) − m p~ p~, the upper left block of M(x) = φ(x,C) M(C) φ*(x,C)."""
    J = body.tensor - body.mass[..., None, None] * skew(body.center) @ skew(body.center)
    central = inertia(body.mass, 0 * body.center, body.tensor)
    assert np.allclose(body.M[..., :3, :3], J)
    assert np.allclose(body.M, shift(body.center) @ central @ shift(body.center).mT)


def test_2_13_between_two_points(rng):
    """J(x) = J(y) − m p~(x) p~(x) + m p~(y) p~(y)."""
    A, px, py = rng.standard_normal((3, 3)), *rng.standard_normal((2, 3))
    x, y = (parallel_axis(A @ A.T, 1.7, p) for p in (px, py))
    assert np.allclose(x, y - 1.7 * skew(px) @ skew(px) + 1.7 * skew(py) @ skew(py))


def test_ex_2_2_inertia_is_least_at_the_centre_of_mass(body):
    """J(x) ≥ J(C)."""
    assert (np.linalg.eigvalsh(body.M[..., :3, :3] - body.tensor) > -1e-12).all()


def test_ex_2_3_spatial_inertia_is_positive_definite_with_the_tensor(body):
    """M > 0 if J(C) > 0, and singular where J(C) is."""
    assert (np.linalg.eigvalsh(body.M) > 0).all()
    needle = inertia(body.mass, body.center, 0 * body.tensor + np.diag([1.0, 1.0, 0.0]))
    assert np.allclose(np.linalg.det(needle), 0, atol=1e-12)


def test_table_2_1_energy_and_momentum_from_any_point(now):
    """½ V* M V is the same at z, C and the inertial origin; h(z) = φ(z,C) h(C), h_I = φ(I,z) h(z)."""
    energy = kinetic_energy(now.M, now.V)
    assert np.allclose(energy, kinetic_energy(now.M_C, now.V_C))
    assert np.allclose(energy, kinetic_energy(now.M_I, now.V_I))
    assert np.allclose(now.h, shift(now.p) @ now.h_C)
    assert np.allclose(now.h_I, shift(now.z) @ now.h)


def test_2_22_the_rate_of_spatial_inertia(body, now):
    """d_I M(z)/dt = V^ω~ M − M V^ω~."""
    W = tilde(angular(now.V)[..., 0])
    assert np.allclose(body.rate("M"), W @ now.M - now.M @ W)


def test_2_33_the_rate_of_spatial_inertia_about_a_fixed_point(body, now):
    """dM_I/dt = V̄_I M_I − M_I V_I~ = V̄_I M_I + M_I V̄_I*."""
    V, M = now.V_I[..., 0], now.M_I
    assert np.allclose(body.rate("M_I"), bar(V) @ M - M @ tilde(V))
    assert np.allclose(body.rate("M_I"), bar(V) @ M + M @ bar(V).mT)


def test_2_31_the_velocity_of_the_fixed_point_comes_from_any_body_point(now):
    """V_I = φ*(x,I) V(x)."""
    assert np.allclose(now.V_I, shift(-now.z - now.p).mT @ now.V_C)


# --- the equations of motion


def test_2_19_the_two_rates_of_a_velocity(body, now):
    """β̇_I = β̇_B + [0; ω~ v]."""
    assert np.allclose(body.rate("V"), inertial_rate(now.V, turned(now.R, body.Vdot)))


def test_2_21_momentum_at_the_centre_changes_with_the_force(body, now):
    """d_I h(C)/dt = f(C), which is [d(J ω)/dt; m v̇]."""
    assert np.allclose(body.rate("h_C")[..., 3:, :], body.mass[..., None, None] * body.rate("V_C")[..., 3:, :])


def test_2_23_lemma_2_1_motion_at_the_centre_of_mass(body, now):
    """f(C) = M(C) β̇_I + [ω~ J(C) ω; 0]."""
    assert np.allclose(now.f_C, now.M_C @ body.rate("V_C") + gyroscopic_center(now.J, now.V_C))


def test_2_26_lemma_2_2_motion_at_any_point_inertial_rates(body, now):
    """f = M β̇_I + V^ω~ M V^ω."""
    assert np.allclose(now.f, now.M @ body.rate("V") + gyroscopic_inertial(now.M, now.V))


def test_2_28_lemma_2_3_motion_at_any_point_body_rates(body, now):
    """f = M β̇_B + V̄ M V, in body axes."""
    force = turned(now.R.mT, now.f)
    assert np.allclose(force, body.M @ body.Vdot + gyroscopic_body(body.M, body.V))


def test_2_37_motion_about_a_fixed_point(body, now):
    """f_I = M_I β̇ + V̄_I M_I V_I."""
    assert np.allclose(now.f_I, now.M_I @ body.rate("V_I") + gyroscopic_fixed_point(now.M_I, now.V_I))


def test_the_two_gyroscopic_forces_are_consistent(now):
    """b_I(z) + M [0; ω~ v] = b(z)."""
    difference = inertial_rate(now.V, 0 * now.V)
    assert np.allclose(gyroscopic_inertial(now.M, now.V) + now.M @ difference, gyroscopic_body(now.M, now.V))


def test_c_3_momentum_at_a_point_that_moves(body, now):
    """d_I h(z)/dt = f(z) − V̄^v(z) h(C)."""
    drift = bar(linear(now.V)[..., 0]) @ now.h_C
    assert np.allclose(body.rate("h"), now.f - drift)


def test_2_36_momentum_about_a_fixed_point_changes_with_the_force(body, now):
    """d_I h_I/dt = f_I."""
    assert np.allclose(body.rate("h_I"), now.f_I)


def test_the_four_formulations_give_the_same_motion(body, now):
    """From the same force, each solved for its own β̇ and brought to the body rate at z."""
    R, z, p = now.R, now.z, now.p
    solve = np.linalg.solve
    at_body = solve(body.M, turned(R.mT, now.f) - gyroscopic_body(body.M, body.V))
    at_point = solve(now.M, now.f - gyroscopic_inertial(now.M, now.V))
    at_center = solve(now.M_C, now.f_C - gyroscopic_center(now.J, now.V_C))
    at_origin = solve(now.M_I, now.f_I - gyroscopic_fixed_point(now.M_I, now.V_I))
    w = skew(now.V[..., :3, 0])
    moved = shift(p).mT @ at_point + np.concatenate([0 * p[..., None], w @ w @ p[..., None]], -2)
    v = now.V[..., 3:, :]
    back = shift(z).mT @ at_origin + np.concatenate([0 * v, w @ v], -2)  # spatial to classical acceleration
    assert np.allclose(inertial_rate(now.V, turned(R, at_body)), at_point)
    assert np.allclose(moved, at_center)
    assert np.allclose(back, at_point)


# --- table 2.2: what is conserved, what works, what depends on the linear velocity


def test_rem_2_2_energy_is_conserved_without_force(body):
    """d/dt ½ V* M V = 0 for f = 0, at z, at C and about the fixed point."""
    body.let_go()
    later = body.at(1j * STEP)
    for M, V in ((later.M, later.V), (later.M_C, later.V_C), (later.M_I, later.V_I)):
        assert np.allclose(np.imag(kinetic_energy(M, V)) / STEP, 0, atol=1e-10)


def test_momentum_at_the_centre_and_about_a_fixed_point_is_conserved_without_force(body):
    """d_I h(C)/dt = 0 and d_I h_I/dt = 0."""
    body.let_go()
    assert np.allclose(body.rate("h_C"), 0, atol=1e-9)
    assert np.allclose(body.rate("h_I"), 0, atol=1e-9)


def test_momentum_at_another_point_is_not_conserved(body):
    """d_I h(z)/dt = −V̄^v(z) h(C) ≠ 0."""
    body.let_go()
    assert (np.abs(body.rate("h")).max((-2, -1)) > 1e-3).all()


def test_gyroscopic_forces_that_do_no_work(now):
    """V* b = 0 with body rates at z, with inertial rates at C, and about the fixed point."""
    assert np.allclose(power(now.V, gyroscopic_body(now.M, now.V)), 0, atol=1e-10)
    assert np.allclose(power(now.V_C, gyroscopic_center(now.J, now.V_C)), 0, atol=1e-10)
    assert np.allclose(power(now.V_I, gyroscopic_fixed_point(now.M_I, now.V_I)), 0, atol=1e-9)


def test_ex_2_9_with_inertial_rates_away_from_the_centre_it_works(now):
    """V* b_I(z) ≠ 0."""
    assert (np.abs(power(now.V, gyroscopic_inertial(now.M, now.V))) > 1e-3).all()


def test_gyroscopic_forces_that_do_not_depend_on_linear_velocity(now):
    """b of inertial rates, at C and at z; those of body rates and of the fixed point do depend on it."""
    W = now.V + np.array([0, 0, 0, 1.0, 2.0, 3.0])[:, None]
    assert np.array_equal(gyroscopic_center(now.J, now.V), gyroscopic_center(now.J, W))
    assert np.array_equal(gyroscopic_inertial(now.M, now.V), gyroscopic_inertial(now.M, W))
    assert not np.allclose(gyroscopic_body(now.M, now.V), gyroscopic_body(now.M, W))


def test_rem_2_3_a_constant_velocity_of_the_world_changes_no_acceleration(now):
    """β̇_I from f does not notice a linear velocity added to V."""
    W = now.V + np.array([0, 0, 0, 1.0, 2.0, 3.0])[:, None]
    one, other = (np.linalg.solve(now.M, now.f - gyroscopic_inertial(now.M, V)) for V in (now.V, W))
    assert np.allclose(one, other)
