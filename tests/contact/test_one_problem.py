"""Contacts, joint limits, dry friction of joints, loops, drives and flexible bodies in one problem: event by event, and step by step."""

from dataclasses import replace

import numpy as np
import pytest
import scenes
from scenes import G

import linkwork as lw
from linkwork.contact.solver.accurate import solve_rows
from linkwork.errors import SimulationError
from linkwork.model import solids

FOOT = lw.Shape("sphere", (0.1,), name="foot")
FINE = {"rtol": 1e-9, "atol": 1e-11}


def block(friction=0.5, rail=0.0, restitution=0.0, **lift):
    """1 kg on a level rail with dry friction and on a vertical one; its foot touches the ground at z = 0.1."""
    made = lw.Builder("block").body("x", joint=lw.Prismatic(axis=(1, 0, 0), friction=rail))
    made.body("block", "x", joint=lw.Prismatic(axis=(0, 0, 1), **lift), mass=1.0, tensor=(1, 1, 1), collisions=(FOOT,))
    return lw.Dynamics(made.ground().contact("block", friction=friction, restitution=restitution).model(), compiled=False)


def arm(rail=0.0, pin=0.0, friction=0.5, **limits):
    """A cart on a rail, 1 m above the ground, and a link of 1 m with a foot at its end that turns about y."""
    tip = lw.Shape("sphere", (0.05,), lw.Pose.of((1, 0, 0)), name="tip")
    made = lw.Builder("arm").body("cart", joint=lw.Prismatic(axis=(1, 0, 0), friction=rail), mass=1.0, tensor=(0.1,) * 3)
    turns = lw.Revolute(axis=(0, 1, 0), friction=pin, **limits)
    made.body("link", "cart", (0, 0, 1), turns, mass=1.0, center=(0.5, 0, 0), tensor=(0.01, 0.1, 0.1), collisions=(tip,))
    return lw.Dynamics(made.ground().contact("link", friction=friction).model(), compiled=False)


def times(run, what):
    return np.array([x.t for x in run.events if x.name.endswith(what)])


# --- the problem


def random_problem(rng, mu):
    n, m = rng.integers(1, 4), rng.integers(1, 6)
    A = rng.standard_normal((3 * n + m, rng.integers(max(2, 3 * n + m - 4), 3 * n + m + 3)))
    c, kind = np.exp(2 * rng.normal(size=m)), rng.integers(0, 6, m)
    low = np.choose(kind, [-c, -c, 0 * c, -np.inf + 0 * c, -np.inf + 0 * c, 0.3 * c])
    high = np.choose(kind, [c, np.inf + c, np.inf + c, 0 * c, np.inf + c, 0.3 * c])
    return A @ A.T, 5 * A @ rng.standard_normal(A.shape[1]), mu * np.ones(n), low, high


def test_without_friction_contacts_and_rows_are_a_linear_complementarity_problem():
    """Normals are rows with bounds [0, ∞): the same accelerations as Lemke's method has, 20 problems, redundant ones too."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        G, b, mu, low, high = random_problem(rng, 0.0)
        found, n = solve_rows(G, b, mu, low, high), len(mu)
        rows = np.concatenate([3 * np.arange(n), np.arange(3 * n, len(b))])
        same = lw.lcp(G[np.ix_(rows, rows)], b[rows], np.append(0 * mu, low), np.append(np.inf + mu, high))
        assert found.solved and same.solved
        np.testing.assert_allclose(np.append(found.rate[:, 0], found.w), same.w, atol=1e-8 * np.abs(b).max())


def test_rows_beside_contacts_with_friction_are_at_a_bound_or_at_rest():
    """low ≤ z ≤ high, w = 0 in between, w ≥ 0 at low, w ≤ 0 at high; |λ_t| ≤ μ λ_n, and u_n λ_n = 0."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        G, b, mu, low, high = random_problem(rng, 0.4)
        found, n, small = solve_rows(G, b, mu, low, high), len(mu), 1e-6 * np.abs(b).max()
        w = (G @ np.append(found.contact.ravel(), found.z) + b)[3 * n :]
        assert found.solved and ((low <= found.z) & (found.z <= high)).all()
        assert (np.abs(w[found.between]) < small).all() and (found.between | (found.z == low) | (found.z == high)).all()
        free = low < high
        assert (w[free & (found.z == low)] > -small).all() and (w[free & (found.z == high)] < small).all()
        force, rate = found.contact, found.rate
        assert (np.linalg.norm(force[:, 1:], axis=-1) <= mu * force[:, 0] + small).all() and np.abs(force[:, 0] * rate[:, 0]).max() < small


# --- closed forms, event by event


def test_dry_friction_and_the_ground_hold_together():
    """Pushed by 4 t: it moves off when that exceeds c + μ m g, then x = 4 (t − t₀)³/6."""
    robot, start = block(0.1, rail=1.5), (1.5 + 0.1 * G) / 4
    run = lw.simulate(robot, ([0.0, 0.1], [0.0, 0.0]), until=1.0, control=lambda t, q, v: np.array([4 * t, 0.0]), **FINE)
    assert run.status == "finished" and np.abs(run.q[run.t < start, 0]).max() < 1e-12
    assert np.isclose(run.q[-1, 0], 4 * (1 - start) ** 3 / 6, atol=1e-7)


def test_dry_friction_and_the_ground_stop_together():
    """v = 1 − (c + μ g) t to rest, after 1/(2 (c + μ g)), and it stays."""
    run = lw.simulate(block(0.1, rail=1.5), ([0.0, 0.1], [1.0, 0.0]), until=1.0, **FINE)
    assert run.status == "finished" and run.v[-1, 0] == 0 and np.isclose(run.q[-1, 0], 0.5 / (1.5 + 0.1 * G), atol=1e-8)


def test_a_limit_and_the_ground_carry_a_weight_together_and_let_it_go():
    """The lower limit is where the foot touches: lifted by 9.81 t, it leaves both at t = 1."""
    run = lw.simulate(block(lower=0.1), ([0.0, 0.1], [0.0, 0.0]), until=1.5, limits=True, control=lambda t, q, v: [0.0, G * t], **FINE)
    assert run.status == "finished" and np.abs(run.q[run.t < 1, 1] - 0.1).max() < 1e-12
    assert np.isclose(run.q[-1, 1], 0.1 + G * 0.5**3 / 6, atol=1e-7)


def test_a_contact_that_slips_may_open_at_the_same_instant():
    """A force that jumps at t = 1 to (20, 1.5 m g): x = 20 t²/2, z = 0.1 + g t²/4."""
    force = lambda t, q, v: np.array([0.0, G * t] if t < 1 else [20.0, 1.5 * G])
    run = lw.simulate(block(), ([0.0, 0.1], [0.0, 0.0]), until=1.5, control=force, **FINE)
    assert run.status == "finished" and np.allclose(run.q[-1], [2.5, 0.1 + G / 16], atol=1e-6)


def test_a_stop_and_a_contact_that_bounce_side_by_side_come_to_rest_each_at_its_time():
    """Falls of 1 m and 0.9 m with e = 1/2: at rest after 3 √(2h/g) each, as if the other were not there."""
    made = lw.Builder("two").body("ball", joint=lw.Prismatic(axis=(0, 0, 1), lower=0.0), at=(2, 0, 0), **solids.point(1.0))
    made.body("block", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0, collisions=(FOOT,))
    robot = lw.Dynamics(made.ground().contact("block", restitution=0.5).model(), compiled=False)
    run = lw.simulate(robot, ([1.0, 1.0], [0.0, 0.0]), until=1.5, contact=lw.ContactLaw(limits=True, restitution=0.5))
    assert run.status == "finished" and np.abs(run.v[-1]).max() < 1e-9 and np.allclose(run.q[-1], [0.0, 0.1], atol=1e-8)
    assert np.isclose(times(run, "limit")[-1], 3 * np.sqrt(2 / G), atol=1e-3)
    assert np.isclose(times(run, "strikes")[-1], 3 * np.sqrt(1.8 / G), atol=1e-5)


def test_two_limits_and_a_contact_at_the_same_instant():
    """Three masses fall 1 m side by side: all stop at √(2/g), and none goes on."""
    made = lw.Builder("three")
    for k in range(2):
        made.body(f"ball{k}", joint=lw.Prismatic(axis=(0, 0, 1), lower=-1.0), at=(k, 1, 0), **solids.point(1.0))
    made.body("block", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0, collisions=(FOOT,))
    robot = lw.Dynamics(made.ground().contact("block").model(), compiled=False)
    run = lw.simulate(robot, ([0.0, 0.0, 1.1], np.zeros(3)), until=1.0, limits=True)
    assert run.status == "finished" and np.allclose([x.t for x in run.events], np.sqrt(2 / G), atol=1e-7)
    assert np.allclose(run.q[-1], [-1, -1, 0.1], atol=1e-9) and np.abs(run.v[-1]).max() < 1e-9


def test_a_joint_strikes_its_limit_where_the_foot_strikes_the_ground():
    """Without friction the momentum along the rail is kept, whatever share the limit has; the link stops."""
    robot = arm(friction=0.0, upper=np.arcsin(0.95))
    run = lw.simulate(robot, ([0.0, 0.0], [0.3, 0.0]), until=0.6, limits=True, **FINE)
    momentum = (robot.mass_matrix(run.q) @ run.v[..., None])[:, 0, 0]
    assert run.status == "finished" and np.allclose(momentum, momentum[0], atol=1e-8)
    assert np.isclose(run.q[-1, 1], np.arcsin(0.95), atol=1e-9) and run.v[-1, 1] == 0 and np.isclose(run.v[-1, 0], momentum[0] / 2)


def test_impacts_one_by_one_go_through_a_joint_limit():
    """A ball strikes one that rests at its limit, e = 1: it comes back with its speed."""
    made = lw.Builder("wall", gravity=(0, 0, 0)).body("ball", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.sphere(1.0, 0.1))
    made.body("last", joint=lw.Prismatic(axis=(1, 0, 0), upper=0.0), at=(0.2, 0, 0), **solids.sphere(1.0, 0.1))
    robot = lw.Dynamics(made.contact("ball", "last", friction=0.0, restitution=1.0).model(), compiled=False)
    how = {"contact": lw.ContactLaw(limits=True, restitution=1.0, impacts="one_by_one")}
    run = lw.simulate(robot, ([-0.05, 0.0], [1.0, 0.0]), until=0.2, **how)
    assert run.status == "finished" and np.allclose(run.v[-1], [-1, 0], atol=1e-9)


# --- what else takes part in runs event by event


def test_a_robot_in_the_air_moves_as_without_contacts():
    robot = arm(rail=0.5, pin=0.2, lower=-2.0, upper=2.0)
    free = lw.Dynamics(replace(robot.model, contacts=()), compiled=False)
    state = [0.0, -1.0], [0.2, -0.5]
    one, other = (lw.simulate(x, state, until=0.2, limits=True, rtol=1e-9) for x in (robot, free))
    np.testing.assert_allclose(one.q[-1], other.q[-1], atol=1e-9)


def test_held_controllers_act_beside_contacts():
    """A push of 2 N from t = 0.5 on against μ m g = 0.981: x = (2 − μ g) t²/2."""
    push = lw.hold(lambda t, q, v: np.array([2.0 if t > 0.45 else 0.0, 0.0]), rate=10.0)
    run = lw.simulate(block(0.1), ([0.0, 0.1], [0.0, 0.0]), until=1.0, control=push, **FINE)
    assert run.status == "finished" and np.isclose(run.q[-1, 0], (2 - 0.1 * G) * 0.5**2 / 2, atol=1e-8)
    assert (run.q[run.t < 0.5, 0] == 0).all()


def test_resets_act_beside_contacts():
    """Lifted by 0.5 m at t = 1 it falls again; thrown at the ground it stops there."""
    lift = lw.Event(lambda t, q, v: t - 1, "lift", reset=lambda t, q, v: (q + np.array([0, 0.5]), v))
    throw = lw.Event(lambda t, q, v: t - 0.5, "throw", reset=lambda t, q, v: (q, np.array([0.0, -3.0])))
    run = lw.simulate(block(), ([0.0, 0.1], [0.0, 0.0]), until=1.5, events=[throw, lift], **FINE)
    assert run.status == "finished" and np.allclose(times(run, "strikes"), [1 + np.sqrt(1 / G)], atol=1e-8)
    assert np.isclose(run.q[-1, 1], 0.1, atol=1e-8)


def test_a_run_with_contacts_goes_on_where_it_was_left(tmp_path):
    robot, state = arm(rail=1.0, pin=0.5), ([0.0, 0.0], [0.5, 0.0])
    whole = lw.simulate(robot, state, until=1.0, limits=True)
    half = lw.simulate(robot, state, until=0.6, limits=True)
    half.save(tmp_path / "half.npz")
    for part in (half, lw.Trajectory.load(tmp_path / "half.npz")):
        again = part.resume(until=1.0)
        np.testing.assert_allclose(again.q[-1], whole.q[-1], atol=1e-9)
        assert [x.name for x in again.events] == [x.name for x in whole.events]


def test_rows_at_multiples_of_dt_are_those_of_the_motion():
    run = lw.simulate(block(), ([0.0, 1.1], [0.5, 0.0]), until=0.6, dt=0.1, **FINE)
    fall = run.t < np.sqrt(2 / G)
    assert fall.sum() >= 5 and np.allclose(run.q[fall, 1], 1.1 - G * run.t[fall] ** 2 / 2, atol=1e-8)


@pytest.mark.slow
def test_a_table_on_many_legs_stands_event_by_event():
    """24 points closed at once; the forces are redundant, and nothing moves."""
    legs = tuple(lw.Shape("sphere", (0.02,), lw.Pose.of((0.1 * (k % 6), 0.1 * (k // 6), 0)), name=f"leg{k}") for k in range(24))
    made = lw.Builder("table").body("top", joint=lw.Free(), mass=5.0, center=(0.25, 0.15, 0.3), tensor=(1, 1, 1), collisions=legs)
    robot = lw.Dynamics(made.ground().contact("top").model(), compiled=False)
    run = lw.simulate(robot, (scenes.placed(robot, z=0.02), np.zeros(6)), until=0.3)
    assert run.status == "finished" and np.abs(run.v[-1]).max() < 1e-9 and np.abs(robot.contact_gaps(run.q[-1])).max() < 1e-9


def test_more_points_than_a_run_event_by_event_takes_are_refused():
    legs = tuple(lw.Shape("sphere", (0.02,), lw.Pose.of((0.1 * (k % 6), 0.1 * (k // 6), 0)), name=f"leg{k}") for k in range(36))
    made = lw.Builder("table").body("top", joint=lw.Prismatic(axis=(0, 0, 1)), mass=5.0, tensor=(1, 1, 1), collisions=legs)
    robot = lw.Dynamics(made.ground().contact("top", friction=0.0).model(), compiled=False)
    with pytest.raises(SimulationError, match=r'closed at once; event by event there may be .*method="contact"'):
        lw.simulate(robot, ([0.02], [0.0]), until=0.1)


def test_a_drive_that_presses_on_the_ground_ends_the_run_with_a_reason():
    made = lw.Builder("press").body("ram", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0, collisions=(FOOT,))
    robot = lw.Dynamics(made.drive("ram_joint", lambda t: 0.3 - t).ground().contact("ram").model(), compiled=False)
    run = lw.simulate(robot, ([0.3], [-1.0]), until=0.5)
    assert run.status == "failed" and "a drive move it on" in run.message and np.isclose(run.t[-1], 0.2, atol=1e-7)


# --- the same by steps


@pytest.mark.slow
def test_steps_come_to_the_motion_of_events_with_limits_and_dry_friction():
    """The times of impacts are known to dt: errors of the first order."""
    robot, state, dt = arm(rail=2.0, pin=1.0), ([0.0, 0.0], [0.0, 0.0]), (4e-3, 1e-3)
    exact = lw.simulate(robot, state, until=0.55, limits=True, rtol=1e-8)
    assert len(times(exact, "strikes")) == 1 and not exact.v[-1].any()  # it has come to rest
    errors = [np.abs(lw.simulate(robot, state, until=0.55, limits=True, method="contact", dt=h).q[-1] - exact.q[-1]).max() for h in dt]
    assert errors[1] < 0.4 * errors[0] and errors[1] < 1e-3


def machine(restitution=0.0):
    """A slide that is driven, on it a flexible arm on a shoulder with a limit and dry friction, and a forearm with both and a foot."""
    section = {"EA": 1e4, "GJ": 7.0, "EIy": 30.0, "EIz": 30.0, "rhoA": 0.5}
    beam = lw.FlexibleBody.beam(1.0, section, elements=4, directions="xz", count=1, damping=0.2)
    foot = lw.Shape("sphere", (0.05,), lw.Pose.of((0.4, 0, 0)), name="foot")
    made = lw.Builder("machine").body("slide", joint=lw.Prismatic(axis=(1, 0, 0)), mass=1.0, tensor=(0.1,) * 3)
    shoulder = lw.Revolute(axis=(0, 1, 0), friction=0.3, lower=-1.0, upper=0.6)
    made.body("shoulder", "slide", (0, 0, 0.9), shoulder, mass=0.5, tensor=(0.05,) * 3)
    made.flexible("arm", beam, "shoulder", None, lw.Fixed())
    elbow = lw.Revolute(axis=(0, 1, 0), lower=0.0, upper=2.0, friction=0.1)
    made.body("fore", "arm.tip", None, elbow, mass=0.4, center=(0.2, 0, 0), tensor=(0.01,) * 3, collisions=(foot,))
    made.drive("slide_joint", lambda t: 0.2 * np.sin(2 * t))
    return lw.Dynamics(made.ground().contact("fore", friction=0.4, restitution=restitution).model(), compiled=False)


@pytest.mark.slow
def test_steps_come_to_the_motion_of_events_with_everything_in_one_machine():
    """A flexible arm with limits and dry friction falls on its stop and on the ground while a drive moves its base."""
    robot = machine()
    state, until = (np.zeros(robot.nq), np.array([0.4, 0.0, 0.0, 0.0])), 0.5
    exact = lw.simulate(robot, state, until=until, limits=True, rtol=1e-8, atol=1e-10)
    assert exact.status == "finished" and {x.name for x in exact.events} >= {
        "shoulder_joint at its upper limit", "fore_joint at its lower limit", "fore.foot/ground.ground strikes",
    }  # fmt: skip
    np.testing.assert_allclose(exact.q[:, 0], 0.2 * np.sin(2 * exact.t), atol=1e-8)
    assert robot.contact_gaps(exact.q).min() > -1e-7 and exact.q[:, 1].max() <= 0.6 + 1e-12 and exact.q[:, 3].min() >= -1e-12
    steps = (lw.simulate(robot, state, until=until, limits=True, method="contact", dt=h) for h in (8e-3, 2e-3))
    errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in steps]
    assert errors[1] < 0.4 * errors[0] and errors[1] < 1e-2


@pytest.mark.slow
def test_steps_come_to_the_motion_of_events_with_a_loop():
    """Two cranks, a level coupler with a ball below it, dry friction in two joints: it falls on the ground and bounces."""
    bar, rod = {"axis": (0, 1, 0)}, solids.capsule(1.0, 0.03, (0.6, 0, 0))
    ball = lw.Shape("sphere", (0.1,), lw.Pose.of((0.5, 0, -0.39)), name="ball")
    made = lw.Builder("linkage").body("crank", None, (0, 0, 1), lw.Revolute(**bar, friction=0.5, lower=0.35), **rod)
    level = {"mass": 2.0, "center": (0.5, 0, 0), "tensor": (0.1,) * 3, "collisions": (ball,)}
    made.body("coupler", "crank", (0.6, 0, 0), lw.Revolute(**bar, friction=0.1), **level)
    made.body("rocker", None, (1, 0, 1), lw.Revolute(**bar), **rod)
    made.loop("pin", "coupler", "rocker", lw.Revolute(**bar), at=(1, 0, 0), on=(0.6, 0, 0))
    robot = lw.Dynamics(made.ground().contact("coupler", friction=0.3, restitution=0.4).model(), compiled=False)
    state = np.array([0.4, -0.4, 0.4]), np.zeros(3)
    exact = lw.simulate(robot, state, until=0.4, limits=True)
    assert exact.status == "finished" and len(times(exact, "strikes")) == 1
    for h in (4e-3, 1e-3):  # the time of the impact is known to h, and velocities change there by (1 + e) |v|
        steps = lw.simulate(robot, state, until=0.4, limits=True, method="contact", dt=h)
        assert np.abs(steps.q[-1] - exact.q[-1]).max() < 1.4 * np.abs(exact.v).max() * h
