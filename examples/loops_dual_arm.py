"""Two arms lead a beam around and tilt it; their motors share the load and squeeze the beam with 30 N. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("dual_arm"))
right = [joint for joint in robot.joints if joint.startswith("right")]
leading = robot.actuated(*right)  # their accelerations say how all moves
print(robot.constraints.actuation(robot.neutral()))


def beam(t):
    """Place and tilt of the beam, velocity and acceleration: a circle in the plane x z, tilted about x meanwhile."""
    s, w = np.clip(t, 0, 1), 2.0
    ease = s * s * (3 - 2 * s)
    place = np.array([0.65 + 0.12 * ease * np.sin(w * t), 0, 0.9 + 0.12 * ease * (1 - np.cos(w * t))])
    return place, 0.4 * ease * np.sin(w * t)


def motors(t, q, v):
    """Accelerations of the beam with feedback, those of the right arm from them, of the left one by the loop; then the least forces."""
    place, tilt = beam(t)
    T = robot.pose(q, "load")
    R = T[:3, :3]
    turn = np.array([R[1, 2] - R[2, 1], R[2, 0] - R[0, 2], R[0, 1] - R[1, 0]]) / 2  # minus its own, small
    away = np.r_[R.T @ (np.array([tilt, 0, 0]) + turn), R.T @ (place - T[:3, 3])]
    J, V = robot.jacobian(q, "load"), robot.body_velocity(q, v, "load")
    drift = robot.body_accelerations(q, v, np.zeros(robot.nv))[robot.bodies.index("load")]
    wanted = np.linalg.solve(J[:, leading.active], 400.0 * away - 40.0 * V - drift)
    _, vdot = leading.hybrid_dynamics(q, v, wanted)
    push = np.zeros((len(robot.bodies), 6))
    hands = [robot.bodies.index(f"{side}_turn_link") for side in ("left", "right")]
    push[hands, 4] = -30.0, 30.0
    _, squeeze = robot.constraints.move_squeeze(q, robot.ask("joint_forces", q, push))
    return robot.motor_forces(q, v, vdot) + squeeze


run = lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=6.0, control=motors, method="rk4", dt=0.005)
off = [np.linalg.norm(robot.pose(q, "load")[:3, 3] - beam(t)[0]) for t, q in zip(run.t, run.q)]
apart = np.abs(robot.pose(run.q, "left_turn_link", relative_to="left_grip") - np.eye(4)).max()
print(f"the beam is within {max(off):.3f} m of its path, and the left hand within {apart:.0e} of the beam's end")
if "--film" in sys.argv:
    print(lw.movie(run, "dual_arm.gif", fps=12, size=(3.6, 2.8), trace=["load"], azimuth=-35, elevation=22))
