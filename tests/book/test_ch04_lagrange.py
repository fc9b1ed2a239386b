"""Jain, chapter 4, second half: Lagrange, Christoffel, Hamilton, quasi-velocities.

In minimal coordinates with β = θ̇, unless it is about quasi-velocities. Derivatives are exact: imaginary steps.
"""

import numpy as np
from dense import close, every_system, over
from zoo import Sweeps, gradient, grown, plain, rate, state

import linkwork as lw
from linkwork.lie import SO3, embedding
from linkwork.spatial.ldl import factor

STEP = 1e-30
coordinates = over("pins", "chain", "planar 2R", "compound", "universal", "cylindrical", "translation", "helical")


def slopes(op):
    """∂𝓜(i,j)/∂θ(k), (..., i, j, k)."""
    return gradient(op.robot, lambda sweeps: sweeps.mass_matrix, op.state.q)


def coriolis(op):
    """𝓒(θ, θ̇) of the sweeps: the bias without gravity, a column."""
    return (op.robot.bias(op.state.q, op.state.v) - op.robot.gravity_force(op.state.q))[..., None]


def M_D(op, v):
    """∇θ(𝓜 θ̇) (4.29)."""
    return np.einsum("...ijk,...j->...ik", slopes(op), v[..., 0])


def christoffel(op):
    """ℭᵢ(j,k) = ½ [∂𝓜(i,j)/∂θ(k) + ∂𝓜(i,k)/∂θ(j) − ∂𝓜(j,k)/∂θ(i)] (4.35)."""
    d = slopes(op)
    return (d + np.swapaxes(d, -1, -2) - np.moveaxis(d, -1, -3)) / 2


def mass_rate(op):
    return rate(op.robot, lambda sweeps: sweeps.mass_matrix, op.state.q, op.state.v)


@coordinates
def test_lagrange(op):
    """𝓒 = d𝓜/dt θ̇ − ½ ∂(θ̇* 𝓜 θ̇)/∂θ (4.27)."""
    energy = np.einsum("...i,...ijk,...j->...k", op.state.v, slopes(op), op.state.v) / 2
    close(coriolis(op), mass_rate(op) @ op.v - energy[..., None])


@every_system
def test_lagrange_on_any_group(op):
    """𝓒 = d𝓜/dt v − ad*(v) (𝓜 − armature) v − ½ ∂(v* 𝓜 v)/∂q: Euler and Poincaré, A⁻*γ* = −ad* (4.44).

    The armature is inertia along each velocity alone, as in other libraries: it makes no gyroscopic force.
    """
    groups, v = op.nodes.groups, op.tree.split(op.state.v)
    ad = op.diagonal([groups[k].ad(v[k][..., 0]) for k in range(op.n)])
    energy = np.einsum("...i,...ijk,...j->...k", op.state.v, slopes(op), op.state.v) / 2
    close(coriolis(op), mass_rate(op) @ op.v - ad.mT @ (op.mass - op.armature) @ op.v - energy[..., None])


@coordinates
def test_twice_the_gradient_of_the_kinetic_energy(op):
    """2 ∂𝔎/∂θ = M_D* θ̇ (4.30)."""
    gradients = np.einsum("...i,...ijk,...j->...k", op.state.v, slopes(op), op.state.v)
    close(gradients[..., None], M_D(op, op.v).mT @ op.v)


@coordinates
def test_the_rate_of_the_mass_matrix_times_any_velocity(op):
    """d𝓜/dt x = M_D(θ, x) θ̇ (4.31)."""
    close(mass_rate(op) @ op.vdot, M_D(op, op.vdot) @ op.v)


@coordinates
def test_coriolis_forces_from_M_D(op):
    """𝓒 = (M_D − ½ M_D*) θ̇ (4.32)."""
    close(coriolis(op), (M_D(op, op.v) - M_D(op, op.v).mT / 2) @ op.v)


@coordinates
def test_a_force_that_does_no_work(op):
    """d𝓜/dt θ̇ − 2𝓒 = (M_D* − M_D) θ̇, and θ̇* times it is zero (4.33)."""
    force = mass_rate(op) @ op.v - 2 * coriolis(op)
    close(force, (M_D(op, op.v).mT - M_D(op, op.v)) @ op.v)
    close(op.v.mT @ force, np.zeros((2, 1, 1)))


@coordinates
def test_coriolis_forces_do_work(op):
    """θ̇* 𝓒 = ½ θ̇* M_D θ̇ (exercise 4.4)."""
    close(op.v.mT @ coriolis(op), op.v.mT @ M_D(op, op.v) @ op.v / 2)


@coordinates
def test_christoffel_symbols_are_symmetric(op):
    """ℭᵢ(j,k) = ℭᵢ(k,j),  ∂𝓜(i,i)/∂θ(k) = 2 ℭᵢ(i,k) (4.36)."""
    C = christoffel(op)
    close(C, np.swapaxes(C, -1, -2))
    close(np.einsum("...iik->...ik", slopes(op)), 2 * np.einsum("...iik->...ik", C))


@coordinates
def test_slopes_of_the_mass_matrix_from_christoffel_symbols(op):
    """∂𝓜(k,j)/∂θ(i) = ℭⱼ(i,k) + ℭₖ(j,i) (4.37)."""
    C = christoffel(op)
    close(np.einsum("...kji->...ijk", slopes(op)), np.einsum("...jik->...ijk", C) + np.einsum("...kji->...ijk", C))


@over("pins", "planar 2R", "chain")
def test_christoffel_symbols_of_inboard_hinges_are_skew(op):
    """ℭᵢ(j,k) = −ℭₖ(j,i), ℭᵢ(j,i) = 0, for j inboard of i and k or one of them (4.38)."""
    C = christoffel(op)
    n = C.shape[-1]
    i, j, k = np.ogrid[:n, :n, :n]
    close(np.where(j <= np.minimum(i, k), C + np.einsum("...kji->...ijk", C), 0.0), 0 * C)


@coordinates
def test_coriolis_forces_from_christoffel_symbols(op):
    """𝓒(i) = θ̇* ℭᵢ θ̇ (4.39)."""
    close(coriolis(op)[..., 0], np.einsum("...j,...ijk,...k->...i", op.state.v, christoffel(op), op.state.v))


@coordinates
def test_M_D_from_christoffel_symbols(op):
    """M_D(i,j) = Σ [ℭₖ(i,j) + ℭᵢ(k,j)] θ̇(k) (4.41)."""
    C, v = christoffel(op), op.state.v
    close(M_D(op, op.v), np.einsum("...kij,...k->...ij", C, v) + np.einsum("...ikj,...k->...ij", C, v))


@coordinates
def test_hamilton(op):
    """𝔎 = ½ p* 𝓜⁻¹ p,  θ̇ = 𝓜⁻¹ p,  ṗ = −∂𝔎/∂θ|ₚ + T (4.42), (4.43)."""
    s, p = op.state, op.mass @ op.v
    energy = lambda sweeps: lambda q: 0.5 * (p_over(q).mT @ sweeps.mass_matrix_inverse(q) @ p_over(q))[..., 0, 0]
    p_over = lambda q: p[:, None] if q.ndim == 3 else p
    close(np.linalg.solve(op.mass, p), op.v)
    vdot = op.robot.forward_dynamics(s.q, s.v, s.tau + op.robot.gravity_force(s.q))[..., None]
    p_rate = mass_rate(op) @ op.v + op.mass @ vdot
    close(p_rate[..., 0], -gradient(op.robot, energy, s.q) + s.tau, 1e-11)


# --- quasi-velocities: a body on a ball joint, in Euler angles and as a spherical joint

ZXZ = lw.Compound(row=(lw.Revolute(), lw.Revolute(axis=(1, 0, 0)), lw.Revolute()))
EULER = plain(grown("top", [(None, ZXZ)], seed=3))
BALL = plain(grown("top", [(None, lw.Spherical())], seed=3))


def angular(sweeps):
    """A(θ): the body's angular velocity in the axes of the joint's outboard frame from the rates of the angles."""
    joint = EULER.model.joints[0].on
    return lambda q: sweeps.jacobian(q, 0, joint)[..., :3, :]


def gamma(robot, A, q, v):
    """γ = dA/dt − ∇θ(A θ̇) (4.45)."""
    return rate(robot, A, q, v) - np.einsum("...ijk,...j->...ik", gradient(robot, A, q), v)


def euler_state():
    s = state(EULER, (2,))
    return s, angular(Sweeps(EULER.model))(s.q)


def test_gamma_times_the_rates_is_zero():
    """γ θ̇ = 0 (4.48)."""
    s, _ = euler_state()
    close(gamma(EULER, angular, s.q, s.v) @ s.v[..., None], np.zeros((2, 3, 1)))


def test_gamma_of_angular_velocity_is_its_cross_product():
    """A⁻* γ* = ω~ for the body's own ω (remark 4.2)."""
    s, A = euler_state()
    omega = (A @ s.v[..., None])[..., 0]
    close(np.linalg.solve(A.mT, gamma(EULER, angular, s.q, s.v).mT), embedding.tilde(omega))


def test_gamma_of_a_gradient_vanishes(rng):
    """γ = 0 where A = ∇h(θ) (exercise 4.9)."""
    s, _ = euler_state()
    h = lambda q: np.stack([np.sin(q[..., 0]) * q[..., 1], q[..., 1] + q[..., 2] ** 2, np.exp(q[..., 0])], -1)
    A = lambda sweeps: lambda q: np.stack([
        np.stack([np.cos(q[..., 0]) * q[..., 1], np.sin(q[..., 0]), 0 * q[..., 0]], -1),
        np.stack([0 * q[..., 0], 0 * q[..., 0] + 1, 2 * q[..., 2]], -1),
        np.stack([np.exp(q[..., 0]), 0 * q[..., 0], 0 * q[..., 0]], -1),
    ], -2)  # fmt: skip
    close(A(None)(s.q), np.imag(np.stack([h(s.q + 1j * STEP * x) for x in np.eye(3)], -1)) / STEP)
    close(gamma(EULER, A, s.q, s.v), np.zeros((2, 3, 3)))


def as_ball(s, A):
    """The same attitude and motion for the ball: quaternion and ω."""
    turns = [SO3.exp(s.q[..., i : i + 1] * axis) for i, axis in enumerate(np.eye(3)[[2, 0, 2]])]
    return SO3.compose(SO3.compose(*turns[:2]), turns[2]), (A @ s.v[..., None])[..., 0]


def test_the_mass_matrix_of_quasi_velocities():
    """𝓜_ = A⁻* 𝓜 A⁻¹ (4.50)."""
    s, A = euler_state()
    q, omega = as_ball(s, A)
    close(EULER.poses(s.q), BALL.poses(q))
    close(EULER.mass_matrix(s.q), A.mT @ BALL.mass_matrix(q) @ A)
    close(EULER.kinetic_energy(s.q, s.v), BALL.kinetic_energy(q, omega))


def test_the_equations_of_motion_of_quasi_velocities():
    """𝓜_ β̇ + 𝓒_ = A⁻* T with β̇ = A θ̈ + dA/dt θ̇ (4.50)."""
    s, A = euler_state()
    q, omega = as_ball(s, A)
    A_rate = rate(EULER, angular, s.q, s.v)
    theta = EULER.forward_dynamics(s.q, s.v, (A.mT @ s.tau[..., None])[..., 0])
    close(BALL.forward_dynamics(q, omega, s.tau), (A @ theta[..., None] + A_rate @ s.v[..., None])[..., 0])


def test_coriolis_forces_of_quasi_velocities_from_gamma():
    """𝓒_ = d𝓜_/dt β − A⁻* ∂𝓛/∂θ + A⁻* γ* ∂𝓛/∂β, and β* (d𝓜_/dt β − 2 𝓒_) = 0 (4.50), exercise 4.10."""
    s, A = euler_state()
    q, omega = as_ball(s, A)
    beta = omega[..., None]
    inverse = lambda sweeps, x: np.linalg.inv(angular(sweeps)(x))
    mass = lambda sweeps: lambda x: inverse(sweeps, x).mT @ sweeps.mass_matrix(x) @ inverse(sweeps, x)
    rates, gradients = rate(EULER, mass, s.q, s.v), gradient(EULER, mass, s.q)
    energy = np.einsum("...i,...ijk,...j->...k", omega, gradients, omega)[..., None] / 2
    back = lambda x: np.linalg.solve(A.mT, x)
    C = rates @ beta - back(energy) + back(gamma(EULER, angular, s.q, s.v).mT @ mass(Sweeps(EULER.model))(s.q) @ beta)
    close(C[..., 0], BALL.bias(q, omega) - BALL.gravity_force(q))
    close(beta.mT @ (rates @ beta - 2 * C), np.zeros((2, 1, 1)))


# --- quasi-velocities that make the mass matrix the identity


def root(mass):
    """A with 𝓜 = A* A, over complex numbers too: D½ L* of the factors L D L*."""
    L, d = factor(mass)
    n = len(d)
    unit = lambda i, j: L[i][j] if j < i else (np.ones_like(d[0]) if i == j else np.zeros_like(d[0]))
    lower = np.concatenate([np.concatenate([unit(i, j) for j in range(n)], -1)[..., None, :] for i in range(n)], -2)
    return np.sqrt(np.concatenate(d, -1))[..., None] * lower.mT


@coordinates
def test_diagonalized_equations_of_motion(op):
    """β̇ + A⁻* γ* β = A⁻* T with 𝓜 = A* A, β = A θ̇; the Coriolis force does no work (4.52), its sign corrected."""
    s, A = op.state, lambda sweeps: lambda q: root(sweeps.mass_matrix(q))
    A_now = root(op.mass)
    close(A_now.mT @ A_now, op.mass)
    vdot = op.robot.forward_dynamics(s.q, s.v, s.tau + op.robot.gravity_force(s.q))[..., None]
    beta, beta_rate = A_now @ op.v, A_now @ vdot + rate(op.robot, A, s.q, s.v) @ op.v
    C = np.linalg.solve(A_now.mT, gamma(op.robot, A, s.q, s.v).mT @ beta)
    close(beta_rate + C, np.linalg.solve(A_now.mT, op.tau), 1e-11)
    close(beta.mT @ C, np.zeros((2, 1, 1)))
