"""Joints that rest: against their limits, and by dry friction."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

g = 9.81
METHODS = {"rk45": {}, "dop853": {}, "stiff": {}, "rk4": {"dt": 0.01}, "euler": {"dt": 0.002}, "midpoint": {"dt": 0.01}}
every_method = pytest.mark.parametrize("method", METHODS)
smooth_methods = pytest.mark.parametrize("method", [name for name in METHODS if name != "euler"])


def ball(**limits):
    """1 kg on a vertical rail."""
    joint = lw.Prismatic(axis=(0, 0, 1), **limits)
    return lw.Dynamics(lw.Builder("ball").body("ball", joint=joint, joint_name="rail", **solids.point(1.0)).model())


def block(friction=2.0, **more):
    """1 kg on a level rail."""
    joint = lw.Prismatic(axis=(1, 0, 0), friction=friction, **more)
    return lw.Dynamics(lw.Builder("block").body("block", joint=joint, joint_name="rail", **solids.point(1.0)).model())


@smooth_methods
def test_a_joint_bounces_off_its_limit(method):
    """Bounce n comes after t₁ (1 + 2 e + ... + 2 eⁿ⁻¹)."""
    e, first = 0.8, np.sqrt(2 / g)
    run = lw.simulate(
        ball(lower=-1.0), ([0.0], [0.0]), until=2.5, method=method, contact=lw.ContactLaw(limits=True, restitution=e), **METHODS[method]
    )
    times = first * (1 + 2 * np.cumsum(np.concatenate([[0], e ** np.arange(1, 30)])))
    times = times[times < 2.5]
    np.testing.assert_allclose([event.t for event in run.events], times, atol=1e-6)
    assert {event.name for event in run.events} == {"rail at its lower limit"}
    assert run.q.min() >= -1 - 1e-12


@every_method
def test_bounces_end_in_rest(method):
    """e = 1/2: at rest after three times the first fall, and from then on it does not move at all."""
    run = lw.simulate(
        ball(lower=-1.0), ([0.0], [0.0]), until=3.0, method=method, contact=lw.ContactLaw(limits=True, restitution=0.5), **METHODS[method]
    )
    assert run.status == "finished"
    late = run.t > 3 * np.sqrt(2 / g) + 0.05
    assert late.sum() > 0 and (run.q[late] == -1.0).all() and (run.v[late] == 0.0).all()
    assert (run.vdot[late] == 0.0).all()


def test_without_restitution_a_joint_stays_at_its_limit():
    run = lw.simulate(ball(lower=-1.0), ([0.0], [0.0]), until=2.0, limits=True)
    assert len(run.events) == 1 and run.q[-1] == -1.0 and run.v[-1] == 0.0


def test_full_restitution_keeps_energy():
    robot = ball(lower=-1.0, upper=0.5)
    run = lw.simulate(
        robot, ([0.0], [6.0]), until=5.0, method="dop853", rtol=1e-10, atol=1e-10, contact=lw.ContactLaw(limits=True, restitution=1.0)
    )
    names = {event.name for event in run.events}
    assert names == {"rail at its lower limit", "rail at its upper limit"} and len(run.events) > 10
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-8)


def test_a_joint_leaves_its_limit_when_it_is_pulled_off():
    """Lifted by a force that grows past its weight at t = 1."""
    how = {"control": lambda t, q, v: [g * t], "rtol": 1e-9, "dt": 0.1}
    run = lw.simulate(ball(lower=-1.0), ([-1.0], [0.0]), until=2.0, contact=lw.ContactLaw(limits=True, restitution=0.5), **how)
    assert (run.q[run.t <= 1] == -1.0).all()
    late = run.t > 1
    np.testing.assert_allclose(run.q[late, 0], -1 + g * (run.t[late] - 1) ** 3 / 6, atol=1e-7)


def test_limits_are_no_limits_unless_asked_for():
    run = lw.simulate(ball(lower=-1.0), ([0.0], [0.0]), until=1.0)
    assert run.q[-1] == pytest.approx(-g / 2) and not run.events


BOUNCY = lw.ContactLaw(limits=True, restitution=1.0)


@pytest.mark.parametrize(("old", "new"), [(None, {}), (0.0, {"limits": True}), (1.0, {"contact": BOUNCY})])
def test_limits_given_as_a_restitution_still_work_and_warn(old, new):
    """limits=e is now contact=lw.ContactLaw(limits=True, restitution=e)."""
    robot, start = ball(lower=-1.0), ([0.0], [0.0])
    expected = lw.simulate(robot, start, until=1.0, **new)
    with pytest.warns(DeprecationWarning, match=f"limits={old} is now (contact|limits)=") as caught:
        run = lw.simulate(robot, start, until=1.0, limits=old)
    np.testing.assert_array_equal(run.q, expected.q)
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning):
        run = lw.simulate(robot, start, until=0.3).resume(until=1.0, limits=old)
    assert (run.settings.limits, run.settings.restitution) == (old is not None, old or 0)


def test_a_start_beyond_a_limit_is_refused():
    with pytest.raises(lw.SimulationError, match='joint "rail" starts at -2, beyond its lower limit -1'):
        lw.simulate(ball(lower=-1.0), ([-2.0], [0.0]), until=1.0, contact=lw.ContactLaw(limits=True, restitution=0.5))


def test_an_impact_moves_the_whole_mechanism():
    """A double pendulum whose elbow strikes its limit: momentum along the shoulder is kept, energy is not gained."""
    builder = lw.Builder("arm", (0, 0, 0))
    builder.body("upper", joint=lw.Revolute(), joint_name="shoulder", **solids.rod(1.0, (1, 0, 0)))
    builder.body("fore", "upper", (1, 0, 0), lw.Revolute(lower=-0.5, upper=0.5), joint_name="elbow", **solids.rod(1.0, (1, 0, 0)))
    robot = lw.Dynamics(builder.model())
    run = lw.simulate(
        robot, ([0.0, 0.0], [0.0, 2.0]), until=5.0, rtol=1e-10, atol=1e-10, contact=lw.ContactLaw(limits=True, restitution=0.6)
    )
    momentum = (robot.mass_matrix(run.q) @ run.v[..., None])[:, 0, 0]
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-8)
    assert len(run.events) > 3 and (np.diff(run.energy) < 1e-9).all()
    assert np.abs(run.q[:, 1]).max() <= 0.5 + 1e-12
    for event in run.events:
        i = np.flatnonzero(run.t == event.t)
        assert run.v[i[-1], 1] == pytest.approx(-0.6 * run.v[i[0], 1]) or run.v[i[-1], 1] == 0


def test_two_joints_at_their_limits():
    """A folded arm falls on its shoulder's limit while its elbow already rests: neither passes, both end at rest."""
    builder = lw.Builder("arm")
    pin = {"axis": (0, 1, 0)}
    builder.body("upper", joint=lw.Revolute(**pin, upper=0.3), **solids.rod(1.0, (1, 0, 0)))
    builder.body("fore", "upper", (1, 0, 0), lw.Revolute(**pin, upper=0.0, damping=0.1), **solids.rod(1.0, (1, 0, 0)))
    robot = lw.Dynamics(builder.model())
    run = lw.simulate(robot, ([-0.5, 0.0], [0.0, 0.0]), until=6.0, contact=lw.ContactLaw(limits=True, restitution=0.3))
    assert run.status == "finished"
    assert (run.q <= np.array([0.3, 0.0]) + 1e-12).all()
    np.testing.assert_allclose(run.v[-1], 0, atol=1e-12)
    np.testing.assert_allclose(run.q[-1], [0.3, 0.0], atol=1e-12)


# --- dry friction


@smooth_methods
def test_a_sliding_block_stops_and_stays(method):
    """v = v₀ − c t until t = v₀/c, then at rest for good."""
    run = lw.simulate(block(), ([0.0], [3.0]), until=4.0, method=method, **METHODS[method])
    assert run.status == "finished"
    late = run.t > 1.5 + 1e-6
    assert (run.v[late] == 0).all()
    np.testing.assert_allclose(run.q[-1], 3.0**2 / (2 * 2.0), atol=1e-6)


def test_friction_holds_as_much_as_it_can():
    """A force that grows: nothing moves until it exceeds the friction, then the difference accelerates."""
    run = lw.simulate(block(), ([0.0], [0.0]), until=4.0, control=lambda t, q, v: [t], dt=0.25, rtol=1e-9)
    assert (run.q[run.t <= 2] == 0).all()
    late = run.t > 2
    np.testing.assert_allclose(run.q[late, 0], (run.t[late] - 2) ** 3 / 6, atol=1e-8)


def test_dry_friction_shrinks_an_oscillation_by_equal_amounts():
    """Each half swing of a spring is shorter by 2 c/k; it stops within ± c/k of the rest."""
    k, c = 100.0, 2.0
    run = lw.simulate(block(c, stiffness=k), ([0.25], [0.0]), until=5.0, method="dop853", rtol=1e-10, atol=1e-10)
    turning = run.q[np.flatnonzero(run.v[:, 0] == 0), 0]
    kept = [x for i, x in enumerate(turning) if i == 0 or abs(x - turning[i - 1]) > 1e-6]
    np.testing.assert_allclose(kept, [0.25, -0.21, 0.17, -0.13, 0.09, -0.05, 0.01], atol=1e-8)
    assert run.v[-1] == 0


def test_stick_and_slip():
    """A force that swings past the friction: in each half period the block sticks, slips, and sticks again."""
    run = lw.simulate(block(2.0), ([0.0], [0.0]), until=4 * np.pi, control=lambda t, q, v: [2.5 * np.sin(t)], dt=0.01, rtol=1e-8)
    stuck = run.v[:, 0] == 0
    assert run.status == "finished" and np.abs(run.tau[stuck]).max() <= 2.0 + 1e-6
    starts = run.t[1:][stuck[:-1] & ~stuck[1:]]
    np.testing.assert_allclose(starts, np.arcsin(0.8) + np.pi * np.arange(4), atol=0.02)
    np.testing.assert_allclose(run.q[-1], 0, atol=1e-5)


def test_friction_and_a_limit_at_once():
    """On the limit, friction helps to hold: it takes weight and friction to lift it."""
    robot = ball(lower=0.0, friction=2.0)
    run = lw.simulate(robot, ([0.0], [0.0]), until=2.0, limits=True, control=lambda t, q, v: [10.0 * t], dt=0.01, rtol=1e-9)
    lifted = run.t[np.flatnonzero(run.q[:, 0] > 0)[0]]
    assert lifted == pytest.approx((g + 2.0) / 10.0, abs=0.02)


def test_a_robot_with_friction_comes_to_rest():
    """Every joint of an arm with damping and friction stops and is held against gravity."""
    robot = lw.Dynamics(lw.load("puma560"))
    dry = np.concatenate([part.each("friction") for placed in robot.model.joints for _, part, _ in placed.joint.parts])
    if not dry.any():
        pytest.skip("this Puma has no friction")
    run = lw.simulate(robot, (np.zeros(robot.nv), np.ones(robot.nv)), until=1.0)
    assert run.status == "finished" and (np.abs(run.v[-1]) < 2).all()
