"""Constraints are part of a Model: whatever is made of it keeps them, and what cannot keep them says so."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import ConstraintError, Distance, Driven, Holonomic, KnifeEdge, Linear, Pfaffian, Touching

from .dense_equations import kkt
from .gallery import ABOUT_Z, rod

BALL = {"mass": 2.0, "tensor": (0.2, 0.2, 0.2)}


def rods():
    """Two rods on ball joints, their ends kept apart."""
    m = lw.Builder("rods", (0.0, -9.81, 1.0))
    m.body("one", joint=lw.Spherical(), **rod(1.0))
    m.body("other", None, (2.0, 0.3, 0.1), lw.Spherical(), **rod(1.0))
    return m.distance("tie", "one", "other", 2.2, at=(1, 0, 0), on=(1, 0, 0))


def wheels():
    m = lw.Builder("wheels", (0, 0, 0))
    for name, inertia in (("left", 0.3), ("right", 0.5), ("cage", 1.1)):
        m.body(name, joint=ABOUT_Z, mass=1.0, tensor=(inertia,) * 3)
    return m.relate("differential", {"cage_joint": 2.0, "left_joint": -1.0, "right_joint": -1.0})


def rolling():
    return lw.Builder("ball").body("ball", joint=lw.Free(), **BALL).roll("roll", "ball", 0.5, None, height=0.1)


def skating():
    m = lw.Builder("sledge", (0.0, -1.0, 0.0))
    m.body("sledge", joint=lw.Planar(), mass=1.0, center=(0.1, 0, 0), tensor=(1, 1, 1))
    return m.skate("edge", "sledge", (0, 1, 0), at=(0.2, 0, 0))


MODELS = {"distance": rods, "relation": wheels, "rolling": rolling, "skating": skating}


def states(robot, seed=0):
    rng = np.random.default_rng(seed)
    guess = robot.integrate(robot.neutral(), rng.uniform(-0.4, 0.4, robot.nv))
    q, v = robot.constraints.project(robot.assemble(guess), rng.standard_normal(robot.nv))
    return q, v, rng.standard_normal(robot.nv)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_robot_knows_the_constraints_of_its_model(name, compiled):
    """Its accelerations are those of the dense equations, and not those without."""
    model = MODELS[name]().model()
    robot, free = lw.Dynamics(model, compiled=compiled), lw.Dynamics(replace(model, constraints=()), compiled=False)
    q, v, tau = states(robot)
    vdot = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(vdot, kkt(robot.constraints.set, q, v, tau)[0], atol=1e-9)
    assert np.abs(vdot - free.forward_dynamics(q, v, tau)).max() > 1e-3
    held = constraints.of(free, *model.constraints)
    np.testing.assert_allclose(vdot, held.forward_dynamics(q, v, tau), atol=1e-9)
    assert robot.constraint_report(q).rows == len(held)


@pytest.mark.parametrize("name", MODELS)
def test_simulate_keeps_the_constraints_of_a_model(name):
    robot = lw.Dynamics(MODELS[name]().model())
    q, v, _ = states(robot)
    run = lw.simulate(robot, (q, v), until=0.5, rtol=1e-9, dt=0.05)
    rows = robot.constraints.set.rows(run.q)
    np.testing.assert_allclose(rows.c, 0, atol=1e-14)
    np.testing.assert_allclose(np.matvec(rows.Jc, run.v), 0, atol=1e-12)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6, atol=1e-6)


def test_what_moves_in_time_needs_a_time():
    """A crank that is driven: the rest moves as if its acceleration were given."""
    m = lw.Builder("led", (0, -9.81, 0)).body("one", joint=ABOUT_Z, **rod(1.0)).body("other", "one", (1, 0, 0), ABOUT_Z, **rod(1.0))
    free = lw.Dynamics(m.model(), compiled=False)
    robot = lw.Dynamics(m.drive("one_joint", np.sin, np.cos, lambda t: -np.sin(t)).model())
    t, q, v, tau = 0.3, np.array([np.sin(0.3), 0.7]), np.array([np.cos(0.3), -0.4]), np.array([5.0, 0.2])
    prescribed = free.hybrid_dynamics(q, v, np.array([-np.sin(t), tau[1]]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau, t=t), [-np.sin(t), prescribed[1]], atol=1e-12)
    with pytest.raises(ConstraintError, match="say when"):
        robot.forward_dynamics(q, v, tau)
    for method in ("augmented", "projected", "embedded"):
        found = robot.constraints.forward_dynamics(q, v, tau, t=t, method=method)
        np.testing.assert_allclose(found, [-np.sin(t), prescribed[1]], atol=1e-12)


@pytest.mark.parametrize("how", ["project", "embed", lw.Baumgarte(20.0, 1.0)])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_driven_joint_is_where_it_should_be(how, compiled):
    """And the one it carries where it would be were the acceleration given (rk4, both ways)."""
    m = lw.Builder("led", (0, -9.81, 0)).body("one", joint=ABOUT_Z, **rod(1.0)).body("other", "one", (1, 0, 0), ABOUT_Z, **rod(1.0))
    free = lw.Dynamics(m.model(), compiled=False)
    robot = lw.Dynamics(m.drive("one_joint", lambda t: np.sin(3 * t)).model(), compiled=compiled)
    run = lw.simulate(robot, (np.array([0.0, 0.7]), np.array([3.0, -0.4])), until=0.3, method="rk4", dt=1e-2, loops=how)
    np.testing.assert_allclose(run.q[:, 0], np.sin(3 * run.t), atol=1e-14 if isinstance(how, str) else 1e-5)
    np.testing.assert_allclose(run.v[:, 0], 3 * np.cos(3 * run.t), atol=1e-11 if isinstance(how, str) else 1e-4)
    pulled = run.vdot[-1, 0] if isinstance(how, lw.Baumgarte) else -9 * np.sin(0.9)  # by Baumgarte, not quite that
    told = free.hybrid_dynamics(run.q[-1], run.v[-1], np.array([pulled, 0.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(run.vdot[-1, 1], told[1], atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_on_another_keeps_its_constraints(name):
    """Two of them side by side move as each alone; a prefix goes before every name."""
    model = MODELS[name]().model()
    twin, robot = lw.Dynamics(model.with_model(None, model, prefix="second_"), compiled=False), lw.Dynamics(model, compiled=False)
    assert [x.name for x in twin.model.constraints[len(model.constraints) :]] == [f"second_{x.name}" for x in model.constraints]
    one, two = states(robot, 1), states(robot, 2)
    found = twin.forward_dynamics(*(np.concatenate(x) for x in zip(one, two)))
    alone = np.concatenate([robot.forward_dynamics(*one), robot.forward_dynamics(*two)])
    np.testing.assert_allclose(found, alone, atol=1e-8)


def test_a_plane_goes_with_its_model():
    """Placed elsewhere and turned, a ball rolls on the plane that went with it."""
    place = lw.Pose.rpy((1.0, 2.0, 3.0), (0.4, -0.2, 0.1))
    model = rolling().model()
    turned = lw.Builder("empty", place.rotation @ model.gravity).model().with_model(None, model, place)
    robot, other = lw.Dynamics(model, compiled=False), lw.Dynamics(turned, compiled=False)
    q, v, tau = states(robot)
    np.testing.assert_allclose(other.constraints.residual(q), 0, atol=1e-13)
    np.testing.assert_allclose(other.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau), atol=1e-9)


def test_what_is_about_the_world_cannot_stand_on_a_body():
    carrier = lw.Builder("cart").body("cart", joint=lw.Prismatic(), mass=1.0).model()
    with pytest.raises(lw.ModelError, match='"roll" is about motion in the world'):
        carrier.with_model("cart", rolling().model())
    tied = carrier.with_model("cart", replace(rods().model(), constraints=(Distance("up", None, "one", 0.5, (0, 0, 0.3)),)))
    assert tied.constraints[0].parent == "cart"


EDITS = [lambda m: m.renumbered(["link1", "link2"]), lambda m: m.with_model(None, wheels().model()), lambda m: m.locked({"joint1": 0})]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("own", [Holonomic("own", lambda q, t: q[0]), Pfaffian("own", lambda q: [[1.0, 0.0]])])
def test_a_function_of_all_coordinates_stays_with_its_model(edit, own):
    model = lw.load("double_pendulum").with_constraints(own)
    with pytest.raises(lw.ModelError, match='"own" is a function of all its coordinates'):
        edit(model)


def test_body_frames_do_not_matter_to_constraints():
    from linkwork.model.world_frame import in_world_frame

    for name in MODELS:
        model = MODELS[name]().model()
        robot, other = lw.Dynamics(model, compiled=False), lw.Dynamics(in_world_frame(model), compiled=False)
        q, v, tau = states(robot)
        np.testing.assert_allclose(other.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau), atol=1e-9)


WRONG = {
    'refers to body or frame "nobody"': lambda: rods().distance("rod", None, "nobody", 1.0).model(),
    'refers to joint "nowhere"': lambda: wheels().drive("nowhere", np.sin).model(),
    'two of the name "tie"': lambda: rods().skate("tie", "one", (1, 0, 0)).model(),
    "has length 0.0; it takes a positive": lambda: Distance("rod", None, "one", 0.0),
    "has radius -1.0; it takes a positive": lambda: Touching("touch", "one", -1.0),
    "has direction": lambda: KnifeEdge("edge", "one", (0, 0, 0)),
    "has terms": lambda: Linear("gear", {"a": np.inf}),
    "is no constraint of a model": lambda: rods().model().with_constraints("tie"),
    'constraint "differential" binds a joint that is to be locked': lambda: wheels().model().locked({"left_joint": 0.0}),
    '"lead" is not a joint': lambda: lw.save(wheels().constrain(Driven("lead", "left_joint", np.sin)).model(), "x.urdf"),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_is_named(said):
    with pytest.raises(lw.ModelError, match=said):
        WRONG[said]()


FORMULAS = {
    "midpoint": lambda robot, x: lw.simulate(robot, x[:2], until=0.1, method="midpoint", dt=0.01),
}


@pytest.mark.parametrize("way", FORMULAS)
def test_no_way_leads_to_the_accelerations_without(way):
    robot = lw.Dynamics(wheels().model(), compiled=False)
    with pytest.raises(lw.LinkworkError, match="loops, couplings or constraints"):
        FORMULAS[way](robot, states(robot))


def test_a_start_that_breaks_the_constraints_is_named():
    robot = lw.Dynamics(wheels().model(), compiled=False)
    with pytest.raises(ConstraintError, match='velocities break "differential"'):
        lw.simulate(robot, (np.zeros(3), np.array([1.0, 0.0, 0.0])), until=0.1)
    with pytest.raises(ConstraintError, match='open are "differential"'):
        lw.simulate(robot, (np.array([1.0, 0.0, 0.0]), np.zeros(3)), until=0.1)


@pytest.mark.parametrize("name", MODELS)
def test_a_file_in_the_world_frame_holds_constraints(name, tmp_path):
    model = MODELS[name]().model()
    lw.save(model, tmp_path / "it.json")
    robot, again = lw.Dynamics(model, compiled=False), lw.Dynamics(lw.load(tmp_path / "it.json"), compiled=False)
    q, v, tau = states(robot)
    np.testing.assert_allclose(again.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau), atol=1e-9)


def test_no_file_holds_a_function(tmp_path):
    with pytest.raises(lw.ModelError, match='"one_joint_drive" is a function'):
        lw.save(rods().body("third", joint=ABOUT_Z).drive("third_joint", np.sin, name="one_joint_drive").model(), tmp_path / "it.json")
