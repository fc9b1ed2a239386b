"""Several joints at rest at once: limits, dry friction, loops and drives are one complementarity problem."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids
from linkwork.simulate.rest.sharing import room_of_forces


def arm(n=3, compiled=False, **joint):
    """n links of 1 m and 1 kg in a row, without gravity."""
    builder = lw.Builder("arm", gravity=(0, 0, 0))
    for k in range(n):
        parent, offset = (f"l{k - 1}", (1, 0, 0)) if k else (None, None)
        builder.body(f"l{k}", parent, offset, lw.Revolute(**joint), mass=1.0, center=(0.5, 0, 0), tensor=(0.01, 0.1, 0.1))
    return lw.Dynamics(builder.model(), compiled=compiled)


def driven(function, friction=0.4, **more):
    """A wheel that is driven, with an arm on it."""
    builder = lw.Builder("driven", gravity=(0, 0, 0))
    builder.body("wheel", joint=lw.Revolute(friction=friction, **more), mass=1.0, tensor=(1, 1, 1))
    builder.body("arm", "wheel", (1, 0, 0), lw.Revolute(), mass=1.0, center=(0.5, 0, 0), tensor=(1, 1, 1))
    builder.drive("wheel_joint", function)
    return lw.Dynamics(builder.model())


def test_a_joint_that_is_let_go_may_have_to_be_held_again():
    """Joint 2 leaves its limit; without it, joint 1 must be held, though with it, it would have left."""
    tau = np.array([-13.0316, 9.0536, 4.4637])
    run = lw.simulate(arm(lower=0.0, upper=2.0), (np.zeros(3), np.zeros(3)), until=0.01, control=lambda t, q, v: tau, limits=True)
    assert run.status == "finished" and (run.q[:, :2] == 0).all()
    np.testing.assert_allclose(run.vdot[0][:2], 0, atol=1e-12)
    assert run.vdot[0][2] > 0


@pytest.mark.parametrize("n", [3, 6])
def test_complementarity_holds_for_all_loads_on_an_arm_at_its_limits(n):
    """a = 𝓜⁻¹ (τ + f) ≥ 0, f ≥ 0, a f = 0 for 3000 loads at once; a run starts with the same a."""
    robot, rng = arm(n, lower=0.0), np.random.default_rng(n)
    tau = 10 * rng.standard_normal((3000, n))
    inverse = robot.mass_matrix_inverse(np.zeros(n))
    found = lw.lcp(inverse, tau @ inverse)
    assert found.solved.all() and (found.z >= 0).all() and (found.w >= -1e-9).all() and (np.abs(found.z * found.w) < 1e-8).all()
    for one, a in zip(tau[:60], found.w):
        run = lw.simulate(robot, (np.zeros(n), np.zeros(n)), until=0.0, control=lambda t, q, v, one=one: one, limits=True)
        assert run.status == "finished"
        np.testing.assert_allclose(run.vdot[0], a, atol=1e-8)


@pytest.mark.parametrize("n", [3, 6])
def test_limits_and_dry_friction_are_one_problem(n):
    """f − friction ∈ [−c, c] + limits: moving off takes more than c, and those that move are slowed by c."""
    c, rng = 2.0, np.random.default_rng(n)
    robot = arm(n, lower=0.0, upper=1.0, friction=c)
    q = rng.choice([0.0, 0.5, 1.0], n)
    inverse, low, high = robot.mass_matrix_inverse(q), np.where(q == 1, -np.inf, -c), np.where(q == 0, np.inf, c)
    for tau in 6 * rng.standard_normal((60, n)):
        run = lw.simulate(robot, (q, np.zeros(n)), until=0.0, control=lambda t, q, v, tau=tau: tau, limits=True)
        f = robot.inverse_dynamics(q, np.zeros(n), run.vdot[0]) - tau
        moves = np.abs(run.vdot[0]) > 1e-9
        assert ((f >= low - 1e-9) & (f <= high + 1e-9)).all()
        np.testing.assert_allclose(f[moves], -c * np.sign(run.vdot[0][moves]), atol=1e-9)
        np.testing.assert_allclose(run.vdot[0], lw.lcp(inverse, inverse @ tau, low, high).w, atol=1e-8)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_an_arm_that_falls_onto_many_limits_comes_to_the_end(restitution):
    """Joints that strike each other off their limits: no endless row of ever smaller impacts."""
    builder = lw.Builder("hand")
    builder.body("arm", joint=lw.Revolute(axis=(0, 1, 0), lower=-1.0, upper=1.0), **solids.rod(1.0, (1, 0, 0)))
    for k in range(2):  # fingers that slide along one line, and share its momentum
        joint = lw.Prismatic(axis=(0, 0, 1), lower=0.0, upper=0.04)
        builder.body(f"finger{k}", "arm", (1, 0, 0), joint, **solids.box(0.05, (0.02, 0.02, 0.05)))
    robot = lw.Dynamics(builder.model())
    for v in np.concatenate([np.zeros((1, 3)), np.random.default_rng(0).standard_normal((4, 3))]):
        run = lw.simulate(robot, ([-0.5, 0.02, 0.01], v), until=1.0, contact=lw.ContactLaw(limits=True, restitution=restitution))
        assert run.status == "finished" and len(run.events) > 3 and np.diff(run.energy).max() < 1e-5
        assert (np.abs(run.q[:, 0]) <= 1 + 1e-9).all() and (run.q[:, 1:] >= -1e-9).all() and (run.q[:, 1:] <= 0.04 + 1e-9).all()


def test_two_joints_that_strike_at_the_same_time_stop_both():
    """Two equal balls, dropped from the same height, struck by rounding in one order or the other."""
    builder = lw.Builder("balls")
    for k in range(2):
        builder.body(f"ball{k}", joint=lw.Prismatic(axis=(0, 0, 1), lower=-1.0), **solids.point(1.0))
    run = lw.simulate(
        lw.Dynamics(builder.model()), (np.zeros(2), np.zeros(2)), until=2.0, contact=lw.ContactLaw(limits=True, restitution=0.5)
    )
    assert run.status == "finished" and run.q.min() >= -1 - 1e-12 and (run.q[-1] == -1).all() and (run.v[-1] == 0).all()


def test_a_locked_joint_stays():
    """lower = upper: held from both sides."""
    run = lw.simulate(arm(2, lower=0.3, upper=0.3), ([0.3, 0.3], np.zeros(2)), until=0.1, limits=True, control=lambda t, q, v: [5.0, -7.0])
    assert run.status == "finished" and (run.q == 0.3).all() and (run.vdot == 0).all()


# --- drives and loops


DRIVES = [(lambda t: 0.5 * t * t, 0.0), (lambda t: -0.5 * t * t, 0.0), (lambda t: 0.3 * np.sin(3 * t), 0.9)]


@pytest.mark.parametrize(("function", "rate"), DRIVES)
def test_a_driven_joint_with_friction_follows_its_drive(function, rate):
    """Friction does not move what is driven, at rest, at the start, or where the drive turns."""
    run = lw.simulate(driven(function), (np.zeros(2), [rate, 0.0]), until=3.0)
    assert run.status == "finished"
    np.testing.assert_allclose(run.q[:, 0], [function(t) for t in run.t], atol=1e-9)
    free = lw.simulate(driven(function, friction=0.0), (np.zeros(2), [rate, 0.0]), until=3.0)
    np.testing.assert_allclose(run.q[-1], free.q[-1], atol=1e-5)


def test_a_joint_that_is_driven_past_its_limit_ends_the_run_and_says_so():
    run = lw.simulate(driven(lambda t: 0.5 * t * t, upper=0.5), (np.zeros(2), np.zeros(2)), until=3.0, limits=True)
    assert run.status == "failed" and run.t[-1] == pytest.approx(1.0, abs=1e-6)
    assert '"wheel_joint" cannot stop at a limit: other constraints or a drive move it on' in run.message


def test_friction_in_all_joints_of_a_loop_holds_with_all_of_them():
    """One degree of freedom, v = X u: it starts to move when |X · τ| > Σ |X| c, whatever the share of each joint."""
    from dataclasses import replace

    c, model = 3.0, lw.load("four_bar")
    joints = tuple(replace(x, joint=replace(x.joint, friction=c)) if x.joint.nv == 1 else x for x in model.joints)
    robot = lw.Dynamics(replace(model, joints=joints, gravity=(0.0, 0.0, 0.0)))
    q = robot.assemble(robot.neutral())
    X = robot.constraints.compliance(q)[:, 0]
    most, start = c * np.abs(X).sum() / abs(X[0]) * np.eye(robot.nv)[0], (q, np.zeros(robot.nv))
    run = lw.simulate(robot, start, until=1.05, control=lambda t, q, v: most * t, rtol=1e-9)
    assert run.status == "finished"
    starts = run.t[np.flatnonzero(np.abs(run.v).max(-1) > 0)[0] - 1]
    assert starts == pytest.approx(1.0, abs=1e-6)
    for part, rate in ((0.9, 7), (0.99, 3), (0.999, 11)):
        swing = lw.simulate(robot, start, until=2.1, control=lambda t, q, v, f=part, w=rate: f * most * np.sin(w * t))
        assert swing.status == "finished" and np.abs(swing.v).max() < 1e-30 and np.abs(swing.q[-1] - q).max() < 1e-12


def four_bar(gravity=9.81, **crank):
    """A crank, a coupler and a rocker; only the crank has friction or limits."""
    builder = lw.Builder("four bars", gravity=(0, -gravity, 0))
    builder.body("crank", joint=lw.Revolute(**crank), **solids.capsule(1.0, 0.03, (1, 0, 0)))
    builder.body("coupler", "crank", (1, 0, 0), lw.Revolute(), **solids.capsule(2.0, 0.03, (2, 0, 0)))
    builder.body("rocker", None, (2.2, 0, 0), lw.Revolute(), **solids.capsule(1.5, 0.03, (1.5, 0, 0)))
    builder.loop("pin", "coupler", "rocker", lw.Revolute(), at=(2, 0, 0), on=(1.5, 0, 0))
    robot = lw.Dynamics(builder.model())
    return robot, robot.assemble([1.0, -0.7, 1.4], hold=["crank_joint"])


@pytest.mark.parametrize("how", [{}, {"method": "dop853"}, {"method": "stiff"}, {"loops": lw.Embed()}, {"method": "rk4", "dt": 0.05}])
def test_a_loop_that_friction_holds_stands_still(how):
    """|X · τ| < c: what rounding leaves of the velocities is no motion, however projection changes it."""
    robot, q = four_bar(friction=20.0)
    run = lw.simulate(robot, (q, np.zeros(3)), until=2.0, **how)
    assert run.status == "finished" and np.abs(run.q - q).max() < 1e-12 and np.abs(run.v).max() < 1e-12


def test_a_loop_slides_to_rest():
    robot, q = four_bar(gravity=0.0, friction=5.0)
    _, v = robot.constraints.project(q, np.array([3.0, 0, 0]), 0.0, hold=[0])
    run = lw.simulate(robot, (q, v), until=2.0)
    work = run.kinetic_energy[0] - 5.0 * abs(run.q[-1] - q)[0]
    assert run.status == "finished" and np.abs(run.v[-1]).max() < 1e-12 and abs(work) < 1e-4


@pytest.mark.parametrize("how", [{}, {"method": "rk4", "dt": 0.01}, {"loops": lw.Embed()}, {"restitution": 0.5}])
def test_a_loop_falls_on_the_limit_of_a_joint_and_rests_there(how):
    robot, q = four_bar(lower=0.8, friction=1.0 if "restitution" in how else 0.0)
    run = lw.simulate(robot, (q, np.zeros(3)), until=2.0, limits=True, **how)
    assert run.status == "finished" and run.q[-1, 0] == 0.8 and np.abs(run.v[-1]).max() < 1e-12
    again = lw.simulate(robot, (run.q[-1], np.zeros(3)), until=0.5, limits=True)
    assert again.status == "finished" and np.abs(again.q[-1] - run.q[-1]).max() < 1e-12


def test_shares_of_holding_forces_are_within_bounds_if_any_are():
    """Three forces that do the same: only their sum counts, 3 c at most; of two that differ, each has its own bound."""
    one, c = np.ones((3, 3)), np.array([1.0, 2.0, 3.0])
    for total in (0.0, 5.9, 6.0, 6.1):
        room = room_of_forces(one, np.array([total, 0, 0]), -c, c)
        assert room == pytest.approx(min(1.0, (6 - total) / 3))
    assert room_of_forces(np.eye(2), np.array([0.5, 0.0]), -c[:2], c[:2]) == pytest.approx(0.5)
    assert room_of_forces(one, np.array([9.0, 0, 0]), -c, np.array([1.0, 2.0, np.inf])) > 0


@pytest.mark.parametrize(
    "how", [{}, {"method": "dop853"}, {"method": "stiff"}, {"method": "rk4", "dt": 0.0153}, {"method": "midpoint", "dt": 0.0107}]
)
def test_a_force_that_jumps_lifts_a_joint_off_its_limit(how):
    """Pressed on until t = 1, lifted with 1 m/s² from then on: q = (t − 1)²/2."""
    joint = lw.Prismatic(axis=(0, 0, 1), lower=0.0, upper=10.0)
    robot = lw.Dynamics(lw.Builder("ball").body("ball", joint=joint, **solids.point(1.0)).model())
    run = lw.simulate(robot, ([0.0], [0.0]), until=2.0, limits=True, control=lambda t, q, v: [9.81 + (1.0 if t > 1 else -1.0)], **how)
    assert run.status == "finished" and run.q[-1] == pytest.approx(0.5, abs=1e-9)


def test_a_pulse_overcomes_friction_as_long_as_it_lasts():
    """a = 1 from 1 s to 1.3 s, then −1 until rest: 0.09 m."""
    robot = lw.Dynamics(lw.Builder("block").body("block", joint=lw.Prismatic(axis=(1, 0, 0), friction=1.0), **solids.point(1.0)).model())
    run = lw.simulate(robot, ([0.0], [0.0]), until=3.0, method="dop853", control=lambda t, q, v: [2.0 if 1 <= t < 1.3 else 0.0])
    assert run.status == "finished" and run.q[-1] == pytest.approx(0.09, abs=1e-5) and run.v[-1] == 0
