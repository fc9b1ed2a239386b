"""Mechanisms past the size of straight-line kernels: every quantity by kernels that loop over the joints."""

import numpy as np
import pytest
from roads import FREE, results, touching, what

import linkwork as lw
from linkwork.errors import PlainWarning
from linkwork.quantities import QUANTITIES
from linkwork.quantities.options import task as places_of

SPRINGS = (
    lw.Spring("line", None, "link3", (0.1, 0.2, 0.3), (0.1, 0, 0.2), stiffness=7.0, length=0.4, damping=0.3),
    lw.Spring("rubber", "link1", "link4", (0, 0, 0.1), (0.2, 0, 0), stiffness=5.0, damping=0.2),
    lw.Push("jet", "link2", at=(0.1, 0, 0), force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3)),
)


def arrays(robot, declared, rng):
    """Random inputs of a quantity, three samples."""
    q, sizes = robot.random_state((3,), seed=1)[0], {"external": (len(robot.bodies), 6), "momentum": (6,)}
    made = {name: rng.standard_normal((3, *sizes.get(name, (robot.nv,)))) for name in declared.inputs}
    return [q if name[0] == "q" else (x > 0).astype(float) if name == "prescribed" else x for name, x in made.items()]


@pytest.mark.filterwarnings("error::linkwork.errors.PlainWarning")
@pytest.mark.parametrize("name", QUANTITIES)
def test_every_quantity_of_a_long_mechanism_is_that_of_the_plain_sweep(name, rng):
    """rolled kernels, and what is composed of them, against plain NumPy, springs between points included"""
    model = lw.load("satellite:3") if QUANTITIES[name].options in FREE else lw.load("chain:5").with_forces(*SPRINGS)
    model = touching(model)
    plain, rolled = lw.Dynamics(model, compiled=False), lw.Dynamics(model, rolled=True)
    given = arrays(plain, QUANTITIES[name], rng)
    found, expected = (robot.ask(what(name, model), *given) for robot in (rolled, plain))
    for one, other in zip(found, expected) if QUANTITIES[name].several else [(found, expected)]:
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", [name for name, x in QUANTITIES.items() if x.options is places_of])
def test_tasks_in_world_axes_too(name, rng):
    model = lw.load("chain:4")
    plain, rolled = lw.Dynamics(model, compiled=False), lw.Dynamics(model, rolled=True)
    given, what = arrays(plain, QUANTITIES[name], rng), (name, ("link4", (0.1, 0.2, 0.3), "world"), ("link2", None, "world"))
    found, expected = (results(name, robot.ask(what, *given)) for robot in (rolled, plain))
    if name == "task_inertia":  # more directions than joints: only the measure of that means something
        found, expected = found[1:], expected[1:]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_a_jacobian_in_world_axes_and_poses_of_bodies_on_the_world():
    model = lw.load("chain:3").with_model(None, lw.load("chain:1"), prefix="other_")
    plain, rolled = lw.Dynamics(model, compiled=False), lw.Dynamics(model, rolled=True)
    q, _ = plain.random_state(seed=0)
    np.testing.assert_allclose(rolled.jacobian(q, "link3", "world"), plain.jacobian(q, "link3", "world"), atol=1e-14)
    np.testing.assert_allclose(rolled.poses(q), plain.poses(q), atol=1e-14)


def test_who_asks_for_what_cannot_be_rolled_is_told():
    model = lw.load("chain:3")
    robot = lw.Dynamics(model, rolled=True, system=_Same())
    q, _ = robot.random_state(seed=0)
    with pytest.warns(PlainWarning, match="mass_matrix runs in plain NumPy"):
        robot.mass_matrix(q)


class _Same(lw.systems.Producer):
    def blocks(self, nodes, s, q):
        return s


@pytest.mark.parametrize("compiled", [True, False])
def test_directions_that_cannot_move_are_left_out_of_a_task_inertia(compiled):
    """of a planar arm: no turn but about one axis, no way along it"""
    robot = lw.Dynamics(lw.load("planar_2r"), compiled=compiled)
    inertia, independence = robot.task_inertia(np.ones(2), "link2")
    still = np.diag(robot.task_compliance(np.ones(2), "link2")) == 0
    assert still.sum() == 3 and np.isfinite(inertia).all() and not inertia[still].any() and abs(independence) < 1e-12
    assert robot.task_inertia(np.ones(2), ("link2", (0.3, 0, 0)))[1].shape == ()


def test_loops_of_a_long_mechanism_say_that_they_run_in_numpy():
    robot = lw.Dynamics(lw.load("four_bar"), rolled=True)
    with pytest.warns(PlainWarning, match="four_bar has 3 velocities and constraints"):
        robot.task_compliance(robot.assemble(robot.neutral()), "rocker")


def beside(count: int) -> lw.Model:
    """Arms of five joints on one carriage."""
    b = lw.Builder(f"beside:{count}", gravity=(0, 0, -9.81))
    bar = {"mass": 1.0, "center": (0.1, 0.02, 0), "tensor": (0.01, 0.02, 0.02)}
    b.body("carriage", joint=lw.Prismatic(axis=(1, 0, 0)), **bar)
    for i in range(count):
        for k in range(5):
            axis = (0, 1, 0) if k % 2 else (0, 0.1 * i, 1)
            b.body(f"arm{i}_{k}", f"arm{i}_{k - 1}" if k else "carriage", (0.2, 0.1 * i, 0), lw.Revolute(axis=axis), **bar)
    return b.model()


@pytest.mark.slow
def test_matrices_of_wide_mechanisms_are_straight_line_code_and_those_of_long_ones_loops():
    """The border is in entries that are not zero, not in velocities."""
    wide, long_ = lw.Dynamics(beside(18)), lw.Dynamics(lw.load("chain:120"))
    names = "mass_matrix", "mass_matrix_inverse", "inverse_dynamics_derivatives", "forward_dynamics", "forward_dynamics_derivatives"
    robots = wide, long_, lw.Dynamics(lw.load("chain:300"))
    straight = [[x for x in names if QUANTITIES[x].is_straight(robot.lowered)] for robot in robots]
    assert straight == [list(names[:4]), ["forward_dynamics"], []]
    assert all(QUANTITIES[x].is_straight(lw.Dynamics(lw.load("chain:80")).lowered) for x in names[:4])  # derivatives of v̇: below sixty
    q, v = wide.random_state((2,), seed=0)
    plain = lw.Dynamics(wide.model, compiled=False)
    np.testing.assert_allclose(wide.mass_matrix(q), plain.mass_matrix(q), atol=1e-11)
    np.testing.assert_allclose(wide.coriolis_matrix(q, v), plain.coriolis_matrix(q, v), atol=1e-10)
    np.testing.assert_allclose(wide.mass_matrix_inverse(q) @ wide.mass_matrix(q) - np.eye(wide.nv), 0, atol=1e-9)


@pytest.mark.slow
def test_derivatives_of_a_chain_of_sixty_are_no_straight_line_code():
    """As straight-line code they have more operations than are compiled: ∂v̇/∂τ = 𝓜⁻¹ comes from loops over the joints."""
    robot = lw.Dynamics(lw.load("chain:60"))
    q, v = robot.random_state(seed=0)
    _, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, np.zeros(60))
    along = [robot.forward_dynamics(q, v + sign * 1e-5 * v, np.zeros(60)) for sign in (1, -1)]
    np.testing.assert_allclose(by_v @ v, (along[0] - along[1]) / 2e-5, rtol=1e-4, atol=1e-4 * np.abs(along).max())
    np.testing.assert_allclose(by_tau @ robot.mass_matrix(q), np.eye(60), atol=1e-6)
