"""Jain, chapter 7: the mass matrix factored and inverted, and forward dynamics from it.

With rotors, 𝓜 = H φ M φ* H* + armature and D = H P H* + armature: the factorization keeps its form.
"""

import numpy as np
from dense import close, every_bookish_system, every_system

STILL = np.zeros((6, 1))


def eye(op):
    return np.eye(op.robot.nv)


def left(op):
    """I + H φ K."""
    return eye(op) + op.H @ op.phi @ op.K


def right(op):
    """I − H ψ K."""
    return eye(op) - op.H @ op.psi @ op.K


def moving(op):
    """θ̈, α, z, ε, ν without gravity."""
    vdot, alpha, z = op.forward(STILL, op.a, op.b)
    eps = op.tau - op.H @ z
    return vdot, alpha, z, eps, np.linalg.solve(op.D, eps)


# --- operator identities


@every_system
def test_M_from_P_psi_and_phi(op):
    """M = P − 𝓔ψ P 𝓔φ* = P − 𝓔φ P 𝓔ψ* (7.7)."""
    close(op.M, op.P - op.E_psi @ op.P @ op.E_phi.mT)
    close(op.M, op.P - op.E_phi @ op.P @ op.E_psi.mT)


@every_bookish_system
def test_M_from_P_and_psi(op):
    """M = P − 𝓔ψ P 𝓔ψ* (7.7)."""
    close(op.M, op.P - op.E_psi @ op.P @ op.E_psi.mT)


@every_system
def test_E_psi_is_nilpotent(op):
    """𝓔ψⁿ = 0,  ψ = I + 𝓔ψ + 𝓔ψ² + ... (7.5)."""
    close(op.psi, sum(np.linalg.matrix_power(op.E_psi, i) for i in range(op.n)))


@every_system
def test_psi_tilde(op):
    """ψ~ = ψ − I = ψ 𝓔ψ = 𝓔ψ ψ (7.8)."""
    close(op.psi_tilde, op.psi @ op.E_psi)
    close(op.psi_tilde, op.E_psi @ op.psi)


@every_bookish_system
def test_decomposition_of_psi_M_psi(op):
    """ψ M ψ* = P + ψ~ P + P ψ~* (7.9)."""
    close(op.psi @ op.M @ op.psi.mT, op.P + op.psi_tilde @ op.P + op.P @ op.psi_tilde.mT)


@every_system
def test_the_difference_of_the_inverses(op):
    """ψ⁻¹ − φ⁻¹ = K H (7.10)."""
    close(op.E_phi - op.E_psi, op.K @ op.H)
    close(np.linalg.inv(op.psi) - np.linalg.inv(op.phi), op.K @ op.H)


@every_system
def test_quotients_of_phi_and_psi(op):
    """ψ⁻¹φ = I + KHφ,  φψ⁻¹ = I + φKH,  φ⁻¹ψ = I − KHψ,  ψφ⁻¹ = I − ψKH (7.11)."""
    I, KH, inv = op.I, op.K @ op.H, np.linalg.inv
    close(inv(op.psi) @ op.phi, I + KH @ op.phi)
    close(op.phi @ inv(op.psi), I + op.phi @ KH)
    close(inv(op.phi) @ op.psi, I - KH @ op.psi)
    close(op.psi @ inv(op.phi), I - op.psi @ KH)


@every_system
def test_phi_becomes_psi(op):
    """(I − HψK) Hφ = Hψ,  φK (I − HψK) = ψK (7.12)."""
    close(right(op) @ op.H @ op.phi, op.H @ op.psi)
    close(op.phi @ op.K @ right(op), op.psi @ op.K)


@every_system
def test_psi_becomes_phi(op):
    """(I + HφK) Hψ = Hφ,  ψK (I + HφK) = φK (7.12)."""
    close(left(op) @ op.H @ op.psi, op.H @ op.phi)
    close(op.psi @ op.K @ left(op), op.phi @ op.K)


@every_bookish_system
def test_H_psi_M_psi_H_is_D(op):
    """H ψ M ψ* H* = D (7.13)."""
    close(op.H @ op.psi @ op.M @ op.psi.mT @ op.H.mT, op.D)


@every_system
def test_phi_M_psi(op):
    """φ M ψ* = P + φ~ P + P ψ~* (7.15)."""
    close(op.phi @ op.M @ op.psi.mT, op.P + op.phi_tilde @ op.P + op.P @ op.psi_tilde.mT)


@every_bookish_system
def test_phi_M_phi(op):
    """φ M φ* = P + φ~ P + P φ~* + φ K D K* φ* (7.16)."""
    last = op.phi @ op.K @ op.D @ op.K.mT @ op.phi.mT
    close(op.phi @ op.M @ op.phi.mT, op.P + op.phi_tilde @ op.P + op.P @ op.phi_tilde.mT + last)


# --- the mass matrix


@every_system
def test_the_innovations_factorization(op):
    """𝓜 = (I + HφK) D (I + HφK)* (lemma 7.3)."""
    close(op.mass, left(op) @ op.D @ left(op).mT)


@every_system
def test_the_factor_is_unit_triangular(op):
    """I + HφK has ones on its diagonal and nothing below it, base first (7.14)."""
    close(np.tril(left(op)), eye(op))


@every_system
def test_the_inverse_of_the_factor(op):
    """(I + HφK)⁻¹ = I − HψK (lemma 7.4)."""
    close(left(op) @ right(op), eye(op))


@every_system
def test_the_inverse_of_the_mass_matrix(op):
    """𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK) (lemma 7.5)."""
    inverse = right(op).mT @ np.linalg.solve(op.D, right(op))
    close(op.robot.mass_matrix_inverse(op.state.q), inverse, 1e-11)
    close(inverse @ op.mass, eye(op), 1e-11)


# --- forward dynamics


@every_system
def test_forward_dynamics_in_three_ways(op):
    """𝓜 θ̈ = T − 𝓒 by elimination, by two triangular solves, by articulated bodies (section 7.3)."""
    vdot, *_ = moving(op)
    C = op.H @ op.phi @ (op.M @ op.phi.mT @ op.a + op.b)
    close(vdot, np.linalg.solve(op.mass, op.tau - C), 1e-11)
    halfway = np.linalg.solve(op.D, np.linalg.solve(left(op), op.tau - C))
    close(vdot, np.linalg.solve(left(op).mT, halfway), 1e-11)


@every_system
def test_hinge_accelerations(op):
    """θ̈ = (I − HψK)* D⁻¹ [T − Hψ (K T + P a + b)] − K* ψ* a (7.21)."""
    vdot, *_ = moving(op)
    residual = op.tau - op.H @ op.psi @ (op.K @ op.tau + op.P @ op.a + op.b)
    close(vdot, right(op).mT @ np.linalg.solve(op.D, residual) - op.K.mT @ op.psi.mT @ op.a, 1e-11)


@every_system
def test_the_residual_force(op):
    """z = ψ (K T + P a + b) = φ (K ε + P a + b) = 𝓔φ z⁺ + P a + b (7.25), (7.26)."""
    _, _, z, eps, _ = moving(op)
    close(z, op.psi @ (op.K @ op.tau + op.P @ op.a + op.b))
    close(z, op.phi @ (op.K @ eps + op.P @ op.a + op.b))
    close(z, op.E_phi @ (z + op.G @ eps) + op.P @ op.a + op.b)


@every_system
def test_the_residual_force_at_the_inboard_side(op):
    """z⁺ = φ (G ε + P a + b) (7.29)."""
    _, _, z, eps, _ = moving(op)
    close(z + op.G @ eps, op.phi @ (op.G @ eps + op.P @ op.a + op.b))


@every_system
def test_accelerations_by_psi(op):
    """α = ψ* (H* ν + a) = τ̄* α⁺ + H* ν + a (7.30)."""
    _, alpha, _, _, nu = moving(op)
    close(alpha, op.psi.mT @ (op.H.mT @ nu + op.a), 1e-11)
    close(alpha, op.tau_bar.mT @ op.E_phi.mT @ alpha + op.H.mT @ nu + op.a, 1e-11)


@every_system
def test_hinge_accelerations_from_innovations(op):
    """θ̈ = ν − K* α = ν − G* α⁺ (7.31)."""
    vdot, alpha, _, _, nu = moving(op)
    close(vdot, nu - op.K.mT @ alpha, 1e-11)
    close(vdot, nu - op.G.mT @ op.E_phi.mT @ alpha, 1e-11)


@every_bookish_system
def test_innovations_from_accelerations(op):
    """ν = G* (α − a) (7.33)."""
    _, alpha, _, _, nu = moving(op)
    close(nu, op.G.mT @ (alpha - op.a), 1e-11)


@every_bookish_system
def test_inter_link_forces(op):
    """f = P (α − a) + z = P⁺ α⁺ + z⁺, and H f = T (7.34)."""
    _, alpha, z, eps, _ = moving(op)
    f = op.phi @ (op.M @ alpha + op.b)
    close(f, op.P @ (alpha - op.a) + z, 1e-11)
    close(f, op.P_plus @ op.E_phi.mT @ alpha + z + op.G @ eps, 1e-11)
    close(op.H @ f, op.tau, 1e-11)


@every_system
def test_gravity_in_forward_dynamics(op):
    """θ̈ = (I − HψK)* {D⁻¹ [T − Hψ (K T + P a + b)] − G* Ē* g} − K* ψ* a, g upwards (7.36)."""
    g = op.E_bar.mT @ op.nodes.falling
    vdot = op.robot.forward_dynamics(op.state.q, op.state.v, op.state.tau)[..., None]
    residual = op.tau - op.H @ op.psi @ (op.K @ op.tau + op.P @ op.a + op.b)
    nu_bar = np.linalg.solve(op.D, residual) - op.G.mT @ g
    close(vdot, right(op).mT @ nu_bar - op.K.mT @ op.psi.mT @ op.a, 1e-11)


@every_bookish_system
def test_accelerations_and_forces_with_gravity(op):
    """ν̄ = ν − G* Ē* g,  α = ψ* (H* ν̄ + a),  f = P (α + Ē* g − a) + z (7.37) to (7.41)."""
    falling = op.nodes.falling
    g = op.E_bar.mT @ falling
    vdot, felt, z = op.forward(falling, op.a, op.b)  # the world accelerating upwards: α + Ē* g is what is felt
    nu_bar = np.linalg.solve(op.D, op.tau - op.H @ z) - op.G.mT @ g
    alpha = op.phi.mT @ (op.H.mT @ vdot + op.a)
    close(alpha, felt - g, 1e-11)
    close(alpha, op.psi.mT @ (op.H.mT @ nu_bar + op.a), 1e-11)
    close(op.phi @ (op.M @ (alpha + g) + op.b), op.P @ (alpha + g - op.a) + z, 1e-11)


@every_system
def test_accelerations_of_forces_on_nodes(op, rng):
    """δθ̈ = 𝓜⁻¹ J* f = (I − HψK)* D⁻¹ Hψ B f, f the force on the nodes (7.44)."""
    f = rng.standard_normal((2, 6 * op.n, 1))
    delta = right(op).mT @ np.linalg.solve(op.D, op.H @ op.psi @ f)
    close(delta, np.linalg.solve(op.mass, op.H @ op.phi @ f), 1e-11)


# --- composite against articulated bodies (table 7.1), at rest


@every_bookish_system
def test_composite_and_articulated_bodies_carry_one_force(op):
    """f = R α + y = P α + z,  y = φ~ R H* θ̈,  z = φ~ P H* ν."""
    zero = np.zeros((2, 6 * op.n, 1))
    vdot, alpha, z = op.forward(STILL, zero, zero)
    nu = np.linalg.solve(op.D, op.tau - op.H @ z)
    y = op.phi_tilde @ op.R @ op.H.mT @ vdot
    close(op.R @ alpha + y, op.P @ alpha + z, 1e-11)
    close(z, op.phi_tilde @ op.P @ op.H.mT @ nu, 1e-11)


@every_bookish_system
def test_composite_and_articulated_bodies_at_the_inboard_side(op):
    """f = R α⁺ + y⁺ = P⁺ α⁺ + z⁺,  y⁺ = y + R H* θ̈,  z⁺ = z + P H* ν."""
    zero = np.zeros((2, 6 * op.n, 1))
    vdot, alpha, z = op.forward(STILL, zero, zero)
    nu = np.linalg.solve(op.D, op.tau - op.H @ z)
    alpha_plus = op.E_phi.mT @ alpha
    y_plus = op.phi @ op.R @ op.H.mT @ vdot
    close(op.R @ alpha_plus + y_plus, op.P_plus @ alpha_plus + z + op.P @ op.H.mT @ nu, 1e-11)


@every_bookish_system
def test_the_projected_acceleration(op):
    """τ̄* α = τ̄* α⁺ (table 7.1)."""
    zero = np.zeros((2, 6 * op.n, 1))
    _, alpha, _ = op.forward(STILL, zero, zero)
    close(op.tau_bar.mT @ alpha, op.tau_bar.mT @ op.E_phi.mT @ alpha, 1e-11)
