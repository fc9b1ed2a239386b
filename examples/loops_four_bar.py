"""Chebyshev's four-bar, cut in two places: the coupler's end goes straight for half of each turn. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

accelerations = []
for cut in ("foot", "pin"):
    robot = lw.Dynamics(lw.mechanisms.four_bar(cut))
    q, crank = robot.neutral(), robot.v_index("crank_joint").start
    q, v = robot.constraints.project(q, 2.0 * np.eye(3)[crank], hold=[crank])
    accelerations.append(robot.forward_dynamics(q, v, np.zeros(3))[crank])
print("the crank's acceleration by either cut:", *accelerations)


def motor(t, q, v):
    tau = np.zeros(3)
    tau[crank] = 2.0 * (2.0 - v[crank])
    return tau


run = lw.simulate(robot, (q, v), until=np.pi, control=motor)
x, y = robot.pose(run.q, "end")[:, :2, 3].T
half = run.q[:, crank] < np.pi
print(f"in half a turn the end goes {1e3 * np.ptp(x[half]):.0f} mm and leaves its line by {1e3 * np.ptp(y[half]) / 2:.1f} mm")
if "--film" in sys.argv:
    print(lw.movie(run, "four_bar.gif", fps=15, size=(3.2, 2.4), trace=["end"], azimuth=-80, elevation=8))
