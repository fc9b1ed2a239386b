"""Jain, chapter 6: articulated bodies, for a system at rest."""

import numpy as np
from dense import close, every_bookish_system, every_system, over

from linkwork.sweeps import articulated_inertia, composite_inertia


def at_rest(op):
    """θ̈, α, z without velocity and gravity."""
    zero = np.zeros((2, 6 * op.n, 1))
    return op.forward(np.zeros((6, 1)), zero, zero)


def residuals(op):
    """ε = T − H z,  ν = D⁻¹ ε (6.37)."""
    _, _, z = at_rest(op)
    eps = op.tau - op.H @ z
    return eps, np.linalg.solve(op.D, eps)


def positive(A):
    """A ≥ 0."""
    eigenvalues = np.linalg.eigvalsh((A + A.mT) / 2)
    assert eigenvalues.min() > -1e-11 * max(1.0, np.abs(eigenvalues).max())


@every_bookish_system
def test_H_G_is_the_identity(op):
    """H G = I (6.14)."""
    close(op.H @ op.G, np.eye(op.G.shape[-1]))


@every_bookish_system
def test_tau_and_tau_bar_are_projections(op):
    """τ² = τ,  τ̄² = τ̄,  τ = G H,  τ̄ = I − τ (6.15)."""
    close(op.tau_ @ op.tau_, op.tau_)
    close(op.tau_bar @ op.tau_bar, op.tau_bar)


@every_bookish_system
def test_what_the_projections_keep(op):
    """τ G = G,  τ* H* = H* (6.17)."""
    close(op.tau_ @ op.G, op.G)
    close(op.tau_.mT @ op.H.mT, op.H.mT)


@every_bookish_system
def test_what_the_projections_remove(op):
    """τ̄ G = 0,  τ̄* H* = 0,  G* τ̄* = 0,  H τ̄ = 0 (6.18)."""
    close(op.tau_bar @ op.G, 0 * op.G)
    close(op.H @ op.tau_bar, 0 * op.H)


@every_system
def test_D_and_G(op):
    """D = H P H* + armature,  G = P H* D⁻¹ (6.13)."""
    close(op.D, op.H @ op.P @ op.H.mT + op.armature)
    close(op.G @ op.D, op.P @ op.H.mT)


@every_bookish_system
def test_P_plus(op):
    """P⁺ = τ̄ P = P τ̄* = τ̄ P τ̄* = P − P H* D⁻¹ H P (6.25)."""
    P, t = op.P, op.tau_bar
    for same in t @ P, P @ t.mT, t @ P @ t.mT, P - P @ op.H.mT @ np.linalg.solve(op.D, op.H @ P):
        close(op.P_plus, same)


@every_bookish_system
def test_nothing_is_felt_along_a_hinge(op):
    """H P⁺ = 0 = P⁺ H* (6.26)."""
    close(op.H @ op.P_plus, 0 * op.H)


@every_system
def test_articulated_inertia_solves_a_riccati_equation(op):
    """P = 𝓔 P⁺ 𝓔* + M (6.28)."""
    close(op.P, op.E_phi @ op.P_plus @ op.E_phi.mT + op.M)


@every_bookish_system
def test_articulated_inertia_by_psi(op):
    """P = 𝓔ψ P 𝓔ψ* + M (6.30)."""
    close(op.P, op.E_psi @ op.P @ op.E_psi.mT + op.M)


@every_system
def test_hinges_make_bodies_lighter(op):
    """P ≥ P⁺ ≥ 0 and R ≥ P ≥ M (6.31), exercise 7.1."""
    for difference in op.P - op.P_plus, op.P_plus, op.R - op.P, op.P - op.M:
        positive(difference)


@every_bookish_system
def test_inter_link_forces_at_rest(op):
    """f = P α + z = P⁺ α⁺ + z⁺ (6.32), (6.34)."""
    _, alpha, z = at_rest(op)
    eps, _ = residuals(op)
    f = op.phi @ op.M @ alpha
    close(f, op.P @ alpha + z, 1e-11)
    close(f, op.P_plus @ op.E_phi.mT @ alpha + z + op.G @ eps, 1e-11)


@every_bookish_system
def test_the_residual_force_at_the_inboard_side(op):
    """z⁺ = τ̄ z + G T = z + G ε (6.38)."""
    _, _, z = at_rest(op)
    eps, _ = residuals(op)
    close(op.tau_bar @ z + op.G @ op.tau, z + op.G @ eps)


@every_bookish_system
def test_the_residual_force_at_rest(op):
    """z = φ~ P H* ν (table 7.1)."""
    _, _, z = at_rest(op)
    _, nu = residuals(op)
    close(z, op.phi_tilde @ op.P @ op.H.mT @ nu)


@every_bookish_system
def test_hinge_accelerations_at_rest(op):
    """θ̈ = ν − G* α⁺,  ν = G* α (6.42), (6.44)."""
    vdot, alpha, _ = at_rest(op)
    _, nu = residuals(op)
    close(vdot, nu - op.G.mT @ op.E_phi.mT @ alpha, 1e-11)
    close(nu, op.G.mT @ alpha, 1e-11)


@every_bookish_system
def test_accelerations_at_rest(op):
    """α = 𝓔ψ* α + H* ν (6.43)."""
    _, alpha, _ = at_rest(op)
    _, nu = residuals(op)
    close(alpha, op.E_psi.mT @ alpha + op.H.mT @ nu, 1e-11)


@every_bookish_system
def test_a_projection_from_two_spaces(op):
    """τ̄* = I − Y (X* Y)⁻¹ X* with X = P H*, Y = H* (6.20)."""
    X, Y = op.P @ op.H.mT, op.H.mT
    close(op.tau_bar.mT, op.I - Y @ np.linalg.solve(X.mT @ Y, X.mT))


# --- limits


@every_system
def test_frozen_hinges_make_an_articulated_body_composite(op):
    """r = 0: τ̄ = I, P = R, ψ = φ."""
    frozen = [np.zeros((0, 6))] * op.n
    P, _, _, P_plus = articulated_inertia(op.blocks._replace(H=frozen, armature=[np.zeros((0, 0))] * op.n))
    R = composite_inertia(op.blocks)
    for k in range(op.n):
        close(P[k], R[k])
        close(P_plus[k], R[k])


@over("floating", "tree", "chain")
def test_hinges_held_by_ever_larger_rotors_freeze(op):
    """armature → ∞: P → R."""
    armature = [1e12 * np.eye(len(H)) for H in op.nodes.H]
    P, _, _, _ = articulated_inertia(op.blocks._replace(armature=armature))
    close(op.diagonal(P), op.R, 1e-9)


@over("free", "tree", "floating", "forest", "massless", "serial")
def test_a_hinge_that_allows_everything_carries_nothing(op):
    """r = 6: τ̄ = 0, P⁺ = 0."""
    free = [k for k, H in enumerate(op.nodes.H) if len(H) == 6]
    assert free
    for k in free:
        close(op.tau_bar[op.at(k, k)], np.zeros((2, 6, 6)))
        close(op.P_plus[op.at(k, k)], np.zeros((2, 6, 6)))


# --- the same equations in estimation theory (section 6.4): x = φ w, w of covariance M, T = H x observed


@every_bookish_system
def test_D_is_the_covariance_of_the_innovations(op):
    """ε = (I − HψK) T has covariance D: uncorrelated from joint to joint (6.49)."""
    whiten = np.eye(op.robot.nv) - op.H @ op.psi @ op.K
    close(whiten @ op.mass @ whiten.mT, op.D, 1e-11)


@every_bookish_system
def test_the_smoothed_estimate_is_the_inter_link_force(op):
    """E[x | T] = φ M φ* H* 𝓜⁻¹ T = z + P α (6.50)."""
    _, alpha, z = at_rest(op)
    estimate = op.phi @ op.M @ op.phi.mT @ op.H.mT @ np.linalg.solve(op.mass, op.tau)
    close(estimate, z + op.P @ alpha, 1e-11)


@every_bookish_system
def test_P_is_the_covariance_of_the_filter_error(op):
    """x − z = ψ w, and its covariance ψ M ψ* has P on the diagonal (6.47)."""
    close(op.only_diagonal(op.psi @ op.M @ op.psi.mT), op.P)
