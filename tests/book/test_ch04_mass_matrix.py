"""Jain, chapter 4, first half: composite bodies and the mass matrix."""

from itertools import pairwise

import numpy as np
from dense import close, every_system, over
from zoo import gradient

from linkwork.spatial import inertia_parameters, phi

one_root = over("floating", "free", "massless", "serial", "tree", "chain", "pins")
free_base = over("floating", "free", "massless", "serial")
hinges_of_one_dof = over("pins", "chain", "planar 2R")


@every_system
def test_kinetic_energy(op):
    """𝔎 = ½ V* M V + ½ θ̇* armature θ̇ (4.2)."""
    energy = 0.5 * (op.V.mT @ op.M @ op.V + op.v.mT @ op.armature @ op.v)
    close(op.robot.kinetic_energy(op.state.q, op.state.v), energy[..., 0, 0])


@every_system
def test_the_mass_matrix(op):
    """𝓜 = H φ M φ* H* + armature (4.6)."""
    close(op.mass, op.H @ op.phi @ op.M @ op.phi.mT @ op.H.mT + op.armature)


@every_system
def test_composite_inertia_solves_a_lyapunov_equation(op):
    """M = R − 𝓔 R 𝓔* (4.9), for trees diagOf the product (9.15)."""
    close(op.M, op.R - op.only_diagonal(op.E_phi @ op.R @ op.E_phi.mT))


@every_system
def test_the_product_with_E_phi_has_only_diagonal_blocks(op):
    """𝓔 R 𝓔* is block-diagonal: no two nodes have one child."""
    product = op.E_phi @ op.R @ op.E_phi.mT
    close(product, op.only_diagonal(product))


@every_system
def test_decomposition_of_phi_M_phi(op):
    """φ M φ* = R + φ~ R + R φ~* (4.10)."""
    close(op.phi @ op.M @ op.phi.mT, op.R + op.phi_tilde @ op.R + op.R @ op.phi_tilde.mT)


@every_system
def test_columns_of_phi_tilde_R_are_carried_inboard(op):
    """[φ~ R](p, j) = φ(p, k) [φ~ R](k, j) for k strictly inboard of j, p its parent (4.12)."""
    columns = op.phi_tilde @ op.R
    for j in range(op.n):
        path = [k for k, _ in op.tree.path(j, None, via=lambda k, X: None)]
        for k, p in pairwise(path[1:]):
            close(columns[op.at(p, j)], op.blocks.A[k] @ columns[op.at(k, j)])


@every_system
def test_decomposition_of_the_mass_matrix(op):
    """𝓜 = H R H* + H φ~ R H* + H R φ~* H* + armature (4.19)."""
    H, R, t = op.H, op.R, op.phi_tilde
    close(op.mass, H @ R @ H.mT + H @ t @ R @ H.mT + H @ R @ t.mT @ H.mT + op.armature)


@every_system
def test_elements_of_the_mass_matrix(op):
    """𝓜(i,j) = H(i) φ(i,j) R(j) H*(j) for i on the path of j, zero for unrelated nodes (4.20)."""
    related = op.H @ op.phi @ op.R @ op.H.mT  # everything on and above the diagonal, base first
    close(op.mass - op.armature, np.triu(related) + np.triu(related, 1).mT)


@one_root
def test_the_inertia_of_the_system_is_that_of_its_base(op):
    """M_S = R(n): all mass, its centre the centre of mass (4.13)."""
    mass, center, _ = inertia_parameters(op.R[op.at(0, 0)])
    close(mass, np.full(2, op.model.mass))
    world = (op.T[0] @ np.concatenate([center, np.ones((2, 1))], -1)[..., None])[..., :3, 0]
    close(world, op.robot.center_of_mass(op.state.q))


def momentum(op):
    """h_S = E φ R H* θ̇, at the base (4.15)."""
    return (op.phi @ op.R @ op.H.mT @ op.v)[..., :6, :]


@one_root
def test_the_momentum_of_the_system(op):
    """h_S = E φ R H* θ̇ = Σ φ(n,k) M(k) V(k) (4.15)."""
    close(momentum(op), (op.phi @ op.M @ op.V)[..., :6, :])


@one_root
def test_the_velocity_of_the_system(op):
    """V_C = R⁻¹(n) h_S; moved to the centre of mass, its linear part is the velocity of that point (4.17)."""
    V_C = np.linalg.solve(op.R[op.at(0, 0)], momentum(op))
    _, center, _ = inertia_parameters(op.R[op.at(0, 0)])
    to_center = np.tile(np.eye(4), (2, 1, 1))
    to_center[:, :3, 3] = center
    moved = op.T[0][..., :3, :3] @ (phi(to_center).mT @ V_C)[..., 3:, :]
    close(op.robot.centroidal_momentum(op.state.q, op.state.v)[..., 3:], op.model.mass * moved[..., 0], 1e-11)


@free_base
def test_the_momentum_of_a_free_system(op):
    """h_S = R(n) V(n) + Σ φ(n,k) R(k) H*(k) θ̇(k) over the others (4.16)."""
    others = op.v.copy()
    others[..., :6, :] = 0
    close(momentum(op), op.R[op.at(0, 0)] @ op.V[..., :6, :] + (op.phi @ op.R @ op.H.mT @ others)[..., :6, :])


@free_base
def test_the_base_can_null_the_momentum(op):
    """V(n) − V_C at the base makes h_S = 0 (exercise 4.1)."""
    v = op.state.v.copy()
    v[..., :6] -= np.linalg.solve(op.R[op.at(0, 0)], momentum(op))[..., 0]
    close(op.robot.centroidal_momentum(op.state.q, v), np.zeros((2, 6)), 1e-11)


@every_system
def test_the_trace_of_the_mass_matrix(op):
    """tr 𝓜 = Σ tr H(k) R(k) H*(k) + tr armature (4.21)."""
    trace = np.trace(op.H @ op.R @ op.H.mT + op.armature, axis1=-2, axis2=-1)
    close(np.trace(op.mass, axis1=-2, axis2=-1), trace)


@hinges_of_one_dof
def test_the_mass_matrix_does_not_know_inboard_coordinates(op):
    """∂𝓜(i,j)/∂θ(k) = 0 for k inboard of i and j, or one of them where it is the more inboard (remark 4.1)."""
    slopes = gradient(op.robot, lambda sweeps: sweeps.mass_matrix, op.state.q)
    n = slopes.shape[-1]
    i, j, k = np.ogrid[:n, :n, :n]
    close(np.where(k <= np.minimum(i, j), slopes, 0.0), 0 * slopes)
