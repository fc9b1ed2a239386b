"""A person hangs from a bar by one hand and swings: the model of a person with another root, its forearm. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

person = lw.load("humanoid").rebased("right_forearm")
grip = np.array(person.place("right_hand")[1].translation)
turned = lw.Pose((0, 1, 0, 0), tuple(-grip * [-1, 1, -1]))  # the forearm upside down, the hand at the origin
bar = lw.Builder("bar")
bar.body("hand", joint=lw.Revolute(axis=(0, 1, 0)), joint_name="bar", visuals=solids.cylinder(1.0, 0.02, 1.0, axis=(0, 1, 0))["visuals"])
hanging = bar.model().with_model("hand", person.locked({"floating_base": (0, 0, 0, 1, 0, 0, 0)}), turned)
robot = lw.Dynamics(hanging)
body = robot.actuated(*(joint for joint in robot.joints if joint != "bar"))
legs = [f"{side}_{joint}" for side in ("left", "right") for joint in ("hip_pitch", "knee")]
rows, places = [robot.v_index(x).start for x in legs], [robot.q_index(x).start for x in legs]
rest = robot.neutral()
rest[robot.q_index("right_shoulder_pitch")] = np.pi  # the trunk below the hand
rest[robot.q_index("left_shoulder_roll")], rest[robot.q_index("left_elbow")] = 0.5, -0.4


def muscles(t, q, v):
    """Joints are held by computed torque, the hand is free to turn; the legs go forwards while the body swings forwards, then back."""
    goal, swing = rest.copy(), np.clip(2 * v[0], -1, 1)
    goal[places] = max(-swing, 0) * np.array([-1.4, 0.2] * 2) + max(swing, 0) * np.array([0.8, 1.2] * 2)
    wanted = 100.0 * (goal - q) - 20.0 * v
    return body.hybrid_dynamics(q, v, wanted[body.active])[0]


run = lw.simulate(robot, (rest, np.eye(robot.nv)[0]), until=8.5, control=muscles, method="rk4", dt=0.01)
swing = np.abs(np.degrees(run.q[:, 0]))
print(f"the arm swings by {swing[run.t < 2].max():.0f}° at first and by {swing[run.t > 6.5].max():.0f}° at the end")
pull = np.linalg.norm(robot.joint_wrenches(run.q, run.v, run.vdot, "hand")[..., 3:], axis=-1).max()
print(f"the hand pulls with up to {pull:.0f} N; the bar turns it with {np.abs(run.tau[:, 0]).max():.0f} N m")
if "--film" in sys.argv:
    print(lw.movie(run, "hand.gif", fps=10, speed=1.2, size=(2.8, 3.0), azimuth=-80, elevation=6))
