"""A gripper closes on a box, lifts it and carries it by friction, then loosens its grip until it slips. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

MASS, FRICTION, GRAVITY = 0.5, 0.6, 9.81
made = lw.Builder("gripper")
made.body("slide", joint=lw.Prismatic(axis=(1, 0, 0)), at=(0, 0, 0.3), **solids.box(0.5, (0.06, 0.06, 0.02)))
made.body("hand", joint=lw.Prismatic(axis=(0, 0, 1)), parent="slide", at=(0, 0, -0.1), **solids.box(0.4, (0.16, 0.03, 0.02)))
for name, side in (("left", 1), ("right", -1)):
    finger = solids.box(0.1, (0.01, 0.03, 0.08), color=(0.3, 0.4, 0.6, 1.0))
    made.body(name, joint=lw.Prismatic(axis=(-side, 0, 0), lower=-0.01, upper=0.05), parent="hand", at=(0.06 * side, 0, -0.06), **finger)
made.body("box", joint=lw.Free(), **solids.box(MASS, (0.06, 0.06, 0.06), color=(0.8, 0.5, 0.2, 1.0)))
made.ground()
made.contact("box").contact("box", "left", friction=FRICTION).contact("box", "right", friction=FRICTION)
robot = lw.Dynamics(made.model())

least = MASS * GRAVITY / (2 * FRICTION)  # of the grip of each finger that holds the box at rest
path = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, -0.08], [0.6, 0.0, -0.08], [1.2, 0.0, 0.05], [2.0, 0.12, 0.05]])  # t, slide and hand


def control(t, q, v):
    """Slide and hand follow the path; the fingers open, press, and at the end press less than the box needs."""
    slide, hand = (np.interp(t, path[:, 0], x) for x in path[:, 1:].T)
    press = -2.0 if t < 0.3 else 3 * least if t < 2.2 else 0.9 * least
    lift = GRAVITY * (0.6 + MASS * (t > 0.6))
    fingers = press - 20 * v[2:4]
    return np.array([800 * (slide - q[0]) - 60 * v[0], lift + 4000 * (hand - q[1]) - 120 * v[1], *fingers, *np.zeros(6)])


start = robot.neutral()
start[10] = 0.03
run = lw.simulate(robot, (start, np.zeros(robot.nv)), until=2.45, method="contact", dt=0.002, control=control, limits=True)
carried, falls = (run.t > 0.8) & (run.t < 2.1), (run.t > 2.2) & (run.t < 2.4)
slip = robot.pose(run.q, "box", relative_to="hand")[carried, 2, 3]
print(f"carried, the box slips in the fingers by {np.ptp(slip):.1e} m")
rate = 2 * np.polyfit(run.t[falls], run.q[falls, 10], 2)[0]
print(f"pressed with 0.9 of what it needs, it slides down with {-rate:.4f} m/s²; Coulomb's law says {0.1 * GRAVITY:.4f}")

if "--film" in sys.argv:
    lw.movie(run, "contact_gripper.gif", fps=25, contacts=run.contact, azimuth=-70, elevation=15)
    print("wrote contact_gripper.gif")
