"""A leg of a Strandbeest: a crank turns, and thirteen lengths make the foot step. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("strandbeest"))
crank = robot.v_index("crank_joint").start


def motor(t, q, v):
    tau = np.zeros(robot.nv)
    tau[crank] = -2000 * (v[crank] + 3.0)
    return tau


q, v = robot.constraints.project(robot.neutral(), -3.0 * np.eye(robot.nv)[crank], hold=[crank])
run = lw.simulate(robot, (q, v), until=2 * np.pi / 3.0, control=motor)
x, y = robot.pose(run.q, "foot")[:, :2, 3].T
print(f"a step is {np.ptp(x):.3f} m long; the foot lifts {np.ptp(y):.3f} m; the crank takes up to {run.tau[:, crank].max():.1f} N m")
if "--film" in sys.argv:
    print(lw.movie(run, "strandbeest.gif", fps=14, speed=0.7, size=(3.0, 2.5), trace=["foot"], azimuth=-82, elevation=6))
