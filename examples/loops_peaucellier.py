"""Peaucellier's linkage: seven bars on pins draw an exact straight line. Prints how straight, and films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork import constraints

LONG, SHORT, ARM = 1.0, 0.4, 0.35


def bar(length):
    box = lw.Shape("box", (length, 0.03, 0.03), lw.Pose(translation=(length / 2, 0, 0)))
    return {"mass": length, "center": (length / 2, 0, 0), "tensor": (1e-4, length**3 / 12, length**3 / 12), "visuals": (box,)}


b, pin = lw.Builder("peaucellier", gravity=(0, 0, 0)), lw.Revolute()
for side in ("upper", "lower"):
    b.body(side, joint=pin, **bar(LONG))
    b.body(f"{side}_near", side, (LONG, 0, 0), pin, **bar(SHORT))
    b.body(f"{side}_far", side, (LONG, 0, 0), pin, **bar(SHORT))
b.body("arm", None, (ARM, 0, 0), pin, **bar(ARM))
b.loop("near", "upper_near", "lower_near", pin, at=(SHORT, 0, 0), on=(SHORT, 0, 0))
b.loop("far", "upper_far", "lower_far", pin, at=(SHORT, 0, 0), on=(SHORT, 0, 0))
b.loop("led", "upper_near", "arm", pin, at=(SHORT, 0, 0), on=(ARM, 0, 0))
b.frame("tip", "upper_far", (SHORT, 0, 0))
robot = lw.Dynamics(b.model())
held = constraints.of(robot)

guess = dict(upper_joint=0.3, upper_near_joint=np.pi + 0.7, upper_far_joint=-0.8, lower_joint=-0.3,
             lower_near_joint=np.pi - 0.7, lower_far_joint=0.8, arm_joint=0.3)  # fmt: skip
q = robot.neutral()
for joint, angle in guess.items():
    q[robot.q_index(joint)] = angle
q = held.assemble(q)
print(held.report(q))

stroke = []
for angle in np.concatenate([np.linspace(0.3, 0.9, 15), np.linspace(0.9, -0.9, 45)]):
    q[robot.q_index("arm_joint")] = angle
    q = held.assemble(q, hold=["arm_joint"])
    stroke.append(q)
tip = robot.pose(np.array(stroke), "tip")[:, :2, 3]
print(f"the tip moves {np.ptp(tip[:, 1]):.3f} m along its line and {np.ptp(tip[:, 0]):.1e} m across")
if "--film" in sys.argv:
    Q, times = np.array(stroke), np.linspace(0, 6, len(stroke))
    print(lw.movie(lw.Motion(robot, times, Q, np.zeros_like(Q)), "peaucellier.mp4"))
