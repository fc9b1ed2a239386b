"""Inverses and determinants follow the identities of the book."""

import numpy as np
import pytest
from systems import MODELS, every_bookish_model, every_model, models
from zoo import close

from linkwork.errors import ShapeError
from linkwork.operators import NoRuleError
from linkwork.operators.rules import INVERSES, UNIT_DETERMINANT


@every_model
@pytest.mark.parametrize("text", INVERSES)
def test_every_rule(m, text):
    """A⁻¹ A = I, and it prints as the right side of the rule."""
    A = m.sko.operators(text)
    inverse = A.inv()
    assert repr(inverse) == INVERSES[text]
    close(inverse.dense() @ A.dense(), np.eye(A.shape[0]), 1e-9)


@every_model
@pytest.mark.parametrize("text", INVERSES)
def test_every_rule_transposed(m, text):
    """(A*)⁻¹ = (A⁻¹)*."""
    A = m.sko.operators(text).T
    close(A.inv().dense() @ A.dense(), np.eye(A.shape[0]), 1e-9)


@every_model
@pytest.mark.parametrize("text", INVERSES)
def test_every_inverse_has_an_inverse(m, text):
    """(A⁻¹)⁻¹ = A."""
    A = m.sko.operators(text)
    close(A.inv().inv().dense(), A.dense(), 1e-9)


@every_model
@pytest.mark.parametrize("text", sorted(UNIT_DETERMINANT))
def test_unit_determinants(m, text):
    """det = 1 (9.52)."""
    A = m.sko.operators(text)
    close(np.linalg.slogdet(A.dense())[1], 0, 1e-10)
    close(A.logdet(), 0)
    close(A.T.logdet(), 0)


@every_model
def test_the_determinant_of_the_mass_matrix(m):
    """log det 𝓜 = Σ log det D(k) (9.53), and of its inverse and multiples."""
    mass = m.sko.operators.mass_matrix
    expected = np.linalg.slogdet(m.mass)[1]
    close(mass.logdet(), expected, 1e-10)
    close(mass.inv().logdet(), -expected, 1e-10)


@every_model
def test_solve(m, rng):
    """𝓜⁻¹ τ in O(N): what forward dynamics does at rest."""
    tau = rng.standard_normal((2, m.nv, 1))
    close(m.sko.operators.mass_matrix.solve(tau), m.sko.solve(tau), 1e-10)
    close(m.sko.operators.mass_matrix.inv() @ tau, np.linalg.solve(m.mass, tau), 1e-10)


@every_model
def test_the_order_of_terms_does_not_matter(m):
    """I + HφK = HφK + I, H φ M φ* H* + armature = armature + H φ M φ* H*."""
    op = m.sko.operators
    assert repr(op("H φ K + I").inv()) == "I − H ψ K"
    close(op("armature + H φ M φ* H*").inv().dense(), np.linalg.inv(m.mass), 1e-9)


@every_bookish_model
def test_without_joint_inertia_the_armature_may_be_left_out(m):
    """(H φ M φ* H*)⁻¹ where there are no rotors."""
    close(m.sko.operators("H φ M φ* H*").inv().dense(), np.linalg.inv(m.mass), 1e-9)


@models("random forest with joint inertia", "gear train")
def test_leaving_joint_inertia_out_is_another_mass_matrix(m):
    """(H φ M φ* H*)⁻¹ has a P of its own, without armature."""
    A = m.sko.operators("H φ M φ* H*")
    close(A.inv().dense() @ (m.mass - m.armature), m.Iv, 1e-9)
    close(A.logdet(), np.linalg.slogdet(m.mass - m.armature)[1], 1e-9)


@every_model
def test_other_inertias_make_other_mass_matrices(m):
    """(H φ X φ* H* + Y)⁻¹ for any inertias X and Y: an SKO model of its own."""
    op = m.sko.operators
    Y = op.diagonal([np.eye(w) for w in m.tree.widths], "Y", of="velocities")
    A = op.H @ op.phi @ op.R @ op.phi.T @ op.H.T + 2 * Y
    expected = m.H @ m.A @ m.R @ m.A.mT @ m.H.mT + 2 * m.Iv
    close(A.inv().dense() @ expected, m.Iv, 1e-9)
    close(A.logdet(), np.linalg.slogdet(expected)[1], 1e-9)


@every_model
def test_products_are_inverted_factor_by_factor(m):
    """(φ M ψ*)⁻¹ = ψ⁻* M⁻¹ φ⁻¹, where M has an inverse."""
    op = m.sko.operators
    A = op("φ ψ* φ")
    assert repr(A.inv()) == "(I − 𝓔φ) (I − 𝓔ψ)* (I − 𝓔φ)"
    close(A.inv().dense() @ A.dense(), m.I, 1e-8)


@models("random forest", "gear train", "chain")
def test_inertias_are_inverted_block_by_block(m):
    op = m.sko.operators
    close(op.D.inv().dense(), np.linalg.inv(m.D), 1e-10)
    close(op.D.inv().inv().dense(), m.D)
    close((3 * op.D).inv().dense(), np.linalg.inv(m.D) / 3, 1e-10)
    close(op.D.logdet(), np.linalg.slogdet(m.D)[1], 1e-10)


def test_what_has_no_inverse_is_said():
    op = MODELS["chain"].sko.operators
    with pytest.raises(ShapeError, match=r"H is 8 x .*only a square operator has an inverse"):
        op.H.inv()
    with pytest.raises(ShapeError, match="only a square operator has a determinant"):
        op.G.logdet()


def test_what_no_identity_covers_is_said():
    op = MODELS["chain"].sko.operators
    with pytest.raises(NoRuleError, match=r"no identity gives the inverse of φ − ψ.*np.linalg on .dense"):
        (op.phi - op.psi).inv()
    with pytest.raises(NoRuleError, match="no identity gives the determinant of φ \\+ ψ"):
        (op.phi + op.psi).logdet()


def test_operators_of_two_states_do_not_make_a_rule():
    """I + H φ K with φ from one state and K from another is not the book's: no inverse is invented."""
    one, other = MODELS["chain"].make().operators, MODELS["chain"].make().operators
    with pytest.raises(NoRuleError):
        (one.I + one.H @ other.phi @ one.K).inv()
