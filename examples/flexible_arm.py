"""An arm with two slender links lifts a load: joints go where they are told, the load swings on. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

link = lw.FlexibleBody.beam(1.0, lw.sections.rectangle(0.004, 0.03, lw.sections.STEEL), elements=20, directions="y", count=3, damping=0.01)
arm = lw.Builder("arm", gravity=(0, -9.81, 0))
arm.flexible("upper", link, joint=lw.Revolute())
arm.flexible("fore", link, "upper.tip", None, lw.Revolute())
arm.body("load", "fore.tip", mass=0.3)
model = arm.model()
robot = lw.Dynamics(model)
joints = [robot.v_index(name).start for name in ("upper_joint", "fore_joint")]

start = robot.neutral()
start[joints] = -0.9, 0.4
held = robot.gravity_force(start)
goal = np.array([0.7, 0.6])


def motors(t, q, v):
    tau = np.zeros(robot.nv)
    tau[joints] = held[joints] + np.array([120.0, 40.0]) * (goal - q[joints]) - np.array([20.0, 6.0]) * v[joints]
    return tau


run = lw.simulate(robot, (start, np.zeros(robot.nv)), until=3.0, control=motors)
height = robot.pose(run.q, "load")[:, 1, 3]
print(f"frequencies of a link by itself: {np.round(link.frequencies, 1)} Hz; the load rises by {height[-1] - height[0]:.2f} m")
if "--film" in sys.argv:
    print(lw.movie(run, "flexible_arm.gif", fps=15, size=(3.2, 2.4), trace=["load"], azimuth=-90, elevation=25))
