"""Runs event by event: impacts, lift-off, stick and slip at exact times (simulate with an adaptive method)."""

import numpy as np
import pytest
import scenes
from scenes import G

import linkwork as lw
from linkwork.errors import SimulationError
from linkwork.model import solids

FINE = {"rtol": 1e-10, "atol": 1e-12}
BALL = scenes.ball(friction=0.3)


def times(run, what):
    return np.array([x.t for x in run.events if x.name.endswith(what)])


def bounced(e):
    robot = scenes.ball(restitution=e)
    first = np.sqrt(2 * 0.9 / G)
    end = first * (1 + 2 * e / (1 - e))
    run = lw.simulate(robot, (scenes.placed(robot, z=1.0), np.zeros(6)), until=end + 0.2, **FINE)
    assert run.status == "finished"
    hits = times(run, "strikes")
    peaks = run((hits[:4] + hits[1:5]) / 2)[0][:, 6] - 0.1
    assert np.allclose(peaks, 0.9 * e ** (2 * np.arange(1, 5)), atol=1e-8)
    assert abs(hits[0] - first) < 1e-9 and abs(hits[-1] - end) < 1e-5
    assert np.abs(run.v[-1]).max() < 1e-9 and abs(run.q[-1, 6] - 0.1) < 1e-8
    return hits


def test_a_bouncing_ball_comes_to_rest_after_infinitely_many_impacts():
    """Gap h = 0.9 m: impacts from √(2h/g) on, peaks e^(2n) h, rest at √(2h/g) (1 + 2e/(1 − e))."""
    bounced(0.5)


@pytest.mark.slow
def test_the_bouncing_ball_of_the_literature():
    """e = 0.9: 0.428353 s and 8.138706 s."""
    hits = bounced(0.9)
    assert abs(hits[0] - 0.428353) < 1e-6 and abs(hits[-1] - 8.138706) < 1e-5


def test_a_sphere_stops_sliding_at_the_exact_time():
    """Speed 1, μ = 0.3: it rolls from t = 2/(7 μ g) on, x = 12/(49 μ g) by then, with 5/7."""
    run = lw.simulate(BALL, (scenes.placed(BALL, z=0.1), np.array([0, 0, 0, 1.0, 0, 0])), until=0.5, **FINE)
    t = 2 / 7 / (0.3 * G)
    assert np.allclose(times(run, "stops sliding"), [t], atol=1e-9)
    assert abs(run.q[-1, 4] - (12 / 49 / (0.3 * G) + 5 / 7 * (0.5 - t))) < 1e-8
    assert np.isclose(np.linalg.norm(run.v[-1, 3:]), 5 / 7, atol=1e-8)


@pytest.mark.slow
def test_a_pushed_block_slips_when_the_push_exceeds_friction():
    """A point mass on a plane, push 2 sin t: it slips from 2 sin t = μ m g on; v(t) = ∫ (2 sin s − μ g) ds."""
    shape = lw.Shape("sphere", (0.1,), name="foot")
    made = lw.Builder("block").body("x", joint=lw.Prismatic(axis=(1, 0, 0)))
    made.body("block", "x", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0, tensor=(1, 1, 1), collisions=(shape,))
    robot = lw.Dynamics(made.ground().contact("block", friction=0.1).model(), compiled=False)
    run = lw.simulate(robot, ([0.0, 0.1], [0.0, 0.0]), until=1.5, control=lambda t, q, v: np.array([2 * np.sin(t), 0.0]), rtol=1e-8)
    slips = np.arcsin(0.1 * G / 2)
    assert np.allclose(times(run, "slips")[0], slips, atol=1e-8)
    inside = np.linspace(slips, 1.5, 7)
    speed = run(inside)[1][:, 0]
    assert np.allclose(speed, 2 * (np.cos(slips) - np.cos(inside)) - 0.1 * G * (inside - slips), atol=1e-6)


@pytest.mark.slow
def test_a_particle_leaves_a_sphere_where_the_normal_force_ends():
    """From rest near the top of a smooth fixed sphere of radius R, a particle slides down and leaves at cos θ = 2/3 cos θ₀."""
    made = lw.Builder("dome").body("x", joint=lw.Prismatic(axis=(1, 0, 0)))
    made.body("drop", "x", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0, collisions=(lw.Shape("sphere", (0.001,), name="drop"),))
    robot = lw.Dynamics(made.ground(shape=lw.Shape("sphere", (0.999,), name="dome")).contact("drop", friction=0.0).model(), compiled=False)
    run = lw.simulate(robot, ([np.sin(0.2), np.cos(0.2)], [0.0, 0.0]), until=1.2, rtol=1e-8)
    leaves = next(x for x in run.events if x.name.endswith("lifts"))
    assert np.isclose(leaves.q[1], 2 / 3 * np.cos(0.2), atol=1e-5) and np.isclose(np.linalg.norm(leaves.q), 1.0, atol=1e-5)


def test_newtons_cradle_takes_impacts_one_by_one():
    """Three balls in touch, e = 1, the first comes with 1: one after another 0, 0, 1; together, by Newton's law or Poisson's,
    −1/3, 2/3, 2/3."""
    made = lw.Builder("cradle", gravity=(0, 0, 0))
    for i in range(3):
        made.body(f"ball{i}", joint=lw.Prismatic(axis=(1, 0, 0)), at=(0.2 * i, 0, 0), **solids.sphere(1.0, 0.1))
    for i in range(2):
        made.contact(f"ball{i}", f"ball{i + 1}", friction=0.0, restitution=1.0)
    robot = lw.Dynamics(made.model(), compiled=False)
    start = np.array([-0.05, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    ends = {}
    for impacts in ("one_by_one", "together", "poisson"):
        run = lw.simulate(robot, start, until=0.1, contact=lw.ContactLaw(impacts=impacts))
        assert np.allclose(times(run, "strikes")[0], 0.05)
        ends[impacts] = run.v[-1]
    assert np.allclose(ends["one_by_one"], [0, 0, 1], atol=1e-9)
    assert np.allclose(ends["together"], [-1 / 3, 2 / 3, 2 / 3], atol=1e-6)
    assert np.allclose(ends["poisson"], [-1 / 3, 2 / 3, 2 / 3], atol=1e-6)


def test_a_rod_beyond_painleves_friction_ends_the_run_with_a_reason():
    robot, angle = scenes.rod(1.4), np.arctan(2.0)
    with pytest.raises(SimulationError, match="Painlevé"):
        lw.simulate(robot, ([0.0, 0.5 * np.sin(angle), angle], [-1.0, 0.0, 0.0]), until=0.1)


def test_what_runs_event_by_event_do_not_know_is_refused():
    state = scenes.placed(BALL, z=0.2), np.zeros(6)
    soft = lw.Builder("soft").body("ball", joint=lw.Free(), **solids.sphere(1.0, 0.1)).ground()
    soft = lw.Dynamics(soft.contact("ball", material=lw.Material(compliance=1e-4)).model(), compiled=False)
    for robot, more, what in (
        (BALL, {"method": lw.RK45(velocities="eta")}, 'velocities="eta"'),
        (BALL, {"sensitivity": True}, "takes no contacts of the model: runs event by event have none"),
        (soft, {}, r'no compliant contact .*Make it rigid, or use method="contact"'),
        (scenes.ball(), {"method": "midpoint", "dt": 0.01}, "leave them out"),
    ):
        with pytest.raises(SimulationError, match=what):
            lw.simulate(robot, state, until=0.1, **more)


def test_shapes_that_are_in_each_other_at_the_start_are_refused():
    with pytest.raises(SimulationError, match=r"in each other by 0\.02 m"):
        lw.simulate(BALL, (scenes.placed(BALL, z=0.08), np.zeros(6)), until=0.1)


def pushed(control, until=1.0, **how):
    """A block of 1 kg on rough ground, μ = 0.3, under a push along x."""
    shape = lw.Shape("sphere", (0.1,), name="foot")
    made = lw.Builder("block").body("x", joint=lw.Prismatic(axis=(1, 0, 0)))
    made.body("block", "x", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0, tensor=(1, 1, 1), collisions=(shape,))
    robot = lw.Dynamics(made.ground().contact("block", friction=0.3).model(), compiled=False)
    return lw.simulate(robot, (np.array([0.0, 0.1]), np.zeros(2)), until=until, control=control, **FINE, **how)


@pytest.mark.parametrize("how", [{}, {"dt": 0.05}, {"save": lw.Save(every=3)}])
def test_the_contacts_of_each_row_are_kept(how):
    """Push 4 t: λ = (m g, −min(4 t, μ m g), 0), and v̇ = (4 t + λ_x)/m in the same row."""
    run = pushed(lambda t, q, v: np.array([4 * t, 0.0]), **how)
    found = run.contact
    assert np.array_equal(found.t, run.t) and found.gap.shape == (len(run), 1) and np.abs(found.gap).max() < 1e-12
    assert np.allclose(found.force[:, 0], np.stack([G + 0 * run.t, -np.minimum(4 * run.t, 0.3 * G), 0 * run.t], -1), atol=1e-9)
    assert np.allclose(run.vdot[:, 0], 4 * run.t + found.force[:, 0, 1], atol=1e-9) and found.residual.max() < 1e-9


def test_a_held_push_changes_the_force_of_its_row():
    """A push of t, held for 0.1 s: the row at the time of a sample has the forces that follow."""
    run = pushed(lw.hold(lambda t, q, v: np.array([2 * t, 0.0]), rate=10), until=0.95)
    last = np.append(np.diff(run.t) > 0, True)
    assert np.allclose(run.contact.force[last, 0, 1], -run.tau[last, 0], atol=1e-9) and run.tau[-1, 0] > 1.7


def test_contacts_of_rows_go_with_the_rows(tmp_path):
    """In files, slices and runs that go on; a picture between rows has what is between their forces."""
    from linkwork.view.contacts import at_times

    run = pushed(lambda t, q, v: np.array([4 * t, 0.0]))
    run.save(tmp_path / "run.npz")
    for one, other in zip(run.contact, lw.Trajectory.load(tmp_path / "run.npz").contact, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(run[2:-3].contact.t, run.t[2:-3]) and np.array_equal(run[::2].contact.force, run.contact.force[::2])
    more = run.resume(until=1.5)
    assert np.array_equal(more.contact.t, more.t) and np.allclose(more.contact.force[-1, 0], [G, -0.3 * G, 0])
    times = np.array([0.0, 0.3, 0.7, 0.9, 1.0])
    assert np.allclose(at_times(run, run.contact, times)[:, 1], -np.minimum(4 * times, 0.3 * G), atol=1e-9)


def test_all_points_that_strike_at_one_time_are_events():
    """A box falls flat: its four lower corners strike at √(2 h/g), each bears a quarter of the weight from then on."""
    robot = scenes.box(friction=0.5)
    run = lw.simulate(robot, (scenes.placed(robot, z=0.2), np.zeros(6)), until=0.3, **FINE)
    hits = [x for x in run.events if x.name.endswith("strikes")]
    assert len({x.name for x in hits}) == len(hits) == 4 and np.allclose([x.t for x in hits], np.sqrt(0.2 / G), atol=1e-9)
    flies = run.t <= run.t[np.flatnonzero(np.diff(run.t) == 0)[0]]
    flies[np.flatnonzero(flies)[-1]] = False  # the row after the impact
    assert not run.contact.force[flies].any() and np.allclose(run.contact.force[~flies].sum(1), [2 * G, 0, 0])
    assert np.allclose(np.sort(run.contact.force[-1, :, 0])[-4:], 2 * G / 4)


def test_a_point_that_strikes_where_a_reset_puts_it_is_an_event():
    robot, v = scenes.ball(restitution=0.5), np.array([0, 0, 0, 0, 0, -1.0])
    event = lw.Event(lambda t, q, v: t - 0.1, reset=lambda t, q, _: (scenes.placed(robot, z=0.1), v))
    run = lw.simulate(robot, (scenes.placed(robot, z=1.0), np.zeros(6)), until=0.15, events=[event], **FINE)
    assert [x.name.split()[-1] for x in run.events] == ["event", "strikes"] and np.array_equal(run.events[1].v, v)
    assert np.isclose(run.v[-1, 5], 0.5 - 0.05 * G)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_growing_force_slides_a_ball_that_cannot_turn(compiled):
    """Push 10 t on 1 kg, μ = 0.3: it slips at t₀ = μ g/10, and x = 10 (t − t₀)³/6 from then on."""
    made = lw.Builder("ball").body("ball", joint=lw.Translation(), **solids.sphere(1.0, 0.1)).ground().contact("ball", friction=0.3)
    robot = lw.Dynamics(made.model(), compiled=compiled)
    run = lw.simulate(robot, ([0, 0, 0.1], np.zeros(3)), until=0.6, control=lambda t, q, v: np.array([10 * t, 0, 0]), **FINE)
    assert run.status == "finished" and np.allclose(times(run, "slips"), [0.03 * G], atol=1e-9)
    assert np.isclose(run.q[-1, 0], 10 * (0.6 - 0.03 * G) ** 3 / 6, atol=1e-8)


@pytest.mark.slow
def test_a_growing_force_slides_a_box_on_four_corners():
    """The corners share the friction as the push lets them, and slip together at μ m g, whatever order they reach their cones in."""
    robot = scenes.box(friction=0.3, size=(0.1, 0.1, 0.1), mass=1.0)
    push = lambda t, q, v: np.array([0, 0, 0, 10 * t, 0, 0])
    run = lw.simulate(robot, (scenes.placed(robot, z=0.05), np.zeros(6)), until=0.6, control=push, rtol=1e-8)
    assert run.status == "finished" and np.isclose(run.q[-1, 4], 10 * (0.6 - 0.03 * G) ** 3 / 6, atol=1e-5)


def test_a_block_that_a_spring_pulls_sticks_and_slips():
    """A cart at V = 0.5 pulls 1 kg through k = 20, μ = 0.5: slip at μ m g/(k V), x = V s − V/ω sin ω s, and rest again where ẋ = 0."""
    made = lw.Builder("pulled").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), mass=1.0)
    made.body("block", joint=lw.Translation(), **solids.sphere(1.0, 0.1)).ground().contact("block", friction=0.5)
    robot = lw.Dynamics(made.drive("cart_joint", lambda t: 0.5 * t).model())
    pull = lambda t, q, v: np.array([0, 20 * (q[0] - q[1]), 0, 0])
    run = lw.simulate(robot, (np.array([0, 0, 0, 0.1]), np.array([0.5, 0, 0, 0])), until=2.2, control=pull, rtol=1e-9)
    slip, w = 0.5 * G / 10, np.sqrt(20)
    assert run.status == "finished" and np.allclose(times(run, "slips")[:1], slip, atol=1e-8)
    assert np.allclose(times(run, "stops sliding"), slip + 2 * np.pi / w, atol=1e-6)
    s = np.linspace(0, 2 * np.pi / w, 9)
    assert np.allclose(run(slip + s)[0][:, 1], 0.5 * s - 0.5 / w * np.sin(w * s), atol=1e-6)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.9])
def test_a_run_that_ends_just_after_an_impact_has_it_once(restitution):
    """Within roundings of an impact a gap may be below zero while its point parts: it does not strike again."""
    made = lw.Builder("ball").body("ball", joint=lw.Translation(), **solids.sphere(1.0, 0.1)).ground()
    robot = lw.Dynamics(made.contact("ball", restitution=restitution).model())
    start = [0, 0, 1.0], np.zeros(3)
    t = lw.simulate(robot, start, until=1.0, rtol=1e-9).events[0].t
    for n in (*range(-10, 11), 100):
        run = lw.simulate(robot, start, until=t + n * np.spacing(t), rtol=1e-9)
        assert run.status == "finished" and len(run.events) <= 1 and (len(run.events) == 1 or n < 100)


def test_a_gap_that_only_rounding_changes_does_not_end_a_run():
    """A piston in a guide along the ground: the rate of its gap is rounding, of either sign at the ends of a step."""
    ball = lambda x: [lw.Shape("sphere", (0.05,), lw.Pose.of((x, 0, 0)))]
    made, axis = lw.Builder("crank"), (0, 1, 0)
    made.body("crank", joint=lw.Revolute(axis=axis), mass=1.0, center=(0.1, 0, 0), tensor=(0.01,) * 3)
    made.body("rod", "crank", (0.2, 0, 0), lw.Revolute(axis=axis), mass=1.0, center=(0.3, 0, 0), tensor=(0.01,) * 3, collisions=ball(0.6))
    made.body("piston", "rod", (0.6, 0, 0), lw.Revolute(axis=axis), mass=0.5, tensor=(0.01,) * 3, collisions=ball(0.0))
    made.loop("guide", None, "piston", lw.Prismatic(axis=(1, 0, 0))).ground(-0.1).contact("rod").contact("piston", restitution=0.3)
    robot = lw.Dynamics(made.model())
    state = robot.constraints.project(robot.assemble(np.array([0.9, -1.2, 0.3])), np.array([3.0, 0, 0]))
    run = lw.simulate(robot, state, until=1.0)
    assert run.status == "finished" and not len(times(run, "strikes"))
