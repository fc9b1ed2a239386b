"""The same C v from six matrices (From, part two; Müller and Terze, section 4; the lecture)."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.linalg import block_diag
from zoo import MECHANISMS, body_inertias, close, differences, every_mechanism, gradient, jacobians, plain, robots, state, trees

import linkwork as lw
from linkwork.equations import Equations
from linkwork.equations.equations import FORMS
from linkwork.spatial import tilde

MODELS = Path(__file__).parents[1] / "models"
REAL = {"panda": False, "ur5": False, "solo12": True, "simple_humanoid": True}
every_form = pytest.mark.parametrize("form", FORMS)
COMPATIBLE = "christoffel", "binet", "momentum", "centers"  # with C + C* = Ṁ


def real(name):
    return plain(lw.load(MODELS / name / f"{name}.urdf", floating=REAL[name], mimic="free"))


def times(C, v):
    return (C @ v[..., None])[..., 0]


def coriolis_force(robot, q, v):
    return robot.bias(q, v) - robot.gravity_force(q)


@every_mechanism
@every_form
def test_every_coriolis_matrix_gives_the_bias_of_newton_and_euler(robot, form):
    """C v = bias - g."""
    s = state(robot, (3,))
    close(times(Equations(robot).coriolis_matrix(s.q, s.v, form), s.v), coriolis_force(robot, s.q, s.v), 1e-11)


@pytest.mark.parametrize("name", REAL)
@every_form
def test_every_coriolis_matrix_gives_the_bias_of_real_robots(name, form):
    robot = real(name)
    s = state(robot, (2,))
    close(times(Equations(robot).coriolis_matrix(s.q, s.v, form), s.v), coriolis_force(robot, s.q, s.v), 1e-11)


@given(trees(max_bodies=8))
@settings(max_examples=25)
def test_every_coriolis_matrix_gives_the_bias_of_random_trees(model):
    robot = plain(model)
    s, expected = state(robot), robot.coriolis_matrix
    for form in FORMS:
        C = Equations(robot).coriolis_matrix(s.q, s.v, form)
        close(times(C, s.v), coriolis_force(robot, s.q, s.v), 1e-10)
        if form in ("christoffel", "binet"):
            close(C, expected(s.q, s.v), 1e-11)


@robots("tree", "floating", "geared", "forest")
@every_form
def test_four_of_six_coriolis_matrices_have_half_the_rate_of_the_mass_matrix_as_symmetric_part(robot, form):
    """C + C* = Ṁ, so that Ṁ - 2C is skew, for four of the six; for the other two it is not."""
    s = state(robot)
    C = Equations(robot).coriolis_matrix(s.q, s.v, form)
    rate = gradient(robot, lambda sweeps: sweeps.mass_matrix, s.q) @ s.v
    if form in COMPATIBLE:
        close(C + C.mT, rate, 1e-11)
    else:
        assert np.abs(C + C.mT - rate).max() > 1e-2


@every_mechanism
def test_the_christoffel_coriolis_matrix_is_that_of_dynamics(robot):
    """Σ Γ_abc v_c, column by column what the composite sweep gives."""
    s = state(robot, (3,))
    close(Equations(robot).coriolis_matrix(s.q, s.v), robot.coriolis_matrix(s.q, s.v), 1e-12)


@robots("chain", "universal", "compound", "planar 2R")
def test_christoffel_symbols_are_half_sums_of_derivatives(robot):
    """Γ_abc = ½ (∂_b M_ac + ∂_c M_ab - ∂_a M_bc), by an imaginary step, symmetric in b and c: one-axis joints."""
    q = state(robot).q
    dM = gradient(robot, lambda sweeps: sweeps.mass_matrix, q)
    Gamma = Equations(robot).christoffel_symbols(q)
    close(Gamma, (np.einsum("acb->abc", dM) + dM - np.einsum("bca->abc", dM)) / 2, 1e-11)
    close(Gamma, Gamma.mT)


@robots("tree", "free", "spherical", "floating")
def test_in_velocities_of_groups_the_torsion_is_the_bracket(robot):
    """Γ_abc - Γ_acb = Σ M_as [e_c, e_b]_s: the symbols are symmetric up to the structure constants."""
    q, equations = state(robot).q, Equations(robot)
    Gamma, c = equations.christoffel_symbols(q), equations.structure_constants()
    close(Gamma - Gamma.mT, np.einsum("as,scb->abc", robot.mass_matrix(q), c), 1e-11)


@every_mechanism
def test_derivatives_of_the_mass_matrix_are_those_of_an_imaginary_step(robot):
    """∂_c M_ab by brackets."""
    q = state(robot).q
    close(Equations(robot).mass_matrix_derivatives(q), gradient(robot, lambda sweeps: sweeps.mass_matrix, q), 1e-11)


@robots("tree", "chain", "floating", "free")
def test_binets_symbols_are_the_christoffel_symbols(robot):
    """Müller and Terze (48), its linear part put right."""
    from linkwork.equations.coriolis import binet_symbols

    q = state(robot, (2,)).q
    close(binet_symbols(robot.lowered.plain(q.dtype), q), Equations(robot).christoffel_symbols(q), 1e-12)


@robots("tree", "chain", "floating")
def test_the_matrix_form_is_the_sum_of_its_written_terms(robot):
    """C = -K* (b* J + J A a) K (52), b = diag ad_V, A of all shifts, a = the brackets one below the diagonal (31)."""
    s, nodes = state(robot), robot.lowered.plain()
    tree, n = nodes.tree, len(nodes.tree)
    phi = nodes.blocks(s.q).A
    E, a, J = (np.zeros((6 * n, 6 * n)) for _ in range(3))
    H, v = np.zeros((6 * n, robot.nv)), tree.split(s.v)
    for k, p in enumerate(tree.parent):
        own = slice(6 * k, 6 * k + 6)
        H[own, tree.rows[k]], J[own, own] = nodes.H[k].T, nodes.M[k]
        if p >= 0:
            E[own, 6 * p : 6 * p + 6] = phi[k].T
            a[own, 6 * p : 6 * p + 6] = tilde((nodes.H[k].T @ v[k])[:, 0]) @ phi[k].T
    A = np.linalg.inv(np.eye(6 * n) - E)
    K = A @ H
    b = block_diag(*(tilde(V) for V in (K @ s.v).reshape(n, 6)))
    close(-K.T @ (b.T @ J + J @ A @ a) @ K, Equations(robot).coriolis_matrix(s.q, s.v, "body"), 1e-11)


@every_mechanism
def test_the_mass_matrix_is_a_sum_over_bodies(robot):
    """Σ J* I J, the composite bodies' mass matrix."""
    q = state(robot, (3,)).q
    close(Equations(robot).mass_matrix(q), robot.mass_matrix(q), 1e-12)


@robots("tree", "floating", "welded")
def test_the_mass_matrix_is_a_sum_over_bodies_with_the_public_jacobians(robot):
    q = state(robot).q
    J = jacobians(robot, q)
    close((J.mT @ body_inertias(robot.model) @ J).sum(0), Equations(robot).mass_matrix(q), 1e-12)


@robots("tree", "geared", "free")
def test_the_matrix_s_has_one_block_for_each_joint(robot):
    """v = S(φ) φ̇: integrate(q, φ + h φ̇) moves away from integrate(q, φ) with S φ̇; nothing off the joints' blocks."""
    rng = np.random.default_rng(1)
    q, phi, rate = state(robot).q, *rng.standard_normal((2, robot.nv)) / 2
    S, h = Equations(robot).S(phi), 1e-5
    ends = [robot.integrate(q, phi + x * rate) for x in (-h, h)]
    close(robot.difference(*ends) / (2 * h), S @ rate, 1e-8)
    outside = np.ones_like(S, dtype=bool)
    for joint in robot.joints:
        outside[robot.v_index(joint), robot.v_index(joint)] = False
    assert not S[outside].any()


@every_mechanism
def test_gravity_is_the_derivative_of_the_potential(robot):
    """N(Q) = ∂U/∂φ, U that of gravity alone."""
    q = state(robot).q
    N = Equations(robot).gravity_force(q)
    springs = robot.passive_force(q, np.zeros(robot.nv))
    close(N, differences(robot, robot.potential_energy, q) + springs, 1e-8)
    close(N, robot.gravity_force(q), 1e-11)


@every_mechanism
def test_the_closed_form_is_inverse_dynamics(robot):
    """M(Q) v̇ + C(Q, v) v + N(Q) = τ."""
    s = state(robot, (2, 3))
    close(Equations(robot).inverse_dynamics(s.q, s.v, s.vdot), robot.inverse_dynamics(s.q, s.v, s.vdot), 1e-11)


@every_mechanism
def test_forward_dynamics_undoes_the_closed_form(robot):
    """FD(ID(v̇)) = v̇, the force taken from M v̇ + C v + N."""
    s = state(robot, (2,))
    tau = Equations(robot).inverse_dynamics(s.q, s.v, s.vdot)
    close(robot.forward_dynamics(s.q, s.v, tau), s.vdot, 1e-6 if robot.model.name == "massless" else 1e-9)


@pytest.mark.parametrize("name", ["free", "planar 2R", "universal"])
def test_the_equations_are_kernels(name):
    """Compiled or not, the same numbers; any batch."""
    model = MECHANISMS[name]
    compiled, not_compiled = Equations(lw.Dynamics(model)), Equations(plain(model))
    s = state(compiled.robot, (4, 2))
    close(compiled.christoffel_symbols(s.q), not_compiled.christoffel_symbols(s.q))
    close(compiled.inverse_dynamics(s.q, s.v, s.vdot), not_compiled.inverse_dynamics(s.q, s.v, s.vdot))
    close(compiled.lagrangian(s.q, s.v), compiled.robot.kinetic_energy(s.q, s.v) - compiled.robot.potential_energy(s.q))
    for form in FORMS:
        close(compiled.coriolis_matrix(s.q, s.v, form), not_compiled.coriolis_matrix(s.q, s.v, form))


def test_they_can_stand_in_a_users_kernel():
    robot = lw.Dynamics(MECHANISMS["universal"])
    equations = Equations(robot)

    @robot.kernel
    def power(q, v):
        return v @ (equations.coriolis_matrix(q, v) @ v)

    s = state(robot, (3,))
    close(power(s.q, s.v), np.einsum("...i,...ij,...j", s.v, robot.coriolis_matrix(s.q, s.v), s.v))


def test_a_form_that_is_none():
    with pytest.raises(lw.ModelError, match=r'no Coriolis matrix of the form "kristoffel"\. Did you mean "christoffel"'):
        Equations(plain(MECHANISMS["free"])).coriolis_matrix(np.zeros(7), np.zeros(6), "kristoffel")
