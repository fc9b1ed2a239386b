"""Attitudes near none and near half a turn, angles of many turns, light bodies on heavy ones, molecules and ships."""

import mpmath
import numpy as np
import pytest
from zoo import JOINTS, close, grown, plain, robots, state

import linkwork as lw

EPS = np.finfo(float).eps
TINY = [1e-4, 1e-8, 1e-12, 1e-30, 1e-160, 0.0]
attitudes = robots("spherical", "free", "tree", "floating")


def moved_angle(robot, s, angle):
    """Small or large velocities: every attitude turned by the angle."""
    return angle * s.v / np.linalg.norm(s.v)


@attitudes
@pytest.mark.parametrize("angle", TINY)
def test_a_small_difference_is_right_to_the_last_digit(robot, angle):
    """difference(q, q ∘ exp d) = d, relative to d itself, from the identity."""
    d, q = moved_angle(robot, state(robot), angle), robot.neutral()
    close(robot.difference(q, robot.integrate(q, d)) / (angle or 1), d / (angle or 1), 4 * EPS)


@robots("spherical", "free")
@pytest.mark.parametrize("short", [1e-2, 1e-5, 1e-8, 1e-12])
def test_a_turn_just_short_of_half_is_known(robot, short, rng):
    """difference(q, q ∘ exp d) = d for |ω| = π − short."""
    d = rng.standard_normal((50, robot.nv))
    d[:, :3] *= (np.pi - short) / np.linalg.norm(d[:, :3], axis=-1, keepdims=True)
    q, _ = robot.random_state(50, seed=0)
    close(robot.difference(q, robot.integrate(q, d)), d, 1e-14)


@robots("spherical", "free")
def test_half_a_turn_has_one_of_two_differences(robot, rng):
    """|ω| = π and exp of the difference arrives."""
    q = robot.neutral()
    half = q.copy()
    half[:4] = 1, 0, 0, 0
    close(np.linalg.norm(robot.difference(q, half)[:3]), np.pi)
    close(robot.poses(robot.integrate(q, robot.difference(q, half))), robot.poses(half))


@attitudes
@pytest.mark.parametrize("angle", [0.0, 1e-160, 1e-9, np.pi - 1e-9, np.pi, np.pi + 1e-9, 2 * np.pi])
def test_dynamics_does_not_notice_a_special_attitude(robot, angle):
    """FD ∘ ID = I and everything finite at, near and past the identity and half a turn."""
    s = state(robot)
    q = robot.integrate(robot.neutral(), moved_angle(robot, s, angle))
    tau = robot.inverse_dynamics(q, s.v, s.vdot)
    close(robot.forward_dynamics(q, s.v, tau), s.vdot, 1e-11)
    assert np.isfinite(robot.passive_force(q, s.v)).all() and np.isfinite(robot.qdot(q, s.v)).all()


@robots("spherical", "free", "tree", "geared")
def test_the_length_and_sign_of_a_quaternion_mean_nothing(robot):
    """q, −q and 3 q are one attitude."""
    s = state(robot)
    for factor in -1.0, 3.0:
        q = s.q.copy()
        for placed in robot.model.joints:
            if placed.joint.nq > placed.joint.nv:
                start = robot.q_index(placed.name).start
                q[start : start + 4] *= factor
        close(robot.poses(q), robot.poses(s.q))
        close(robot.forward_dynamics(q, s.v, s.tau), robot.forward_dynamics(s.q, s.v, s.tau))


@robots("revolute", "cylindrical", "planar", "schoenflies", "universal", "chain")
@pytest.mark.parametrize("turns", [1, 1000, 16000, 10**6])
def test_many_turns_are_none(robot, turns):
    """pose(θ) = pose(θ mod 2π), the remainder taken with forty digits."""
    q, _ = robot.random_state(seed=0)
    angles = turning(robot)
    far = q + np.where(angles, 2 * np.pi * turns, 0.0)
    with mpmath.workdps(40):
        near = np.where(angles, [float(mpmath.mpf(x) - 2 * mpmath.pi * turns) for x in far], q)
    close(robot.poses(far), robot.poses(near), 1e-14)
    close(robot.mass_matrix(far), robot.mass_matrix(near), 1e-14)


def turning(robot):
    """Which coordinates are angles that may go round and come back to the same pose."""
    angles = []
    for placed in robot.model.joints:
        for _, part, _ in placed.joint.parts:
            angles += [bool(row[:3].any() and not row[3:].any()) for row in part.group.basis]
    return np.array(angles)


@robots("tree", "floating", "chain")
def test_fast_rotation_keeps_bodies_rigid(robot):
    """R R* = I after a step of 1e5 radians."""
    s = state(robot)
    R = robot.poses(robot.integrate(s.q, 1e5 * s.v))[..., :3, :3]
    close(R @ R.mT, np.eye(3), 1e-13)


@pytest.mark.parametrize("ratio", [1e3, 1e6])
@pytest.mark.parametrize("order", [1, -1], ids=["heavy base", "heavy tip"])
def test_unequal_masses_cost_no_more_than_the_condition_of_the_mass_matrix(ratio, order):
    """|Δv̇| ≤ 100 ε κ(𝓜) |v̇| for masses from one to the ratio."""
    masses = np.geomspace(1.0, ratio, 6)[::order]
    solids = {i: {"mass": m, "center": (0.1, 0.2, 0.3), "tensor": (0.1 * m,) * 3} for i, m in enumerate(masses)}
    joints = ("revolute", "universal", "prismatic", "spherical", "helical", "revolute")
    plan = [(i - 1 if i else None, JOINTS[name]) for i, name in enumerate(joints)]
    robot = plain(grown("unequal", plan, solids=solids))
    s = state(robot, (20,))
    error = robot.forward_dynamics(s.q, s.v, robot.inverse_dynamics(s.q, s.v, s.vdot)) - s.vdot
    condition = np.linalg.cond(robot.mass_matrix(s.q))
    assert (np.linalg.norm(error, axis=-1) <= 100 * EPS * condition * np.linalg.norm(s.vdot, axis=-1)).all()


@pytest.mark.parametrize(("length", "mass"), [(1e-10, 1e-26), (1e3, 1e8)], ids=["molecule", "ship"])
def test_no_size_is_special(length, mass):
    """Lengths times L and masses times m: 𝓜 of turning joints times m L², vdot under gravity times L the same."""
    one, other = chain_of_size(1.0, 1.0), chain_of_size(length, mass)
    q, v = one.random_state((5,), seed=0)
    scale = mass * length**2
    close(other.mass_matrix(q) / scale, one.mass_matrix(q))
    close(other.bias(q, v) / scale, one.bias(q, v))
    close(other.forward_dynamics(q, v, 0 * v), one.forward_dynamics(q, v, 0 * v), 1e-11)
    close(other.mass_matrix_inverse(q) * scale, one.mass_matrix_inverse(q), 1e-11)


def chain_of_size(length, mass):
    builder = lw.Builder("chain", (0, 0, -9.81 * length))
    for i, joint in enumerate((lw.Revolute(axis=(0.6, 0.8, 0)), lw.Spherical(), lw.Universal(), lw.Revolute())):
        place = lw.Pose.rpy((0.5 * length, -0.2 * length, 0.1 * length), (0.3, -0.4, 0.9))
        tensor = np.array((0.02, 0.03, 0.04)) * mass * length**2
        builder.body(f"b{i}", f"b{i - 1}" if i else None, place, joint, mass=mass,
                     center=(0.1 * length, 0.2 * length, 0.0), tensor=tensor)  # fmt: skip
    return plain(builder.model())


@pytest.mark.parametrize("light", [1e-3, 1e-9, 1e-15])
def test_a_body_that_loses_its_mass_tends_to_a_massless_one(light):
    """v̇(m) → v̇(0) as fast as m does."""
    s = state(between(0.0))
    lighter, none = (between(m).forward_dynamics(s.q, s.v, s.tau) for m in (light, 0.0))
    close(lighter, none, 100 * light + 1e-13)


def between(mass):
    """A body of this mass between two that have one kilogram or so."""
    plan = [(None, JOINTS["revolute"]), (0, JOINTS["universal"]), (1, JOINTS["spherical"])]
    return plain(grown("between", plan, solids={1: {"mass": mass, "tensor": (mass, mass, mass)}}))
