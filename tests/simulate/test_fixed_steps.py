"""Fixed steps are compiled, many in a call, also around Python functions: times, states and forces of steps made one by one in Python."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids
from linkwork.simulate.methods import explicit
from linkwork.simulate.methods.contact import ContactMidpoint
from linkwork.simulate.runs.fixed_steps import FixedSteps

ROWS = "t", "q", "v", "vdot", "tau"


def damp(t, q, v):
    return -0.3 * v + 0.4 * np.sin(3 * t)


def wrenches(t, q, v):
    return np.stack([[0, 0.1 * np.sin(t), 0, 0.2, 0, 0.1 * q[0]]] * 2)


def limited():
    """Two joints, of which one has limits and dry friction."""
    builder = lw.Builder("limited")
    builder.body("a", joint=lw.Revolute(axis=(0, 1, 0), lower=-1.0, upper=1.2, friction=0.3), **solids.cylinder(1.0, 0.02, 1.0))
    builder.body("b", "a", at=(0, 0, -1.0), joint=lw.Revolute(axis=(0, 1, 0)), **solids.cylinder(1.0, 0.02, 1.0))
    return lw.Dynamics(builder.model())


def start(robot):
    if robot.constraints is not None:
        return robot.constraints.put_back(robot.neutral(), np.full(robot.nv, 1.5))
    q, v = robot.random_state(seed=4)
    return q, 0.7 * v


WAYS = {
    "free": ("double_pendulum", {}),
    "control": ("double_pendulum", {"control": damp}),
    "in a chart": ("satellite", {"control": damp}),
    "external": ("double_pendulum", {"control": damp, "external": wrenches}),
    "held": ("double_pendulum", {"control": [damp, lw.hold(lambda t, q, v: -q, rate=30.0)]}),
    "on a loop": ("four_bar", {"control": damp}),
    "limits": (limited, {"control": damp, "limits": True, "restitution": 0.4}),
    "events": ("double_pendulum", {"control": damp, "events": [lw.Event(lambda t, q, v: v[1], reset=lambda t, q, v: (q, -0.5 * v))]}),
    "every third row": ("double_pendulum", {"every": 3}),
}


@pytest.mark.parametrize("method", ["rk4", "euler"])
@pytest.mark.parametrize("way", WAYS)
def test_fixed_steps_are_those_of_python(way, method, monkeypatch):
    """To 1e-12, also within steps and in a last step that is shorter. A step that an event interrupts has rates at its end, too."""
    model, options = WAYS[way]
    robot = model() if callable(model) else lw.Dynamics(lw.load(model))
    run = lambda: lw.simulate(robot, start(robot), until=0.755, dt=0.01, method=method, **options)
    with monkeypatch.context() as patch:
        if way not in ("limits",):
            patch.setattr(explicit.RK4, "step", None)
            patch.setattr(explicit.Euler, "step", None)
        a = run()
    with monkeypatch.context() as patch:
        patch.setattr(FixedSteps, "of", lambda *_: None)
        b = run()
    assert a.status == b.status == "finished" and a.steps == b.steps and len(a.events) == len(b.events)
    assert b.evaluations <= a.evaluations <= b.evaluations + max(0, len(a.t) - 1 - a.steps)  # rows on both sides of an interruption
    for name in ROWS:
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * max(1.0, np.abs(y).max()), err_msg=name)
    np.testing.assert_allclose(a(0.333)[0], b(0.333)[0], atol=1e-12)


def box():
    builder = lw.Builder("box")
    builder.body("box", joint=lw.Free(), **solids.box(2.0, (0.2, 0.3, 0.1)))
    return lw.Dynamics(builder.ground().contact("box", friction=0.4).model())


SOLVER = lw.ContactSolver(method="newton", rounds=60, tolerance=1e-11)
THROWN = [0.1, 0.2, 0.05, 0.97, 0.0, 0.0, 0.25], [1.0, -2.0, 0.5, 0.6, 0.2, 0.0]


def test_steps_with_contact_ask_a_function_once_and_have_the_bits_of_a_kernel_step(monkeypatch):
    """In the middle of each step; the accurate solver is asked for none of them."""
    robot, seen = box(), []
    q = np.array(THROWN[0]) / np.r_[np.full(4, np.linalg.norm(THROWN[0][:4])), 1, 1, 1]
    push = lambda t, q, v: seen.append(float(t)) or np.array([0, 0, 0, 0, 0, 0.1 * np.sin(t)])
    monkeypatch.setattr(ContactMidpoint, "_by_parts", None)
    run = lw.simulate(robot, (q, THROWN[1]), until=0.5, dt=0.005, method="contact", control=push, contact=SOLVER)
    assert run.status == "finished" and run.steps == 100 and run.contact.residual.max() < 1e-6 and (run.contact.force[..., 0] > 0).any()
    np.testing.assert_allclose(seen[1:], 0.005 * np.arange(100) + 0.0025, atol=1e-12)
    np.testing.assert_allclose(run.contact.t, seen[1:], atol=1e-12)
    how = {"dt": 0.005, "method": "contact", "control": push, "contact": SOLVER}
    looked = lw.simulate(robot, (q, THROWN[1]), until=0.5, on_step=lambda *_: False, **how)
    for other in (looked, lw.simulate(robot, (q, THROWN[1]), until=0.2, **how).resume(0.5)):
        for name in ROWS:
            np.testing.assert_array_equal(getattr(other, name), getattr(run, name))


def test_a_kernel_is_asked_where_a_function_is_in_steps_with_contact():
    """In the middle of each step, at the state that is reached there: forces of a run do not depend on what the control is written as."""
    robot = box()
    q = np.array(THROWN[0]) / np.r_[np.full(4, np.linalg.norm(THROWN[0][:4])), 1, 1, 1]
    push = lambda t, q, v: 0.2 * np.sin(7 * t) - 0.1 * v
    how = {"until": 0.3, "dt": 0.005, "method": "contact", "contact": SOLVER}
    ways = push, robot.kernel(t=())(push)
    one, other = (lw.simulate(robot, (q, np.array(THROWN[1])), control=x, **how) for x in ways)
    for name in ("q", "v", "tau"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-11, err_msg=name)


def test_steps_that_rounds_do_not_solve_are_solved_accurately_with_the_same_forces():
    """One round is not enough where contacts change: those steps have the residual of the accurate solver, and ask the function once."""
    robot, seen = box(), []
    q = np.array(THROWN[0]) / np.r_[np.full(4, np.linalg.norm(THROWN[0][:4])), 1, 1, 1]
    push = lambda t, q, v: seen.append(float(t)) or np.zeros(6)
    few, many = (
        lw.simulate(robot, (q, THROWN[1]), until=0.4, dt=0.005, method="contact", control=push, contact=lw.ContactSolver(rounds=n))
        for n in (1, 300)
    )
    assert few.status == many.status == "finished" and few.contact.residual.max() < 1e-6 and len(seen) == 2 * 81
    assert few.contact.rounds.max() > 1


def test_an_error_in_a_fixed_step_leaves_the_last_one():
    """The steps before it are made."""
    robot = lw.Dynamics(lw.load("double_pendulum"))

    def control(t, q, v):
        if t > 0.1234:
            raise RuntimeError("out of order")
        return -0.1 * v

    made = lw.simulate(robot, ([1.0, 0.2], [0.0, 0.0]), until=9.0, control=control, method="rk4", dt=0.01)
    assert made.status == "failed" and "out of order" in made.message and made.t[-1] == 0.12 and made.steps == 12
