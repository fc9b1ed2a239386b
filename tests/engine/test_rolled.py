"""Rolled kernels: loops over classes of joints, from the same sweeps, for trees of any size."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pairwise import pairwise
from real_robots import TIMED, model, states
from zoo import CALLS, INVERTS, MECHANISMS, close, each, every_call, grown, plain, state, trees
from zoo.mechanisms import JOINTS

import linkwork as lw
from linkwork.engine.loading import compiler
from linkwork.quantities import QUANTITIES

ROLLED = {name: lw.Dynamics(m, rolled=True) for name, m in MECHANISMS.items()}
CELLS = [x for x in product(MECHANISMS, CALLS, (np.float64, np.float32)) if x[0] != "massless" or x[2] is np.float64]  # its ratios are 1e6
BY_LOOPS = [name for name in CALLS if QUANTITIES[name.split()[0]].rolls]


def agree(rolled, name, s, tolerance=1e-12):
    """|rolled − sweep| ≤ tolerance max |sweep|, times the condition of the mass matrix where that is inverted."""
    sweep = plain(rolled.model)
    result, expected = (CALLS[name](robot, s) for robot in (rolled, sweep))
    condition = np.linalg.cond(sweep.mass_matrix(s.q)).max() if name in INVERTS and sweep.nv else 1.0
    assert result.shape == expected.shape and result.dtype == expected.dtype
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    assert np.abs(result - expected).max(initial=0.0) <= tolerance * condition * scale, name


@pytest.mark.parametrize("mechanism", ["compound", "welded"])
@every_call
def test_a_rolled_kernel_is_its_sweep(mechanism, name):
    """Massless parts of a joint, branches, welded bodies; all methods, with wrenches too."""
    robot = ROLLED[mechanism]
    agree(robot, name, state(robot, (5,)))
    agree(robot, name, state(robot))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism, name, kind", pairwise(CELLS))
def test_every_rolled_kernel_is_its_sweep(mechanism, name, kind):
    robot = ROLLED[mechanism]
    agree(robot, name, each(state(robot, (2, 3)), kind), 1e-12 if kind is np.float64 else 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("call", CALLS)
def test_every_rolled_robot_is_its_sweep(name, call):
    agree(lw.Dynamics(model(name), rolled=True), call, states(plain(model(name)), np.random.default_rng(0)))


def test_a_term_that_rounds_less_than_an_equal_one_has_its_own_sum_over_children():
    """Panda's hand adds up the same function of its children in two forms; each sum is that of its own term."""
    robot = lw.Dynamics(model("panda"), rolled=True)
    agree(robot, "forward_dynamics", state(robot))


@pytest.mark.parametrize("name", [x for x in BY_LOOPS if x in INVERTS])
def test_rolled_kernels_of_parallel_joints_are_their_sweeps(name):
    """Two joints about x: sums over children of terms that are equal, and are not computed alike."""
    arm = lw.Builder("parallel").body("a", None, (0.3, 0, 0), lw.Revolute(axis=(1, 0, 0)), mass=1.0, center=(0.1, 0.2, 0))
    arm.body("b", "a", (0.3, 0.1, 0), lw.Revolute(axis=(1, 0, 0)), mass=1.0, center=(0.1, 0.2, 0.3), tensor=np.diag([0.1, 0.12, 0.13]))
    robot = lw.Dynamics(arm.model(), rolled=True)
    agree(robot, name, state(robot))


def on_a_tree(drawn, seed, names):
    robot = lw.Dynamics(drawn, rolled=True)
    s = state(robot, (3,), seed)
    for name in names:
        agree(robot, name, s, 1e-11)  # wide ranges of masses


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(drawn=trees(max_bodies=6), seed=st.integers(0, 2**16))
def test_rolled_kernels_of_any_tree_are_their_sweeps(drawn, seed):
    on_a_tree(drawn, seed, ["forward_dynamics pushed", "mass_matrix"])


@pytest.mark.slow
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(drawn=trees(max_bodies=20), seed=st.integers(0, 2**16))
def test_rolled_kernels_of_more_trees_are_their_sweeps(drawn, seed):
    on_a_tree(drawn, seed, BY_LOOPS)


# --- size

CHAINS = {n: lw.load(f"chain:{n}") for n in (100, 200, 1000)}


@pytest.mark.parametrize("name", ["forward_dynamics", "mass_matrix", "kinetic_energy"])
def test_a_long_chain_is_rolled_unasked_and_right(name):
    robot = lw.Dynamics(CHAINS[200])
    assert robot.rolled and not lw.Dynamics(MECHANISMS["chain"]).rolled
    s = each(state(robot, (3,)), lambda x: 0.1 * x)
    agree(robot, name, s)


def text(n, name):
    """The code of a chain's kernel, its numbers left out."""
    product = QUANTITIES[name].product
    bound = lw.Dynamics(CHAINS[n]).quantity(product[0].name if product else name)
    return re.sub(r"\d+", "0", compiler.module_text(bound.rolled_kernel().program, "double"))


@pytest.mark.parametrize("name", ["forward_dynamics", "mass_matrix"])
def test_the_code_does_not_grow_with_the_number_of_bodies(name):
    """Five times the links: the same text, but for the sizes in it."""
    assert text(200, name) == text(1000, name)


def test_memory_grows_with_the_number_of_bodies_and_no_faster():
    """Numbers kept for each group: the same for any length."""
    records = []
    for n in 100, 1000:
        program = lw.Dynamics(CHAINS[n]).quantity("forward_dynamics").rolled_kernel().program
        assert program.workspace == program.record * (n + 1)
        records.append(program.record)
    assert records[0] == records[1]


def test_joints_of_one_type_are_one_class_whatever_their_numbers():
    """Dense tables, not patterns of zeros: a class for each type of joint and of placement, which differ at the ends."""
    plan = [(None, JOINTS["revolute"]), *((i, JOINTS["prismatic" if i % 2 else "revolute"]) for i in range(39))]
    groups = lw.Dynamics(grown("many", plan)).lowered.nodes.moving
    assert len(groups.members) == 40 and len(set(groups.classes[2:-1])) == 2 and len(set(groups.classes)) <= 5


# --- asking for it


def test_joints_of_one_class_whose_places_both_turn_and_move():
    """The fixed part of a screw's place is one step: it may turn about the axis and move at once, differently in each joint."""
    joint = lw.Compound(row=(lw.Revolute(axis=(0.36, 0.48, -0.8)), lw.Helical(axis=(1, 0, 0), pitch=-0.2)))
    model = grown("screws", [(None, joint), (0, joint)], seed=11)
    robot, rolled = plain(model), lw.Dynamics(model, rolled=True)
    q, _ = robot.random_state(seed=0)
    close(rolled.poses(q), robot.poses(q))
    close(rolled.mass_matrix(q), robot.mass_matrix(q))


def test_rolled_or_straight_can_be_asked_for():
    s = state(ROLLED["chain"], (4,))
    straight, rolled = (lw.Dynamics(MECHANISMS["chain"], rolled=x) for x in (False, True))
    a, b = (robot.inverse_dynamics(s.q, s.v, s.vdot) for robot in (straight, rolled))
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert sum(rolled.quantity("bias").rolled_kernel().program.operations.values()) > 0


@pytest.mark.parametrize("kind", [int, np.float32, np.float64])
def test_wrenches_of_any_kind_of_number_are_felt(kind):
    """Whole numbers too; float32 beside float64 loses nothing but its own digits."""
    robot = ROLLED["welded"]
    s = state(robot)
    external = np.arange(s.external.size).reshape(s.external.shape).astype(kind)
    result = robot.forward_dynamics(s.q, s.v, s.tau, external)
    np.testing.assert_array_equal(result, robot.forward_dynamics(s.q, s.v, s.tau, external.astype(float)))
    np.testing.assert_allclose(result, plain(robot.model).forward_dynamics(s.q, s.v, s.tau, external), rtol=1e-9)


@pytest.mark.parametrize("shape", [(6,), (3, 6), (9, 6), (8, 5), (8,), ()])
def test_wrenches_that_do_not_fit_are_named(shape):
    robot = ROLLED["welded"]
    s = state(robot)
    robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    with pytest.raises(lw.ShapeError, match="external has shape"):
        robot.forward_dynamics(s.q, s.v, s.tau, np.zeros(shape))


# --- very long


@pytest.mark.slow
def test_ten_thousand_links_are_their_sweep():
    """ID as the plain run; ID(FD(τ)) = τ, though the mass matrix has a condition beyond all digits."""
    robot = lw.Dynamics(lw.load("chain:10000"))
    s = each(state(robot), lambda x: 0.01 * x)
    tau = robot.inverse_dynamics(s.q, s.v, s.vdot)
    expected = plain(robot.model).inverse_dynamics(s.q, s.v, s.vdot)
    again = robot.inverse_dynamics(s.q, s.v, robot.forward_dynamics(s.q, s.v, tau))
    for result in expected, again:
        np.testing.assert_allclose(result, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
