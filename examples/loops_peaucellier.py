"""Peaucellier's linkage: seven bars on pins draw an exact straight line. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("peaucellier"))
arm = robot.v_index("arm_joint").start


def motor(t, q, v):
    tau = np.zeros(robot.nv)
    tau[arm] = 2000 * (0.95 * np.sin(2 * t) - q[arm]) + 200 * (1.9 * np.cos(2 * t) - v[arm])
    return tau


q, v = robot.constraints.project(robot.neutral(), 1.9 * np.eye(robot.nv)[arm], hold=[arm])
run = lw.simulate(robot, (q, v), until=np.pi, control=motor)
x, y = robot.pose(run.q, "tip")[:, :2, 3].T
print(f"the tip moves {np.ptp(y):.3f} m along its line and {np.ptp(x):.1e} m across")
if "--film" in sys.argv:
    print(lw.movie(run, "peaucellier.gif", fps=15, size=(3.2, 2.4), trace=["tip"], azimuth=-90, elevation=88))
