"""robot.contact_dynamics: v̇ = v̇_f + 𝓜⁻¹ J* λ, 0 ≤ d̈_n ⟂ λ_n ≥ 0, Coulomb's law (Jain, 11.47 to 11.51)."""

import numpy as np
import pytest
import scenes
from scenes import G

import linkwork as lw
from linkwork.errors import ModelError


def test_a_ball_at_rest_is_held_by_its_weight_and_one_above_falls():
    robot = scenes.ball()
    q = np.stack([scenes.placed(robot, z=0.1), scenes.placed(robot, z=0.2)])
    found = robot.contact_dynamics(q, np.zeros(6), np.zeros(6))
    assert np.allclose(found.vdot[:, 5], [0, -G], atol=1e-12) and np.allclose(found.force[:, 0, 0], [G, 0])
    assert found.active[:, 0].tolist() == [True, False] and found.stick[:, 0].tolist() == [True, False]


def test_a_box_on_a_slope_sticks_below_the_angle_of_friction_and_slides_above():
    """v̇ = 0 if tan α ≤ μ, else g (sin α − μ cos α) downhill; at rest, and while it slides."""
    for slope in (0.1, 0.4, 0.5, 1.0):
        for mu in (0.0, 0.3, 0.5):
            robot = scenes.box(mu, gravity=(G * np.sin(slope), 0, -G * np.cos(slope)), compiled=False)
            q = scenes.placed(robot, z=0.1)
            found = robot.contact_dynamics(q, np.zeros(6), np.zeros(6))
            wanted = max(0.0, G * (np.sin(slope) - mu * np.cos(slope)))
            assert found.converged and np.allclose(found.vdot, [0, 0, 0, wanted, 0, 0], atol=1e-7)
            moving = robot.contact_dynamics(q, [0, 0, 0, 0.7, 0, 0], np.zeros(6))
            assert np.allclose(moving.vdot[3], G * (np.sin(slope) - mu * np.cos(slope)), atol=1e-7) and moving.slide.sum() == 4


@pytest.mark.parametrize(("mu", "converges"), [(1.30, True), (1.33, True), (1.34, False), (2.0, False)])
def test_a_sliding_rod_has_no_acceleration_beyond_painleves_friction(mu, converges):
    """Slender rod, tip sliding, tan θ = 2: d̈_n = (1/m) (1 + 3 cos θ (cos θ − μ sin θ)) λ_n + b_n, whose coefficient is zero at μ = 4/3.
    Beyond, with b_n < 0, no force is a solution; it is reported."""
    robot, angle = scenes.rod(mu), np.arctan(2.0)
    q = np.array([0.0, 0.5 * np.sin(angle), angle])
    found = robot.contact_dynamics(q, [-1.0, 0.0, 0.0], np.zeros(3))
    coefficient = 1 + 3 * np.cos(angle) * (np.cos(angle) - mu * np.sin(angle))
    assert (coefficient > 0) == converges
    assert found.converged == converges and found.slide[0] == converges
    if converges:
        assert np.isclose(found.force[0, 0], G / coefficient, rtol=1e-6)
    else:
        assert np.isnan(found.vdot).all()


def test_a_ball_that_strikes_is_said_to_strike():
    """A velocity into the ground is a matter of impulses."""
    robot = scenes.ball()
    found = robot.contact_dynamics(scenes.placed(robot, z=0.1), [0, 0, 0, 0, 0, -1], np.zeros(6))
    assert found.striking[0]


def test_loops_are_eliminated_before_contacts():
    """A four-bar linkage with a knob that bears on a plane: v̇ keeps the loop, and λ = −J v̇_f / (J 𝓒 J*), with 𝓒 the compliance
    under the loop."""
    plain, q, at, normal = scenes.four_bar_with_knob()
    still = np.zeros(plain.nv)
    free = plain.forward_dynamics(q, still, still)
    on = plain.model.with_ground(at @ normal - 0.01, normal).with_contacts(["knob"], material=lw.Material(friction=0.0))
    robot = lw.Dynamics(on, compiled=False)
    found = robot.contact_dynamics(q, still, still)
    J = robot.contact_jacobian(q)[:1]
    compliance = (J @ robot.constraints.compliance(q) @ J.T)[0, 0]
    assert found.active[0] and np.isclose(found.force[0, 0], -(J @ free)[0] / compliance, rtol=1e-7)
    assert np.allclose(robot.constraints.jacobian(q) @ found.vdot, 0, atol=1e-8) and abs(J @ found.vdot)[0] < 1e-7


def test_a_model_without_contacts_says_how_to_make_them():
    robot = lw.Dynamics(lw.load("double_pendulum"), compiled=False)
    with pytest.raises(ModelError, match="has no contacts"):
        robot.contact_dynamics(robot.neutral(), np.zeros(2), np.zeros(2))
