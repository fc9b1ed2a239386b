"""Operators compose, transpose, act, print and tell their size, without being formed."""

import numpy as np
import pytest
import scipy.sparse.linalg
from systems import MODELS, every_model, models
from zoo import MECHANISMS, close, plain, state

from linkwork.errors import ShapeError, UnknownNameError
from linkwork.operators import operators

LEAVES = "H", "φ", "φ~", "𝓔φ", "M", "armature", "R", "P", "P⁺", "D", "G", "K", "ψ", "ψ~", "𝓔ψ", "Υ"
EXPRESSIONS = "H φ M φ* H* + armature", "(I − H ψ K)* D⁻¹ (I − H ψ K)", "ψ* H* D⁻¹ H ψ", "−φ~ R + R φ~* − M", "K* ψ* G − H ψ~ K"


def dense(m):
    """The matrices of the book, made without operators."""
    return {
        "H": m.H, "φ": m.A, "φ~": m.At, "𝓔φ": m.E, "M": m.M, "armature": m.armature, "R": m.R, "P": m.P, "P⁺": m.P_plus, "D": m.D,
        "G": m.G, "K": m.K, "ψ": m.psi, "ψ~": m.psit, "𝓔ψ": m.E_psi, "Υ": m.Upsilon,
    }  # fmt: skip


def robot_operators(name="tree", shape=()):
    robot = plain(MECHANISMS[name])
    s = state(robot, shape)
    return robot, s, operators(robot.model, s.q, s.v)


@every_model
@pytest.mark.parametrize("name", LEAVES)
def test_every_operator_is_its_matrix(m, name):
    """A.dense() and A*.dense() are the matrices of the book."""
    A = m.sko.operators(name)
    close(A.dense(), dense(m)[name], 1e-11)
    close(A.T.dense(), dense(m)[name].mT, 1e-11)
    assert A.shape == dense(m)[name].shape[-2:]


@every_model
@pytest.mark.parametrize("text", LEAVES + EXPRESSIONS)
def test_the_dot_test(m, text, rng):
    """⟨y, A x⟩ = ⟨A* y, x⟩."""
    A = m.sko.operators(text)
    x, y = rng.standard_normal(A.shape[1]), rng.standard_normal(A.shape[0])
    close(np.vecdot(y, A @ x), np.vecdot(A.T @ y, x), 1e-10)


@every_model
def test_composition(m, rng):
    """(A B) x = A (B x), (A + B) x = A x + B x, (2 A) x = 2 (A x), (−A) x = −(A x)."""
    op = m.sko.operators
    x, v = rng.standard_normal((m.size, 3)), rng.standard_normal((m.nv, 3))
    close((op.H @ op.phi) @ x, op.H @ (op.phi @ x))
    close((op.phi + op.M - op.psi) @ x, op.phi @ x + op.M @ x - op.psi @ x)
    close((2 * op.G / 4) @ v, 0.5 * (op.G @ v))
    close((-op.K) @ v, -(op.K @ v))
    close((op.I - op.phi) @ x, x - op.phi @ x)


@every_model
def test_transposes(m):
    """(A B)* = B* A*, (A + B)* = A* + B*, A** = A."""
    op = m.sko.operators
    A = op.H @ op.phi @ op.K + 3 * op.D
    close(A.T.dense(), A.dense().mT)
    close(A.T.T.dense(), A.dense())
    close((op.I - op.H @ op.psi @ op.K).T.dense(), (m.Iv - m.H @ m.psi @ m.K).mT, 1e-11)


def test_they_print_as_the_book_writes_them():
    _, _, op = robot_operators()
    mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    assert repr(mass) == "H φ M φ* H*"
    assert repr(mass + op.armature) == "H φ M φ* H* + armature"
    assert repr((mass + op.armature).inv()) == "(I − H ψ K)* D⁻¹ (I − H ψ K)"
    assert repr(op.jacobian("body3")) == "B* φ* H*"
    assert repr(2.5 * op.E_phi - op.E_psi) == "2.5 𝓔φ − 𝓔ψ"
    assert repr(-(op.R - op.P)) == "−R + P"
    assert repr(op.phi_tilde @ (op.R + op.M)) == "φ~ (R + M)"


def test_the_old_name_of_the_armature_warns():
    """op.J, op("J") and sko.J are `armature`, for one more version."""
    _, _, op = robot_operators("geared")
    with pytest.warns(DeprecationWarning, match="the operator J is now armature"):
        assert op.J is op.armature
    with pytest.warns(DeprecationWarning, match="the operator J is now armature"):
        assert repr(op("H φ M φ* H* + J")) == "H φ M φ* H* + armature"
    with pytest.warns(DeprecationWarning, match="SKO.J is now SKO.armature"):
        assert op.sko.J is op.sko.armature


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_is_printed_can_be_read(text):
    _, _, op = robot_operators()
    assert repr(op(text)) == text
    close(op(repr(op(text))).dense(), op(text).dense())


def test_plain_letters_are_read_too():
    _, _, op = robot_operators()
    assert repr(op("(I - H psi K)* D^-1 (I - H psi K)")) == (
        "(I − H ψ K)* D⁻¹ (I − H ψ K)"
    )
    assert repr(op("phi~ P_plus - E_psi")) == "φ~ P⁺ − 𝓔ψ"


@pytest.mark.parametrize(
    ("text", "said"), [("H φ )", "not expected"), ("(H φ", "too early"), ("H +", "too early"), ("H X", "no operator")]
)
def test_what_cannot_be_read_is_said(text, said):
    _, _, op = robot_operators()
    with pytest.raises((ValueError, UnknownNameError), match=said):
        op(text)


def test_what_does_not_fit_is_said():
    _, _, op = robot_operators()
    with pytest.raises(ShapeError, match=r"H is 32 x 96 \(velocities from nodes\) and H is .* cannot be multiplied"):
        op.H @ op.H
    with pytest.raises(ShapeError, match="cannot be added"):
        op.H + op.M
    with pytest.raises(ShapeError, match=r"takes \(32,\) or columns \(..., 32, m\), `matvec` takes \(..., 32\)"):
        op.D @ np.zeros((5, 7))
    with pytest.raises(ShapeError, match="I has no size by itself"):
        _ = op.I.shape


def test_vectors_and_blocks_of_vectors(rng):
    """A x for x (n,), (n, m), (batch, n, m), and vectors (batch, n) by matvec."""
    _, _, op = robot_operators("chain", (4,))
    A, n = op.mass_matrix, op.velocities.size
    matrix = A.dense()
    x, X, many = rng.standard_normal(n), rng.standard_normal((n, 3)), rng.standard_normal((4, n))
    close(A @ x, matrix @ x)
    close(A @ X, matrix @ X)
    close(A @ (many[..., None] * np.ones(2)), matrix @ (many[..., None] * np.ones(2)))
    close(A.matvec(many), np.matvec(matrix, many))
    close(A.rmatvec(many), np.matvec(matrix.mT, many))


def test_arrays_on_the_left(rng):
    """x A = (A* x*)*."""
    _, _, op = robot_operators("chain")
    x = rng.standard_normal((3, op.velocities.size))
    close(x @ op.H, x @ op.H.dense())
    close(x[0] @ op.H @ op.phi, x[0] @ (op.H @ op.phi).dense())


def test_the_jacobian_of_several_places():
    """J = B* φ* H*, a block of rows for each place (3.53)."""
    robot, s, op = robot_operators("tree", (2,))
    rows = [robot.jacobian(s.q, body) for body in ("body3", "body9", "body13")]
    close(op.jacobian("body3", "body9", "body13").dense(), np.concatenate(rows, -2))


def test_velocities_of_places(rng):
    """V = J v: of bodies by their names, of a frame, of a place on the ground."""
    robot, s, op = robot_operators("welded")
    J = op.jacobian("body0", "body7")
    close(J @ s.v, np.concatenate([np.zeros(6), robot.jacobian(s.q, "body7") @ s.v]))
    f = rng.standard_normal(12)
    close(J.T @ f, robot.jacobian(s.q, "body7").T @ f[6:])


def test_forces_from_outside_make_torques():
    """τ = H φ B f: compensating torques (5.38)."""
    robot, s, op = robot_operators("tree")
    pulled = [robot.model.body_index(name) for name in ("body3", "body9")]
    wrenches = np.zeros_like(s.external)
    wrenches[pulled] = s.external[pulled]
    torque = op.H @ (op.phi @ (op.B("body3", "body9") @ wrenches[pulled].ravel()))
    difference = robot.inverse_dynamics(s.q, s.v, s.vdot) - robot.inverse_dynamics(s.q, s.v, s.vdot, wrenches)
    close(torque, difference)


def test_the_bias_in_operators():
    """𝓒 = H φ (M φ* a + b), without gravity (5.25)."""
    model = MECHANISMS["tree"].with_gravity((0, 0, 0))
    robot = plain(model)
    s = state(robot)
    op = operators(model, s.q, s.v)
    close(op.H @ (op.phi @ (op.M @ (op.phi.T @ op.a) + op.b)), robot.bias(s.q, s.v))


# --- SciPy


def test_conjugate_gradients(rng):
    """scipy.sparse.linalg.cg solves 𝓜 x = τ with the operator as it is, the articulated bodies as preconditioner."""
    robot, s, op = robot_operators("chain")
    tau = rng.standard_normal(robot.nv)
    x, failed = scipy.sparse.linalg.cg(op.mass_matrix, tau, rtol=1e-12)
    assert not failed
    close(robot.mass_matrix(s.q) @ x, tau, 1e-9)
    count = []
    x, failed = scipy.sparse.linalg.cg(
        op.mass_matrix, tau, M=op.mass_matrix.inv(), rtol=1e-10, callback=lambda _: count.append(1)
    )
    assert not failed and len(count) <= 2


def test_it_is_a_linear_operator(rng):
    """scipy.sparse.linalg.aslinearoperator takes it; so do eigsh and lsqr."""
    _, _, op = robot_operators("chain")
    A = scipy.sparse.linalg.aslinearoperator(op.mass_matrix)
    x = rng.standard_normal(op.velocities.size)
    close(A @ x, op.mass_matrix @ x)
    close(A.H @ x, op.mass_matrix @ x)
    top = scipy.sparse.linalg.eigsh(A, k=1, return_eigenvectors=False)
    close(top, np.linalg.eigvalsh(op.mass_matrix.dense())[-1:], 1e-9)
    J = op.jacobian("body5")
    close(scipy.sparse.linalg.lsqr(J, J @ x, atol=1e-13, btol=1e-13)[7:8], 0, 1.0)


@models("chain", "random forest")
def test_operators_of_float32(m, rng):
    """Numbers stay what they are."""
    small = {name: [x.astype(np.float32) for x in blocks] for name, blocks in [
        (name, [getattr(m.sko, name)[k] for k in range(m.n)]) for name in ("A", "H", "M", "armature", "a", "b")]}  # fmt: skip
    sko = type(m.sko)(m.tree, **small, base=m.sko.base.astype(np.float32))
    tau = rng.standard_normal(m.nv).astype(np.float32)
    out = sko.operators.mass_matrix.inv() @ tau
    assert out.dtype == sko.operators.mass_matrix.dtype == np.float32
    close(out, np.linalg.solve(m.mass, tau[:, None])[..., 0], 2e-3)


def test_a_diagonal_of_ones_own(rng):
    """diag{W(k)} of weights: it composes like the others."""
    m = MODELS["random forest"]
    W = [np.eye(h) * (1 + k) for k, h in enumerate(m.sko.heights)]
    op = m.sko.operators
    weight = op.diagonal(W, "W")
    assert repr(op.H @ weight @ op.H.T) == "H W H*"
    close((op.H @ weight @ op.H.T).dense(), m.H @ m.diagonal(W) @ m.H.mT)
