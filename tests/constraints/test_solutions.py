"""Dense multipliers = augmented = projected = embedded = kernel, on the whole gallery."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints

from .dense_equations import kkt
from .gallery import MAKERS, assembled, differential, four_bar

every_mechanism = pytest.mark.parametrize("name", MAKERS)


def state(held, q, seed=0):
    rng = np.random.default_rng(seed)
    q, v = held.project(q, rng.standard_normal(held.nv))
    return q, v, rng.standard_normal(held.nv)


def close(a, b, tolerance=1e-9):
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


@every_mechanism
def test_every_solution_is_the_same(name):
    _, held, q = assembled(name)
    q, v, tau = state(held, q)
    vdot, lam = kkt(held.set, q, v, tau)
    for method in ("augmented", "projected", "embedded"):
        found = held.solution(q, v, tau, method=method)
        close(found.vdot, vdot)
        close(found.Jc.T @ found.lam, found.Jc.T @ lam)
        if found.rank == len(held):  # otherwise how rows that repeat each other share the load is a choice
            close(found.lam, lam)


@every_mechanism
def test_multipliers_balance_the_equations_of_motion(name):
    """𝓜 v̇ + 𝓒 = τ + G* λ and G v̇ + γ = 0."""
    robot, held, q = assembled(name)
    q, v, tau = state(held, q)
    found = held.solution(q, v, tau)
    close(robot.inverse_dynamics(q, v, found.vdot), tau + found.Jc.T @ found.lam)
    off, size = found.Jc @ found.vdot + held.bias(q, v), np.abs(found.Jc) @ np.abs(found.vdot)
    assert np.abs(off).max() <= 1e-9 * max(1.0, size.max())


@every_mechanism
def test_constraint_forces_do_no_work(name):
    _, held, q = assembled(name)
    q, v, tau = state(held, q)
    found = held.solution(q, v, tau)
    assert abs(v @ (found.Jc.T @ found.lam)) < 1e-9 * max(1.0, np.abs(found.lam).max())


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "bricard"])
def test_kernels_give_the_plain_answer(name):
    robot, held, q = assembled(name)
    fast = constraints.of(lw.Dynamics(robot.model))
    assert fast.picked == "embedded kernel" and held.picked == "augmented"
    states = [state(held, q, seed) for seed in range(5)]
    Q, V, T = (np.array(x) for x in zip(*states))
    close(fast.forward_dynamics(Q, V, T), held.forward_dynamics(Q, V, T))
    close(fast.forward_dynamics(*states[0]), held.forward_dynamics(*states[0]))


def test_kernels_take_another_choice_where_theirs_is_bad():
    """The crank chosen as independent at one configuration cannot be at the rocker's dead centre."""
    model = four_bar()
    fast, held = constraints.of(lw.Dynamics(model)), constraints.of(lw.Dynamics(model, compiled=False))
    q = held.assemble([1.0, -0.7, 1.1], hold=["crank_joint"])
    states, rng = [], np.random.default_rng(0)
    for _ in range(60):
        q, v = held.project(q, rng.standard_normal(3))
        states.append((q, v, rng.standard_normal(3)))
        q = held.assemble(held.robot.integrate(q, 0.1 * v / np.linalg.norm(v)))
    Q, V, T = (np.array(x) for x in zip(*states))
    close(fast.forward_dynamics(Q, V, T), held.forward_dynamics(Q, V, T), 1e-8)


def test_both_cuts_of_a_four_bar_agree():
    """Crank and coupler accelerate alike wherever the loop is cut; X of (15.14): book, section 5, example 3."""
    found = []
    for name in ("four_bar", "four_bar, other cut"):
        robot, held, q = assembled(name)
        crank = robot.v_index("crank_joint").start
        G = held.jacobian(q)
        rest = [i for i in range(3) if i != crank]
        X = np.linalg.lstsq(G[:, rest], -G[:, crank], rcond=1e-9)[0]
        tau = np.zeros(3)
        tau[crank] = 0.3
        v = np.zeros(3)
        v[crank], v[rest] = 2.0, 2.0 * X
        found.append((X[0], held.forward_dynamics(q, v, tau)[[crank, robot.v_index("coupler_joint").start]], X))
    close(found[0][1], found[1][1])
    np.testing.assert_allclose(found[1][2], [-1.2268162225282505, 0.4700193314125617], rtol=1e-12)


def test_a_parallelogram_has_constant_ratios():
    """X = [1, −1, 1], and the closed form of its mass."""
    robot = lw.Dynamics(four_bar(1.0, 2.0, 1.0, 2.0, cut="pin"), compiled=False)
    held = constraints.of(robot)
    for angle in (0.4, 1.3, 2.5):
        q = held.assemble([angle, -angle, angle], hold=["crank_joint"])
        v = held.project(q, [1.0, -1.0, 1.0])[1]
        np.testing.assert_allclose(v / v[0], [1, -1, 1], atol=1e-12)
        mass = 1.0 / 3 + 2.0 + 1.5 / 3  # crank and rocker about their feet, the coupler moved along
        torque = -9.81 * np.cos(angle) * (0.5 + 2.0 + 0.75)
        np.testing.assert_allclose(held.forward_dynamics(q, v, np.zeros(3))[0], torque / mass, rtol=1e-10)


def test_a_differential_shares_its_torque():
    robot = lw.Dynamics(differential(), compiled=False)
    held = constraints.of(robot, constraints.Linear("gears", {"left_joint": 1, "right_joint": 1, "cage_joint": -2}))
    tau = np.array([0.0, 0.0, 1.0])
    for method in ("augmented", "projected", "embedded"):
        vdot = held.forward_dynamics(np.zeros(3), np.zeros(3), tau, method=method)
        # 0.3 a = λ, 0.5 b = λ, 1.1 c = 1 − 2 λ, a + b = 2 c
        lam = (1 / 1.1) / ((1 / 0.3 + 1 / 0.5) / 2 + 2 / 1.1)
        np.testing.assert_allclose(vdot, [lam / 0.3, lam / 0.5, (1 - 2 * lam) / 1.1], rtol=1e-12)


def test_couplings_follow_their_polynomial():
    m = lw.Builder("cam", (0, 0, 0))
    m.body("cam", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    m.body("valve", joint=lw.Prismatic(), mass=2.0, tensor=(1, 1, 1))
    m.couple("valve_joint", "cam_joint", (0.1, 0.2, 0.3))
    held = constraints.of(lw.Dynamics(m.model(), compiled=False))
    x, w = 0.7, 1.3
    q, v = np.array([x, 0.1 + 0.2 * x + 0.3 * x**2]), np.array([w, (0.2 + 0.6 * x) * w])
    slope = 0.2 + 0.6 * x
    for method in ("augmented", "projected", "embedded"):
        vdot = held.forward_dynamics(q, v, np.array([1.0, 0.0]), method=method)
        expected = (1.0 - 2.0 * slope * 0.6 * w**2) / (1 + 2.0 * slope**2)
        np.testing.assert_allclose(vdot, [expected, slope * expected + 0.6 * w**2], rtol=1e-12)


def test_embedded_models_are_sko_models():
    """Mass matrix, inverse and forward dynamics of the SKO model in minimal velocities are those of X."""
    robot, held, q = assembled("two windows")
    q, v, tau = state(held, q)
    e = held.embedded(q, v)
    assert e.sko.nv == 1
    X = np.array([e.whole(np.ones(1))]).T
    close(e.sko.mass_matrix, X.T @ robot.mass_matrix(q) @ X)
    u = v[e.independent]
    close(e.whole(u), v)
    udot = e.sko.forward_dynamics(e.forces(tau))
    close(e.sko.inverse_dynamics(udot), e.forces(tau))
    close(e.whole(udot, rate=True), held.forward_dynamics(q, v, tau))


@pytest.mark.parametrize("groups", [[(0, 1), (2,), (3, 4)], [(0, 1, 2, 3, 4)], [(0,), (1,), (2,), (3,), (4,)]])
def test_aggregation_changes_nothing_but_the_nodes(groups):
    """Jain, Lemmas 14.7 to 14.9."""
    from linkwork.operators import rigid

    _, held, q = assembled("two windows")
    q, v, tau = state(held, q)
    sko = rigid(held.set.nodes, q, v)
    if len(groups) == 3:
        groups = [tuple(x) for x in ((0, 1), (2, 3), (4,))]
    whole = constraints.aggregated(sko, groups)
    order = whole.order
    close(whole.sko.mass_matrix, sko.mass_matrix[np.ix_(order, order)])
    close(whole.sko.bias, sko.bias[order])
    close(whole.sko.forward_dynamics(tau[order]), sko.forward_dynamics(tau)[order])


def test_nodes_on_two_carriers_cannot_become_one():
    from linkwork.operators import rigid

    _, held, q = assembled("four_bar")
    with pytest.raises(lw.ModelError, match="cannot become one"):
        constraints.aggregated(rigid(held.set.nodes, q), [(0, 2), (1,)])


def test_move_and_squeeze_are_a_force_and_its_shadow():
    _, held, q = assembled("four_bar")
    q, v, tau = state(held, q)
    move, squeeze = held.move_squeeze(q, tau)
    close(move + squeeze, tau)
    close(held.forward_dynamics(q, v, tau), held.forward_dynamics(q, v, move))
    close(held.move_squeeze(q, squeeze)[0], np.zeros(3))


def test_redundant_motors_share_by_least_norm():
    robot, held, q = assembled("four_bar")
    q, v, tau = state(held, q)
    vdot = held.forward_dynamics(q, v, tau)
    for motors in (["crank_joint"], ["crank_joint", "coupler_joint"], list(robot.joints)):
        made = held.motor_forces(q, v, vdot, motors)
        close(held.forward_dynamics(q, v, made), vdot)
    assert np.linalg.norm(made) <= np.linalg.norm(tau) + 1e-12


def test_wrenches_hold_every_body():
    """Newton for each body alone: what its joints and cuts carry, and gravity, make its momentum change."""
    robot, held, q = assembled("four_bar, other cut")
    q, v, tau = state(held, q)
    forces = held.constraint_forces(q, v, tau)
    close(robot.inverse_dynamics(q, v, forces.vdot), tau + forces.tau)
    rocker = forces.joints["rocker"]  # on the rocker, at its foot
    cut = forces.cuts["pin"]  # on the rocker, in its frame, at its tip
    J = robot.jacobian(q, "rocker", "body")
    turn = rocker[2] - tau[robot.v_index("rocker_joint")][0]
    assert abs(turn) < 1e-9  # a pin carries no moment beyond its motor's
    assert np.abs(cut[[3, 4]]).max() > 1e-3 and abs(cut[2]) < 1e-12 and J.shape == (6, 3)


def test_an_external_wrench_is_felt():
    robot, held, q = assembled("four_bar")
    q, v, tau = state(held, q)
    push = np.zeros((3, 6))
    push[2] = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
    answers = [held.forward_dynamics(q, v, tau, push, method=m) for m in ("augmented", "projected", "embedded")]
    close(answers[0], answers[1])
    close(answers[0], answers[2])
    close(answers[0], held.forward_dynamics(q, v, tau + robot.jacobian(q, "rocker").T @ push[2]))


def test_a_row_that_a_rounded_file_makes_binds_nothing():
    """The SDF of Cassie writes π/2 as 1.5708: rows that forbid what cannot happen are 1e-12 there, not zero."""
    _, held, q = assembled("cassie, SDF")
    report = held.report(q)
    assert (report.rows, report.rank, report.mobility) == (12, 10, 18)
    assert np.abs(held.solution(*state(held, q)).lam).max() < 1e4


def shrunk(model, length, mass):
    """The same mechanism in other units: gravity too is as many times smaller."""
    less = lambda pose: replace(pose, translation=tuple(length * np.array(pose.translation)))
    light = lambda x: {"mass": mass * x.mass, "center": length * np.array(x.center), "tensor": mass * length**2 * np.array(x.tensor)}
    bodies = [replace(x, **light(x)) for x in model.bodies]
    joints, loops = ([replace(x, at=less(x.at), on=less(x.on)) for x in parts] for parts in (model.joints, model.loops))
    return replace(model, bodies=tuple(bodies), joints=tuple(joints), loops=tuple(loops), gravity=tuple(length * np.array(model.gravity)))


@pytest.mark.parametrize(("length", "mass"), [(1e-10, 1e-26), (1e4, 1e9)])
@pytest.mark.parametrize("name", ["slider_crank", "bricard", "dual_arm"])
def test_molecules_and_ships_move_alike(name, length, mass):
    """Lengths in v̇ are as many times smaller as those of the mechanism, angles are the same."""
    robot, held, q = assembled(name)
    q, v, _ = state(held, q)
    unit = np.where(np.arange(robot.nv) == 2, length, 1.0) if name == "slider_crank" else 1.0
    other = constraints.of(lw.Dynamics(shrunk(robot.model, length, mass), compiled=False))
    vdot = held.forward_dynamics(q, v, np.zeros(robot.nv))
    for method in ("augmented", "projected", "embedded"):
        close(other.forward_dynamics(unit * q, unit * v, np.zeros(robot.nv), method=method) / unit, vdot)
    assert other.report(unit * q).rank == held.report(q).rank


@every_mechanism
def test_half_a_sweep_gives_the_dense_compliance_of_constraints(name):
    """W* W = Jc 𝓜⁻¹ Jc* (11.20), (11.21)."""
    from linkwork.constraints.solution.augmented import square_root
    from linkwork.operators.rigid import rigid

    robot, held, q = assembled(name)
    Jc = held.jacobian(q)
    W, dense = square_root(rigid(held.set.system, q), Jc), Jc @ robot.mass_matrix_inverse(q) @ Jc.T
    np.testing.assert_allclose(W @ W.T, dense, atol=1e-9 * np.abs(dense).max())
