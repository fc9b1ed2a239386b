"""Jain, chapter 19: equations of motion whose mass matrix is the identity.

Statements of any joint over the zoo, by the factors as matrices and by steps in the imaginary direction; the book's closed forms, dense and
in inertial axes, for joints of one velocity.
"""

from itertools import combinations

import numpy as np
import pytest
from inertial import ONE_VELOCITY, along_everything, close, moving
from zoo import differences, every_mechanism, plain, planar_2r, rate, state

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model import solids

times = lambda A, x: np.matvec(A, x)
FORMS = pytest.mark.parametrize("form", ["eta", "xi"])


def view(robot, form):
    return robot.diagonal() if form == "eta" else robot.diagonal().unnormalized


def there(d, q, v):
    return d.eta(q, v) if d.form == "eta" else d.xi(q, v)


def force(d, q, tau):
    return d.zeta(q, tau) if d.form == "eta" else d.eps(q, tau)


# --- any joints: factors, velocities, forces


@every_mechanism
def test_the_root_of_the_mass_matrix(robot):
    """m m* = 𝓜, l = m⁻¹, l* l = 𝓜⁻¹ (19.18), lemma 19.6; F D F* = 𝓜 with D block diagonal, F triangular with unit blocks."""
    d, q = robot.diagonal(), state(robot, (2,)).q
    m, l, M = d.factor(q), d.factor_inverse(q), robot.mass_matrix(q)
    close(m @ m.mT, M)
    close(l @ m, np.eye(robot.nv), 1e-11)
    close(l.mT @ l, robot.mass_matrix_inverse(q), 1e-11)
    F, D = d.unnormalized.factor(q), d.unnormalized.mass_matrix(q)
    close(F @ D @ F.mT, M)
    tree = robot.lowered.plain().tree
    for i, rows in enumerate(tree.rows):
        close(F[..., rows, rows], np.eye(tree.widths[i]))
        for columns in tree.rows[i + 1 :]:
            assert not D[..., rows, columns].any()
            assert not F[..., columns, rows].any()


@every_mechanism
@FORMS
def test_velocities_and_forces_there_and_back(robot, form):
    """η = m* v, ζ = l τ, η · ζ = v · τ (19.15), and back by sweeps: tables 19.1 and 19.2."""
    d, s = view(robot, form), state(robot, (2, 2))
    u, f = there(d, s.q, s.v), force(d, s.q, s.tau)
    close(u, times(d.factor(s.q).mT, s.v))
    close(f, times(d.factor_inverse(s.q), s.tau), 1e-11)
    close(np.vecdot(u, f), np.vecdot(s.v, s.tau), 1e-11)
    close(d.v(s.q, u), s.v, 1e-11)
    close(d.tau(s.q, f), s.tau, 1e-11)


@every_mechanism
def test_kinetic_energy_is_half_the_square_of_eta(robot):
    """T = ½ η* η (19.19), and ½ ξ* D ξ."""
    d, s = robot.diagonal(), state(robot, (3,))
    eta, xi = d.eta(s.q, s.v), d.unnormalized.xi(s.q, s.v)
    close(np.vecdot(eta, eta) / 2, robot.kinetic_energy(s.q, s.v))
    close(np.vecdot(xi, times(d.unnormalized.mass_matrix(s.q), xi)) / 2, robot.kinetic_energy(s.q, s.v))


@every_mechanism
@FORMS
def test_the_rate_of_the_factor_and_of_its_inverse(robot, form):
    """ṁ by a step in the imaginary direction; (m m*)˙ = 𝓜˙; l̇ = −l ṁ l, ∂m and ∂l along each velocity, by differences."""
    d, s = view(robot, form), state(robot, (2,))
    found = d.factor_rate(s.q, s.v)
    close(found, rate(robot, lambda at: lambda q: at.mass_matrix_root(q, form), s.q, s.v))
    close(robot.ask(("mass_matrix_root_rate_times", form), s.q, s.v, s.tau), times(found, s.tau))
    if form == "eta":
        half = found @ d.factor(s.q).mT
        close(half + half.mT, robot.mass_matrix_rate(s.q, s.v), 1e-11)
    if 0 < robot.nv < 15:
        close(d.factor_derivative(s.q), differences(robot, d.factor, s.q), 1e-7)
        close(d.factor_inverse_derivative(s.q), differences(robot, d.factor_inverse, s.q), 1e-6)
        close(d.factor_inverse_rate(s.q, s.v), times(d.factor_inverse_derivative(s.q), s.v[..., None, :]), 1e-10)


# --- any joints: motion


@every_mechanism
def test_the_coriolis_term_of_eta_does_no_work(robot):
    """C(q,η) = l c − ṁ* v with c the Coriolis forces of v, and η · C = 0 (19.17), lemma 19.4."""
    d, s = robot.diagonal(), state(robot, (4,))
    eta, c = d.eta(s.q, s.v), robot.bias(s.q, s.v) - robot.gravity_force(s.q)
    found = d.coriolis(s.q, eta)
    close(found, d.zeta(s.q, c) - times(d.factor_rate(s.q, s.v).mT, s.v), 1e-11)
    close(np.vecdot(eta, found), 0.0, 1e-13 * max(1.0, np.abs(eta).max(initial=0) * np.abs(found).max(initial=0)))


@every_mechanism
def test_the_coriolis_term_of_xi(robot):
    """C(q,ξ) = F⁻¹ c − D Ḟ* v, lemma 19.11; ξ · C = ½ ξ* Ḋ ξ: not zero."""
    d, s = robot.diagonal().unnormalized, state(robot, (4,))
    xi, c = d.xi(s.q, s.v), robot.bias(s.q, s.v) - robot.gravity_force(s.q)
    found, D = d.coriolis(s.q, xi), d.mass_matrix(s.q)
    close(found, d.eps(s.q, c) - times(D @ d.factor_rate(s.q, s.v).mT, s.v), 1e-11)
    F, half = d.factor_inverse(s.q), d.factor_rate(s.q, s.v) @ D @ d.factor(s.q).mT
    D_dot = F @ (robot.mass_matrix_rate(s.q, s.v) - half - half.mT) @ F.mT
    close(np.vecdot(xi, found), np.vecdot(xi, times(D_dot, xi)) / 2, 1e-11)


@every_mechanism
@FORMS
def test_dynamics_in_two_sweeps_are_forward_dynamics(robot, form):
    """u̇ = m* v̇ + ṁ* v with v̇ of the articulated bodies: (19.40) to (19.42), gravity and wrenches on bodies included."""
    d, s = view(robot, form), state(robot, (2,))
    u, m, m_dot = there(d, s.q, s.v), d.factor(s.q), d.factor_rate(s.q, s.v)
    for external in (None, s.external):
        vdot = robot.forward_dynamics(s.q, s.v, s.tau, external)
        close(d.forward_dynamics(s.q, u, s.tau, external), times(m.mT, vdot) + times(m_dot.mT, s.v), 1e-10)


@every_mechanism
def test_the_equation_of_motion(robot):
    """η̇ + C(q,η) = ζ of τ − g (19.16), D ξ̇ + C(q,ξ) = F⁻¹ (τ − g) (19.37); d T/dt = η · ζ without gravity (lemma 19.5)."""
    d, s = robot.diagonal(), state(robot, (2,))
    eta, net = d.eta(s.q, s.v), s.tau - robot.gravity_force(s.q)
    close(d.forward_dynamics(s.q, eta, s.tau) + d.coriolis(s.q, eta), d.zeta(s.q, net), 1e-11)
    x = d.unnormalized
    xi, D = x.xi(s.q, s.v), x.mass_matrix(s.q)
    close(times(D, x.forward_dynamics(s.q, xi, s.tau)) + x.coriolis(s.q, xi), x.eps(s.q, net), 1e-11)
    close(np.vecdot(eta, d.forward_dynamics(s.q, eta, s.tau)), np.vecdot(s.v, net), 1e-10)


# --- joints of one velocity: the book's closed forms, in inertial axes


def diagonal_of(name):
    return plain(ONE_VELOCITY[name]).diagonal()


def D_half(m, power):
    return np.sqrt(m.D) if power > 0 else np.where(m.D > 0, 1 / np.sqrt(np.where(m.D > 0, m.D, 1)), 0)


@pytest.mark.parametrize("name", ONE_VELOCITY)
def test_factors_by_operators(name):
    """m = [I + H φ K] D^½, l = D^−½ [I − H ψ K] (19.22), and A τ − (I + A K H) = −τ̄ (19.31)."""
    m, d = moving(name, None), diagonal_of(name)
    q = m.node_axes.state.q
    close(d.factor(q), m.factor @ D_half(m, 1))
    close(d.factor_inverse(q), D_half(m, -1) @ (np.eye(m.tree.nv) - m.H @ m.psi @ m.K), 1e-11)
    close(m.phi @ m.G @ m.H - (m.I + m.phi @ m.K @ m.H), -m.tau_bar, 1e-11)


@pytest.mark.parametrize("name", ONE_VELOCITY)
def test_innovation_velocities_are_gains_on_velocities(name):
    """ξ = F* v = G* V and H* ξ = τ* V (19.28)."""
    m, d = moving(name, None), diagonal_of(name).unnormalized
    s = m.node_axes.state
    close(d.xi(s.q, s.v)[..., None], m.G.mT @ m.V, 1e-11)
    close(m.H.mT @ d.xi(s.q, s.v)[..., None], (m.G @ m.H).mT @ m.V, 1e-11)


@along_everything
def test_the_rate_of_the_factor_in_closed_form(name, i):
    """ṁ = H A [(Δ^ω)~ A~ P + 𝓔 Δ̄^v A P + ½ (I + τ̄) λ̌] H* D^−½ (lemma 19.7, exercises 19.1, 19.2)."""
    m, d = moving(name, i), diagonal_of(name)
    inner = m.til(m.DV_w) @ m.phi_tilde @ m.P + m.E_phi @ m.bar(m.DV_u) @ m.phi @ m.P + (m.I + m.tau_bar) @ m.lam / 2
    expected = m.H @ m.phi @ inner @ m.H.mT @ D_half(m, -1)
    close(d.factor_rate(m.node_axes.state.q, m.v), expected, 1e-10)
    if i is not None:
        close(d.factor_derivative(m.node_axes.state.q)[..., i], expected, 1e-10)


@along_everything
def test_the_rate_of_the_inverse_factor_in_closed_form(name, i):
    """l̇ = −D^−½ H ψ [(Δ^ω)~ A K + 𝓔 Δ̄^v A G + ½ (I + τ̄) λ̌ H* D⁻¹] [I − H ψ K] (exercises 19.3, 19.4)."""
    m, d = moving(name, i), diagonal_of(name)
    inner = m.til(m.DV_w) @ m.phi @ m.K + m.E_phi @ m.bar(m.DV_u) @ m.phi @ m.G
    inner = inner + (m.I + m.tau_bar) @ m.lam @ m.H.mT @ np.linalg.inv(m.D) / 2
    expected = -D_half(m, -1) @ m.H @ m.psi @ inner @ (np.eye(m.tree.nv) - m.H @ m.psi @ m.K)
    close(d.factor_inverse_rate(m.node_axes.state.q, m.v), expected, 1e-9)
    if i is not None:
        close(d.factor_inverse_derivative(m.node_axes.state.q)[..., i], expected, 1e-9)


@pytest.mark.parametrize("name", ONE_VELOCITY)
def test_the_rate_of_the_factor_times_eta(name):
    """ṁ η = H A [((Δ^ω)~ 𝓔 + 𝓔 Δ̄^v) A P τ* + ½ ((Δ^ω)~ P − P (Δ^ω)~ + 𝓔 (Δ̄^v P⁺ − P⁺ (Δ^v)~) 𝓔* + 𝓔ψ λ̌ − λ̌ 𝓔ψ*)] V (lemma 19.8)."""
    m, d = moving(name, None), diagonal_of(name)
    s, w, E = m.node_axes.state, m.til(m.DV_w), m.E_phi
    first = (w @ E + E @ m.bar(m.DV_u)) @ m.phi @ m.P @ (m.G @ m.H).mT
    second = w @ m.P - m.P @ w + E @ (m.bar(m.DV_u) @ m.P_plus - m.P_plus @ m.til(m.DV_u)) @ E.mT
    second = second + m.E_psi @ m.lam - m.lam @ m.E_psi.mT
    expected = (m.H @ m.phi @ (first + second / 2) @ m.V)[..., 0]
    close(times(d.factor_rate(s.q, s.v), d.eta(s.q, s.v)), expected, 1e-10)


@pytest.mark.parametrize("name", ONE_VELOCITY)
def test_the_coriolis_term_by_lagrange(name):
    """C(q,η) = l (ṁ η − ½ ∂(v* 𝓜 v)/∂q) (19.16), lemma 19.3."""
    d, robot = diagonal_of(name), plain(ONE_VELOCITY[name])
    s = state(robot, (2,))
    slope = 0.5 * np.einsum("...abc,...a,...b->...c", robot.mass_matrix_derivative(s.q), s.v, s.v)
    eta = d.eta(s.q, s.v)
    close(d.coriolis(s.q, eta), d.zeta(s.q, times(d.factor_rate(s.q, s.v), eta) - slope), 1e-10)


@pytest.mark.parametrize("name", ONE_VELOCITY)
def test_the_coriolis_terms_in_closed_form(name):
    """C(q,η) = D^−½ H ψ [V̄ M − ½ ((Δ^ω)~ P + P (Δ^ω)~ + 𝓔 {Δ̄^v P⁺ + P⁺ (Δ^v)~} 𝓔* − 𝓔ψ λ̌ + λ̌ 𝓔ψ*)] V (lemma 19.9, corrected);
    C(q,ξ) = H ψ [−(Δ^ω)~ P − 𝓔 Δ̄^v P⁺ + λ̌ τ* + V̄ M] V (lemma 19.11)."""
    m, d = moving(name, None), diagonal_of(name)
    s, w, u, E = m.node_axes.state, m.til(m.DV_w), m.til(m.DV_u), m.E_phi
    half = w @ m.P + m.P @ w + E @ (m.bar(m.DV_u) @ m.P_plus + m.P_plus @ u) @ E.mT - m.E_psi @ m.lam + m.lam @ m.E_psi.mT
    expected = D_half(m, -1) @ m.H @ m.psi @ (m.bar(m.V) @ m.M - half / 2) @ m.V
    close(d.coriolis(s.q, d.eta(s.q, s.v)), expected[..., 0], 1e-10)
    inner = -w @ m.P - E @ m.bar(m.DV_u) @ m.P_plus + m.lam @ (m.G @ m.H).mT + m.bar(m.V) @ m.M
    close(d.unnormalized.coriolis(s.q, d.unnormalized.xi(s.q, s.v)), (m.H @ m.psi @ inner @ m.V)[..., 0], 1e-10)


# --- diagonal coordinates: the curvature of the mass matrix


@every_mechanism
def test_the_symmetries_of_riemann_symbols(robot):
    """R_hijk = −R_ihjk = −R_hikj = R_jkhi, and R_hijk + R_hjki + R_hkij = 0 (19.10), for joints of any group."""
    equations, q = lw.Equations(robot), state(robot, (2,) if robot.nv < 15 else ()).q
    if robot.model.name == "geared":  # rotors on joints whose velocities do not commute
        with pytest.raises(ModelError, match="armature"):
            equations.riemann(q)
        return
    R = equations.riemann(q)
    close(R, -R.swapaxes(-4, -3), 1e-11)
    close(R, -R.swapaxes(-2, -1), 1e-11)
    close(R, np.moveaxis(R, (-4, -3), (-2, -1)), 1e-11)
    close(R + np.einsum("...hijk->...hjki", R) + np.einsum("...hijk->...hkij", R), 0.0, 1e-11)


def test_loops_have_a_metric_of_their_own():
    """A four-bar has one velocity, so that it is flat whatever its tree: the tree's symbols are refused."""
    with pytest.raises(ModelError, match="four_bar has loops"):
        lw.Equations(plain(lw.load("four_bar"))).riemann(np.zeros(3))


@pytest.mark.parametrize("name", ["pins", "branched"])
def test_riemann_symbols_are_those_of_the_textbook(name):
    """R_hijk = ½ (∂_i ∂_j 𝓜_hk + ∂_h ∂_k 𝓜_ij − ∂_i ∂_k 𝓜_hj − ∂_h ∂_j 𝓜_ik) + Γ_ahk 𝓜⁻¹ Γ_bij − Γ_ahj 𝓜⁻¹ Γ_bik, from second derivatives
    of 𝓜 by differences"""
    robot = plain(ONE_VELOCITY[name])
    q, equations = state(robot).q, lw.Equations(robot)
    second = differences(robot, robot.mass_matrix_derivative, q)  # [a, b, c, d]: ∂_d ∂_c 𝓜_ab
    at = lambda from_: np.einsum(f"{from_}->hijk", second)
    bent = at("hkij") + at("ijhk") - at("hjik") - at("ikhj")
    G, inverse = equations.christoffel_symbols(q), robot.mass_matrix_inverse(q)
    product = np.einsum("ahk,ab,bij->hijk", G, inverse, G) - np.einsum("ahj,ab,bik->hijk", G, inverse, G)
    close(equations.riemann(q), bent / 2 + product, 1e-8)


def polar_arm(inertia, slides=1.0):
    builder = lw.Builder("polar")
    builder.body("turn", joint=lw.Revolute(axis=(0, 0, 1)), mass=1.0, center=(0, 0, 0), tensor=(1.0 + inertia, 1.0, inertia))
    builder.body("slide", parent="turn", joint=lw.Prismatic(axis=(1, 0, 0)), mass=slides, center=(0, 0, 0), tensor=(0, 0, 0))
    return lw.Dynamics(builder.model(), compiled=False)


def test_the_curvature_of_a_polar_arm():
    """𝓜 = diag(I + m r², m): R_1212 = −I m / (I + m r²); I = 2, m = r = 1: −2/3. Without I it is flat: the plane in polar coordinates."""
    R = lw.Equations(polar_arm(2.0)).riemann([[0.3, 1.0], [0.3, 2.0]])
    close(R[:, 0, 1, 0, 1], [-2 / 3, -2 / 6])
    close(lw.Equations(polar_arm(0.0)).riemann([0.3, 1.0]), 0.0)


def test_a_constant_mass_matrix_is_flat_and_the_planar_2r_is_not():
    """Two rods, the second balanced on its axis: constant 𝓜. Not balanced: the elbow changes the inertia that the shoulder feels."""
    builder = lw.Builder("balanced")
    builder.body("a", joint=lw.Revolute(axis=(0, 0, 1)), **solids.rod(1.0, (1, 0, 0)))
    builder.body("b", parent="a", at=(1, 0, 0), joint=lw.Revolute(axis=(0, 0, 1)), mass=1.0, center=(0, 0, 0), tensor=(0.1, 0.1, 0.1))
    q = np.array([0.3, np.pi / 2])
    close(lw.Equations(lw.Dynamics(builder.model(), compiled=False)).riemann(q), 0.0)
    assert abs(lw.Equations(plain(planar_2r())).riemann([0.3, 1.9])[0, 1, 0, 1]) > 0.01


# --- numbers


def test_two_rods():
    """Elbow at 90°, v = (1, 2): η = (2/√3, √3), ½ |η|² = 13/6; D = (4/3, 1/3) less what the elbow takes."""
    robot = plain(planar_2r())
    d, q, v = robot.diagonal(), np.array([0.3, np.pi / 2]), np.array([1.0, 2.0])
    eta = d.eta(q, v)
    close(eta, [2 / np.sqrt(3), np.sqrt(3)])
    close(eta @ eta / 2, 13 / 6)
    M = robot.mass_matrix(q)
    close(d.unnormalized.factor(q), [[1, M[0, 1] / M[1, 1]], [0, 1]])
    close(np.diag(d.unnormalized.mass_matrix(q)), [M[0, 0] - M[0, 1] ** 2 / M[1, 1], M[1, 1]])


def test_eta_turns_but_does_not_grow_without_forces():
    """|η| is constant where nothing acts (19.17): steps of a run."""
    robot = plain(planar_2r().with_gravity((0, 0, 0)))
    run = lw.simulate(
        robot, (np.array([0.3, 1.0]), np.array([1.0, 2.0])), until=1.0, rtol=1e-9, progress=False, method=lw.RK45(velocities="eta")
    )
    eta = robot.diagonal().eta(run.q, run.v)
    close(np.linalg.norm(eta, axis=-1), np.linalg.norm(eta[0]), 1e-8)
    assert all(np.abs(a - b).max() > 1e-3 for a, b in combinations(eta[:: len(eta) // 3], 2))
