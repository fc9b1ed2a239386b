"""Runs in velocities whose mass matrix is the identity are the runs in v."""

import numpy as np
import pytest
from zoo import MECHANISMS, grown
from zoo.mechanisms import named

import linkwork as lw
from linkwork.errors import SimulationError
from linkwork.model import solids
from linkwork.simulate.requests.options import METHODS

SWINGING = {
    "double pendulum": lambda: lw.load("double_pendulum"),
    "free": lambda: MECHANISMS["free"],
    "spherical on a slide": lambda: grown("mixed", named((None, "prismatic"), (0, "spherical"), (1, "revolute")), seed=3),
}


def runs(model, how="v", method="rk45", **options):
    robot = lw.Dynamics(model, compiled=False)
    q, v = robot.random_state(seed=2)
    settings = {"until": 0.3, "rtol": 1e-9, "atol": 1e-11, "progress": False}
    made = lw.RK4(options.pop("dt"), velocities=how) if method == "rk4" else METHODS[method](velocities=how)
    return lw.simulate(robot, (q, v), method=made, **settings | options)


@pytest.mark.parametrize("name", SWINGING)
@pytest.mark.parametrize("method", ["rk45", "dop853"])
def test_the_diagonal_equations_give_the_same_trajectory(name, method):
    """at the end and within the steps"""
    expected, found = (runs(SWINGING[name](), how, method=method) for how in ("v", "eta"))
    assert found.status == "finished"
    np.testing.assert_allclose(found.q[-1], expected.q[-1], atol=3e-8)
    np.testing.assert_allclose(found.v[-1], expected.v[-1], atol=3e-7)
    np.testing.assert_allclose(found.vdot[-1], expected.vdot[-1], atol=1e-5)
    for t in (0.05, 0.123, 0.25):
        for one, other in zip(found(t), expected(t)):
            np.testing.assert_allclose(one, other, atol=1e-6)


def test_fixed_steps_converge_with_the_order_of_the_method():
    exact = runs(lw.load("double_pendulum"), rtol=1e-12, atol=1e-13, method="dop853")
    errors = [np.abs(runs(lw.load("double_pendulum"), "eta", method="rk4", dt=dt).q[-1] - exact.q[-1]).max() for dt in (0.02, 0.01)]
    assert 12 < errors[0] / errors[1] < 20


def test_forces_springs_events_and_wrenches_act_as_they_do_in_v():
    builder = lw.Builder("sprung")
    builder.body("a", joint=lw.Revolute(axis=(0, 1, 0), stiffness=3.0, damping=0.2), **solids.rod(1.0, (0.5, 0, 0)))
    builder.body("b", parent="a", at=(0.5, 0, 0), joint=lw.Revolute(axis=(0, 0, 1)), **solids.rod(1.0, (0.5, 0, 0)))
    options = {
        "control": [lambda t, q, v: np.array([np.sin(t), -v[1]]), lw.hold(lambda t, q, v: -q, rate=50.0)],
        "external": lambda t, q, v: np.full((2, 6), 0.1 * t),
        "events": [lw.Event(lambda t, q, v: q[0] - 0.2, name="passes", reset=lambda t, q, v: (q, 0.5 * v))],
        "rtol": 1e-8,
        "dt": 0.05,
    }
    expected, found = (runs(builder.model(), how, **options) for how in ("v", "eta"))
    np.testing.assert_allclose(found.t, expected.t, atol=1e-8)
    np.testing.assert_allclose(found.q, expected.q, atol=1e-7)
    np.testing.assert_allclose(found.tau, expected.tau, atol=1e-6)


def test_a_run_is_saved_and_continued(tmp_path):
    first = runs(lw.load("double_pendulum"), "eta", until=0.2)
    first.save(tmp_path / "run.npz")
    whole, later = runs(lw.load("double_pendulum"), "eta", until=0.4), lw.Trajectory.load(tmp_path / "run.npz").resume(until=0.4)
    np.testing.assert_allclose(later.q[-1], whole.q[-1], atol=1e-8)
    assert later.settings.velocities == "eta"


@pytest.mark.parametrize("gain", [2.0, (0.5, 3.0)])
def test_rate_feedback_takes_energy_out(gain):
    """ζ = −c η: d/dt ½ |η|² = −η · c η (lemma 19.10), without gravity; with one gain η decays as exp(−c t) in length."""
    robot = lw.Dynamics(lw.load("double_pendulum").with_gravity((0, 0, 0)), compiled=False)
    start, control = (np.array([0.3, 1.0]), np.array([1.0, -2.0])), robot.diagonal().rate_feedback(gain)
    run = lw.simulate(robot, start, until=1.0, control=control, rtol=1e-10, progress=False)
    energy = robot.kinetic_energy(run.q, run.v)
    assert (np.diff(energy) < 0).all()
    if np.ndim(gain) == 0:
        np.testing.assert_allclose(energy, energy[0] * np.exp(-2 * gain * run.t), rtol=1e-6)


@pytest.mark.parametrize(
    "model, options, match",
    [
        ("double_pendulum", {"method": "stiff", "velocities": "eta"}, "rk45, dop853, rk4"),
        ("four_bar", {"method": lw.RK45(velocities="eta")}, "trees"),
        ("double_pendulum", {"method": lw.RK45(velocities="eta")}, "velocities"),
    ],
)
def test_what_cannot_be_done_says_so(model, options, match):
    robot = lw.Dynamics(lw.load(model), compiled=False)
    with pytest.raises(SimulationError, match=match):
        lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=0.1, **options).sensitivity()


def test_velocities_that_are_unknown_and_dry_friction_are_refused():
    builder = lw.Builder("rough")
    builder.body("a", joint=lw.Revolute(axis=(0, 1, 0), friction=0.2), **solids.rod(1.0, (0.5, 0, 0)))
    robot = lw.Dynamics(builder.model(), compiled=False)
    with pytest.raises(SimulationError, match="dry friction"):
        lw.simulate(robot, (np.zeros(1), np.zeros(1)), until=0.1, method=lw.RK45(velocities="eta"))
    with pytest.raises(SimulationError, match='"v" or "eta"'):
        lw.simulate(robot, (np.zeros(1), np.zeros(1)), until=0.1, method=lw.RK45(velocities="etas"))
