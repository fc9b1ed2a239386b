"""A contact law says what is wanted of its solution, fast or accurate; methods are chosen for that."""

from importlib import import_module

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.solver.accurate import accurate
from linkwork.model import solids


def table(legs: int):
    """A table on legs that share its load."""
    builder = lw.Builder("table").ground()
    feet = [lw.Shape("sphere", (0.05,), lw.Pose.of((x, y, -0.2)), name=f"{x}{y}") for x in (-1, 1) for y in (-1, 1)][:legs]
    builder.body("table", joint=lw.Free(), collisions=feet, **{**solids.sphere(10.0, 0.1), "visuals": ()})
    return lw.Dynamics(builder.contact("table", friction=0.5).model())


def legged():
    """A body on three legs of a joint each, with dry friction: as many contact rows as the legs have, none shared."""
    builder = lw.Builder("legged").ground().body("trunk", joint=lw.Free(), **solids.box(5.0, (0.4, 0.4, 0.1)))
    for i, (x, y) in enumerate([(0.2, 0.0), (-0.1, 0.17), (-0.1, -0.17)]):
        builder.body(f"leg{i}", "trunk", (x, y, 0), lw.Prismatic(axis=(0, 0, 1), stiffness=2000.0, damping=20.0, friction=0.5),
                     collisions=[lw.Shape("sphere", (0.02,), lw.Pose.of((0, 0, -0.3)))], **solids.point(0.1))  # fmt: skip
        builder.contact(f"leg{i}", friction=0.6)
    robot = lw.Dynamics(builder.model())
    q = robot.neutral()
    q[6] = 0.33
    return robot, q


def test_steps_where_no_load_is_shared_are_compiled_and_accurate():
    """u = b + G z in the cones: what the rounds of a kernel leave is below 1e-8, and the motion is that of the accurate solver."""
    robot, q = legged()
    v = np.zeros(robot.nv)
    v[3] = 0.3
    how = {"until": 0.4, "method": "contact", "dt": 0.002}
    compiled = lw.simulate(robot, (q, v), **how)
    plain = lw.simulate(lw.Dynamics(robot.model, compiled=False), (q, v), **how)
    assert compiled.contact.residual.max() < 1e-8 and (compiled.contact.force[-1, :, 0] > 0).all()
    assert np.abs(compiled.q - plain.q).max() < 1e-9


def test_steps_where_no_load_is_shared_do_not_leave_their_kernel(monkeypatch):
    robot, q = legged()
    calls, contact = [], import_module("linkwork.simulate.methods.contact")
    monkeypatch.setattr(contact, "closing", lambda *problem: calls.append(problem) or accurate(*problem))
    lw.simulate(robot, (q, np.zeros(robot.nv)), until=0.2, method="contact", dt=0.002, control=lambda t, q, v: 0.0 * v)
    assert len(calls) <= 1


@pytest.mark.parametrize("wanted, least", [("accurate", 1e-9), ("fast", 1e-6)])
def test_what_is_wanted_is_what_comes(wanted, least):
    """Simulate and rollout end with residuals below what is wanted, and the same motion."""
    robot, q = legged()
    law, v = lw.ContactLaw(solver=wanted), np.zeros(robot.nv)
    run = lw.simulate(robot, (q, v), until=0.1, method="contact", dt=0.002, contact=law)
    batch = lw.rollout(robot, q[None], v[None], None, dt=0.002, steps=50, method="contact", contact=law)
    assert run.contact.residual.max() < least and batch.residual.max() < least
    assert np.abs(run.q[-1] - batch.end.q[0]).max() < 1e-4 * least**0.5


def test_accurate_forces_of_a_shared_load_are_those_of_least_norm():
    """A table on four legs: each bears a quarter, in simulate and in rollouts."""
    robot = table(4)
    q, v = robot.neutral(), np.zeros(6)
    q[6] = 0.25
    law = lw.ContactLaw(solver="accurate")
    run = lw.simulate(robot, (q, v), until=0.01, method="contact", dt=0.005, contact=law)
    batch = lw.rollout(robot, q[None], v[None], None, dt=0.005, steps=2, method="contact", contact=law)
    for force in (run.contact.force[-1], batch.force[0, -1]):
        assert np.allclose(force[:, 0], 10 * 9.81 / 4, rtol=1e-8)


def test_a_solver_of_no_name_is_refused():
    with pytest.raises(lw.SimulationError, match='solver "quick"'):
        lw.ContactLaw(solver="quick")
