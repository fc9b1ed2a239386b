"""Bricard's mechanism: by counting it cannot move, and falls through itself all the same. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("bricard"))
q = robot.neutral()
print(robot.constraint_report(q))
run = lw.simulate(robot, (q, np.zeros(5)), until=3.2, method="dop853", rtol=1e-9)
print(f"energy stays to {np.ptp(run.energy):.1e} J, the loop closed to {np.abs(robot.constraints.residual(run.q)).max():.1e}")
if "--film" in sys.argv:
    print(lw.movie(run, "bricard.gif", fps=12, size=(3.0, 2.4), trace=["P3"], azimuth=-60, elevation=20))
