"""Two scenes of Müller and Terze, section 5.4: a satellite that unfolds, and a snakeboard in redundant coordinates.

The paper gives no masses; the figures of its text are orders of magnitude here. What it claims is checked.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import Pfaffian

from .gallery import intelsat, snakeboard_parts

# --- 5.4.1: INTELSAT V


@cache
def unfolding():
    """The satellite, with its angular momentum as a constraint, and a start half folded, spinning."""
    robot = lw.Dynamics(intelsat())
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    for side in ("north", "south"):
        for part, turn in (("yoke", 0.5), ("panel1", -1), ("panel2", 1), ("panel3", -1)):
            q[robot.q_index(f"{side}_{part}_joint")] = 0.45 * np.pi * turn
    v[0] = 0.1
    spin = lambda q, v: robot.centroidal_momentum(q, v)[..., 0]
    row = Pfaffian("spin", lambda q: spin(q, np.eye(robot.nv))[None], value=float(spin(q, v)))
    return robot, constraints.of(robot, row), spin, (q, v)


def euler(project=lambda q, v: (q, v), h=0.01):
    """Ten seconds by explicit Euler, each step followed by a projection: the angular momentum after each."""
    robot, _, spin, (q, v) = unfolding()
    found = []
    for _ in range(1000):
        vdot = robot.forward_dynamics(q, v, robot.passive_force(q, v))
        q, v = project(robot.integrate(q, h * v), v + h * vdot)
        found.append(spin(q, v))
    return np.array(found)


def test_the_true_motion_keeps_energy_and_angular_momentum():
    """The paper's reference keeps them to 1.1e-9 J and 1.6e-9 kg m²/s."""
    robot, _, spin, start = unfolding()
    path = lw.simulate(robot, start, until=10.0, method="dop853", rtol=1e-11, atol=1e-13)
    energy = robot.kinetic_energy(path.q, path.v) + robot.potential_energy(path.q)
    np.testing.assert_allclose(energy, energy[0], rtol=0, atol=2e-9)
    np.testing.assert_allclose(spin(path.q, path.v), spin(*start), rtol=0, atol=5e-9)


@pytest.mark.slow
def test_the_error_of_angular_momentum_grows_without_and_vanishes_with_projection():
    """Figure 5: explicit Euler, 0.01 s, 10 s."""
    _, held, spin, start = unfolding()
    without, kept = (np.abs(run - spin(*start)) for run in (euler(), euler(held.project)))
    assert (np.diff(without[99::100]) > 0).all() and without[-1] > 1.0
    assert kept.max() < 1e-14 * spin(*start)


def test_angular_momentum_binds_no_positions():
    """It is a nonholonomic constraint: a cat turns over with none."""
    robot, held, _, (q, _) = unfolding()
    assert not held.integrable(q)
    alone = constraints.of(robot, Pfaffian("push", lambda q: robot.centroidal_momentum(q, np.eye(robot.nv))[:, 4:6].T, count=2))
    assert alone.integrable(q)  # linear momentum does: the centre of mass stays


# --- 5.4.2: the snakeboard


@cache
def boarding():
    """The snakeboard in 12 coordinates, all its constraints, those of positions, its drive, and a second of its ride."""
    model = snakeboard_parts()
    robot = lw.Dynamics(model)
    joined = lw.Dynamics(replace(model, constraints=())).constraints
    turn = {body: robot.v_index(f"{body}_joint").stop - 1 for body in ("back", "board", "front")}
    board = robot.v_index("board_joint").start

    def control(t, q, v):
        tau, heading = np.zeros(robot.nv), q[turn["board"]]
        tau[board : board + 2] = np.cos(heading), np.sin(heading)
        for axle, sign in (("back", -1), ("front", 1)):
            angle, rate = (x[turn[axle]] - x[turn["board"]] for x in (q, v))
            wanted, speed = 0.5 * sign * np.sin(2 * np.pi * t), np.pi * sign * np.cos(2 * np.pi * t)
            torque = 10 * (wanted - angle) + 0.1 * (speed - rate)
            tau[turn[axle]] += torque
            tau[turn["board"]] -= torque
        return tau

    start = robot.assemble(robot.neutral()), np.zeros(robot.nv)
    return robot.constraints, joined, control, lw.simulate(robot, start, until=1.0, method="rk4", dt=0.01, control=control)


def tangents(M, G):
    """Velocities that the rows allow, 𝓜-orthonormal."""
    L = np.linalg.cholesky(M)
    _, sigma, V = np.linalg.svd(np.linalg.solve(L, G.T).T)
    return np.linalg.solve(L.T, V[(sigma > 1e-9 * sigma[0]).sum() :].T)


def shares(held, q):
    """Δ_T: how much of each velocity is along the constraints, in the mass metric (68)."""
    M = held.robot.mass_matrix(q)
    return ((tangents(M, held.jacobian(q)).T @ M) ** 2).sum(0) / np.diag(M)


@pytest.mark.slow
def test_the_snakeboard_has_six_freedoms_of_place_and_four_of_motion():
    held, joined, _, path = boarding()
    assert (joined.report(path.q[30]).mobility, held.report(path.q[30]).mobility) == (6, 4)
    assert joined.integrable(path.q[30]) and not held.integrable(path.q[30])


@pytest.mark.parametrize("at", [10, 40, 85])
def test_the_optimal_partition_is_the_one_of_the_projective_criterion(at):
    """Independent are those with the largest shares."""
    held, joined, _, path = boarding()
    for x in (held, joined):
        independent = x.reduced(path.q[at]).independent
        others = np.setdiff1d(np.arange(12), independent)
        assert shares(x, path.q[at])[independent].min() > shares(x, path.q[at])[others].max()


def test_position_and_velocity_partitions_differ():
    """Figure 8: the board's own turn and sideways motion are good coordinates and bad velocities."""
    held, joined, _, path = boarding()
    of_places, of_motion = (set(x.reduced(path.q[40]).independent) for x in (joined, held))
    assert of_motion < of_places
    board = held.robot.v_index("board_joint").start
    assert {board + 1, board + 2} == of_places - of_motion


def test_the_optimal_partition_steps_a_thousand_times_better_than_a_suboptimal_one():
    """ε = ∫ Δv* 𝓜 Δv dt of one Euler step of 0.01 s from every state of the ride, velocities alone projected.

    Suboptimal: the best dependent velocity changes places with the best that is not. (The paper: 3e-10 against 4.8e-6.)
    No partition does better than the projection in the metric of the mass matrix.
    """
    held, _, control, path = boarding()
    robot, h, error = held.robot, 0.01, np.zeros(3)
    for t, q, v in zip(path.t, path.q, path.v):
        there, u = held.project(robot.integrate(q, h * v), v)[0], v + h * held.forward_dynamics(q, v, control(t, q, v))
        order = np.argsort(shares(held, there))
        dependent = order[:8]
        assert set(order[8:]) == set(held.reduced(there).independent)
        bad = np.append(order[9:], dependent[0])
        moved = [held.project(there, u, hold=x)[1] - u for x in ((), order[8:], bad)]
        error += [h * dv @ robot.mass_matrix(there) @ dv for dv in moved]
    assert error[0] <= error[1] < 1.1 * error[0]
    assert 1000 * error[1] < error[2]
