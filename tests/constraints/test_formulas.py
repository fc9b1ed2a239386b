"""Quantities under constraints as one formula, in which each sample chooses its dependent velocities."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints.choice.pivoting import Pivoted
from linkwork.engine.loading import interpreter
from linkwork.model.mechanisms.linkages import four_bar

rng = np.random.default_rng(0)


# --- elimination


@pytest.mark.parametrize("m, rank, n", [(1, 1, 1), (2, 2, 3), (3, 3, 3), (5, 2, 3), (6, 4, 7), (3, 0, 2)])
def test_pivots_of_each_sample_solve_its_rows(m, rank, n):
    """W Y = 0,   W y = b"""
    W = rng.standard_normal((50, m, rank)) @ rng.standard_normal((50, rank, n))
    x = rng.standard_normal((50, n, 2))
    solver, some = Pivoted(W, rank), np.zeros((50, 1))
    Y = solver.motions(some)
    assert Y.shape == (50, n, n - rank)
    np.testing.assert_allclose(W @ Y, 0.0, atol=1e-11)
    assert (np.linalg.matrix_rank(Y) == n - rank).all()
    if rank:
        y = solver.particular(W @ x)
        np.testing.assert_allclose(W @ y, W @ x, atol=1e-10)
        assert (np.sum(np.abs(y[..., 0]) > 0, -1) <= rank).all()
    assert all((p > 0).all() for p in solver.pivots)


def test_samples_choose_differently():
    W = np.array([[[1.0, 0.1, 0.1]], [[0.1, 1.0, 0.1]], [[0.1, 0.1, 1.0]]])
    y = Pivoted(W, 1).particular(np.ones((3, 1, 1)))
    np.testing.assert_array_equal(y[..., 0], np.eye(3))


# --- mechanisms of other lengths in one kernel


def linkages(count):
    """Four-bars of random lengths, each in a state of its own, and accelerations in plain NumPy."""
    lengths = {"crank": (0.08, 0.12), "coupler": (0.22, 0.28), "rocker": (0.22, 0.28), "ground": (0.18, 0.22)}
    models = [four_bar(**{name: rng.uniform(*x) for name, x in lengths.items()}) for _ in range(count)]
    robots = [lw.Dynamics(model, compiled=False) for model in models]
    q, v = map(np.array, zip(*(robot.constraints.random_state(seed=i) for i, robot in enumerate(robots))))
    tau = rng.standard_normal(v.shape)
    return robots, q, v, tau, np.array([robot.forward_dynamics(*x) for robot, *x in zip(robots, q, v, tau)])


LENGTHS = "at", "loop_at", "loop_on", "mass", "center", "tensor"


def own_values(robots, names):
    own = [robot.varying(*names).own for robot in robots]
    return {name: np.array([x[name] for x in own]) for name in names}


def test_linkages_of_other_lengths_are_samples_of_one_kernel():
    robots, q, v, tau, expected = linkages(8)
    one = lw.Dynamics(lw.load("four_bar")).varying(*LENGTHS)
    values = own_values(robots, LENGTHS)
    np.testing.assert_allclose(one.forward_dynamics(q, v, tau, **values), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    single = {name: x.astype(np.float32) for name, x in values.items()}
    found = one.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)), **single)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_where_there_is_no_answer_it_is_no_number():
    """Loops that are open, and a configuration in which a parallelogram may fold."""
    robots, q, v, tau, expected = linkages(3)
    one = lw.Dynamics(lw.load("four_bar")).varying(*LENGTHS)
    values = own_values(robots, LENGTHS)
    values["loop_on"][1, 0] += 0.1
    found = one.forward_dynamics(q, v, tau, **values)
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[[0, 2]], expected[[0, 2]], atol=1e-9 * np.abs(expected).max())

    b = lw.Builder("parallelogram", gravity=(0, -9.81, 0))
    bar = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.01, 0.1, 0.1)}
    b.body("one", joint=lw.Revolute(), **bar)
    b.body("two", "one", (1, 0, 0), lw.Revolute(), **bar)
    b.body("three", None, (2, 0, 0), lw.Revolute(), **bar)
    b.loop("pin", "two", "three", lw.Revolute(), at=(2, 0, 0), on=(1, 0, 0))
    folded = lw.Dynamics(b.model())
    flat, open_ = np.zeros(3), folded.assemble(np.array([0.7, -0.7, 0.7]))
    found = folded.as_kernel("forward_dynamics")(np.array([flat, open_, np.full(3, np.nan)]), np.zeros(3), np.ones(3))
    assert np.isnan(found[0]).all() and np.isnan(found[2]).all() and np.isfinite(found[1]).all()
    assert np.isfinite(folded.forward_dynamics(flat, np.zeros(3), np.ones(3))).all()  # by singular values, in NumPy


def rods() -> lw.Builder:
    b = lw.Builder("rods", gravity=(0, 0, -9.81))
    for i in range(2):
        b.body(f"rod{i}", None, (0, 0.5 * i, 0), lw.Revolute(axis=(1, 0.2 * i, 0)), mass=1.0, center=(0, 0, -0.5), tensor=(0.1, 0.1, 0.1))
    b.body("wheel", None, (0, 1, 0), lw.Revolute(axis=(1, 0, 0)), mass=1.0, tensor=(0.1, 0.1, 0.1))
    return b


def test_rods_and_gears_vary_as_if_built_so():
    def built(length, coefficients):
        model = rods().distance("tie", "rod0", "rod1", length, at=(0, 0, -1), on=(0, 0, -1)).model()
        return lw.Dynamics(replace(model, couplings=(lw.Coupling("gear", "wheel_joint", "rod0_joint", coefficients),)), compiled=False)

    parts = [(0.55, (0.1, 2.0, 0.3)), (0.6, (0.0, -1.0, 0.0)), (0.52, (0.3, 5.0, 1.0))]
    robots = [built(*x) for x in parts]
    q, v = map(np.array, zip(*(robot.constraints.random_state(seed=i) for i, robot in enumerate(robots))))
    tau = rng.standard_normal(v.shape)
    expected = np.array([robot.forward_dynamics(*x) for robot, *x in zip(robots, q, v, tau)])
    values = {"distance": np.array([[x] for x, _ in parts]), "coupling": np.array([[x] for _, x in parts])}
    found = robots[0].varying("distance", "coupling").forward_dynamics(q, v, tau, **values)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(lw.LinkworkError, match="has no loops"):
        robots[0].varying("loop_at")


def test_springs_between_points_vary_as_if_built_so():
    """Under a loop, in forces and in a rollout."""

    def built(stiffness, length, damping):
        spring = lw.Spring("line", None, "coupler", (0.1, 0.3, 0), (0.1, 0, 0), stiffness=stiffness, length=length, damping=damping)
        return lw.Dynamics(lw.load("four_bar").with_forces(lw.Push("jet", "crank", force=(1.0, 0, 0)), spring))

    parts = [(70.0, 0.1, 0.5), (20.0, 0.3, 0.0), (0.0, 0.2, 2.0)]
    robots = [built(*x) for x in parts]
    q, v = map(np.array, zip(*(robots[0].constraints.random_state(seed=i) for i in range(3))))
    names = "spring_stiffness", "spring_length", "spring_damping"
    given = {name: np.array([[x[i]] for x in parts]) for i, name in enumerate(names)}
    free = robots[1].varying(*names)
    expected = [robot.passive_force(*x) for robot, *x in zip(robots, q, v)]
    np.testing.assert_allclose(free.passive_force(q, v, **given), expected, atol=1e-12)
    each = [lw.rollout(robot, *x, dt=0.01, steps=5).q for robot, *x in zip(robots, q, v)]
    np.testing.assert_allclose(lw.rollout(free, q, v, dt=0.01, steps=5, given=given).q, each, atol=1e-10)


# --- drives


def driven(**rates) -> lw.Dynamics:
    b = rods()
    model = replace(b.model(), constraints=(constraints.Driven("crank", "rod0_joint", lambda t: 0.3 * np.sin(2 * t), **rates),))
    return lw.Dynamics(model)


def test_time_may_be_an_argument_of_a_kernel():
    robot = driven()
    times = np.array([0.1, 0.4, 0.9])
    states = [robot.constraints.project(robot.assemble(robot.neutral(), t=t), rng.standard_normal(3), t=t) for t in times]
    q, v = map(np.array, zip(*states))
    tau = rng.standard_normal(v.shape)
    expected = np.array([robot.forward_dynamics(*x, t=t) for *x, t in zip(q, v, tau, times)])

    @robot.kernel(t=())
    def asked(q, v, tau, t):
        return robot.forward_dynamics(q, v, tau, t=t)

    np.testing.assert_allclose(asked(q, v, tau, times), expected, atol=1e-9)
    drive = np.array([robot.constraints.driven(t) for t in times])
    np.testing.assert_allclose(robot.varying("mass").forward_dynamics(q, v, tau, drive=drive), expected, atol=1e-9)
    np.testing.assert_allclose(robot.varying("mass").forward_dynamics(q[1], v[1], tau[1], t=0.4), expected[1], atol=1e-9)
    with pytest.raises(lw.LinkworkError, match="say when"):
        robot.varying("mass").forward_dynamics(q, v, tau)


def test_a_drive_that_only_gives_numbers_says_so():
    import math

    robot = lw.Dynamics(replace(rods().model(), constraints=(constraints.Driven("crank", "rod0_joint", lambda t: math.sin(t)),)))
    with pytest.raises(lw.LinkworkError, match=r'drive "crank".*give t a number'):
        robot.kernel(lambda q, v, t: robot.forward_dynamics(q, v, v, t=t), t=())(np.zeros(3), np.zeros(3), np.zeros(()))
    robot.kernel(lambda q, v: robot.forward_dynamics(q, v, v, t=0.2))(np.array([math.sin(0.2), 0, 0]), np.array([math.cos(0.2), 0, 0]))


# --- other roads


@pytest.mark.parametrize("name", ["slider_crank", "strandbeest", "rolling_disk", "snakeboard", "differential"])
def test_a_program_is_the_plain_result(name):
    robot = lw.Dynamics(lw.load(name), compiled=False)
    q, v = map(np.array, zip(*(robot.constraints.random_state(seed=i, reach=0.3) for i in range(3))))
    tau = rng.standard_normal(v.shape)
    found = interpreter.run(robot.program("forward_dynamics"), {"q": q, "v": v, "tau": tau})[0]
    expected = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_a_kernel_of_the_user_may_hold_them():
    robot = lw.Dynamics(lw.load("four_bar"))
    q, v = robot.constraints.random_state(seed=2)

    @robot.kernel
    def power(q, v, tau):
        return v @ robot.mass_matrix(q) @ robot.forward_dynamics(q, v, tau)

    expected = v @ robot.mass_matrix(q) @ robot.forward_dynamics(q, v, 0.3 * v)
    np.testing.assert_allclose(power(q, v, 0.3 * v), expected, rtol=1e-9)
