"""Jain, chapter 10: what forces on places do to the motion of places."""

import numpy as np
import pytest
from systems import every_bookish_model, every_model, models, serial
from zoo import MECHANISMS, close, plain, state

import linkwork as lw
from linkwork.operators import RankError, operators, rigid
from linkwork.quantities import task_acceleration, task_compliance, task_inertia
from linkwork.spatial import phi
from linkwork.systems import lower


def places(m, rng, count=3, size=2):
    """Places on random nodes: (k, B), and B as a dense matrix."""
    chosen = [int(k) for k in rng.integers(0, m.n, count)]
    found = [(k, rng.standard_normal((2, m.sko.heights[k], size))) for k in chosen]
    B = np.zeros((2, m.size, count * size))
    for i, (k, block) in enumerate(found):
        B[:, m.rows[k], size * i : size * (i + 1)] = block
    return found, B


def inverse(m):
    return np.linalg.inv(m.mass)


# --- Ω and Υ


@every_model
def test_Omega_by_both_operators(m):
    """Ω = ψ* H* D⁻¹ H ψ = A* H* 𝓜⁻¹ H A (10.11), (10.12)."""
    close(m.Omega, m.A.mT @ m.H.mT @ np.linalg.solve(m.mass, m.H @ m.A), 1e-10)


@every_model
def test_Upsilon_is_the_diagonal_of_Omega(m):
    """Υ(k) = Ω(k,k) (10.13)."""
    close(m.Upsilon, m.only_diagonal(m.Omega), 1e-10)


@every_model
def test_the_equation_of_Upsilon(m):
    """H* D⁻¹ H = Υ − diagOf{𝓔ψ* Υ 𝓔ψ} (10.14)."""
    own = m.H.mT @ np.linalg.solve(m.D, m.H)
    close(own, m.Upsilon - m.only_diagonal(m.E_psi.mT @ m.Upsilon @ m.E_psi), 1e-10)


@every_model
def test_the_recursion_of_Upsilon(m):
    """Υ(k) = ψ*(p,k) Υ(p) ψ(p,k) + H* D⁻¹ H (10.16)."""
    s = m.sko
    for k, p in enumerate(m.tree.parent):
        inboard = 0 if p < 0 else s.psi[k].mT @ s.Upsilon[p] @ s.psi[k]
        close(s.Upsilon[k], inboard + s.H[k].mT @ np.linalg.solve(s.D[k], s.H[k]), 1e-10)


@every_model
def test_Upsilon_adds_up_along_the_path(m):
    """Υ(k) = Σ ψ*(i,k) H* D⁻¹ H ψ(i,k) over the path of k (C.27)."""
    own = m.H.mT @ np.linalg.solve(m.D, m.H)
    for k in range(m.n):
        terms = [m.block(m.psi, i, k).mT @ m.block(own, i, i) @ m.block(m.psi, i, k) for i in m.path(k)]
        close(m.sko.Upsilon[k], sum(terms), 1e-10)


@every_model
def test_decomposition_of_Omega(m):
    """Ω = Υ + ψ~* Υ + Υ ψ~ + R, R only between unrelated nodes (lemma 10.1)."""
    rest = m.Omega - (m.Upsilon + m.psit.mT @ m.Upsilon + m.Upsilon @ m.psit)
    for i, j in np.ndindex(m.n, m.n):
        if i in m.path(j) or j in m.path(i):
            close(m.block(rest, i, j), 0, 1e-10 * np.abs(m.Omega).max())


@every_model
def test_elements_of_Omega(m):
    """Ω(i,j) = ψ*(k,i) Υ(k) ψ(k,j), k the nearest that carries both; zero between trees (10.17), algorithm 10.1."""
    for i, j in np.ndindex(m.n, m.n):
        close(m.sko.Omega(i, j), m.block(m.Omega, i, j), 1e-10)


@serial
def test_Omega_of_a_chain(m):
    """Ω = Υ + ψ~* Υ + Υ ψ~ (lemma 10.2)."""
    close(m.Omega, m.Upsilon + m.psit.mT @ m.Upsilon + m.Upsilon @ m.psit, 1e-10)


@every_model
def test_the_rank_of_Upsilon(m):
    """rank Υ(k) is no more than the velocities on the path of k (remark 10.1)."""
    for k in range(m.n):
        velocities = sum(m.tree.widths[j] for j in m.path(k))
        assert (np.linalg.matrix_rank(m.sko.Upsilon[k], hermitian=True) <= velocities).all()


@models("pins")
def test_each_pin_adds_one_to_the_rank(m):
    """An arm of pins: rank Υ = 1, 2, 3, 4 from the base (remark 10.1)."""
    ranks = [np.linalg.matrix_rank(m.sko.Upsilon[k], hermitian=True).tolist() for k in range(4)]
    assert ranks == [[1, 1], [2, 2], [3, 3], [4, 4]]


@models("free", "floating")
def test_a_free_base_gives_way_by_its_articulated_inertia(m):
    """Υ(base) = P⁻¹(base) (remark 10.2)."""
    close(m.sko.Upsilon[0], np.linalg.inv(m.sko.P[0]), 1e-11)


@serial
def test_a_macro_arm_only_adds_compliance(m):
    """Υ(tip) = Υ_micro(tip) + ψ*(p,tip) Υ(p) ψ(p,tip) ≥ Υ_micro(tip), the chain cut at p (10.23)."""
    p, tip = (m.n - 1) // 2, m.n - 1
    own = m.H.mT @ np.linalg.solve(m.D, m.H)
    micro = sum(m.block(m.psi, i, tip).mT @ m.block(own, i, i) @ m.block(m.psi, i, tip) for i in range(p + 1, m.n))
    macro = m.block(m.psi, p, tip).mT @ m.sko.Upsilon[p] @ m.block(m.psi, p, tip)
    close(m.sko.Upsilon[tip], micro + macro, 1e-10)
    assert (np.linalg.eigvalsh(m.sko.Upsilon[tip] - micro) > -1e-10 * np.abs(micro).max()).all()


# --- Λ


@every_model
def test_the_compliance_of_places(m, rng):
    """Λ̲ = J 𝓜⁻¹ J* = B* Ω B (10.6), algorithm 10.2."""
    found, B = places(m, rng)
    J = B.mT @ m.A.mT @ m.H.mT
    close(m.sko.compliance(*found), J @ inverse(m) @ J.mT, 1e-10)
    close(m.sko.compliance(*found), B.mT @ m.Omega @ B, 1e-10)


@every_model
def test_the_response_of_the_joints(m, rng):
    """𝓜⁻¹ J* = (I − HψK)* D⁻¹ Hψ B (7.44)."""
    found, B = places(m, rng)
    close(m.sko.joint_compliance(*found), inverse(m) @ m.H @ m.A @ B, 1e-10)


# --- 𝓜⁻¹


@every_model
def test_the_explicit_inverse(m):
    """𝓜⁻¹ entry by entry (10.29), (10.30), algorithm 10.4."""
    close(m.sko.mass_matrix_inverse, inverse(m), 1e-10)


@every_model
def test_the_terms_of_the_inverse(m):
    """L = D⁻¹ + G* Υ⁺ G,  U = L H − G* Υ⁺,  Υ⁺ = diagOf{𝓔* Υ 𝓔} (10.29)."""
    Upsilon_plus = m.only_diagonal(m.E.mT @ m.Upsilon @ m.E)
    L = np.linalg.inv(m.D) + m.G.mT @ Upsilon_plus @ m.G
    close(m.diagonal(m.sko.compliances[1]), L, 1e-10)
    close(m.diagonal(m.sko.compliances[2]), L @ m.H - m.G.mT @ Upsilon_plus, 1e-10)


@every_model
def test_the_inverse_between_a_node_and_one_that_carries_it(m):
    """𝓜⁻¹(i,j) = −[U ψ K](i,j), i above j (10.30)."""
    dense = inverse(m)
    U_psi_K = m.diagonal(m.sko.compliances[2]) @ m.psi @ m.K
    for j in range(m.n):
        for i in m.path(j)[1:]:
            rows, columns = m.tree.rows[i], m.tree.rows[j]
            close(dense[..., rows, columns], -U_psi_K[..., rows, columns], 1e-10)


@every_model
def test_the_inverse_between_unrelated_nodes(m):
    """𝓜⁻¹(i,j) = [K* Ω K](i,j), neither above the other (10.30)."""
    dense, K_Omega_K = inverse(m), m.K.mT @ m.Omega @ m.K
    for i, j in np.ndindex(m.n, m.n):
        if i not in m.path(j) and j not in m.path(i):
            rows, columns = m.tree.rows[i], m.tree.rows[j]
            close(dense[..., rows, columns], K_Omega_K[..., rows, columns], 1e-10)


@serial
def test_the_inverse_of_a_chain(m):
    """𝓜⁻¹ = L − K* ψ* U* − U ψ K (10.31), (10.32)."""
    L, U = m.diagonal(m.sko.compliances[1]), m.diagonal(m.sko.compliances[2])
    close(inverse(m), L - m.K.mT @ m.psi.mT @ U.mT - U @ m.psi @ m.K, 1e-10)


@every_model
def test_the_diagonal_of_the_inverse(m):
    """𝓜⁻¹(k,k) = L(k) (10.30)."""
    for k in range(m.n):
        rows = m.tree.rows[k]
        close(m.sko.compliances[1][k], inverse(m)[..., rows, rows], 1e-10)


# --- projections


@every_bookish_model
def test_U_is_a_projection(m):
    """𝕌 = Ω M:  𝕌² = 𝕌,  𝕌 Ω = Ω,  Ω M Ω = Ω (10.34)."""
    U = m.Omega @ m.M
    close(U @ U, U, 1e-9)
    close(U @ m.Omega, m.Omega, 1e-9)
    close(m.Omega @ m.M @ m.Omega, m.Omega, 1e-9)


@every_bookish_model
def test_the_other_projection(m):
    """𝕌⊥ = I − 𝕌:  𝕌⊥² = 𝕌⊥,  𝕌⊥ Ω = 0 (10.35)."""
    U_perp = m.I - m.Omega @ m.M
    close(U_perp @ U_perp, U_perp, 1e-9)
    close(U_perp @ m.Omega, 0, 1e-9 * np.abs(m.Omega).max())


@every_bookish_model
def test_the_projections_are_orthogonal_in_M(m):
    """𝕌⊥* M 𝕌 = 0,  𝕌* M 𝕌 = M 𝕌,  𝕌⊥* M 𝕌⊥ = M 𝕌⊥ (10.36), (10.37)."""
    U, U_perp = m.Omega @ m.M, m.I - m.Omega @ m.M
    scale = np.abs(m.M).max()
    close(U_perp.mT @ m.M @ U, 0, 1e-9 * scale)
    close(U.mT @ m.M @ U, m.M @ U, 1e-9)
    close(U_perp.mT @ m.M @ U_perp, m.M @ U_perp, 1e-9)


@every_bookish_model
def test_U_on_A_and_psi(m):
    """𝕌 A* = A* − (ψ* − Ω P),  𝕌 ψ* = Ω P (10.38)."""
    U = m.Omega @ m.M
    close(U @ m.A.mT, m.A.mT - (m.psi.mT - m.Omega @ m.P), 1e-9)
    close(U @ m.psi.mT, m.Omega @ m.P, 1e-9)


@every_bookish_model
def test_U_perp_on_A_and_psi(m):
    """𝕌⊥ A* = 𝕌⊥ ψ* = ψ* − Ω P,  𝕌⊥ A* H* = 0 (10.40)."""
    U_perp = m.I - m.Omega @ m.M
    close(U_perp @ m.A.mT, m.psi.mT - m.Omega @ m.P, 1e-9)
    close(U_perp @ m.psi.mT, m.psi.mT - m.Omega @ m.P, 1e-9)
    close(U_perp @ m.A.mT @ m.H.mT, 0, 1e-9)


@every_bookish_model
def test_M_between_the_projections(m):
    """(ψ − P Ω) M A* = (ψ − P Ω) P + P ψ~* = ψ M ψ* − P Ω P (10.39)."""
    left = (m.psi - m.P @ m.Omega) @ m.M @ m.A.mT
    close(left, (m.psi - m.P @ m.Omega) @ m.P + m.P @ m.psit.mT, 1e-9)
    close(left, m.psi @ m.M @ m.psi.mT - m.P @ m.Omega @ m.P, 1e-9)


@every_bookish_model
def test_psi_P_H(m):
    """ψ P H* = P H* (10.40)."""
    close(m.psi @ m.P @ m.H.mT, m.P @ m.H.mT, 1e-10)


@every_bookish_model
def test_U_on_A_by_the_factors(m):
    """𝕌 A* = A* H* [K* (ψ* − Ω P) + D⁻¹ H ψ P] (10.38)."""
    inner = m.K.mT @ (m.psi.mT - m.Omega @ m.P) + np.linalg.solve(m.D, m.H @ m.psi @ m.P)
    close(m.Omega @ m.M @ m.A.mT, m.A.mT @ m.H.mT @ inner, 1e-9)


# --- operational space dynamics of robots


def arm_task(name, *where):
    """A robot at a state, its operators, and the task of some bodies."""
    model = MECHANISMS[name]
    robot, nodes = plain(model), lower(model)
    s = state(robot, (2,))
    op = operators(model, s.q, s.v)
    bodies = where or ("body8" if name == "tree" else robot.bodies[-1],)
    return robot, nodes, s, op, op.task(*bodies), bodies


ARMS = pytest.mark.parametrize("name", ["tree", "floating", "chain", "geared"])


def index(robot, bodies):
    return tuple((robot.model.body_index(b), lw.Pose(), False) for b in bodies)


@ARMS
def test_the_acceleration_of_a_task(name):
    """α = J θ̈ + J̇ θ̇ (10.2): the road by the joints and the road by the nodes, gravity included."""
    robot, nodes, s, _, task, bodies = arm_task(name)
    vdot = robot.forward_dynamics(s.q, s.v, s.tau)
    alpha = np.matvec(task.J, vdot) + task.drift
    close(task.acceleration(s.tau), alpha, 1e-10)
    close(task_acceleration(nodes, s.q, s.v, s.tau, index(robot, bodies)), alpha, 1e-10)


@ARMS
def test_the_drift_is_the_rate_of_the_jacobian(name):
    """J̇ θ̇ = B* A* a (10.4), by a small step."""
    robot, _, s, _, task, bodies = arm_task(name)
    h = 1e-6
    J = [robot.jacobian(robot.integrate(s.q, t * s.v), bodies[0]) for t in (h, -h)]
    close(task.drift, np.matvec(J[0] - J[1], s.v) / (2 * h), 1e-8)


@ARMS
def test_the_task_bias_in_operator_form(name):
    """Λ⁻¹ C_os = B* (ψ* {H* D⁻¹ H ψ (P a + b + K T) − a − H* D⁻¹ T} + Ē* g), g upwards and a with E* g (10.42)."""
    _, _, s, op, task, bodies = arm_task(name)
    column, B = lambda x: x[..., None], op.B(*bodies)
    roots = [op.sko.A[k].mT @ op.sko.base if p < 0 else 0 * op.sko.a[k] for k, p in enumerate(op.tree.parent)]
    a = column(op.a) + op.nodes.join(roots)
    tau = column(s.tau)
    inner = op.H.T @ (op.D.inv() @ (op.H @ (op.psi @ (op.P @ a + column(op.b) + op.K @ tau))))
    world = op.phi.T @ op.nodes.join(roots)  # Ē* g
    total = B.T @ (op.psi.T @ (inner - a - op.H.T @ (op.D.inv() @ tau)) + world)
    close(-column(task.acceleration(s.tau)), total, 1e-9)


FULL = pytest.mark.parametrize("name", ["tree", "floating"])


@FULL
def test_the_equation_of_motion_of_a_task(name, rng):
    """Λ α + C_os = f when T = J* f (10.7)."""
    *_, task, _ = arm_task(name)
    f = rng.standard_normal((2, 6))
    alpha = task.acceleration(np.matvec(task.J.mT, f))
    close(np.matvec(task.inertia, alpha) + task.task_bias(), f, 1e-9)


@FULL
def test_the_control_law_has_the_acceleration_asked_for(name, rng):
    """T = J* (Λ u + C_os) + N* T₀ makes the task accelerate with u, whatever the posture T₀ (10.9), (10.10)."""
    robot, _, s, _, task, _ = arm_task(name)
    u, posture = rng.standard_normal((2, 6)), rng.standard_normal((2, robot.nv))
    vdot = robot.forward_dynamics(s.q, s.v, task.control(u, posture))
    close(np.matvec(task.J, vdot) + task.drift, u, 1e-9)


@FULL
def test_the_consistent_inverse(name):
    """J J̄ = I,  J̄ = 𝓜⁻¹ J* Λ."""
    robot, _, s, _, task, _ = arm_task(name)
    close(task.J @ task.consistent_inverse, np.eye(6), 1e-10)
    M = robot.mass_matrix(s.q)
    close(task.consistent_inverse, np.linalg.solve(M, task.J.mT) @ task.inertia, 1e-10)


@FULL
def test_the_null_space(name):
    """N² = N,  J N = 0,  J 𝓜⁻¹ N* = 0."""
    *_, task, _ = arm_task(name)
    N = task.null_space
    close(N @ N, N, 1e-10)
    close(task.J @ N, 0, 1e-10)
    close(task.response.mT @ N.mT, 0, 1e-10)


@FULL
def test_the_null_space_keeps_no_kinetic_energy_in_the_task(name):
    """N* 𝓜 J̄ = 0: what is left is 𝓜-orthogonal to what the task takes."""
    robot, _, s, _, task, _ = arm_task(name)
    close(task.null_space.mT @ robot.mass_matrix(s.q) @ task.consistent_inverse, 0, 1e-9)


def test_the_planar_arm_is_singular_at_its_tip():
    """Λ̲ of the tip of a planar 2R: entries 3, 3/4 (section 4), and it says why it has no inverse."""
    model = MECHANISMS["planar 2R"]
    op = operators(model, np.array([0.0, np.pi / 2]))
    task = op.task("tip")
    planar = np.ix_([2, 3, 4], [2, 3, 4])
    close(task.compliance[planar], [[3, 0, 3], [0, 0.75, 0], [3, 0, 3]])
    assert task.rank == 2
    with pytest.raises(RankError, match="the task of tip has 6 directions, but only 2 of them are independent here"):
        _ = task.inertia


def test_the_samples_that_are_singular_are_counted():
    """Of two configurations, only the stretched arm is singular: it is named."""
    model = MECHANISMS["planar 2R"]
    op = operators(model, np.array([[0.3, 0.5], [0.3, 0.0]]))
    task = op.task(("fore", (1.0, 0, 0)))
    with pytest.raises(RankError, match="first at sample"):
        _ = task.inertia
    assert task.rank.tolist() == [2, 1]


def test_the_pseudo_inertia_gives_no_force_to_what_cannot_move():
    """Λ⁺ Λ̲ Λ⁺ = Λ⁺ on the planar arm's tip, and zero along z."""
    model = MECHANISMS["planar 2R"]
    task = operators(model, np.array([0.3, 0.5])).task(("fore", (1.0, 0, 0)), deficient="ignore")
    Lambda = task.inertia
    close(Lambda @ task.compliance @ Lambda, Lambda)
    close(Lambda[2], 0)
    close(np.linalg.inv(Lambda[:2, :2]), task.compliance[:2, :2])


def test_two_places_on_one_body_are_never_independent():
    """Λ̲ of twelve directions on one body has rank six."""
    robot = plain(MECHANISMS["floating"])
    op = operators(robot.model, robot.random_state(seed=1)[0])
    assert op.task(robot.bodies[-1], (robot.bodies[-1], lw.Pose(translation=(0.1, 0.2, 0.3)))).rank == 6


def test_a_place_on_the_ground_gives_way_to_nothing():
    """Λ̲ = 0 for a body welded to the world."""
    model = MECHANISMS["welded"]
    op = operators(model, plain(model).random_state(seed=0)[0])
    close(op.task("body0", "body2").compliance[:6], 0)


@FULL
def test_the_inertia_of_a_task_by_the_sweep(name):
    """Λ by LDL*, as the kernel has it, and how independent its directions are."""
    robot, nodes, s, _, task, bodies = arm_task(name)
    Lambda, independence = task_inertia(nodes, s.q, index(robot, bodies))
    close(Lambda, task.inertia, 1e-9)
    assert (independence > 1e-6).all()
    close(task_compliance(nodes, s.q, index(robot, bodies)), task.compliance, 1e-10)


def test_points_have_three_directions():
    """B of a point is φ(k, O) [0; I]: its linear velocity."""
    model = MECHANISMS["chain"]
    robot = plain(model)
    q, v = robot.random_state(seed=2)
    op = operators(model, q, v)
    point = (0.1, -0.2, 0.3)
    J = op.jacobian((robot.bodies[-1], point)).dense()
    close(J, (phi(lw.Pose(translation=point).matrix).T @ robot.jacobian(q, robot.bodies[-1]))[3:])


def test_the_rigid_sko_is_the_robot():
    """𝓜, 𝓜⁻¹, 𝓒 and θ̈ of the SKO model are those of Dynamics."""
    for name in ("tree", "forest", "geared"):
        robot = plain(MECHANISMS[name])
        s = state(robot, (2,))
        sko = rigid(lower(robot.model), s.q, s.v, s.external)
        close(sko.mass_matrix, robot.mass_matrix(s.q))
        close(sko.mass_matrix_inverse, robot.mass_matrix_inverse(s.q), 1e-11)
        close(sko.inverse_dynamics(s.vdot), robot.inverse_dynamics(s.q, s.v, s.vdot, s.external))
        close(sko.forward_dynamics(s.tau), robot.forward_dynamics(s.q, s.v, s.tau, s.external))
