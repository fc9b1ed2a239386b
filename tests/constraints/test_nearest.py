"""The state that `project` gives: one, whatever the road, and nearest in the metric of the mass matrix."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

from . import gallery

NAMES = ["slider_crank", "peaucellier", "spatial_slider_crank", "scott_russell", "dual_arm"]


def perturbed(name, count, size):
    """A robot, plain, and states beside its constraints."""
    robot, held, q = gallery.assembled(name)
    rng = np.random.default_rng(0)
    beside = robot.integrate(q, size * held.set.yielding * rng.uniform(-1, 1, (count, robot.nv)))
    return robot, beside, rng.standard_normal((count, robot.nv))


@pytest.mark.parametrize("name", NAMES)
def test_a_state_has_one_projection_on_every_road(name):
    """Plain, compiled, one by one and in a batch, to 1e-10, also from states that are a few degrees off."""
    robot, q, v = perturbed(name, 4, 0.03)
    plain, fast = robot.constraints.project(q, v), lw.Dynamics(robot.model).constraints
    ones = [fast.project(*x) for x in zip(q, v)]
    for way in (fast.project(q, v), tuple(map(np.array, zip(*ones)))):
        for x, y in zip(way, plain):
            assert np.abs(x - y).max() < 1e-10 * (1 + np.abs(y).max())


@pytest.mark.parametrize("name", NAMES)
def test_models_that_vary_have_the_same_projection(name):
    """Also where there are more rows than their rank."""
    robot, q, v = perturbed(name, 3, 0.03)
    varied = lw.Dynamics(robot.model).varying("mass").project(q, v, mass=np.array([x.mass for x in robot.model.bodies]))
    for x, y in zip(varied, robot.constraints.project(q, v)):
        assert np.abs(x - y).max() < 1e-10 * (1 + np.abs(y).max())


def test_loops_over_joints_have_the_same_projection():
    """A row of windows, rolled and plain."""
    model = gallery.n_four_bar(3)
    robot, rolled = lw.Dynamics(model, compiled=False), lw.Dynamics(model, rolled=True)
    q = robot.assemble(np.where(np.arange(robot.nv) % 2 == 0, 1.2, -1.2))
    q = robot.integrate(q, 0.02 * np.random.default_rng(0).uniform(-1, 1, robot.nv))
    for x, y in zip(rolled.constraints.project(q, np.ones(robot.nv)), robot.constraints.project(q, np.ones(robot.nv))):
        assert np.abs(x - y).max() < 1e-10


@pytest.mark.parametrize("name", NAMES)
def test_the_way_back_from_a_projection_is_made_by_forces_of_constraints_alone(name):
    """𝓜(q) log(q⁻¹ ∘ q₀) = Jc* λ and 𝓜(q) (v₀ − v) = Jc* μ."""
    robot, (q0,), (v0,) = perturbed(name, 1, 0.02)
    q, v = robot.constraints.project(q0, v0)
    M, Jc = robot.mass_matrix(q), robot.constraints.jacobian(q)
    for force in (M @ robot.difference(q, q0), M @ (v0 - v)):
        left = force - Jc.T @ np.linalg.lstsq(Jc.T, force, rcond=1e-9)[0]
        assert np.abs(left).max() < 1e-9 * np.abs(force).max()


def tied():
    """A free body in a plane, with an arm on it, and two rods."""
    b = lw.Builder("tied").body("a", joint=lw.Free(), **solids.box(1.0, (0.1, 0.2, 0.3)))
    b.body("b", "a", (1, 0, 0), lw.Universal(), **solids.rod(1.0, (1, 0, 0)))
    b.distance("short", None, "a", 1.0, on=(0.1, 0, 0)).distance("long", None, "b", 1.5, at=(1, 1, 0), on=(1, 0, 0))
    return lw.Dynamics(b.loop("plane", None, "a", lw.Planar(), at=(0, 0, 0.2)).model(), compiled=False)


def test_from_far_away_the_nearest_state_is_on_the_constraints_too():
    """0.2 and 0.3 rad and m beside them, where the way along the constraints leads through states at which they are open."""
    robot, rng = tied(), np.random.default_rng(1)
    far = np.repeat([0.2, 0.3], 6)[:, None]
    q = robot.integrate(robot.assemble(robot.random_state(seed=2)[0]), far * rng.uniform(-1, 1, (12, robot.nv)))
    ways = [x.constraints.project(q, np.ones((12, robot.nv))) for x in (robot, lw.Dynamics(robot.model))]
    assert max(np.abs(robot.constraints.residual(there)).max() for there, _ in ways) < 1e-11
    assert max(np.abs(x - y)[:6].max() for x, y in zip(*ways)) < 1e-9


def test_joints_that_are_held_stay_and_the_others_are_nearest():
    robot, held, q = gallery.assembled("slider_crank")
    q0 = robot.integrate(q, [0.05, 0.04, -0.03])
    q, _ = held.project(q0, np.zeros(3), hold=["crank_joint"])
    assert q[0] == q0[0] and np.abs(held.residual(q)).max() < 1e-14
