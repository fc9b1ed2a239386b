"""Ways to stay on constraints while time passes: they lead to the same motion, and differ in what is left of c."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import Pfaffian

from .gallery import MODELS, assembled, four_bar, rod

WAYS = ["project", "embed", lw.Baumgarte(30.0), None]


def start(name, compiled=True):
    robot, held, q = assembled(name)
    v = held.project(q, np.ones(robot.nv))[1]
    return lw.Dynamics(robot.model, compiled=compiled), q, v


def off(robot, run):
    """The largest c and ċ."""
    rows = robot.constraints.set.rows(run.q)
    return np.abs(rows.c).max(), np.abs(np.matvec(rows.Jc, run.v)).max()


METHODS_OF = {"four_bar": ("rk45", "dop853", "stiff"), "slider_crank": ("dop853",), "bricard": ("rk45",), "spatial_slider_crank": ("rk45",)}


@pytest.mark.parametrize("name, method", [(name, method) for name, methods in METHODS_OF.items() for method in methods])
def test_all_ways_lead_to_the_same_motion(name, method):
    robot, q, v = start(name)
    runs = [lw.simulate(robot, (q, v), until=0.4, method=method, rtol=1e-8, loops=how) for how in WAYS]
    for run in runs:
        np.testing.assert_allclose(run.q[-1], runs[0].q[-1], atol=2e-6 * np.abs(v).max())
        np.testing.assert_allclose(run.v[-1], runs[0].v[-1], atol=2e-5 * np.abs(v).max())


@pytest.mark.parametrize("compiled", [False, True])
def test_projection_and_embedding_leave_rounding(compiled):
    robot, q, v = start("four_bar", compiled)
    left = {how: off(robot, lw.simulate(robot, (q, v), until=0.2, method="rk4", dt=0.01, loops=how)) for how in WAYS}
    for how in ("project", "embed"):
        assert max(left[how]) < 1e-13
    assert min(left[None]) > 1e-9


def test_accelerations_alone_drift_and_baumgartes_pull_bounds_it():
    robot, q, v = start("four_bar")
    drift, pulled = (lw.simulate(robot, (q, v), until=20.0, method="rk4", dt=0.01, loops=how) for how in (None, lw.Baumgarte(20.0)))
    assert 100 * off(robot, pulled)[0] < off(robot, drift)[0]


@pytest.mark.parametrize("how", ["project", "embed"])
def test_rows_between_steps_keep_the_constraints_too(how):
    """Those at multiples of dt, and those of events."""
    robot, q, v = start("slider_crank")
    passing = lw.Event(lambda t, q, v: q[0] - 0.5, name="passing")
    run = lw.simulate(robot, (q, v), until=1.0, dt=0.03, rtol=1e-5, events=[passing], loops=how)
    assert run.events
    assert max(off(robot, run)) < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("how", ["project", "embed"])
def test_nothing_drifts_in_a_hundred_thousand_steps(how):
    """c is the rounding of angles that have grown to hundreds of radians."""
    robot, q, v = start("four_bar")
    run = lw.simulate(robot, (q, v), until=100.0, method="rk4", dt=1e-3, loops=how, save=lw.Save(every=10))
    assert run.steps == 100_000
    c, rate = off(robot, run)
    assert c < 16 * np.finfo(float).eps * np.abs(run.q).max() < 1e-11
    assert c < 1e-12
    assert rate < 1e-14 * np.abs(run.v).max()


@pytest.mark.slow
def test_cassie_falls_for_a_second():
    """Its springs are stiff, its loops close to rounding, and what energy it loses is what its dampers took."""
    robot = lw.Dynamics(lw.load(MODELS / "cassie_mjcf/cassie.xml"))
    q = robot.assemble(robot.neutral())
    run = lw.simulate(robot, (q, np.zeros(robot.nv)), until=1.0)
    assert run.status == "finished"
    c, rate = off(robot, run)
    assert c < 1e-14 and rate < 1e-12 * np.abs(run.v).max()
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    damping = np.concatenate([np.zeros(0), *(part.each("damping") for h in robot.model.joints for _, part, _ in h.joint.parts)])
    lost = np.trapezoid((damping * run.v**2).sum(-1), run.t)
    np.testing.assert_allclose(energy[0] - energy[-1], lost, rtol=1e-2)


def test_a_conserved_momentum_is_projected_on():
    """T13: a chain that floats. Without projection its momentum drifts, with it it stays."""
    m = lw.Builder("floating", (0, 0, 0)).body("hull", joint=lw.Free(), mass=1.0, tensor=(0.3, 0.4, 0.5))
    robot = lw.Dynamics(m.body("arm", "hull", (0.2, 0.1, 0), lw.Revolute(axis=(0, 1, 0)), **rod(1.0)).model())
    q, v = robot.neutral(), np.array([1.0, -0.7, 0.5, 0.2, 0.1, -0.3, 2.0])

    def momentum(q):
        """The map from v to the angular momentum about the centre of mass, world axes."""
        return np.stack([robot.centroidal_momentum(q, e)[:3] for e in np.eye(robot.nv)], -1)

    kept = constraints.of(robot, Pfaffian("momentum", momentum, 3, tuple(momentum(q) @ v)))
    error = []
    for keep in (None, kept):
        run = lw.simulate(robot, (q, v), until=1.0, method="rk4", dt=0.05, loops=lw.Project(onto=keep))
        error.append(np.abs(robot.centroidal_momentum(run.q, run.v)[:, :3] - momentum(q) @ v).max())
    assert error[1] < 1e-14 < 1e-7 < error[0]


def test_joints_at_their_limits_and_dry_joints_keep_the_loop():
    """A crank that strikes its limit, and one held by friction: the loop stays closed, and what is held stays."""
    robot, _, q = assembled("four_bar")
    model = robot.model
    stop = lw.Revolute(upper=float(q[0]) + 0.1)
    joints = [lw.PlacedJoint(h.name, h.parent, h.child, stop if i == 0 else h.joint, h.at, h.on) for i, h in enumerate(model.joints)]
    limited = lw.Dynamics(replace(model, joints=tuple(joints)))
    v = limited.constraints.project(q, np.array([5.0, 0.0, 0.0]))[1]
    run = lw.simulate(limited, (q, v if v[0] > 0 else -v), until=0.3, rtol=1e-8, contact=lw.ContactLaw(limits=True, restitution=0.5))
    assert any("upper limit" in x.name for x in run.events)
    assert run.q[:, 0].max() <= stop.upper + 1e-12
    assert max(off(limited, run)) < 1e-12
    dry = lw.Revolute(friction=100.0)
    held = lw.Dynamics(replace(model, joints=tuple(replace(h, joint=dry) if i == 0 else h for i, h in enumerate(model.joints))))
    run = lw.simulate(held, (q, np.zeros(3)), until=0.1)
    np.testing.assert_allclose(run.q[-1], q, atol=1e-12)


WRONG = {
    "constraints is 'glue'": {"constraints": "glue"},
    "keep is 3": {"keep": 3},
    'method "midpoint" takes no loops': {"method": "midpoint", "dt": 0.01},
}


@pytest.mark.parametrize("said", WRONG)
def test_a_way_that_is_not_there_is_named(said):
    robot, q, v = start("four_bar", compiled=False)
    with pytest.raises(lw.SimulationError, match=said):
        lw.simulate(robot, (q, v), until=0.1, **WRONG[said])


def test_a_trajectory_with_constraints_is_saved_and_goes_on(tmp_path):
    robot = lw.Dynamics(four_bar())
    _, q, v = start("four_bar")
    run = lw.simulate(robot, (q, v), until=0.2, loops=lw.Baumgarte(20.0, 1.0))
    run.save(tmp_path / "run.npz")
    again = lw.Trajectory.load(tmp_path / "run.npz").resume(until=0.4)
    whole = lw.simulate(robot, (q, v), until=0.4, loops=lw.Baumgarte(20.0, 1.0))
    np.testing.assert_allclose(again.q[-1], whole.q[-1], atol=1e-6)
