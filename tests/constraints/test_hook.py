"""A robot with loops never gives the answer of the robot without."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw

from .gallery import assembled, four_bar, slider_crank

pytestmark = pytest.mark.skipif(not hasattr(lw.Dynamics, "constraint_report"), reason="Dynamics does not know constraints yet")


@pytest.mark.parametrize("compiled", [False, True])
def test_forward_dynamics_keeps_the_loops(compiled):
    _, held, q = assembled("slider_crank")
    robot = lw.Dynamics(slider_crank(), compiled=compiled)
    free = lw.Dynamics(replace(slider_crank(), loops=()), compiled=False)
    v = held.project(q, np.ones(3))[1]
    vdot = robot.forward_dynamics(q, v, np.zeros(3))
    np.testing.assert_allclose(vdot, held.forward_dynamics(q, v, np.zeros(3)), rtol=1e-10)
    assert np.abs(vdot - free.forward_dynamics(q, v, np.zeros(3))).max() > 1e-2


def test_inactive_loops_bind_nothing():
    model = four_bar()
    model = replace(model, loops=tuple(replace(loop, active=False) for loop in model.loops))
    robot, free = lw.Dynamics(model, compiled=False), lw.Dynamics(replace(model, loops=()), compiled=False)
    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(robot.forward_dynamics(x, x, x), free.forward_dynamics(x, x, x))


def test_the_public_methods_are_there():
    robot = lw.Dynamics(four_bar(), compiled=False)
    q = robot.assemble([1.0, -0.7, 1.1], hold=["crank_joint"])
    assert robot.constraint_report(q).mobility == 1
    assert set(robot.constraint_forces(q, np.zeros(3), np.zeros(3)).cuts) == {"foot"}


def test_simulate_keeps_the_loops():
    robot = lw.Dynamics(four_bar())
    q = robot.assemble([1.0, -0.7, 1.1], hold=["crank_joint"])
    run = lw.simulate(robot, (q, np.zeros(3)), until=0.5, rtol=1e-9, method="dop853")
    np.testing.assert_allclose(robot.constraints.residual(run.q), 0, atol=1e-13)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    np.testing.assert_allclose(energy, energy[0], atol=1e-7)


def test_a_robot_says_which_methods_leave_out_what_binds_it():
    robot, free = lw.Dynamics(four_bar(), compiled=False), lw.Dynamics(replace(four_bar(), loops=()), compiled=False)
    *_, bound, kept, tree = str(robot).splitlines()
    assert bound.startswith("bound by foot:") and "constraint_report" in bound
    for name in ("forward_dynamics", "joint_wrenches", "hybrid_dynamics", "motor_forces", "task_inertia"):
        assert name in kept and name not in tree
    for name in ("mass_matrix", "inverse_dynamics", "gravity_force", "bias", "coriolis_matrix"):
        assert name in tree and name not in kept
        assert "of the tree: loops, couplings and drives are not part of it" in getattr(lw.Dynamics, name).__doc__
    assert "bound by foot" in robot._repr_html_() and "bound by" not in str(free)
