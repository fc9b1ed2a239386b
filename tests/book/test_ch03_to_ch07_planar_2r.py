"""A golden fixture through chapters 3 to 7: the planar arm of two links, in numbers that fit on a page.

Both pins along z, links of one kilogram and one metre; the book's order, tip first, is turned into ours, base first.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from dense import Dense, close
from zoo import plain, planar_2r

ARM = plain(planar_2r())
PLANE = [2, 3, 4]  # ω about z, v along x and y


@pytest.fixture(scope="module")
def op():
    """θ = (0, 90°), θ̇ = (1, 2), T = (0, 1), base first; both samples the same."""
    twice = lambda *x: np.tile(np.array(x, float), (2, 1))
    state = SimpleNamespace(q=twice(0, np.pi / 2), v=twice(1, 2), vdot=twice(0, 0), tau=twice(0, 1))
    return Dense(planar_2r(), state)


def columns(*nodes):
    """Six-vectors of the nodes, stacked."""
    return np.concatenate(nodes)[:, None]


def planar(block):
    return block[..., PLANE, :][..., PLANE]


def test_velocities(op):
    """V(base) = [0 0 1 0 0 0], V(tip) = [0 0 3 1 0 0]."""
    close(op.V, columns([0, 0, 1, 0, 0, 0], [0, 0, 3, 1, 0, 0]))


def test_coriolis_accelerations(op):
    close(op.a, columns([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, -2, 0]))


def test_gyroscopic_forces(op):
    close(op.b, columns([0, 0, 0, -1 / 2, 0, 0], [0, 0, 3 / 2, -9 / 2, 3, 0]))


def test_mass_matrix(op):
    close(op.mass, np.array([[5 / 3, 1 / 3], [1 / 3, 1 / 3]]))
    close(ARM.mass_matrix_inverse(op.state.q), np.array([[3 / 4, -3 / 4], [-3 / 4, 15 / 4]]))
    close(np.linalg.det(op.mass), np.full(2, 4 / 9))
    close(np.trace(op.mass, axis1=-2, axis2=-1), np.full(2, 2.0))


def test_mass_matrix_at_any_angle(rng):
    """𝓜 = [[5/3 + c, 1/3 + c/2], [1/3 + c/2, 1/3]], c = cos θ of the tip."""
    q = rng.uniform(-3, 3, (5, 2))
    c = np.cos(q[:, 1])
    expected = np.moveaxis(np.array([[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3 + 0 * c]]), -1, 0)
    close(ARM.mass_matrix(q), expected)


def test_coriolis_forces_at_any_angle(rng):
    """𝓒 = [−s/2 (2 θ̇₁ θ̇₂ + θ̇₂²), s/2 θ̇₁²], s = sin θ of the tip."""
    q, v = rng.uniform(-3, 3, (2, 5, 2))
    s = np.sin(q[:, 1]) / 2
    close(ARM.bias(q, v), np.stack([-s * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2), s * v[:, 0] ** 2], -1))


def test_kinetic_energy(op):
    close(ARM.kinetic_energy(op.state.q, op.state.v), np.full(2, 13 / 6))


def test_coriolis_forces(op):
    close(ARM.bias(op.state.q, op.state.v), np.array([-4, 1 / 2]))


def test_composite_inertia_of_the_base(op):
    close(planar(op.R[op.at(0, 0)]), np.array([[5 / 3, -1 / 2, 3 / 2], [-1 / 2, 2, 0], [3 / 2, 0, 2]]))


def test_articulated_inertia_of_the_base(op):
    close(planar(op.P[op.at(0, 0)]), np.array([[4 / 3, 0, 3 / 2], [0, 5 / 4, 0], [3 / 2, 0, 2]]))


def test_gains(op):
    close(np.diagonal(op.D, axis1=-2, axis2=-1), np.array([4 / 3, 1 / 3]))
    close(op.G.sum(-1, keepdims=True), columns([0, 0, 1, 0, 9 / 8, 0], [0, 0, 1, 0, 3 / 2, 0]))
    close(op.K[..., :6, 1], np.array([0, 0, 1, -3 / 2, 0, 0]))


def test_factors(op):
    """I + HφK = [[1, 1], [0, 1]],  I − HψK = [[1, −1], [0, 1]], base first."""
    close(np.eye(2) + op.H @ op.phi @ op.K, np.array([[1, 1], [0, 1]]))
    close(np.eye(2) - op.H @ op.psi @ op.K, np.array([[1, -1], [0, 1]]))


def test_forward_dynamics(op):
    vdot, alpha, z = op.forward(np.zeros((6, 1)), op.a, op.b)
    eps = op.tau - op.H @ z
    close(vdot[..., 0], np.array([21 / 8, -9 / 8]))
    close(z, columns([0, 0, -7 / 2, -9 / 4, -9 / 2, 0], [0, 0, 1 / 2, -9 / 2, 1, 0]))
    close(eps[..., 0], np.array([7 / 2, 1 / 2]))
    close(np.linalg.solve(op.D, eps)[..., 0], np.array([21 / 8, 3 / 2]))
    close(alpha, columns([0, 0, 21 / 8, 0, 0, 0], [0, 0, 3 / 2, 21 / 8, -2, 0]))
    close(ARM.forward_dynamics(op.state.q, op.state.v, op.state.tau), vdot[..., 0])


def test_inter_link_forces(op):
    _, alpha, z = op.forward(np.zeros((6, 1)), op.a, op.b)
    close(op.P @ (alpha - op.a) + z, columns([0, 0, 0, -9 / 4, -9 / 16, 0], [0, 0, 1, -15 / 8, 7 / 4, 0]))


def test_the_jacobian_of_the_tip(op):
    """Rows ω, vx, vy: [[1, 1], [1, 0], [1, 1]], base first."""
    close(ARM.jacobian(op.state.q, "tip")[..., PLANE, :], np.array([[1, 1], [1, 0], [1, 1]]))


def test_compliance_of_the_tip(op):
    """J 𝓜⁻¹ J* = [[3, 0, 3], [0, 3/4, 0], [3, 0, 3]]: singular, as three rows of two velocities are."""
    J = ARM.jacobian(op.state.q, "tip")[..., PLANE, :]
    close(J @ ARM.mass_matrix_inverse(op.state.q) @ J.mT, np.array([[3, 0, 3], [0, 3 / 4, 0], [3, 0, 3]]))


def test_gravity_along_minus_y(op):
    """T_g = (1.5 · 9.81, 0): the forearm hangs on nothing but its own axis."""
    heavy = plain(planar_2r(gravity=(0, -9.81, 0)))
    close(heavy.gravity_force(op.state.q), np.array([14.715, 0]))
