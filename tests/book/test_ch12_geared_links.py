"""Jain, chapter 12: motors that turn faster than the joints they drive, eliminated exactly.

`tree` is the whole tree, motors and links free; `links` the geared model; v(tree) = X v(links), X = [ratio; 1].
"""

import numpy as np
import pytest
from systems import gear_train, geared_at
from zoo import close, plain

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model.gears import with_rotors
from linkwork.operators import geared, rigid, velocities_of_all, with_elastic_gears
from linkwork.systems import lower
from linkwork.systems.gears import gears


@pytest.fixture(scope="module")
def train():
    """The SKO model of the whole tree, its gears, and X."""
    return geared_at(gear_train())


def links(train):
    return geared(train[0], train[1])


def kept(tree, train_gears):
    """The nodes of the tree that are no rotors: node i of the geared model is kept[i] of the tree."""
    rotors = {m for m, _ in train_gears.values()}
    return [k for k in range(len(tree.tree)) if k not in rotors]


def test_gears_are_found_in_the_couplings():
    """q(rotor) = ratio q(joint), rotor and joint on one body: a gear."""
    model = gear_train()
    nodes = lower(model)
    found = {nodes.labels[k]: (nodes.labels[m], ratio) for k, (m, ratio) in gears(model, nodes).items()}
    assert found["knee_joint"] == ("knee_joint_rotor_joint", -30.0)
    assert set(found) == {"hip_joint", "knee_joint", "slide_joint", "hand_joint"}


def test_a_geared_node_has_twelve_entries(train):
    """[V_m; V_l], one velocity; ungeared nodes stay as they are (12.6), (12.11)."""
    assert links(train).heights == (12, 12, 12, 6, 12, 6)
    assert links(train).tree.widths == (1, 1, 1, 3, 1, 1)


def test_the_geared_mass_matrix(train):
    """𝓜_G = X* 𝓜 X (exercise 12.1)."""
    tree, _, X = train
    close(links(train).mass_matrix, X.T @ tree.mass_matrix @ X, 1e-11)


def test_rotors_with_inertia_in_their_joints(train):
    """armature = μ² armature_m + armature_l: the same law where a rotor's own joint has inertia."""
    tree, train_gears, X = train
    more = [np.eye(width) * (1 + k) for k, width in enumerate(tree.tree.widths)]
    heavy = type(tree)(tree.tree, tree.A, tree.H, tree.M, more, tree.a, tree.b, tree.base)
    close(geared(heavy, train_gears).mass_matrix, X.T @ heavy.mass_matrix @ X, 1e-11)


def test_the_geared_bias(train):
    """𝓒_G = X* 𝓒: the motors' gyroscopic forces are in it (12.13)."""
    tree, _, X = train
    close(links(train).bias, tree.bias @ X, 1e-11)


def test_the_geared_generalized_force(train, rng):
    """T = μ T_m + T_l (12.12): inverse dynamics of the tree, put together by X*."""
    tree, _, X = train
    vdot = rng.standard_normal((2, X.shape[1]))
    close(links(train).inverse_dynamics(vdot), tree.inverse_dynamics(np.matvec(X, vdot)) @ X, 1e-11)


def test_geared_forward_dynamics_is_the_constrained_solve(train, rng):
    """θ̈ of the geared model is that of the tree with its gears as constraints: [𝓜 C*; C 0] (θ̈, λ) = (T − 𝓒, 0)."""
    tree, train_gears, X = train
    tau = rng.standard_normal((2, tree.nv))
    C = np.zeros((len(train_gears), tree.nv))
    for i, (k, (m, ratio)) in enumerate(train_gears.items()):
        C[i, tree.tree.rows[m]], C[i, tree.tree.rows[k]] = 1, -ratio
    zero = np.zeros((2, len(C), len(C)))
    KKT = np.block([[tree.mass_matrix, np.broadcast_to(C.T, (2, *C.T.shape))], [np.broadcast_to(C, (2, *C.shape)), zero]])
    right = np.concatenate([tau - tree.bias, np.zeros((2, len(C)))], -1)
    vdot = np.linalg.solve(KKT, right[..., None])[..., : tree.nv, 0]
    close(np.matvec(X, links(train).forward_dynamics(tau @ X)), vdot, 1e-9)


def test_decomposition_of_the_geared_operator(train):
    """Φ M Φ* = R + Φ~ R + R Φ~* (lemma 12.1)."""
    op = links(train).operators
    close(op("φ M φ*").dense(), op("R + φ~ R + R φ~*").dense(), 1e-11)


def test_the_composite_inertia_of_a_geared_node(train):
    """R_G = diag(M_m, R_l): a motor carries nothing, R_l is the composite inertia of the whole tree (exercise 12.1)."""
    (tree, train_gears, _), sko = train, links(train)
    for i, k in enumerate(kept(tree, train_gears)):
        close(sko.R[i][..., -6:, -6:], tree.R[k], 1e-11)
        if k in train_gears:
            close(sko.R[i][..., :6, :6], sko.M[i][..., :6, :6])
            close(sko.R[i][..., :6, 6:], 0)


def test_the_articulated_inertia_of_a_geared_node(train):
    """P_G = diag(M_m, P_l),  D = μ² H_m M_m H_m* + H_l P_l H_l* + armature (exercise 12.2)."""
    (tree, train_gears, _), sko = train, links(train)
    for k, (m, ratio) in train_gears.items():
        i = kept(tree, train_gears).index(k)
        M_m, P_l = tree.M[m], sko.P[i][..., 6:, 6:]
        close(sko.P[i][..., :6, :6], M_m)
        close(sko.P[i][..., :6, 6:], 0)
        armature = ratio**2 * tree.armature[m] + tree.armature[k]
        close(sko.D[i], ratio**2 * tree.H[m] @ M_m @ tree.H[m].mT + tree.H[k] @ P_l @ tree.H[k].mT + armature, 1e-11)


def test_the_geared_K(train):
    """K(p,k) = A(p,k) G(k) = (μ φ_m M_m H_m* + φ_l P_l H_l*) D⁻¹ on the link's part of p (exercise 12.2)."""
    (tree, train_gears, _), sko = train, links(train)
    for k, (m, ratio) in train_gears.items():
        i = kept(tree, train_gears).index(k)
        motor = ratio * tree.A[m] @ tree.M[m] @ tree.H[m].mT
        link = tree.A[k] @ sko.P[i][..., 6:, 6:] @ tree.H[k].mT
        close((sko.A[i] @ sko.G[i] @ sko.D[i])[..., -6:, :], motor + link, 1e-11)


def test_elastic_gears_are_the_tree_in_another_order(train, rng):
    """Motor and link each free: the same accelerations as the tree's, in twelve-entry nodes (12.1) to (12.4)."""
    tree, train_gears, _ = train
    elastic = with_elastic_gears(tree, train_gears)
    assert elastic.heights == (12, 12, 12, 6, 12, 6)
    rotors = {k: m for k, (m, _) in train_gears.items()}
    order = [j for k in kept(tree, train_gears) for j in ([rotors[k], k] if k in rotors else [k])]
    rows = np.concatenate([np.arange(tree.nv)[tree.tree.rows[j]] for j in order])
    close(elastic.mass_matrix, tree.mass_matrix[..., rows, :][..., rows], 1e-11)
    tau = rng.standard_normal((2, tree.nv))
    close(elastic.forward_dynamics(tau[..., rows]), tree.forward_dynamics(tau)[..., rows], 1e-10)


def test_stiff_gears_become_exact(train, rng):
    """Between free gears and exact ones lies a projection: X* makes the one from the other at every stiffness."""
    tree, _, X = train
    tau = rng.standard_normal((2, tree.nv))
    C = np.linalg.svd(X.T)[2][X.shape[1] :]  # rows that the gears keep at zero
    stiff = np.linalg.solve(tree.mass_matrix + 1e9 * C.T @ C, (tau - tree.bias)[..., None])[..., 0]
    close(stiff, np.matvec(X, links(train).forward_dynamics(tau @ X)), 1e-6)


# --- closed forms


def test_a_single_geared_link():
    """𝓜 = J_link + μ² J_motor."""
    arm = lw.Builder("one").body("link", joint=lw.Revolute(), mass=2.0, center=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
    arm.motor("link_joint", 20.0, mass=0.3, tensor=(1e-3, 1e-3, 2e-3))
    nodes = lower(arm.model())
    sko = geared(rigid(nodes, np.zeros(2)), gears(arm.model(), nodes))
    close(sko.mass_matrix, [[0.1 + 2.0 * 0.25 + 20.0**2 * 2e-3]])


def planar(motors):
    """Two parallel pins; motor 1 drives the second, standing on the first link at distance r from its axis."""
    arm = lw.Builder("two")
    link = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.1, 0.1, 0.1)}
    arm.body("upper", joint=lw.Revolute(), **link)
    arm.body("fore", "upper", (1, 0, 0), lw.Revolute(), **link)
    if motors:
        arm.motor("fore_joint", 60.0, at=(0.3, 0, 0), mass=0.4, tensor=(1e-4, 1e-4, 2e-4))
        arm.motor("upper_joint", 90.0, mass=0.5, tensor=(2e-4, 2e-4, 3e-4))
    return arm.model()


def test_a_planar_geared_arm():
    """Relative to the arm without motors, tip first: 𝓜₁₁ + μ₁² J₁, 𝓜₁₂ + μ₁ J₁, 𝓜₂₂ + J₁ + m₁ r² + μ₂² J₂ (L6180)."""
    model, theta = planar(motors=True), 0.7
    nodes = lower(model)
    q = np.zeros(4)
    q[[0, 1]] = 0.2, theta
    sko = geared(rigid(nodes, q), gears(model, nodes))
    bare = plain(planar(motors=False)).mass_matrix(np.array([0.2, theta]))
    more = [[2e-4 + 0.4 * 0.3**2 + 90.0**2 * 3e-4, 60 * 2e-4], [60 * 2e-4, 60.0**2 * 2e-4]]
    close(sko.mass_matrix, bare + more)


def panda_like():
    """Seven pins in turn about z and y, as a Panda, with a rotor's inertia at each joint."""
    arm = lw.Builder("panda-like")
    axes = [(0, 0, 1), (0, 1, 0)] * 3 + [(0, 0, 1)]
    for i, axis in enumerate(axes):
        joint = lw.Revolute(axis=axis, armature=0.5)
        arm.body(f"link{i}", f"link{i - 1}" if i else None, (0, 0, 0.2), joint, joint_name=f"joint{i}",
                 mass=2.0, center=(0.02, 0.03, 0.1), tensor=(0.02, 0.02, 0.01))  # fmt: skip
    return arm.model()


def test_rotors_of_ratio_100_shift_the_mass_matrix_by_the_closed_form(rng):
    """𝓜(exact) − 𝓜(armature) = Σ μ J_m (u_k · ω_p) + transpose: the rotor's pull on the body that carries it."""
    model = panda_like()
    robot, ratio, spin = plain(model), 100.0, 0.5 / 100.0**2
    whole = with_rotors(model, {f"joint{i}": ratio for i in range(7)})
    nodes = lower(whole)
    train = gears(whole, nodes)
    q = robot.random_state(seed=4)[0]
    found = rigid(nodes, velocities_of_all(rigid(nodes, np.zeros(14)), train) @ q)
    exact = geared(found, train).mass_matrix
    shift = np.zeros((7, 7))
    for k in range(1, 7):
        axis = np.asarray(model.joints[k].joint.axis)
        shift[k] += ratio * spin * axis @ robot.jacobian(q, f"link{k - 1}")[:3]
    close(exact - robot.mass_matrix(q), shift + shift.T, 1e-12)
    assert np.abs(shift).max() > 1e-3


def test_an_armature_without_ratio_is_left_alone():
    """with_rotors takes only the joints it is told of."""
    model = with_rotors(panda_like(), {"joint3": 50.0})
    assert [placed.name for placed in model.joints if placed.name.endswith("rotor_joint")] == ["joint3_rotor_joint"]
    assert model.joint("joint3").joint.armature == 0 and model.joint("joint4").joint.armature == 0.5


def test_a_rotor_too_large_for_its_carrier_is_refused():
    with pytest.raises(ModelError, match='the rotor of "joint3" cannot be part of its carrier'):
        with_rotors(panda_like(), {"joint3": 1.0})


def test_a_motor_for_an_unknown_joint_is_refused():
    with pytest.raises(ModelError, match=r'no joint "elbow" for a motor.*Did you mean "elbow_joint"'):
        lw.Builder("arm").body("elbow", joint=lw.Revolute(), mass=1.0).motor("elbow", 10.0)


def test_a_rotor_that_carries_something_is_refused(train):
    tree, *_ = train
    with pytest.raises(ModelError, match="cannot be the rotor of"):
        geared(tree, {4: (0, 3.0)})


# --- the view of a robot: robot.geared()


@pytest.fixture(scope="module")
def robot():
    return plain(gear_train())


def test_the_view_has_the_inertia_of_the_whole_tree(robot):
    """𝓜_G = X* 𝓜 X, its inverse, and v = X u."""
    links, (q, _) = robot.geared(), robot.random_state((3,), seed=1)
    u = np.random.default_rng(0).standard_normal((3, links.nu))
    X = links.velocity(np.eye(links.nu)).T
    M = X.T @ robot.mass_matrix(q) @ X
    close(links.mass_matrix(q), M, 1e-11)
    close(links.mass_matrix_inverse(q) @ M, np.eye(links.nu), 1e-8)
    close(links.velocity(u)[..., links.rows], u, 1e-15)
    assert links.ratios == {"hip_joint": 50.0, "knee_joint": -30.0, "slide_joint": 100.0, "hand_joint": 12.0}


def test_the_view_moves_as_the_robot_under_its_couplings_does(robot):
    """u̇ of Algorithm 12.4, that of the constrained robot with the forces of the motors; inverse and hybrid dynamics undo it."""
    links, (q, _) = robot.geared(), robot.random_state(seed=2)
    rng = np.random.default_rng(1)
    u, tau = rng.standard_normal((2, links.nu))
    q, v = robot.constraints.project(robot.assemble(q, hold=[x for x in robot.joints if "rotor" not in x]), links.velocity(u))
    close(v, links.velocity(u), 1e-9)
    udot = links.forward_dynamics(q, u, tau)
    close(robot.forward_dynamics(q, v, links.motor_forces(tau)), links.velocity(udot), 1e-7)
    close(links.inverse_dynamics(q, u, udot), tau, 1e-8)
    told = np.arange(links.nu) % 2
    close(links.hybrid_dynamics(q, u, np.where(told, udot, tau), told), np.where(told, tau, udot), 1e-7)


def test_the_view_refuses_what_is_no_gear(robot):
    with pytest.raises(ModelError, match="no gear"):
        plain(lw.load("four_bar")).geared()
    with pytest.raises(lw.ShapeError, match="without its rotors"):
        robot.geared().forward_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(3))
