"""A snakeboard: its rider swings, its wheels steer, nobody pushes, and it goes forwards. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("snakeboard"))
rows = [robot.v_index(f"{x}_joint").start for x in ("rider", "front", "back")]
swing, stiff, damp = np.array([-0.7, -0.5, 0.5]), np.array([50.0, 10.0, 10.0]), np.array([5.0, 0.1, 0.1])


def muscles(t, q, v):
    tau = np.zeros(robot.nv)
    tau[rows] = stiff * (swing * np.sin(6 * t) - q[rows]) + damp * (6 * swing * np.cos(6 * t) - v[rows])
    return tau


run = lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=2.8, control=muscles)
slip = np.abs(np.matvec(robot.constraints.jacobian(run.q), run.v)).max()
print(f"after {run.t[-1]} s it is {np.hypot(*run.q[-1, 1:3]):.2f} m away and goes {np.hypot(*run.v[-1, 1:3]):.2f} m/s")
print(f"the wheels slip sideways by {slip:.1e} m/s; do they bind positions? {robot.constraints.integrable(run.q[-1])}")
if "--film" in sys.argv:
    print(lw.movie(run, "snakeboard.gif", fps=10, size=(4.0, 1.6), trace=["board"], azimuth=-100, elevation=25))
