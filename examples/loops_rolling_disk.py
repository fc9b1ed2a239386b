"""A disk rolls around on a table, wobbling, without slipping. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("rolling_disk"))
q = robot.assemble(robot.integrate(robot.neutral(), [-0.45, 0, 0, 0, 0, 0.08]))  # leaning
q, v = robot.constraints.project(q, [1.5, 5.0, 18.0, 0, 0, 0], hold=[0, 1, 2])
run = lw.simulate(robot, (q, v), until=1.0, rtol=1e-9)
print(robot.constraint_report(q))
print(f"does rolling bind positions? {robot.constraints.integrable(q)}; energy stays to {np.ptp(run.energy) / run.energy[0]:.1e} of itself")
if "--film" in sys.argv:
    print(lw.movie(run, "rolling_disk.gif", fps=12, speed=0.25, size=(3.2, 2.4), trace=["disk"], azimuth=-60, elevation=35))
