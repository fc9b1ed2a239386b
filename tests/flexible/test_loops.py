"""Loops through flexible bodies."""

import numpy as np
import pytest

import linkwork as lw

from .models import four_bar

STEP = 1e-6


def closed(robot):
    """The crank at 1 rad, coupler and rocker where they meet without deformation."""
    A, C = 0.3 * np.array([np.cos(1.0), np.sin(1.0)]), np.array([1.0, 0.0])
    d = C - A
    apart = np.linalg.norm(d)
    along = (1.0 - 0.8**2 + apart**2) / (2 * apart)
    B = A + (along * d + np.sqrt(1.0 - along**2) * np.array([-d[1], d[0]])) / apart
    q = robot.neutral()
    q[robot.q_index("crank_joint")] = 1.0
    q[robot.q_index("coupler_joint")] = np.arctan2(*(B - A)[::-1]) - 1.0
    q[robot.q_index("rocker_joint")] = np.arctan2(*(B - C)[::-1])
    return robot.constraints.project(q, np.zeros(robot.nv))


@pytest.mark.parametrize("compiled", [False, True])
def test_accelerations_under_a_loop_are_those_of_multipliers(compiled, rng):
    """[𝓜 J*; J 0] [v̇; −λ] = [τ − 𝓒; −γ], J and γ by differences of the pin's two ends."""
    robot = lw.Dynamics(four_bar(), compiled=compiled)
    q, _ = closed(robot)
    _, v = robot.constraints.project(q, rng.standard_normal(robot.nv))
    tau = rng.standard_normal(robot.nv)

    def gap(q):
        one, other = robot.pose(q, "coupler.tip"), robot.pose(q, "rocker")
        return (one[:3, 3] - other[:3, :3] @ [0.8, 0, 0] - other[:3, 3])[:2]

    def J(q):
        steps = STEP * np.eye(robot.nv)
        return np.stack([gap(robot.integrate(q, e)) - gap(robot.integrate(q, -e)) for e in steps], -1) / (2 * STEP)

    h = 1e-4
    gamma = (gap(robot.integrate(q, h * v)) + gap(robot.integrate(q, -h * v)) - 2 * gap(q)) / h**2
    whole = np.block([[robot.mass_matrix(q), J(q).T], [J(q), np.zeros((2, 2))]])
    expected = np.linalg.solve(whole, np.r_[tau - robot.bias(q, v), -gamma])[: robot.nv]
    assert np.allclose(robot.forward_dynamics(q, v, tau), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_loop_between_two_frames_of_one_body_has_its_modes():
    """A rigid strut across a bent beam: the modal coordinates are among those that depend."""
    body = lw.FlexibleBody.beam(1.0, {"EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}, elements=8, directions="y", count=3, frames={"mid": 0.5})
    q = np.array([0.3, 0.1, 0.05, -0.02])

    def apart(robot):
        return robot.pose(q, "a.tip")[:3, 3] - robot.pose(q, "a.mid")[:3, 3]

    b = lw.Builder("strut").flexible("a", body, joint=lw.Revolute())
    b.distance("tie", "a.mid", "a.tip", float(np.linalg.norm(apart(lw.Dynamics(b.model(), compiled=False)))))
    robot = lw.Dynamics(b.model(), compiled=False)
    vdot = robot.forward_dynamics(q, np.zeros(4), np.array([0.0, 1.0, 0.0, 0.0]))
    J = robot.jacobian(q, "a.tip", axes="world")[3:] - robot.jacobian(q, "a.mid", axes="world")[3:]
    force = robot.mass_matrix(q) @ vdot + robot.bias(q, np.zeros(4)) - np.array([0.0, 1.0, 0.0, 0.0])
    along = apart(robot) @ J
    assert abs(along @ vdot) < 1e-8 * np.linalg.norm(along) * np.linalg.norm(vdot)
    assert np.allclose(force, along * (along @ force) / (along @ along), atol=1e-8 * np.abs(force).max())


def test_a_loop_keeps_its_energy():
    robot = lw.Dynamics(four_bar())
    run = lw.simulate(robot, closed(robot), until=0.1, rtol=1e-8, atol=1e-10)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-5


def test_assembly_bends_bodies_only_where_joints_cannot_close_a_loop():
    """From a guess that is open by centimetres, the strain energy left is far below that of the gap taken by the coupler."""
    robot = lw.Dynamics(four_bar(), compiled=False)
    q, modes = closed(robot)[0], robot.q_index("coupler_modes")
    body = robot.model.flexible_bodies["coupler_modes"]
    guess = q + 0.05 * np.where(np.arange(robot.nq) < 2, 1.0, 0.0)
    guess[modes] = 0.0
    near = robot.assemble(guess)
    rigid = robot.assemble(guess, hold=["coupler_modes"])
    assert np.allclose(near, rigid, atol=1e-3) and body.strain_energy(near[modes]) < 1e-5
    cranked = robot.assemble(guess, hold=["crank_joint", "coupler_joint", "rocker_joint"])
    assert body.strain_energy(cranked[modes]) > 1.0


def test_a_beam_that_a_loop_clamps_at_both_ends_has_its_frequencies():
    """cos βL cosh βL = 1,  ω = β² √(EI/ρA): a loop holds the tip of a cantilever."""
    section = {"EA": 1e5, "EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}
    beam = lw.FlexibleBody.beam(1.0, section, elements=20, directions="xy", count=6, modes="craig-bampton", interfaces=["tip"])
    b = lw.Builder("bridge", gravity=(0, 0, 0)).flexible("beam", beam)
    b.loop("wall", None, "beam.tip", lw.Fixed(), at=(1, 0, 0))
    robot = lw.Dynamics(b.model(), compiled=False)
    found = 2 * np.pi * robot.modes(robot.equilibrium(robot.neutral())).frequencies[:3]
    assert np.allclose(found, np.array([4.7300407, 7.8532046, 10.9956078]) ** 2, rtol=1e-4)


def test_a_beam_that_cannot_stretch_between_two_walls_is_told_of():
    """c = ½ η* G η along x: its gradient vanishes with η, and the force along x has no bound."""
    section = {"EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}
    beam = lw.FlexibleBody.beam(1.0, section, elements=8, directions="y", count=3, modes="craig-bampton", interfaces=["tip"])
    b = lw.Builder("bridge", gravity=(0, -1, 0)).flexible("beam", beam)
    b.loop("wall", None, "beam.tip", lw.Fixed(), at=(1, 0, 0))
    robot = lw.Dynamics(b.model(), compiled=False)
    assert any("almost singular" in x and "stretch" in x for x in robot.equilibrium(robot.neutral()).notes)
