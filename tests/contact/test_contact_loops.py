"""Rollouts with contacts and loops: bilateral constraints are eliminated first, and steps are put back on them."""

from pathlib import Path

import numpy as np
import pytest
import scenes

import linkwork as lw

MODELS = Path(__file__).parents[1] / "models"
SOLVER = lw.ContactLaw(solver="interior", tolerance=1e-10)  # one freedom: a compliance of rank one, three rows


def with_knob():
    """A four-bar linkage that falls with a knob of its coupler onto a plane, at rest 2 mm above it; and without the plane."""
    plain, q, at, normal = scenes.four_bar_with_knob()
    ground = plain.model.with_ground(at @ normal - 0.012, normal)
    return ground.with_contacts(["knob"], material=lw.Material(friction=0.2)), plain, q


MODEL, FREE, START = with_knob()
ROBOT, STILL = lw.Dynamics(MODEL), np.zeros(3)


def rolled_out(steps, until=0.1, **more):
    return lw.rollout(ROBOT, START[None], STILL[None], dt=until / steps, steps=steps, method="contact", contact=SOLVER, **more)


def test_a_linkage_falls_on_a_plane_as_in_simulate_and_stays_closed():
    run = rolled_out(40)
    single = lw.simulate(lw.Dynamics(MODEL, compiled=False), (START, STILL), until=0.1, method="contact", dt=0.0025)
    assert np.abs(ROBOT.constraints.residual(run.q[0])).max() < 1e-11 and run.residual.max() < 1e-9
    assert run.force[0, :, 0, 0].max() > 1 and ROBOT.contact_gaps(run.q[0]).min() > -1e-4
    np.testing.assert_allclose(run.q[0], single.q, atol=2e-5)
    np.testing.assert_allclose(run.v[0, -1], single.v[-1], atol=1e-3)


def orders(found, exact):
    """Errors of q and v at the end, of a run of (steps), and how many times as large they are with half the steps."""
    few, many = (found(n) for n in (20, 40))
    errors = [[np.abs(x - y).max() for x, y in zip(run, (exact.q[-1], exact.v[-1]))] for run in (few, many)]
    return np.array(errors[1]), np.array(errors[0]) / errors[1]


def floating():
    """A four-bar linkage whose frame is a free body: impulses of the loop turn the axes of its velocity."""
    arm, joint = {"mass": 0.5, "center": (0.3, 0, 0), "tensor": (0.1, 0.2, 0.15)}, lw.Revolute(axis=(0, 1, 0))
    knob = lw.Shape("sphere", (0.01,), name="knob")
    made = lw.Builder("floating").body("hull", joint=lw.Free(), mass=1.0, tensor=(0.3, 0.4, 0.5), collisions=(knob,))
    made.body("a", "hull", (0, 0, 0.2), joint, **arm).body("b", "a", (0.6, 0, 0), joint, **arm)
    made.body("c", "hull", (0.8, 0, 0.2), joint, **arm)
    return made.loop("cut", "b", "c", joint, at=(0.7, 0, 0), on=(0.6, 0, 0)).model()


@pytest.mark.parametrize("way", ["rollout", "embed", *(pytest.param(x, marks=pytest.mark.slow) for x in ("project", "floating"))])
def test_steps_with_loops_are_of_second_order_before_anything_touches(way):
    """Of a linkage in motion, so that loops bend."""
    robot, way = (lw.Dynamics(floating(), compiled=False), "project") if way == "floating" else (FREE, way)
    model = robot.model.with_ground(-50.0).with_contacts(["knob"])
    q = np.append(robot.neutral()[:-3], [-1.0, 1.0, -1.2]) if robot is not FREE else START
    q, v = robot.constraints.project(robot.assemble(q), np.linspace(2.0, -3.0, robot.nv))
    exact = lw.simulate(robot, (q, v), until=0.2, rtol=1e-11, atol=1e-12)

    def rollout(n):
        run = lw.rollout(lw.Dynamics(model), q[None], v[None], dt=0.2 / n, steps=n, method="contact", contact=SOLVER)
        return run.q[0, -1], run.v[0, -1]

    def simulate(n):
        run = lw.simulate(lw.Dynamics(model, compiled=way == "embed"), (q, v), until=0.2, method="contact", dt=0.2 / n, loops=way)
        return run.q[-1], run.v[-1]

    errors, ratio = orders(rollout if way == "rollout" else simulate, exact)
    assert (errors < 2e-3).all() and (ratio > 3.5).all(), (errors, ratio)


@pytest.mark.slow
def test_rollouts_with_free_bodies_in_loops_are_of_second_order():
    """Two free bodies with a ball joint between them: to close it turns the axes of their velocities."""
    knob = lw.Shape("sphere", (0.01,), name="knob")
    made = lw.Builder("pair").body("top", joint=lw.Free(), mass=1.0, tensor=(0.1, 0.2, 0.15), collisions=(knob,))
    made.body("low", joint=lw.Free(), mass=0.5, tensor=(0.1, 0.3, 0.2))
    model = made.loop("cut", "low", "top", lw.Spherical(), at=(0, 0, 0.4), on=(0.3, 0, 0.1)).model()
    free, robot = lw.Dynamics(model, compiled=False), lw.Dynamics(model.with_ground(-50.0).with_contacts(["knob"]))
    q, v = free.constraints.project(free.assemble(free.neutral()), np.linspace(2.0, -3.0, 12) ** 3 / 9)
    exact = lw.simulate(free, (q, v), until=0.2, rtol=1e-11, atol=1e-12)

    def end(n):
        run = lw.rollout(robot, q[None], v[None], dt=0.2 / n, steps=n, method="contact", contact=SOLVER)
        return run.q[0, -1], run.v[0, -1]

    assert (orders(end, exact)[1] > 3.5).all()


@pytest.mark.slow
def test_the_gradient_with_loops_is_the_slope_of_the_cost(rng):
    """By joint forces up to the first step of the impact, and by masses; through steps that are put back on the loop."""
    robots, steps = ROBOT.varying("mass"), 19
    weights, mass = np.zeros((1, 2, 3)), robots.value("mass")[None]
    weights[0, 1] = rng.standard_normal(3)
    how = {"dt": 0.0025, "steps": steps, "every": steps, "method": "contact", "contact": SOLVER}
    tau, v = np.zeros((1, steps, 3)), STILL[None]
    d, dm = rng.standard_normal(tau.shape), rng.standard_normal(mass.shape)

    def cost(h):
        run = lw.rollout(robots, START[None], v, tau + h * d, given={"mass": mass + 0.1 * h * dm}, **how)
        return (run.v[:, -1] * weights[:, 1]).sum()

    assert lw.rollout(robots, START[None], v, tau, **how | {"every": 1}).force[..., 0].max() > 1
    found = lw.rollout_gradient(robots, START[None], v, tau, given={"mass": mass}, weights=(None, weights), **how)
    expected = (8 * (cost(1e-4) - cost(-1e-4)) - cost(2e-4) + cost(-2e-4)) / 12e-4
    assert (found.controls * d).sum() + 0.1 * (found.given["mass"] * dm).sum() == pytest.approx(expected, rel=1e-4)


def test_the_step_with_loops_is_a_kernel():
    step = lw.contact_kernel(ROBOT, dt=0.0025, contact=SOLVER)
    q, v, impulse = START, STILL, np.zeros(3)
    for _ in range(3):
        q, v, impulse = step(q, v, STILL, impulse)
    np.testing.assert_allclose(q, rolled_out(40).q[0, 3], atol=1e-13)


@pytest.mark.slow
def test_cassie_lands_on_its_feet_with_closed_legs():
    """Four loops, springs, ten motors that hold: as simulate does, beside which a rollout is one kernel."""
    model = lw.load(MODELS / "cassie_mjcf" / "cassie.xml")
    model = model if model.ground else model.with_ground()
    robot = lw.Dynamics(model.with_contacts(["left-foot", "right-foot"], material=lw.Material(friction=0.8)))
    leg, bent = [0.0045, 0.0, 0.497301], [-1.1997, 0.0, 1.42671, 0.0, -1.52439, 1.50645, -1.59681]  # as the file's keyframe has them
    left, right = [-0.0164104, 0.0177766, -0.204298, 0.97861], [0.0038687, -0.0151572, -0.204509, 0.97874]  # of the rods
    q = robot.assemble(np.array([0, 0, 0, 1, 0, 0, 1.0059301, *leg, *left, *bent, -leg[0], *leg[1:], *right, *bent]))
    q[6] -= robot.contact_gaps(q).min() - 1e-4
    motors = [f"{side}-{joint}" for side in ("left", "right") for joint in ("hip-roll", "hip-yaw", "hip-pitch", "knee", "foot")]
    gains, damping = np.zeros((robot.nv, robot.nq)), np.zeros(robot.nv)
    for joint, gain in zip(motors, [400, 200, 400, 600, 60] * 2):
        gains[robot.v_index(joint).start, robot.q_index(joint).start], damping[robot.v_index(joint).start] = gain, gain / 25
    goal, still = q.copy(), np.zeros(robot.nv)

    @robot.kernel
    def hold(q, v):
        return gains @ (goal - q) - damping * v

    solver = lw.ContactLaw(rounds=100, tolerance=1e-9)
    run = lw.rollout(robot, q[None], still[None], hold, dt=0.0005, steps=20, method="contact", contact=solver)
    single = lw.simulate(robot, (q, still), until=0.01, method="contact", dt=0.0005, control=lambda t, q, v: hold(q, v))
    assert run.force[0, :, :, 0].sum(-1).max() > 10 and np.abs(robot.constraints.residual(run.q[0])).max() < 1e-12
    np.testing.assert_allclose(run.q[0], single.q, atol=1e-5)
    np.testing.assert_allclose(run.v[0], single.v, atol=3e-3)
