"""Jain, chapter 18: rates of operators along a motion, and sensitivities, which are rates along one velocity (18.26).

Left sides are rates from sweeps, taken to inertial axes; right sides are the book's closed forms, dense, for joints of one velocity.
"""

from itertools import pairwise

import numpy as np
import pytest
from inertial import ONE_VELOCITY, along_everything, close, moving
from zoo import plain, planar_2r

from linkwork.spatial import bar, tilde

# --- velocities and operators


@along_everything
def test_linear_velocities_pass_through_shifts(name, i):
    """V̄^v 𝓔 = 𝓔 V̄_S^v; A V̄^v − V̄_S^v A = A [V̄^v − V̄_S^v] A; A V̄_S^v − V̄_S^v A = A [V̄^v − V̄_S^v] A~ (lemma 18.1)."""
    m = moving(name, i)
    own, above, E, A = m.bar(m.V_u), m.bar(m.S(m.V_u)), m.E_phi, m.phi
    close(own @ E, E @ above, 1e-11)
    close(A @ own - above @ A, A @ (own - above) @ A, 1e-11)
    close(A @ above - above @ A, A @ (own - above) @ m.phi_tilde, 1e-11)


@along_everything
def test_velocities_and_operators(name, i):
    """𝓔* V~ = V⁺~ 𝓔*; V~ 𝓔* − 𝓔* V~ = Δ~ 𝓔*; V~ A* − A* V~ = A* Δ~ A~*; A V̄ − V̄ A = A~ Δ̄ A (exercise 18.1)."""
    m = moving(name, i)
    E, A, At, V, D = m.E_phi, m.phi, m.phi_tilde, m.til(m.V), m.til(m.DV)
    close(E.mT @ V, m.til(E.mT @ m.V) @ E.mT, 1e-11)
    close(V @ E.mT - E.mT @ V, D @ E.mT, 1e-11)
    close(V @ A.mT - A.mT @ V, A.mT @ D @ At.mT, 1e-11)
    close(A @ m.bar(m.V) - m.bar(m.V) @ A, At @ m.bar(m.DV) @ A, 1e-11)


# --- rates of φ, H, M, E, A, H A


@along_everything
def test_rates_of_the_blocks(name, i):
    """φ̇(p,k) = V̄^v(k) − V̄^v(p) = (V^ω(p))~ φ − φ (V^ω(p))~ + Δ̄^v(k); Ḣ* = (V^ω(p))~ H*; Ṁ = (V^ω)~ M − M (V^ω)~ (lemma 18.2)."""
    m = moving(name, i)
    E_dot, at = m.rate("𝓔φ"), m.node_axes.at
    part = lambda z, k: z[..., 6 * k : 6 * k + 6, 0]
    for k, p in enumerate(m.tree.parent):
        if p != m.tree.world:
            turning, phi = tilde(part(m.V_w, p)), m.E_phi[at(p, k)]
            close(E_dot[at(p, k)], bar(part(m.V_u, k)) - bar(part(m.V_u, p)), 1e-11)
            close(E_dot[at(p, k)], turning @ phi - phi @ turning + bar(part(m.DV_u, k)), 1e-11)
    close(m.rate("H").mT, m.til(m.S(m.V_w)) @ m.H.mT, 1e-11)
    close(m.rate("M"), m.til(m.V_w) @ m.M - m.M @ m.til(m.V_w), 1e-11)


@along_everything
def test_rates_of_E_and_A(name, i):
    """𝓔̇ = (V^ω)~ 𝓔 − 𝓔 ((V_S^ω)~ − Δ̄^v) = (V^ω)~ 𝓔 − 𝓔 (V^ω)~ + 𝓔 Δ̄; Ȧ = A~ Δ̄ A + (V^ω)~ A − A (V^ω)~ (lemmas 18.3, 18.7)."""
    m = moving(name, i)
    w, E, A = m.til(m.V_w), m.E_phi, m.phi
    close(m.rate("𝓔φ"), w @ E - E @ (m.til(m.S(m.V_w)) - m.bar(m.DV_u)), 1e-11)
    close(m.rate("𝓔φ"), w @ E - E @ w + E @ m.bar(m.DV), 1e-11)
    close(m.rate("φ"), m.phi_tilde @ m.bar(m.DV) @ A + w @ A - A @ w, 1e-11)


@along_everything
def test_the_rate_of_H_A(name, i):
    """(H A)˙ = H A [(Δ^ω)~ A + 𝓔 Δ̄^v A − (V^ω)~] (exercises 18.2, 18.8)."""
    m = moving(name, i)
    A = m.phi
    close(m.rate("H φ"), m.H @ A @ (m.til(m.DV_w) @ A + m.E_phi @ m.bar(m.DV_u) @ A - m.til(m.V_w)), 1e-11)


@along_everything
def test_the_inertial_coriolis_acceleration(name, i):
    """a_I = (V_S^ω)~ V − 𝓔* (V^ω)~ V − (Δ^v)~ V⁺, and (H A)˙* v = A* a_I (18.14)."""
    m = moving(name, i)
    a = m.til(m.S(m.V_w)) @ m.V - m.E_phi.mT @ m.til(m.V_w) @ m.V - m.til(m.DV_u) @ m.E_phi.mT @ m.V
    close(m.rate("H φ").mT @ m.v[..., None], m.phi.mT @ a, 1e-11)


@along_everything
def test_rates_about_another_point_of_each_body(name, i, rng):
    """Δ̇_B/O = V̄_B/O with V_B/O = [0; v(O) − v(B)], and φ̇_B(p,k) = V̄^v(B_k) − V̄^v(B_p) (exercises 18.4, 18.5)."""
    m = moving(name, i)
    offset = [m.node_axes.T[k][..., :3, :3] @ rng.standard_normal(3) for k in range(m.n)]  # from O to B, fixed in the body
    linear = lambda x: np.concatenate([np.concatenate([0 * y, y], -1)[..., None] for y in x], -2)
    shift = m.I + m.bar(linear([-x for x in offset]))  # φ(B,O)
    V_B = np.linalg.solve(shift.mT, m.V)
    V_BO = m.u(m.V - V_B)
    close(V_BO, linear([-np.cross(m.V[..., 6 * k : 6 * k + 3, 0], x) for k, x in enumerate(offset)]), 1e-11)
    back, shift_dot = np.linalg.inv(shift), m.bar(V_BO)
    E_B = shift @ m.E_phi @ back
    rate = shift @ m.rate("𝓔φ") @ back + shift_dot @ back @ E_B - E_B @ shift_dot @ back
    close(rate, E_B @ m.bar(m.u(V_B)) - m.bar(m.u(V_B)) @ E_B, 1e-11)


# --- the mass matrix


def form(m):
    """(Δ^ω)~ + 𝓔 Δ̄^v."""
    return m.til(m.DV_w) + m.E_phi @ m.bar(m.DV_u)


@along_everything
def test_the_rate_of_the_mass_matrix(name, i):
    """𝓜˙ = H A [((Δ^ω)~ + 𝓔 Δ̄^v) A M − M A* ((Δ^v)~ 𝓔* + (Δ^ω)~)] A* H* (18.23), lemmas 18.4 and 18.9."""
    m = moving(name, i)
    A, X = m.phi, form(m)
    expected = m.H @ A @ (X @ A @ m.M - m.M @ A.mT @ (m.til(m.DV_u) @ m.E_phi.mT + m.til(m.DV_w))) @ A.mT @ m.H.mT
    close(m.rate("H φ M φ* H* + armature"), expected, 1e-11)
    robot = plain(ONE_VELOCITY[name])
    close(robot.mass_matrix_rate(m.node_axes.state.q, m.v), expected, 1e-11)
    if i is not None:
        close(robot.mass_matrix_derivative(m.node_axes.state.q)[..., i], expected, 1e-11)


@along_everything
def test_the_rate_of_A_M_A(name, i):
    """(A M A*)˙ = [A~ Δ̄ + (V^ω)~] A M A* − A M A* [Δ~ A~* + (V^ω)~] (18.24), lemma 18.8."""
    m = moving(name, i)
    X, w, At = m.of("φ M φ*"), m.til(m.V_w), m.phi_tilde
    close(m.rate("φ M φ*"), (At @ m.bar(m.DV) + w) @ X - X @ (m.til(m.DV) @ At.mT + w), 1e-11)


@pytest.mark.parametrize("name", ONE_VELOCITY)
def test_the_slope_of_kinetic_energy(name):
    """∂T/∂θ = −H [V̄ − (Δ^ω)~] A M V = −H A {V̄ − (𝓔 Δ̄^v + (Δ^ω)~) A} M V (lemma 18.10)."""
    m = moving(name, None)
    robot, s = plain(ONE_VELOCITY[name]), m.node_axes.state
    slope = 0.5 * np.einsum("...abc,...a,...b->...c", robot.mass_matrix_derivative(s.q), s.v, s.v)
    momentum = m.M @ m.V
    close(slope, -(m.H @ (m.bar(m.V) - m.til(m.DV_w)) @ m.phi @ momentum)[..., 0], 1e-11)
    close(slope, -(m.H @ m.phi @ (m.bar(m.V) - form(m) @ m.phi) @ momentum)[..., 0], 1e-11)
    inertias = m.bar(m.V) @ m.M - form(m) @ (m.I + m.phi @ m.K @ m.H) @ m.P
    close(slope, -(m.H @ m.phi @ inertias @ m.V)[..., 0], 1e-11)


@pytest.mark.parametrize("name", ONE_VELOCITY)
def test_three_forms_of_coriolis_forces(name):
    """𝓒 = 𝓜˙ v − ∂T/∂θ = H A [V̄ M − M A* ((Δ^v)~ 𝓔* + (Δ^ω)~)] V = H A [b_I + M A* a_I] (18.39) to (18.41)."""
    m, robot = moving(name, None), plain(ONE_VELOCITY[name])
    s, A = m.node_axes.state, m.phi
    expected = robot.bias(s.q, s.v) - robot.gravity_force(s.q)
    slope = 0.5 * np.einsum("...abc,...a,...b->...c", robot.mass_matrix_derivative(s.q), s.v, s.v)
    close(np.matvec(robot.mass_matrix_rate(s.q, s.v), s.v) - slope, expected, 1e-11)
    bent = m.M @ A.mT @ (m.til(m.DV_u) @ m.E_phi.mT + m.til(m.DV_w))
    close((m.H @ A @ (m.bar(m.V) @ m.M - bent) @ m.V)[..., 0], expected, 1e-11)
    a = m.til(m.S(m.V_w)) @ m.V - m.E_phi.mT @ m.til(m.V_w) @ m.V - m.til(m.DV_u) @ m.E_phi.mT @ m.V
    b = (m.bar(m.V) @ m.M - m.M @ m.bar(m.V)) @ m.V
    close((m.H @ A @ (b + m.M @ A.mT @ a))[..., 0], expected, 1e-11)


# --- articulated bodies


@along_everything
def test_rates_of_articulated_inertias(name, i):
    """Ḋ = H λ H*, (D⁻¹)˙ = −D⁻¹ H λ H* D⁻¹, Ġ = τ̄ λ H* D⁻¹ + (V_S^ω)~ G, Ṗ⁺ = τ̄ λ τ̄* + (V_S^ω)~ P⁺ − P⁺ (V_S^ω)~,
    𝓔̇ψ = (V^ω)~ 𝓔ψ − 𝓔ψ (V_S^ω)~ − 𝓔 (τ̄ λ H* D⁻¹ H − Δ̄^v τ̄) (lemmas 18.11, 18.13, 18.14)."""
    m = moving(name, i)
    lam, H, w, bent = m.lam, m.H, m.til(m.S(m.V_w)), m.tau_bar @ m.lam @ m.H.mT @ np.linalg.inv(m.D)
    close(m.rate("D"), H @ lam @ H.mT, 1e-10)
    close(m.rate("D⁻¹"), -np.linalg.solve(m.D, H @ lam @ H.mT) @ np.linalg.inv(m.D), 1e-9)
    close(m.rate("G"), bent + w @ m.G, 1e-10)
    close(m.rate("G H"), bent @ H + w @ m.G @ H - m.G @ H @ w, 1e-10)
    close(m.rate("P⁺"), m.tau_bar @ lam @ m.tau_bar.mT + w @ m.P_plus - m.P_plus @ w, 1e-10)
    right = m.til(m.V_w) @ m.E_psi - m.E_psi @ w - m.E_phi @ (bent @ H - m.bar(m.DV_u) @ m.tau_bar)
    close(m.rate("𝓔ψ"), right, 1e-10)
    close(m.rate("ψ"), m.psi @ right @ m.psi, 1e-10)


@along_everything
def test_the_equation_of_lambda(name, i):
    """λ − 𝓔ψ λ 𝓔ψ* = (Δ^ω)~ P − P (Δ^ω)~ + 𝓔 (Δ̄^v P⁺ − P⁺ (Δ^v)~) 𝓔* (lemma 18.12, algorithm 18.1)."""
    m = moving(name, i)
    w, u = m.til(m.DV_w), m.bar(m.DV_u) @ m.P_plus - m.P_plus @ m.til(m.DV_u)
    close(m.lam - m.E_psi @ m.lam @ m.E_psi.mT, w @ m.P - m.P @ w + m.E_phi @ u @ m.E_phi.mT, 1e-10)


@along_everything
def test_lambda_is_the_rate_of_P_in_its_own_axes_turned_by_the_joint(name, i):
    """λ = P̊ + (Δ^ω)~ P − P (Δ^ω)~ (exercise 18.10)."""
    m = moving(name, i)
    ring, w = m.turned(m.op.P, m.op.rate(m.op.P, m.v).dense()), m.til(m.DV_w)
    close(m.lam, ring + w @ m.P - m.P @ w, 1e-10)


def test_sensitivities_of_articulated_inertias_are_on_the_path_alone():
    """λ_i(k) = 0 beyond i and beside its path; (H^ω)~ P − P (H^ω)~ at i; ψ λ_i ψ* from one node above to the next (remark 18.2)."""
    name = "branched"
    for i in range(plain(ONE_VELOCITY[name]).nv):
        m = moving(name, i)
        at, lam = m.node_axes.at, m.lam
        own = next(k for k, rows in enumerate(m.tree.rows) if rows.start == i and rows.stop > i)
        path = [k for k, _ in m.tree.path(own, None, lambda j, x: None)]
        w = tilde(m.DV_w[..., 6 * own : 6 * own + 6, 0])
        P = m.P[at(own, own)]
        close(lam[at(own, own)], w @ P - P @ w, 1e-10)
        for k in set(range(m.n)) - set(path):
            close(lam[at(k, k)], 0 * P, 1e-11)
        for k, p in pairwise(path[1:]):
            psi = m.E_psi[at(p, k)]
            close(lam[at(p, p)], psi @ lam[at(k, k)] @ psi.mT, 1e-10)


@along_everything
def test_rates_of_the_factors(name, i):
    """F˙ = H A [(Δ^ω)~ A K + 𝓔 Δ̄^v A G + τ̄ λ H* D⁻¹]; (F D)˙ = H A [(Δ^ω)~ A~ P + 𝓔 Δ̄^v A P + λ] H*; L˙ = −H ψ [...] L
    with F = I + H A K, L = I − H ψ K (exercises 18.11 to 18.14)."""
    m = moving(name, i)
    A, H, w, u, D_inverse = m.phi, m.H, m.til(m.DV_w), m.E_phi @ m.bar(m.DV_u), np.linalg.inv(m.D)
    bracket = w @ A @ m.K + u @ A @ m.G + m.tau_bar @ m.lam @ H.mT @ D_inverse
    L = np.linalg.inv(m.factor)
    close(m.rate("I + H φ K"), H @ A @ bracket, 1e-9)
    close(m.rate("(I + H φ K) D"), H @ A @ (w @ m.phi_tilde @ m.P + u @ A @ m.P + m.lam) @ H.mT, 1e-9)
    close(m.rate("I − H ψ K"), -H @ m.psi @ bracket @ L, 1e-9)


@along_everything
def test_the_rate_of_the_log_determinant(name, i):
    """d log det 𝓜 = Tr{D⁻¹ H λ H*} (18.66), and along i = 2 Tr{P(i) Υ(i) (H^ω)~} + 2 Tr{H̄^v P⁺(i) [𝓔* Ω 𝓔](i,i)} (18.67), (18.68)."""
    m = moving(name, i)
    robot, q = plain(ONE_VELOCITY[name]), m.node_axes.state.q
    trace = lambda X: np.trace(X, axis1=-2, axis2=-1)
    found = np.vecdot(robot.log_determinant_gradient(q), m.v)
    close(found, trace(np.linalg.solve(m.D, m.H @ m.lam @ m.H.mT)), 1e-9)
    Omega = m.E_phi.mT @ m.of("Ω") @ m.E_phi
    close(found, 2 * trace(m.P @ m.Upsilon @ m.til(m.DV_w)) + 2 * trace(m.bar(m.DV_u) @ m.P_plus @ Omega), 1e-9)


# --- what the velocities are, along one of them


def test_velocities_along_one_joint():
    """∂V^ω(k)/∂θ̇_i = H^ω*(i) for k = i and beyond, nothing elsewhere (lemmas 18.5, 18.6)."""
    for name in ONE_VELOCITY:
        for i in range(plain(ONE_VELOCITY[name]).nv):
            m = moving(name, i)
            own = next(k for k, rows in enumerate(m.tree.rows) if rows.start == i and rows.stop > i)
            axis = m.DV_w[..., 6 * own : 6 * own + 6, :]
            for k in range(m.n):
                beyond = own in [j for j, _ in m.tree.path(k, None, lambda j, x: None)]
                close(m.V_w[..., 6 * k : 6 * k + 6, :], axis * beyond, 1e-11)


def test_two_rods_have_the_numbers_of_the_textbook():
    """Elbow at 90°, v = (1, 2): 𝓜˙ = [[−2, −1], [−1, 0]], ∂𝓜/∂elbow = [[−1, −½], [−½, 0]]."""
    robot = plain(planar_2r())
    q, v = np.array([0.3, np.pi / 2]), np.array([1.0, 2.0])
    close(robot.mass_matrix_rate(q, v), [[-2, -1], [-1, 0]])
    close(robot.mass_matrix_derivative(q)[..., 1], [[-1, -0.5], [-0.5, 0]])
    close(robot.mass_matrix_derivative(q)[..., 0], np.zeros((2, 2)))
    op = robot.operators(q, v)
    close(op.rate(op.mass_matrix).dense(), [[-2, -1], [-1, 0]])
    close(op.sensitivity(op.mass_matrix, "fore_joint").dense(), [[-1, -0.5], [-0.5, 0]])
    assert str(op.sensitivity(op("H φ M φ* H*"), "fore_joint")) == "H φ~ H̄_fore_joint φ M φ* H* + H φ M φ* H̄_fore_joint* φ~* H*"
