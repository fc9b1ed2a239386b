"""Jain, chapter 3: joints and the operators that carry velocities from the base to the tips."""

import numpy as np
import pytest
from dense import close, every_system, over
from zoo import Sweeps, jacobians

import linkwork as lw
from linkwork.spatial import phi, phi_inverse
from linkwork.sweeps.gather_scatter import gather, scatter
from linkwork.sweeps.kinematics import velocities

e = np.eye(6)
HINGES = {
    "pin": (lw.Revolute(), [e[2]]),
    "prismatic": (lw.Prismatic(), [e[5]]),
    "helical": (lw.Helical(pitch=0.3), [e[2] + 0.3 * e[5]]),
    "cylindrical": (lw.Cylindrical(), [e[2], e[5]]),
    "spherical": (lw.Spherical(), e[:3]),
    "free": (lw.Free(), e),
}


@pytest.mark.parametrize("name", HINGES)
def test_hinge_maps(name):
    """H of the common joints, z the axis, in the link's own frame (figure 3.2)."""
    joint, H = HINGES[name]
    close(joint.group.basis, np.array(H))


def universal():
    builder = lw.Builder("universal").body("link", joint=lw.Universal(), mass=1.0, tensor=(1, 1, 1))
    return lw.Dynamics(builder.model(), compiled=False)


def test_the_hinge_map_of_a_universal_joint_in_the_link(rng):
    """H* = [(cos θ₂, 0, sin θ₂), (0, 1, 0)] (exercise 3.1, seen from the link)."""
    q = rng.uniform(-3, 3, (5, 2))
    first = np.stack([np.cos(q[:, 1]), np.zeros(5), np.sin(q[:, 1])], -1)
    close(universal().jacobian(q, "link")[:, :3], np.stack([first, np.broadcast_to([0.0, 1, 0], (5, 3))], -1))


def test_the_hinge_map_of_a_universal_joint_in_the_inboard_link(rng):
    """H* = [(1, 0, 0), (0, cos θ₁, sin θ₁)] (exercise 3.1)."""
    q = rng.uniform(-3, 3, (5, 2))
    second = np.stack([np.zeros(5), np.cos(q[:, 0]), np.sin(q[:, 0])], -1)
    close(universal().jacobian(q, "link", "world")[:, :3], np.stack([np.broadcast_to([1.0, 0, 0], (5, 3)), second], -1))


@every_system
def test_E_phi_is_nilpotent(op):
    """𝓔ⁿ = 0 (3.36)."""
    close(np.linalg.matrix_power(op.E_phi, op.n), 0 * op.E_phi)


@every_system
def test_phi_is_the_resolvent(op):
    """φ = (I − 𝓔)⁻¹ = I + 𝓔 + 𝓔² + ... (3.36), (3.37)."""
    close(op.phi, sum(np.linalg.matrix_power(op.E_phi, i) for i in range(op.n)))


@every_system
def test_elements_of_phi_are_shifts_between_links(op):
    """φ(i,j) = φ(i, i−1) ... φ(j+1, j): the shift of the relative pose, or zero off the path (3.38), (3.10)."""
    for j in range(op.n):
        path = [i for i, _ in op.tree.path(j, None, via=lambda i, X: None)]
        for i in range(op.n):
            relative = phi(np.linalg.inv(op.T[i]) @ op.T[j])
            close(op.phi[op.at(i, j)], relative if i in path else 0 * relative)


@every_system
def test_phi_tilde(op):
    """φ~ = φ − I = 𝓔 φ = φ 𝓔 (3.41)."""
    close(op.phi_tilde, op.E_phi @ op.phi)
    close(op.phi_tilde, op.phi @ op.E_phi)


@every_system
def test_the_stacked_velocity(op):
    """V = φ* H* θ̇ (3.39)."""
    close(op.V, op.phi.mT @ op.H.mT @ op.v)


@every_system
def test_the_velocity_at_the_inboard_side(op):
    """V⁺ = φ~* H* θ̇ = 𝓔* V (3.42)."""
    close(op.phi_tilde.mT @ op.H.mT @ op.v, op.E_phi.mT @ op.V)


@every_system
def test_gather(op, rng):
    """φ x from the tips to the base (lemma 3.1)."""
    x = rng.standard_normal((2, 6 * op.n, 1))
    close(op.column(gather(op.tree, op.blocks.A, op.slots(x))), op.phi @ x)


@every_system
def test_scatter(op, rng):
    """φ* x from the base to the tips (lemma 3.2)."""
    x = rng.standard_normal((2, 6 * op.n, 1))
    close(op.column(scatter(op.tree, op.blocks.A, op.slots(x), np.zeros((6, 1)))), op.phi.mT @ x)


@every_system
def test_gather_and_scatter_without_the_own_term(op, rng):
    """φ~ x = φ x − x = 𝓔 φ x,  φ~* x = 𝓔* φ* x (exercise 3.7)."""
    x = rng.standard_normal((2, 6 * op.n, 1))
    close(op.phi_tilde @ x, op.E_phi @ op.column(gather(op.tree, op.blocks.A, op.slots(x))))
    scattered = op.column(scatter(op.tree, op.blocks.A, op.slots(x), np.zeros((6, 1))))
    close(op.phi_tilde.mT @ x, op.E_phi.mT @ scattered)


@every_system
def test_the_jacobian_of_all_bodies(op):
    """J = B* φ* H*, B picking the bodies off their nodes (3.53)."""
    picks = np.zeros((len(op.model.bodies), 6, 6 * op.n))
    for i, (k, place) in enumerate(zip(op.nodes.on, op.nodes.places)):
        if k != op.tree.world:
            picks[i, :, 6 * k : 6 * k + 6] = phi(place).T
    J = picks @ (op.phi.mT @ op.H.mT)[..., None, :, :]
    close(jacobians(op.robot, op.state.q), J)


@every_system
def test_the_rate_of_the_velocity_at_constant_hinge_rates(op):
    """d(φ* H*)/dt θ̇ = φ* a (5.26)."""
    sweeps, s, h = Sweeps(op.model, dtype=complex), op.state, 1e-30
    moved = sweeps.nodes.blocks(sweeps.integrate(s.q, 1j * h * s.v))
    V = velocities(moved, op.tree.split(s.v), sweeps.nodes.still)
    close(op.column(V).imag / h, op.phi.mT @ op.a)


@every_system
def test_velocities_referred_to_the_inertial_frame_add_up(op):
    """V_𝕀(k) = V_𝕀(p) + H_𝕀*(k) θ̇(k), V_𝕀 = φ*(O,𝕀) V (3.24) to (3.26)."""
    V, v = op.slots(op.V), op.tree.split(op.state.v)
    V_I = {k: phi_inverse(op.T[k]).mT @ V[k] for k in range(op.n)}
    for k, p in enumerate(op.tree.parent):
        own = phi_inverse(op.T[k]).mT @ op.nodes.H[k].T @ v[k]
        close(V_I[k], own if p == op.tree.world else V_I[p] + own)


@over("tree", "serial")
def test_velocities_from_a_moving_world(op, rng):
    """V = φ* (H* θ̇ + E* V₀): a world that moves carries all."""
    V_0 = rng.standard_normal((6, 1))
    V = velocities(op.blocks, op.tree.split(op.state.v), V_0)
    close(op.column(V), op.phi.mT @ (op.H.mT @ op.v + op.E.mT @ V_0))
