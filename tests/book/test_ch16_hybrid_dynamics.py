"""Jain, sections 16.1 and 16.2: some joints moved as told, the others moved by forces.

With a for the velocities that are told and p for the others, v̇ₐ and Tₚ are given, Tₐ and v̇ₚ sought.
"""

from itertools import product

import numpy as np
import pytest
from systems import MODELS, every_bookish_model, every_model, models
from zoo import MECHANISMS, close, plain, state

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.operators import prescribed, rigid
from linkwork.quantities import hybrid_dynamics
from linkwork.sweeps import articulated_inertia
from linkwork.systems import lower
from linkwork.systems.prescribed import blocks as with_held


def flags(m, rng, share=0.5):
    return (rng.random(m.nv) < share).astype(float)


def partitioned(M, C, given, told):
    """The dense road: 𝓜_pp v̇ₚ = Tₚ − 𝓒ₚ − 𝓜_pa v̇ₐ, then Tₐ = 𝓜_aa v̇ₐ + 𝓜_ap v̇ₚ + 𝓒ₐ (16.4)."""
    a, p = np.flatnonzero(told), np.flatnonzero(1 - told)
    vdot, other = np.zeros_like(given), np.zeros_like(given)
    vdot[..., a] = given[..., a]
    right = given[..., p] - C[..., p] - np.matvec(M[..., p, :][..., a], given[..., a])
    vdot[..., p] = np.linalg.solve(M[..., p, :][..., p], right[..., None])[..., 0]
    other[..., p] = vdot[..., p]
    other[..., a] = (np.matvec(M, vdot) + C)[..., a]
    return other


@every_model
def test_hybrid_dynamics(m, rng):
    """(v̇ₐ, Tₚ) → (Tₐ, v̇ₚ), flags at run time (lemma 16.2, algorithm 16.2)."""
    for _ in range(4):
        told, given = flags(m, rng), rng.standard_normal((2, m.nv))
        close(m.sko.hybrid_dynamics(given, told), partitioned(m.mass, m.bias[..., 0], given, told), 1e-9)


@pytest.mark.parametrize("name", ["planar 2R", "universal", "spherical", "cylindrical", "planar", "schoenflies", "free"])
def test_every_subset_of_a_mechanism(name, rng):
    """The same for every subset of its velocities, parts of a joint too."""
    robot = plain(MECHANISMS[name])
    s = state(robot, (2,))
    nodes, M, C = lower(robot.model), robot.mass_matrix(s.q), robot.bias(s.q, s.v)
    for told in product([0.0, 1.0], repeat=robot.nv):
        told = np.array(told)
        close(hybrid_dynamics(nodes, s.q, s.v, s.tau, told), partitioned(M, C, s.tau, told), 1e-10)


@pytest.mark.parametrize("name", ["chain", "floating", "geared", "forest"])
def test_every_subset_of_joints(name):
    """And for every subset of the joints of a larger one."""
    robot = plain(MECHANISMS[name])
    s = state(robot, (2,))
    nodes, M, C = lower(robot.model), robot.mass_matrix(s.q), robot.bias(s.q, s.v)
    rows = [rows for rows in nodes.tree.rows if rows.stop > rows.start]
    for choice in product([0.0, 1.0], repeat=len(rows)):
        told = np.zeros(robot.nv)
        for row, flag in zip(rows, choice):
            told[row] = flag
        close(hybrid_dynamics(nodes, s.q, s.v, s.tau, told), partitioned(M, C, s.tau, told), 1e-9)


@every_model
def test_nothing_told_is_forward_dynamics(m, rng):
    """All passive: algorithm 16.2 is that of articulated bodies (L7961)."""
    tau = rng.standard_normal((2, m.nv))
    close(m.sko.hybrid_dynamics(tau, np.zeros(m.nv)), m.sko.forward_dynamics(tau), 1e-10)


@every_model
def test_everything_told_is_inverse_dynamics(m, rng):
    """All active: it is inverse dynamics by composite bodies (L7971)."""
    vdot = rng.standard_normal((2, m.nv))
    close(m.sko.hybrid_dynamics(vdot, np.ones(m.nv)), m.sko.inverse_dynamics(vdot), 1e-10)


@every_model
def test_the_round_trip(m, rng):
    """What comes out, given back with the flags turned over, gives what went in."""
    told, given = flags(m, rng), rng.standard_normal((2, m.nv))
    close(m.sko.hybrid_dynamics(m.sko.hybrid_dynamics(given, told), 1 - told), given, 1e-8)


@every_model
def test_each_sample_may_have_its_own_flags(m, rng):
    """Flags are data: (..., nv) as everything else."""
    told, given = np.stack([flags(m, rng), flags(m, rng)]), rng.standard_normal((2, m.nv))
    both = m.sko.hybrid_dynamics(given, told)
    for i in range(2):
        close(both[i], m.sko.hybrid_dynamics(given, told[i])[i])


@every_bookish_model
def test_prescribed_motion_is_an_sko_model(m, rng):
    """The passive arm: H without the rows that are told, a + H* v̇ₐ; its forward dynamics is v̇ₚ (16.1) to (16.3)."""
    told, given = flags(m, rng), rng.standard_normal((2, m.nv))
    arm = prescribed(m.sko, told > 0, given)
    free = np.flatnonzero(1 - told)
    assert arm.nv == len(free)
    close(arm.forward_dynamics(given[..., free]), m.sko.hybrid_dynamics(given, told)[..., free], 1e-9)


@models("geared", "gear train")
def test_prescribed_motion_with_rotors(m, rng):
    """The same with inertia in the joints, as long as it ties nothing told to anything free."""
    told, given = flags(m, rng), rng.standard_normal((2, m.nv))
    arm = prescribed(m.sko, told > 0, given)
    free = np.flatnonzero(1 - told)
    close(arm.forward_dynamics(given[..., free]), m.sko.hybrid_dynamics(given, told)[..., free], 1e-9)


def test_joint_inertia_that_ties_told_to_free_is_refused():
    m = MODELS["random forest with joint inertia"]
    k = next(k for k in range(m.n) if m.tree.widths[k] > 1)
    with pytest.raises(ModelError, match=f"the armature of node {k} ties"):
        prescribed(m.sko, np.arange(m.nv) == m.tree.rows[k].start, np.zeros(m.nv))


# --- operator forms, H_p and H_a the rows of what is free and told


def arms(m, rng):
    """H_a, H_p as dense matrices, and P, ψ, D_p, K_p, Ω of the passive arm."""
    told = flags(m, rng)
    a, p = np.flatnonzero(told), np.flatnonzero(1 - told)
    passive = prescribed(m.sko, told > 0, np.zeros(m.nv)).operators
    dense = {x: passive(x).dense() for x in ("P", "ψ", "D", "K", "H", "I − H ψ K", "ψ* H* D⁻¹ H ψ")}
    return m.H[..., a, :], a, p, dense


def blocks_of_S(m, a, p):
    """S_aa, S_ap, S_pp of the dense map: Tₐ = S_aa v̇ₐ + S_ap Tₚ, v̇ₚ = −S_ap* v̇ₐ + S_pp Tₚ (16.5)."""
    M = m.mass
    S_pp = np.linalg.inv(M[..., p, :][..., p])
    S_ap = M[..., a, :][..., p] @ S_pp
    return M[..., a, :][..., a] - S_ap @ M[..., p, :][..., a], S_ap, S_pp


@every_bookish_model
def test_S_pp(m, rng):
    """S_pp = (I − H_p ψ K_p)* D_p⁻¹ (I − H_p ψ K_p) (16.11a)."""
    _, a, p, x = arms(m, rng)
    L = x["I − H ψ K"]
    close(L.mT @ np.linalg.solve(np.broadcast_to(x["D"], (2, *x["D"].shape[-2:])), L), blocks_of_S(m, a, p)[2], 1e-9)


@every_bookish_model
def test_S_ap(m, rng):
    """S_ap = H_a {(ψ − P Ω) K_p + P ψ* H_p* D_p⁻¹} (16.11b)."""
    H_a, a, p, x = arms(m, rng)
    Omega, last = x["ψ* H* D⁻¹ H ψ"], x["P"] @ x["ψ"].mT @ x["H"].mT @ np.linalg.inv(x["D"])
    close(H_a @ ((x["ψ"] - x["P"] @ Omega) @ x["K"] + last), blocks_of_S(m, a, p)[1], 1e-9)


@every_bookish_model
def test_S_aa(m, rng):
    """S_aa = H_a (ψ M ψ* − P Ω P) H_a* (16.11c)."""
    H_a, a, p, x = arms(m, rng)
    inner = x["ψ"] @ m.M @ x["ψ"].mT - x["P"] @ x["ψ* H* D⁻¹ H ψ"] @ x["P"]
    close(H_a @ inner @ H_a.mT, blocks_of_S(m, a, p)[0], 1e-9)


@every_bookish_model
def test_S_aa_by_projection(m, rng):
    """S_aa = H_a A 𝕌⊥* M 𝕌⊥ A* H_a*,  𝕌⊥ = I − Ω M of the passive arm (exercise 16.1)."""
    H_a, a, p, x = arms(m, rng)
    U = m.I - x["ψ* H* D⁻¹ H ψ"] @ m.M
    close(H_a @ m.A @ U.mT @ m.M @ U @ m.A.mT @ H_a.mT, blocks_of_S(m, a, p)[0], 1e-9)


@every_bookish_model
def test_the_disturbance_jacobian(m, rng):
    """J_D = −S_ap*: what told accelerations do to the free ones (lemma 16.4)."""
    H_a, a, p, x = arms(m, rng)
    L, D = x["I − H ψ K"], np.broadcast_to(x["D"], (2, *x["D"].shape[-2:]))
    J_D = -L.mT @ np.linalg.solve(D, x["H"] @ x["ψ"] @ x["P"] @ H_a.mT) - x["K"].mT @ x["ψ"].mT @ H_a.mT
    close(J_D, -blocks_of_S(m, a, p)[1].mT, 1e-9)


@every_bookish_model
def test_the_generalized_jacobian(m, rng):
    """J_G = J_a + J_p J_D = B* (ψ* − Ω P) H_a* (lemma 16.3)."""
    H_a, a, p, x = arms(m, rng)
    J = m.A.mT @ m.H.mT  # of every place
    J_D = -blocks_of_S(m, a, p)[1].mT
    close((x["ψ"].mT - x["ψ* H* D⁻¹ H ψ"] @ x["P"]) @ H_a.mT, J[..., a] + J[..., p] @ J_D, 1e-9)


@models("tree", "random forest", "gear train")
def test_inertia_of_a_held_mechanism_is_composite(m):
    """All told: P = R. Nothing told: P is articulated (16.6)."""
    told, free = (articulated_inertia(with_held(m.sko.blocks, m.tree.split(x)))[0] for x in (np.ones(m.nv), np.zeros(m.nv)))
    close(m.diagonal(told), m.R, 1e-11)
    close(m.diagonal(free), m.P, 1e-11)


def test_the_acrobot():
    """S_aa = 𝓜_aa − 𝓜_ap² / 𝓜_pp,  J_D = −𝓜_ap / 𝓜_pp for the 2R arm with one motor (section 5, 9)."""
    robot = plain(MECHANISMS["planar 2R"])
    q, nodes = np.array([0.3, 0.8]), lower(MECHANISMS["planar 2R"])
    M = robot.mass_matrix(q)
    out = hybrid_dynamics(nodes, q, np.zeros(2), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    close(out, [-M[0, 1] / M[0, 0], M[1, 1] - M[0, 1] ** 2 / M[0, 0]])


def test_a_free_flyer_told_at_its_joints_keeps_its_momentum():
    """v̇(base) = −R⁻¹(base) Σ φ R H* v̇ at rest, without gravity (exercise 16.3)."""
    model = MECHANISMS["floating"].with_gravity((0, 0, 0))
    robot, nodes = plain(model), lower(model)
    q = robot.random_state(seed=3)[0]
    sko = rigid(nodes, q)
    told = np.array([0.0] * 6 + [1.0] * (robot.nv - 6))
    given = told * np.random.default_rng(0).standard_normal(robot.nv)
    base = hybrid_dynamics(nodes, q, np.zeros(robot.nv), given, told)[:6]
    close(base, -np.linalg.solve(sko.R[0], robot.mass_matrix(q)[:6] @ given), 1e-10)


def test_what_is_not_asked_for_is_not_moved():
    """A single joint told to stand still: it stands, and says what that takes."""
    robot = lw.Dynamics(MECHANISMS["chain"], compiled=False)
    s = state(robot)
    told = np.zeros(robot.nv)
    told[2] = 1
    given = np.where(told, 0.0, s.tau)
    out = hybrid_dynamics(lower(robot.model), s.q, s.v, given, told)
    tau, vdot = np.where(told, out, given), np.where(told, given, out)
    close(robot.forward_dynamics(s.q, s.v, tau), vdot, 1e-10)
    assert MODELS["chain"].nv == robot.nv
