"""Moreau's midpoint rule: simulate(method="contact") and rollout(method="contact") against closed forms."""

import numpy as np
import pytest
import scenes
from scenes import G

import linkwork as lw
from linkwork.errors import SimulationError
from linkwork.model import solids

BALL, BOUNCING, BOX = scenes.ball(friction=0.3), scenes.ball(restitution=0.9), scenes.box(0.5)


def simulated(robot, q, v, until, dt, **more):
    run = lw.simulate(robot, (q, v), until=until, dt=dt, method="contact", **more)
    assert run.status == "finished" and not run.message
    return run


def test_a_bouncing_ball_strikes_peaks_and_comes_to_rest():
    """Gap 0.9 m, e = 0.9: first impact at 0.428353 s, peaks e^(2n) 0.9 m, rest at 8.138706 s: to the first order in dt."""
    errors = []
    for dt in (0.004, 0.002):
        run = simulated(BOUNCING, scenes.placed(BOUNCING, z=1.0), np.zeros(6), 9.0, dt)
        impacts = run.contact.t[run.contact.force[:, 0, 0] > 0]
        rest = run.t[np.abs(run.v[:, 5]) > 1e-9][-1]
        peak = run.q[(run.t > 0.5) & (run.t < 1.2), 6].max() - 0.1
        errors.append([abs(impacts[0] - 0.428353), abs(rest - 8.138706), abs(peak - 0.9**3)])
        assert run.contact.gap.min() > -1e-10
    assert errors[1][0] < 0.002 and errors[1][1] < 0.15 and errors[1][2] < 0.002
    assert errors[1][1] < 0.6 * errors[0][1]


def test_a_sphere_slides_and_then_rolls():
    """Speed 1, μ = 0.3: it rolls from t = 2/(7 μ g) on with 5/7, at x = 12/(49 μ g) by then; second order in dt."""
    v = np.array([0, 0, 0, 1.0, 0, 0])
    ends = 12 / 49 / (0.3 * G) + 5 / 7 * (0.5 - 2 / 7 / (0.3 * G))
    errors = []
    for dt in (0.01, 0.001):
        run = simulated(BALL, scenes.placed(BALL, z=0.1), v, 0.5, dt)
        errors.append(abs(run.q[-1, 4] - ends))
        assert np.isclose(np.linalg.norm(run.v[-1, 3:]), 5 / 7, atol=1e-12)
    assert errors[0] < 1e-4 and errors[1] < 1e-6


@pytest.mark.slow
def test_a_grid_of_slopes_and_frictions_sticks_without_creep_or_slides_with_the_exact_acceleration():
    """20 x 20: at rest to 1e-12 m in 0.4 s if tan α < μ, else v = g (sin α − μ cos α) t."""
    slope, mu = (x.ravel() for x in np.meshgrid(np.linspace(0.02, 1.2, 20), np.linspace(0.0, 1.5, 20)))
    gravity = G * np.stack([np.sin(slope), 0 * slope, -np.cos(slope)], -1)
    q = np.tile(scenes.placed(BOX, z=0.1), (400, 1))
    given = {"gravity": gravity, "contact_friction": mu[:, None] * np.ones(8)}
    solver = lw.ContactLaw(rounds=100, tolerance=1e-11, polish=10)
    how = {"dt": 0.004, "steps": 100, "every": 100, "method": "contact", "given": given, "contact": solver}
    run = lw.rollout(BOX.varying("gravity"), q, np.zeros((400, 6)), **how)
    wanted = np.maximum(G * (np.sin(slope) - mu * np.cos(slope)), 0) * 0.4
    assert run.residual[:, -1].max() < 1e-9
    assert np.allclose(run.v[:, -1, 3], wanted, atol=1e-10)
    stuck = np.tan(slope) < mu
    assert stuck.sum() > 150 and np.abs(run.q[stuck, -1, 4]).max() < 1e-12
    assert np.abs(run.q[:, -1, 6] - 0.1).max() < 1e-9


@pytest.mark.parametrize("size", [(0.2, 0.1, 0.6), (0.15, 0.1, 0.25)])
def test_a_rocking_block_loses_the_known_part_of_its_speed(size):
    """It turns about one edge until it strikes with the other: ω⁺/ω⁻ = 1 − 3/2 sin² α, tan α = width/height."""
    robot = scenes.box(10.0, size, compiled=False)
    (w, _, h), dt, tilt = size, 1e-7, -2.5e-7
    omega, edge = np.array([0, 1.0, 0]), np.array([w / 2, 0, h / 2])
    q = robot.integrate(scenes.placed(robot), np.array([0, tilt, 0, 0, 0, 0]))
    q[4:7] = robot.pose(q, "box")[:3, :3] @ edge
    run = simulated(robot, q, np.concatenate([omega, np.cross(omega, edge)]), 5 * dt, dt)
    assert np.isclose(run.v[-1, 1], 1 - 1.5 * w * w / (w * w + h * h), atol=2e-5)
    assert run.contact.force[..., 0].min() > -1e-9


def test_a_rod_beyond_painleves_friction_stops_sliding_and_does_not_blow_up():
    """tan θ = 2: below 4/3 the tip goes on sliding with a bounded force; above, it stops within a step."""
    angle = np.arctan(2.0)
    q, v = np.array([0.0, 0.5 * np.sin(angle), angle]), np.array([-1.0, 0.0, 0.0])
    speeds = []
    for mu in (1.2, 1.4):
        robot = scenes.rod(mu)
        run = simulated(robot, q, v, 2e-3, 1e-3)
        speeds.append(abs(robot.contact_jacobian(run.q[1])[1:] @ run.v[1]).max())
        assert np.isfinite(run.v).all() and np.abs(run.v).max() < 5
    assert speeds[0] > 0.1 and speeds[1] < 1e-3


def test_a_table_on_five_legs_shares_its_weight_with_the_least_norm():
    """Legs at the corners of a square of side 2 and in its middle, the centre of mass at (0.2, 0.1): λ = A⁺ (W, W x, W y)."""
    legs = [(1, 1), (-1, 1), (-1, -1), (1, -1), (0, 0)]
    feet = tuple(lw.Shape("sphere", (0.1,), lw.Pose.of((x, y, 0.1)), name=f"leg{i}") for i, (x, y) in enumerate(legs))
    made = lw.Builder("table").body("top", joint=lw.Free(), mass=3.0, center=(0.2, 0.1, 1.0), tensor=(1.0, 1.0, 1.0), collisions=feet)
    robot = lw.Dynamics(made.ground().contact("top", friction=0.5).model())
    run = simulated(robot, robot.neutral(), np.zeros(6), 0.01, 0.001)
    A = np.array([[1, 1, 1, 1, 1], [x for x, _ in legs], [y for _, y in legs]], float)
    wanted = np.linalg.pinv(A) @ (3 * G * np.array([1, 0.2, 0.1]))
    assert np.allclose(run.contact.force[-1, :, 0], wanted, rtol=1e-6) and np.abs(run.contact.force[-1, :, 1:]).max() < 1e-6
    still = robot.contact_dynamics(run.q[-1], run.v[-1], np.zeros(6))
    assert np.allclose(still.force[:, 0], wanted, rtol=1e-6)


def test_a_thrown_box_never_gains_energy_and_comes_to_rest_on_the_ground():
    """e = 0: T + V does not grow by more than the error of the free motion; at rest nothing is in the ground by more than 1e-9 m."""
    q = scenes.placed(BOX, z=0.5)
    run = simulated(BOX, q, np.array([3.0, -5, 2, 1, 0.5, 0]), 1.5, 0.002)
    energy = BOX.kinetic_energy(run.q, run.v) + BOX.potential_energy(run.q)
    assert np.diff(energy).max() < 2e-5 * energy[0]
    assert np.abs(run.v[-1]).max() < 1e-9
    assert run.contact.gap[-100:].min() > -1e-9 and run.contact.gap.min() > -1e-4
    push = run.contact.force
    assert (np.linalg.norm(push[..., 1:], axis=-1) <= 0.5 * push[..., 0] + 1e-6 * push[..., 0].max()).all() and push[..., 0].min() > -1e-6


def test_the_kernel_and_the_plain_run_agree():
    """One text, two roads: a box until it lands on a corner, and a ball that lands and rolls. (Of a box on four corners there
    may be several solutions of Coulomb's problem.)"""
    for robot, q, until in ((BOX, scenes.placed(BOX, z=0.13), 0.024), (BALL, scenes.placed(BALL, z=0.11), 0.05)):
        v = np.array([0.1, 0.3, 0, 0.5, 0, -1.0])
        one, other = (simulated(x, q, v, until, 0.001) for x in (robot, lw.Dynamics(robot.model, compiled=False)))
        assert one.contact.force.max() > 0 or robot is BOX
        assert np.allclose(one.q[-1], other.q[-1], atol=1e-10) and np.allclose(one.v[-1], other.v[-1], atol=1e-9)


def test_a_rollout_is_what_simulate_computes():
    """The same step in a compiled loop, with the control inside, outside, and for each step; in float32 to its accuracy."""
    q, v = scenes.placed(BALL, z=0.12), np.array([0, 0, 0, 1.0, 0, 0])
    push = np.array([0, 0, 0.01, 0.2, 0, 0])
    wanted = simulated(BALL, q, v, 0.3, 0.002, control=lambda t, q, v: push)
    inside = BALL.kernel(lambda t, q, v: 0 * v + push)
    Q, V = np.tile(q, (5, 1)), np.tile(v, (5, 1))
    for controls in (push, inside, lambda t, q, v: 0 * v + push):
        run = lw.rollout(BALL, Q, V, controls, dt=0.002, steps=150, method="contact", every=50)
        assert run.q.shape == (5, 4, 7) and run.force.shape == (5, 4, 1, 3)
        assert np.allclose(run.q[:, -1], wanted.q[-1], atol=1e-9) and np.allclose(run.v[:, -1], wanted.v[-1], atol=1e-8)
    single = lw.rollout(BALL, Q.astype("f"), V.astype("f"), push, dt=0.002, steps=150, method="contact")
    assert single.q.dtype == np.float32 and np.allclose(single.q[:, -1], wanted.q[-1], atol=1e-3)


@pytest.mark.parametrize("control", ["kernel", "Python"])
def test_a_rollout_in_two_parts_is_that_in_one_with_contacts_too(control):
    """The second part begins at the time, in the state and with the impulses at which the first ended: the same bits, of forces too."""
    q, v = scenes.placed(BALL, z=0.1), np.array([0.5, 0, 0, 1.0, 0.2, -0.5])
    Q, V = np.tile(q, (3, 1)), np.linspace(0.5, 1, 3)[:, None] * v
    function = lambda t, q, v: 0.05 * np.sin(20 * t) - 0.01 * v
    function = BALL.kernel(t=())(function) if control == "kernel" else function
    law = lw.ContactLaw(solver="newton", limits=True)
    how = {"dt": 2.0**-8, "method": "contact", "contact": law, "every": 2}  # times are exact
    whole = lw.rollout(BALL, Q, V, function, steps=24, start=1.0, **how)
    first = lw.rollout(BALL, Q, V, function, steps=10, start=1.0, **how)
    then = lw.rollout(BALL, first.end.q, first.end.v, function, steps=14, start=first.end.t, impulse=first.impulse, **how)
    for name in ("q", "v", "force", "rounds"):
        joined = np.concatenate([getattr(first, name), getattr(then, name)[:, 1:]], 1)
        np.testing.assert_array_equal(joined, getattr(whole, name), err_msg=name)
    np.testing.assert_array_equal(then.force[:, 0], first.force[:, -1])
    np.testing.assert_array_equal(then.impulse, whole.impulse)
    assert (first.force[:, -1, 0, 0] > 0).all()
    np.testing.assert_array_equal(np.maximum(first.residual[:, -1:], then.residual), whole.residual[:, 5:])


def test_impulses_go_on_in_the_gradient_of_a_part_and_have_no_other_use():
    """Where rounds start decides nothing of the solution, nor of its derivative."""
    q, v = scenes.placed(BALL, z=0.1), np.array([0.5, 0, 0, 1.0, 0.2, -0.5])
    how = {"dt": 0.004, "steps": 6, "method": "contact", "contact": lw.ContactLaw(solver="newton", tolerance=1e-12)}
    ways = [lw.rollout_gradient(BALL, q, v, weights=(None, np.ones(6)), impulse=x, **how) for x in (None, [0.02, 0, 0])]
    np.testing.assert_allclose(ways[0].v, ways[1].v, rtol=0, atol=1e-9)
    with pytest.raises(lw.SimulationError, match=r'impulse= is of contacts, which method "rk4" has not'):
        lw.rollout(lw.Dynamics(lw.load("pendulum")), [0.0], [0.0], dt=0.1, steps=1, method="rk4", impulse=[0.0])
    with pytest.raises(lw.ShapeError, match=r"impulse has shape \(4,\)"):
        lw.rollout(BALL, q, v, dt=0.01, steps=1, method="contact", impulse=np.zeros(4))


def test_a_reset_inside_a_rollout_with_contacts():
    """A ball that has fallen is put up again."""
    up = lambda q: np.concatenate([q[:6], 0 * q[:1] + 0.5])
    reset = BALL.kernel(lambda t, q, v: (np.where(q[6] < 0.11, up(q), q), np.where(q[6] < 0.11, 0 * v, v)))
    run = lw.rollout(BALL, scenes.placed(BALL, z=0.3)[None], np.zeros((1, 6)), dt=0.002, steps=400, method="contact", reset=reset)
    assert run.q[0, :, 6].min() > 0.1 and run.q[0, :, 6].max() == 0.5


def test_joint_limits_and_dry_friction_are_part_of_the_problem():
    """A slider on a slope: friction c holds it if m g sin α < c; it slides with (m g sin α − c)/m, and stops at its limit."""
    made = lw.Builder("slider", gravity=(G * 0.5, 0, 0)).body("cart", joint=lw.Prismatic(axis=(1, 0, 0), friction=2.0, upper=0.4), mass=1.0)
    made.body("ball", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("sphere", (0.1,)),))
    robot = lw.Dynamics(made.ground().contact("ball").model())
    q = robot.neutral()
    q[7] = 5.0
    run = simulated(robot, q, np.zeros(7), 0.2, 0.01, limits=True)
    assert np.isclose(run.v[-1, 0], (G * 0.5 - 2.0) * 0.2)
    run = simulated(robot, q, np.zeros(7), 1.0, 0.01, limits=True)
    assert np.isclose(run.q[-1, 0], 0.4, atol=1e-12) and abs(run.v[-1, 0]) < 1e-12
    held = simulated(robot, q, np.zeros(7), 0.5, 0.01, limits=True, control=lambda t, q, v: np.array([-3.0, *np.zeros(6)]))
    assert np.abs(held.q[:, 0]).max() < 1e-12


def test_a_compliant_contact_settles_where_its_spring_carries_the_weight():
    """compliance c, damping d: gap = −m g c at rest."""
    made = lw.Builder("soft").body("ball", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("sphere", (0.1,)),))
    robot = lw.Dynamics(made.ground().contact("ball", compliance=1e-4, damping=100.0).model())
    run = simulated(robot, scenes.placed(robot, z=0.11), np.zeros(6), 2.0, 0.002)
    assert np.isclose(robot.contact_gaps(run.q[-1])[0], -G * 1e-4, rtol=1e-6)


def test_bodies_in_each_other_are_pushed_apart_no_faster_than_allowed():
    """A ball 5 mm in the ground rises at `recovery`, not with 5 mm/dt."""
    run = simulated(BALL, scenes.placed(BALL, z=0.095), np.zeros(6), 0.02, 0.001, contact=lw.ContactLaw(recovery=0.1))
    assert np.abs(run.v[:, 5]).max() < 0.11


def test_a_run_goes_on_where_it_stopped_and_comes_back_from_a_file(tmp_path):
    """The state, the impulses for the start of the next step, and the settings."""
    q, v = scenes.placed(BALL, z=0.11), np.array([0, 0, 0, 1.0, 0, 0])
    whole, half = (simulated(BALL, q, v, until, 0.002) for until in (0.2, 0.1))
    again = half.resume(0.2)
    assert np.array_equal(again.q[-1], whole.q[-1]) and np.array_equal(again.contact.force, whole.contact.force)
    half.save(tmp_path / "run.npz")
    read = lw.Trajectory.load(tmp_path / "run.npz")
    assert read.settings.contact == half.settings.contact and read.robot.model.contacts == BALL.model.contacts
    assert np.array_equal(read.resume(0.2).q[-1], whole.q[-1])


def test_the_first_row_has_the_acceleration_under_contact():
    run = simulated(BOX, scenes.placed(BOX, z=0.1), np.zeros(6), 0.01, 0.002)
    assert np.abs(run.vdot).max() < 1e-6


def test_loops_and_contacts_in_one_run():
    """A four-bar linkage falls on a plane: the loop stays closed, the plane is not crossed."""
    plain, q, at, normal = scenes.four_bar_with_knob()
    still = np.zeros(plain.nv)
    robot = lw.Dynamics(plain.model.with_ground(at @ normal - 0.012, normal).with_contacts(["knob"]), compiled=False)
    run = simulated(robot, q, still, 0.1, 0.0025)
    assert run.contact.force[:, 0, 0].max() > 0 and run.contact.gap.min() > -1e-5
    assert np.abs(robot.constraints.residual(run.q)).max() < 1e-8


def test_methods_that_leave_contacts_out_refuse():
    q, v = scenes.placed(BALL, z=0.1), np.zeros(6)
    for call in (
        lambda: lw.simulate(BALL, (q, v), until=1.0, method="midpoint", dt=0.1),
        lambda: lw.rollout(BALL, q, v, dt=0.01, steps=1),
        lambda: lw.rollout_gradient(BALL, q, v, dt=0.01, steps=1, weights=(None, 1.0)),
        lambda: lw.simulate(BALL, (q, v), until=0.01).sensitivity(),
    ):
        with pytest.raises((lw.SimulationError, lw.ModelError, TypeError), match="contact"):
            call()
    with pytest.raises(SimulationError, match="fixed steps"):
        lw.simulate(BALL, (q, v), until=1.0, method="contact")
    with pytest.raises(SimulationError, match="no contacts"):
        arm = lw.Dynamics(lw.load("double_pendulum"))
        lw.rollout(arm, arm.neutral(), np.zeros(2), dt=0.01, steps=1, method="contact")
    with pytest.raises(SimulationError, match="solver"):
        lw.ContactLaw(solver="magic")


def among_far_boxes(count):
    made = lw.Builder("ball").body("ball", joint=lw.Free(), **solids.sphere(1.0, 0.1)).ground().contact("ball", friction=0.3)
    for i in range(count):
        made.body(f"box{i}", at=(5.0 + i, 3.0, 0.0), joint=lw.Fixed(), **solids.box(1.0, (0.2, 0.2, 0.2)))
        made.contact("ball", f"box{i}")
    return lw.Dynamics(made.model())


@pytest.mark.slow
def test_points_that_are_far_away_change_nothing():
    """The problem of a step is that of the points that can close: hundreds of others cost no more than their gaps."""
    alone, among = (among_far_boxes(n) for n in (0, 100))
    q, v = scenes.placed(alone, z=0.12), np.array([0, 0, 0, 1.0, 0, 0])
    expected, found = (simulated(robot, q, v, 0.2, 0.002) for robot in (alone, among))
    np.testing.assert_allclose(found.q, expected.q, atol=1e-12)
    assert found.contact.force[:, 1:].max() == 0.0 and found.contact.force.shape[1] == 101


def test_a_rollout_of_very_many_points_says_what_to_do():
    robot = among_far_boxes(100)
    with pytest.raises(SimulationError, match=r"101 contact points.*with_contacts"):
        lw.rollout(robot, robot.neutral(), np.zeros(6), dt=0.01, steps=2, method="contact")


def test_a_body_jammed_between_others_is_named():
    """A slider between two fixed boxes that it overlaps on both sides: no velocity parts both, which the run says."""
    made = lw.Builder("jam").body("slider", joint=lw.Prismatic(axis=(1, 0, 0)), mass=1.0, collisions=(lw.Shape("sphere", (0.1,)),))
    for side in (1, -1):
        made.body(f"wall{side}", at=(0.19 * side, 0, 0), joint=lw.Fixed(), collisions=(lw.Shape("sphere", (0.1,)),))
        made.contact("slider", f"wall{side}")
    robot = lw.Dynamics(made.model(), compiled=False)
    run = lw.simulate(robot, (np.zeros(1), np.zeros(1)), until=0.01, method="contact", dt=0.005)
    assert "jammed in each other" in run.message and "0.1 m/s" in run.message and np.abs(run.v).max() < 1e-6


def test_a_box_pressed_between_plates_has_the_same_points_in_all_steps():
    """Where corners of two faces coincide, rounding does not choose among them: forces do not change from step to step."""
    made = lw.Builder("press").ground()
    for name, side in (("left", 1), ("right", -1)):
        made.body(name, joint=lw.Prismatic(axis=(-side, 0, 0)), at=(0.0351 * side, 0, 0.05), **solids.box(0.1, (0.01, 0.03, 0.08)))
    made.body("box", joint=lw.Free(), **solids.box(0.5, (0.06, 0.06, 0.06)))
    made.contact("box").contact("box", "left", friction=0.6).contact("box", "right", friction=0.6)
    robot = lw.Dynamics(made.model())
    q = robot.neutral()
    q[8] = 0.03
    press = np.array([12.0, 12.0, 0, 0, 0, 0, 0, 0])
    run = lw.simulate(robot, (q, np.zeros(8)), until=0.1, method="contact", dt=0.002, control=lambda t, q, v: press - 20 * v * (press > 0))
    late = run.contact.force[30:]
    assert np.abs(late - late[-1]).max() < 1e-6 * np.abs(late).max()
