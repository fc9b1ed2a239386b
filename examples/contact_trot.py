"""A quadruped trots: two diagonal legs push the base to where it should be, while the other two swing. Films it if asked: --film"""

import sys
from pathlib import Path

import numpy as np

import linkwork as lw

FEET = "FL", "FR", "RL", "RR"
PERIOD, SPEED, HEIGHT, LIFT = 0.36, 0.6, 0.29, 0.06  # s, m/s, m, m
LEG, HIP = 0.213, 0.0955  # of its thigh and of its calf; from the axis of the hip to the leg
SIDE, SHIFT = np.array([1, -1, 1, -1]), np.array([0, 0.5, 0.5, 0])  # left is positive; diagonal legs step together

robot = lw.Dynamics(lw.load(Path(__file__).parents[1] / "tests" / "models" / "go2_mjcf" / "go2.xml", contacts=FEET))
mass = robot.model.mass


def angles(foot):
    """Angles (4, 3) of the legs with their feet (4, 3) below the hips, in axes of the base."""
    x, y, z = foot.T
    down = np.sqrt(y**2 + z**2 - HIP**2)
    knee = -np.arccos((x**2 + down**2) / (2 * LEG**2) - 1)
    return np.stack([np.arctan2(z, y) + np.arctan2(down, SIDE * HIP), np.arctan2(-x, down) - knee / 2, knee], -1)


stand = np.stack([np.zeros(4), SIDE * HIP, np.full(4, -HEIGHT)], -1)
start = robot.neutral()
start[7:] = angles(stand).ravel()
start[6] -= robot.contact_gaps(start).min()  # it stands on the ground


def trot(t, q, v):
    """Torques of the twelve motors."""
    phase = (t / PERIOD + SHIFT) % 1
    R = robot.pose(q, "base")[:3, :3]
    omega, velocity = R @ v[:3], R @ v[3:6]
    wanted = np.array([SPEED * min(t, 1), 0, 0])

    # the legs that stand: forces at their feet, in their cones, that make the wrench the base needs
    tilt = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    force = mass * (np.array([0, 0, 9.81]) + [40, 40, 40] * (wanted - velocity) + [0, 50, 300] * (start[4:7] - q[4:7]))
    moment = -np.array([150, 150, 80]) * tilt - 10 * omega
    standing = np.flatnonzero(phase < 0.5)
    arms = robot.contact_points(q)[standing, 0] - q[4:7]
    A = np.block([[np.tile(np.eye(3), len(standing))], [np.hstack([np.cross(arm, np.eye(3)).T for arm in arms])]])
    forces = (A.T @ np.linalg.solve(A @ A.T + 1e-4 * np.eye(6), np.append(force, moment))).reshape(-1, 3)
    tau, J = np.zeros((4, 3)), robot.contact_jacobian(q)[:, 6:].reshape(4, 3, 4, 3)
    for leg, world in zip(standing, forces, strict=True):
        normal, *tangents = robot.contact_frames(q)[leg].T @ world
        tau[leg] = -np.append(normal, np.clip(tangents, -0.5 * normal, 0.5 * normal)) @ J[leg, :, leg]

    # the legs that swing: from as far behind the hip as they will land ahead of it
    s = np.clip(2 * phase - 1, 0, 1)
    step = R.T @ (velocity * PERIOD / 4 + 0.06 * (velocity - wanted)) * [1, 1, 0]
    foot = stand + (1 - 2 * np.cos(np.pi * s / 2) ** 2)[:, None] * step + np.outer(np.sin(np.pi * s) ** 2, [0, 0, LIFT])
    swing = 80 * (angles(foot) - q[7:].reshape(4, 3)) - 2 * v[6:].reshape(4, 3)
    return np.where((phase < 0.5)[:, None], tau, swing).ravel()


control = lw.hold(robot.actuators.control(trot), rate=250.0)  # the motors have their limits
run = lw.simulate(robot, (start, np.zeros(robot.nv)), until=2.0, method="contact", dt=0.004, control=control)
late = run.t > 1.2
speed = np.polyfit(run.t[late], run.q[late, 4], 1)[0]
steps = np.diff((run.contact.force[:, :, 0] > 0).astype(int), axis=0) > 0
print(f"in 2 s it went {run.q[-1, 4]:.2f} m, at the end with {speed:.2f} m/s, and set down its feet {steps.sum()} times")
print(f"penetration {max(0, -run.contact.gap.min()):.1e} m, residual of contacts {run.contact.residual.max():.1e}")

if "--film" in sys.argv:
    lw.movie(run, "contact_trot.gif", fps=25, shapes="collision", contacts=run.contact)
    print("wrote contact_trot.gif")
