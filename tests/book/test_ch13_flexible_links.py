"""Jain, chapter 13: flexible bodies as nodes that have more velocities than a rigid body.

A tree of three bodies of rigid nodes with a structural stiffness between them: the trunk in free modes on its node 1, the arm and the
leg in cantilever modes. The library makes several nodes of a body, for the joint, the modes and each frame. `book` has one node
X = [η̇; V] for each body, as the chapter has, assembled here from modes, poses and shifts.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
from zoo import close

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.operators import SKO, rigid
from linkwork.spatial import bar, inertia, phi, tilde

NODES = 4
PARTS = {"trunk": (None, "n1"), "arm": ("trunk.n3", "root"), "leg": ("trunk.n0", "root")}  # body -> where it stands, its own root
AXES = {"trunk": (0, 1, 0), "arm": (0, 0, 1), "leg": (1, 0, 0)}


@cache
def structure(seed):
    """Positions, M_nd(j), K_st and B* of nodes on a bent line, springs against all relative motions of neighbours."""
    rng = np.random.default_rng(seed)
    positions = np.cumsum(np.r_[[np.zeros(3)], [(0.4, 0.1 * i, -0.05 * i) for i in range(1, NODES)]], 0)
    tensor, centers = np.diag([0.01, 0.012, 0.014]), 0.02 * rng.standard_normal((NODES, 3))
    masses = inertia(0.5 + 0.1 * np.arange(NODES), centers, np.broadcast_to(tensor, (NODES, 3, 3)))
    K = np.zeros((6 * NODES, 6 * NODES))
    for i in range(NODES - 1):
        root = rng.standard_normal((6, 6))
        C = np.zeros((6, 6 * NODES))
        C[:, 6 * i : 6 * i + 6], C[:, 6 * i + 6 : 6 * i + 12] = -phi(shift(positions[i + 1] - positions[i])).T, np.eye(6)
        K += C.T @ (200 * np.eye(6) + 20 * root @ root.T) @ C
    return positions, masses, K, np.concatenate([phi(shift(p)).T for p in positions])


def shift(p):
    return np.block([[np.eye(3), np.reshape(p, (3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])


@cache
def body(seed, modes):
    positions, masses, K, _ = structure(seed)
    frames = {f"n{j}": j for j in range(NODES)}
    return lw.FlexibleBody.of_nodes(positions, masses, K, modes=modes, root=0, frames=frames, count=3, keep="all")


@cache
def tree():
    flexible = {"trunk": body(1, "free"), "arm": body(2, "cantilever"), "leg": body(3, "cantilever")}
    b = lw.Builder("flexible_links", gravity=(0.5, -1.0, -9.81))
    for name, (place, root) in PARTS.items():
        at = None if place is None else lw.Pose.rpy((0, 0.1, 0), (0.3, -0.2, 0.5))
        b.flexible(name, flexible[name], place, at, lw.Revolute(axis=AXES[name]), root=root)
    return lw.Dynamics(b.model(), compiled=False), flexible


def alone(modes="cantilever", seed=2):
    """One body on a free joint that carries its own frame, without gravity."""
    flexible = body(seed, modes)
    return lw.Dynamics(lw.Builder("one", gravity=(0, 0, 0)).flexible("k", flexible, joint=lw.Free()).model(), compiled=False), flexible


def state(robot, bent=0.05, seed=4):
    q, v = robot.random_state(seed=seed)
    rng = np.random.default_rng(seed)
    for joint in robot.model.flexible_bodies:
        q[robot.q_index(joint)] = bent * rng.standard_normal(len(q[robot.q_index(joint)]))
        v[robot.v_index(joint)] = rng.standard_normal(len(v[robot.v_index(joint)]))
    return q, v


def mode_shapes(flexible):
    """Π of all nodes (6 n_nd, n_md), from the frames on them."""
    return np.concatenate([flexible.frames[f"n{j}"].linear for j in range(NODES)])


# --- one body: (13.1) to (13.27), (13.39) to (13.41)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rigid_motions_strain_nothing(seed):
    """K_st B* = 0 (13.40); a stiffness that resists them is refused."""
    positions, masses, K, B = structure(seed)
    close(K @ B, 0, 1e-9)
    with pytest.raises(ModelError, match="resists a rigid motion"):
        lw.FlexibleBody.of_nodes(positions, masses, K + 5 * np.eye(len(K)), count=3)


@pytest.mark.parametrize("modes", ["cantilever", "free"])
def test_assumed_modes_are_those_of_the_structure(modes):
    """K_st Π = M_nd Π ω² where nodes are free to move, Π(O_k) = 0 of a cantilever (13.20) to (13.24), K_modal = Π* K_st Π (13.39)."""
    _, masses, K, _ = structure(2)
    flexible, M = body(2, modes), scipy.linalg.block_diag(*masses)
    Pi, free = mode_shapes(flexible), slice(6 if modes == "cantilever" else 0, None)
    close((K @ Pi)[free], (M @ Pi @ np.diag((2 * np.pi * flexible.frequencies) ** 2))[free], 1e-7)
    close(Pi.T @ K @ Pi, flexible.stiffness, 1e-8)
    assert not Pi[:6].any() if modes == "cantilever" else Pi[:6].any()


@pytest.mark.parametrize("modes", ["cantilever", "free"])
def test_velocities_of_the_nodes(modes):
    """V(O_j) = φ*(k,O_j) V(k) + Π(O_j) η̇ (13.22): V_nd = [Π, B*] X."""
    robot, flexible = alone(modes)
    q = robot.neutral()
    J = np.concatenate([robot.jacobian(q, f"k.n{j}") for j in range(NODES)])
    _, _, _, B = structure(2)
    rates = np.eye(robot.nv)[robot.v_index("k_modes")]
    close(J, mode_shapes(flexible) @ rates + B @ robot.jacobian(q, "k.floating"), 1e-12)


@pytest.mark.parametrize("modes", ["cantilever", "free"])
def test_the_modal_mass_matrix(modes):
    """M_fl = [Π*; B] M_nd [Π, B*] (13.25) to (13.27)."""
    _, masses, _, B = structure(2)
    whole = np.concatenate([mode_shapes(body(2, modes)), B], 1)
    close(body(2, modes).inertia(np.zeros(3)), whole.T @ scipy.linalg.block_diag(*masses) @ whole, 1e-10)


@pytest.mark.parametrize("modes", ["cantilever", "free"])
def test_equations_of_motion_of_the_nodes(modes, rng):
    """[Π*; B] (M_nd α_nd + b_nd + K_st u) = M_fl Ẋ + b_fl + [K η; 0] (13.9) to (13.19), (13.37), (13.41): each node by Newton and Euler."""
    (robot, _), (_, masses, _, _) = alone(modes), structure(2)
    (q, v), vdot = state(robot, bent=0.0), rng.standard_normal(robot.nv)
    names = list(robot.bodies)
    V, alpha = robot.body_velocities(q, v), robot.body_accelerations(q, v, vdot)
    tau = np.zeros(robot.nv)
    for j in range(NODES):
        i = names.index(f"k.n{j}")
        force = masses[j] @ alpha[i] + bar(V[i]) @ masses[j] @ V[i]
        tau += robot.jacobian(q, f"k.n{j}").T @ force
    close(robot.inverse_dynamics(q, v, vdot), tau, 1e-9)


def test_elastic_forces_are_part_of_the_bias():
    """b_fl has K η (13.41): what holds a bent body that is at rest without gravity."""
    robot, flexible = alone()
    q, _ = state(robot)
    expected = np.zeros(robot.nv)
    expected[robot.v_index("k_modes")] = flexible.stiffness @ q[robot.q_index("k_modes")]
    close(robot.bias(q, np.zeros(robot.nv)), expected, 1e-11)


# --- the tree: (13.28) to (13.69)


@cache
def book(bent=0.05):
    """The SKO model of section 13.3 with one node for each body, rows of H_fl those of the joint and then of the modes.

    A_fl(p,k) = [Λ_c*; φ(p,c)] φ(c,O) S [0, I],   H_fl = [0, H S; I, −Λ_O* S],   S = φ⁻¹(k,O)                (13.28) to (13.50)
    """
    robot, flexible = tree()
    q, v = state(robot, bent)
    names, pose = list(PARTS), lambda x: robot.pose(q, x)
    seen = lambda x, y: phi(np.linalg.inv(pose(x)) @ pose(y))
    V = dict(zip(robot.bodies, robot.body_velocities(q, v)))
    parents, A, H, M, a, b = [], [], [], [], [], []
    for name, (place, root) in PARTS.items():
        x, eta, rate = flexible[name], q[robot.q_index(f"{name}_modes")], v[robot.v_index(f"{name}_modes")]
        S, own = seen(name, f"{name}.floating"), x.attachment(root)
        axis = np.r_[AXES[name], np.zeros(3)]
        relative = axis * v[robot.v_index(f"{name}_joint")] - own.map(eta) @ rate
        turned = tilde(V[name]) @ relative - own.map_rate(eta, rate[:, None], rate[:, None])[:, 0]
        to_O = phi(pose(name))
        if place is not None:
            p, c = place.split(".")
            bent_by, bending = q[robot.q_index(f"{p}_modes")], v[robot.v_index(f"{p}_modes")]
            frame = flexible[p].attachment(c)
            c_O = seen(place, name)
            to_O = np.concatenate([frame.map(bent_by).T, seen(f"{p}.floating", place)]) @ c_O
            moved = tilde(V[place]) @ frame.map(bent_by) @ bending + frame.map_rate(bent_by, bending[:, None], bending[:, None])[:, 0]
            turned = turned + c_O.T @ moved
        parents.append(-1 if place is None else names.index(p))
        A.append(to_O @ S @ np.eye(6, x.n + 6, x.n))
        H.append(np.block([[np.zeros((1, x.n)), axis[None] @ S], [np.eye(x.n), -own.map(eta).T @ S]]))
        M.append(x.inertia(eta))
        a.append(np.r_[np.zeros(x.n), S.T @ turned][:, None])
        b.append(x.bias(eta, np.r_[rate, V[f"{name}.floating"]][:, None]))
    base = -np.r_[np.zeros(3), robot.model.gravity][:, None]
    return SKO(parents, A, H, M, None, a, b, base)


def sizes(sko):
    """Where each node is in a stacked vector."""
    ends = np.cumsum([0, *sko.heights])
    return [slice(i, j) for i, j in pairwise(ends)]


def dense(sko):
    """Φ_fl = (I − 𝓔)⁻¹ and the block diagonals H_fl, M_fl (13.42) to (13.47)."""
    at = sizes(sko)
    E = np.zeros((at[-1].stop,) * 2)
    for k, p in enumerate(sko.tree.parent):
        if p >= 0:
            E[at[p], at[k]] = sko.A[k]
    return np.linalg.inv(np.eye(len(E)) - E), scipy.linalg.block_diag(*sko.H), scipy.linalg.block_diag(*sko.M)


def test_velocities_of_the_bodies(rng):
    """X = Φ_fl* H_fl* v (13.28) to (13.31), (13.46)."""
    robot, _ = tree()
    q, v = state(robot)
    Phi, H, _ = dense(book())
    found, V = Phi.T @ H.T @ v, dict(zip(robot.bodies, robot.body_velocities(q, v)))
    expected = [np.r_[v[robot.v_index(f"{name}_modes")], V[f"{name}.floating"]] for name in PARTS]
    close(found, np.concatenate(expected), 1e-10)


def test_the_flexible_mass_matrix_and_bias():
    """𝓜_fl = H_fl Φ_fl M_fl Φ_fl* H_fl* and 𝓒_fl = H_fl Φ_fl (M_fl Φ_fl* a_fl + b_fl) (13.48) to (13.50)."""
    robot, _ = tree()
    q, v = state(robot)
    sko = book()
    Phi, H, M = dense(sko)
    a = np.concatenate(sko.a)
    a[sizes(sko)[0]] += sko.A[0].T @ sko.base  # gravity
    close(robot.mass_matrix(q), H @ Phi @ M @ Phi.T @ H.T, 1e-10)
    close(robot.bias(q, v), (H @ Phi @ (M @ Phi.T @ a + np.concatenate(sko.b)))[:, 0], 1e-9)


def test_inverse_dynamics_of_flexible_bodies(rng):
    """Algorithm 13.1: base to tips α, tips to base f (13.51) to (13.55)."""
    robot, _ = tree()
    q, v = state(robot)
    vdot, sko = rng.standard_normal(robot.nv), book()
    close(robot.inverse_dynamics(q, v, vdot), sko.inverse_dynamics(vdot), 1e-9)


def test_composite_inertias_of_flexible_bodies():
    """Lemma 13.1: Φ M Φ* = R + Φ~ R + R Φ~*, R(k) = M(k) + Σ A R A*; algorithm 13.2 (13.56) to (13.58)."""
    sko, (robot, _) = book(), tree()
    Phi, _, M = dense(sko)
    R = [sko.M[0] + sko.A[1] @ sko.M[1] @ sko.A[1].T + sko.A[2] @ sko.M[2] @ sko.A[2].T, sko.M[1], sko.M[2]]
    whole, strict = scipy.linalg.block_diag(*R), Phi - np.eye(len(Phi))
    close(Phi @ M @ Phi.T, whole + strict @ whole + whole @ strict.T, 1e-10)
    close(robot.mass_matrix(state(robot)[0]), sko.mass_matrix, 1e-10)


def test_factors_of_the_flexible_mass_matrix():
    """Lemma 13.2: 𝓜 = [I + HΦK] D [I + HΦK]*, [I + HΦK]⁻¹ = I − HΨK (13.59) to (13.62)."""
    sko = book()
    Phi, H, _ = dense(sko)
    at, G = sizes(sko), scipy.linalg.block_diag(*(sko.G[k] for k in range(3)))
    E = np.eye(len(Phi)) - np.linalg.inv(Phi)
    factor = np.eye(sko.nv) + H @ Phi @ E @ G
    psi = np.linalg.inv(np.eye(len(Phi)) - E @ (np.eye(len(Phi)) - G @ H))
    close(factor @ scipy.linalg.block_diag(*(sko.D[k] for k in range(3))) @ factor.T, sko.mass_matrix, 1e-10)
    close((np.eye(sko.nv) - H @ psi @ E @ G) @ factor, np.eye(sko.nv), 1e-9)
    assert at[-1].stop == 27


def test_forward_dynamics_of_flexible_bodies(rng):
    """Algorithms 13.3 and 13.4 with one node for each body, the robot's, and the dense solution (13.63)."""
    robot, _ = tree()
    q, v = state(robot)
    tau, sko = rng.standard_normal(robot.nv), book()
    vdot = robot.forward_dynamics(q, v, tau)
    close(vdot, sko.forward_dynamics(tau), 1e-8)
    close(vdot, np.linalg.solve(robot.mass_matrix(q), tau - robot.bias(q, v)), 1e-8)


def stages():
    """The robot's nodes as an SKO model, and of each body the numbers of those of the joint and of the modes."""
    robot, _ = tree()
    q, v = state(robot)
    labels = list(robot.lowered.plain().labels)
    return rigid(robot.lowered.system(robot.lowered.plain()), q, v), [
        (labels.index(f"{name}_joint"), labels.index(f"{name}_modes")) for name in PARTS
    ]


def test_two_stages_have_the_articulated_inertia_of_one():
    """P_fl(k) is that before the modes; D of one stage splits into D_m of the modes and then D_r of the joint (13.64) to (13.67)."""
    one, (two, nodes) = book(), stages()
    for k, (joint, modes) in enumerate(nodes):
        n = one.heights[k] - 6
        close(two.P[modes], one.P[k], 1e-9)
        close(two.D[modes], one.D[k][1:, 1:], 1e-9)  # D_m = H_m P H_m*
        close(two.D[joint], one.D[k][:1, :1] - one.D[k][:1, 1:] @ np.linalg.solve(one.D[k][1:, 1:], one.D[k][1:, :1]), 1e-8)
        assert two.P[joint].shape == (6, 6)
        close(two.A[modes][:, :n], 0)


def test_two_stages_send_six_by_six_inertias_to_the_parent():
    """A P⁺ A* of one stage = φ P_r⁺ φ*, of the joint's frame alone (13.68), (13.69): algorithms 13.5 and 13.6."""
    one, (two, nodes) = book(), stages()
    for k, (joint, _) in enumerate(nodes):
        frame = two.tree.parent[joint]
        sent = two.A[joint] @ two.P_plus[joint] @ two.A[joint].T
        if frame >= 0:
            sent = two.A[frame] @ sent @ two.A[frame].T
        close(sent, one.A[k] @ one.P_plus[k] @ one.A[k].T, 1e-8)


def test_two_stages_have_the_accelerations_of_one(rng):
    """Algorithm 13.7."""
    one, (two, _) = book(), stages()
    tau = rng.standard_normal(one.nv)
    close(two.forward_dynamics(tau), one.forward_dynamics(tau), 1e-8)
    close(two.log_determinant, one.log_determinant, 1e-9)


def test_the_inverse_of_the_modal_inertia_is_an_update_of_rank_six_for_each_child():
    """Exercise 13.1: D_m = L + Y Γ Y*, L = H_m M_fl H_m* without children, Y the bending at their frames, Γ = φ P_r⁺ φ* there;
    D_m⁻¹ = L⁻¹ − L⁻¹ Y [I + Γ Y* L⁻¹ Y]⁻¹ Γ Y* L⁻¹ (13.70), (13.71)."""
    two, nodes = stages()
    modes = nodes[0][1]
    H, frames = two.H[modes], [two.tree.parent[joint] for joint, _ in nodes[1:]]
    Y = H @ np.concatenate([two.A[c] for c in frames], 1)
    Gamma = scipy.linalg.block_diag(*(two.P[c] for c in frames))
    L = np.linalg.inv(H @ two.M[modes] @ H.T)
    update = L @ Y @ np.linalg.solve(np.eye(12) + Gamma @ Y.T @ L @ Y, Gamma @ Y.T @ L)
    close(np.linalg.inv(two.D[modes]), L - update, 1e-9)


def test_without_deformation_the_modal_inertia_without_children_is_constant():
    """L of exercise 13.1 for cantilever modes is Π* M_nd Π, wherever the joints are."""
    robot, flexible = tree()
    for seed in (5, 6):
        q, v = state(robot, bent=0.0, seed=seed)
        sko = rigid(robot.lowered.system(robot.lowered.plain()), q, v)
        modes = list(robot.lowered.plain().labels).index("arm_modes")
        close(sko.D[modes], mode_shapes(flexible["arm"]).T @ scipy.linalg.block_diag(*structure(2)[1]) @ mode_shapes(flexible["arm"]), 1e-9)


def test_operators_of_a_flexible_robot_are_those_of_its_bodies(rng):
    """H φ M φ* H* of `robot.operators`, by several nodes for each body, is that of one node for each; 𝓜⁻¹ too."""
    robot, _ = tree()
    q, v = state(robot)
    op, x = robot.operators(q, v), rng.standard_normal(robot.nv)
    mass = op("H φ M φ* H*")
    close(mass @ x, book().mass_matrix @ x, 1e-10)
    close(mass.inv() @ x, np.linalg.solve(book().mass_matrix, x), 1e-8)
