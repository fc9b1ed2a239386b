"""A slider-crank runs through both dead centres, where its piston stands still. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("slider_crank"))
q, crank = robot.neutral(), robot.v_index("crank_joint").start
q, v = robot.constraints.project(q, 12.0 * np.eye(3)[crank], hold=[crank])
run = lw.simulate(robot, (q, v), until=2 * np.pi / 12, method="dop853", rtol=1e-9)

piston = robot.v_index("piston_joint").start
bend = robot.forward_dynamics(q, v, np.zeros(3))[piston]
print(robot.constraint_report(q))
print(f"at dead centre the piston's acceleration is {bend:.6f} m/s²; −r ω² (1 + r/l) is {-0.0345 * 144 * (1 + 0.0345 / 0.137):.6f}")
print(f"energy stays to {np.ptp(run.energy):.1e} J over {run.q[-1, 0] / 2 / np.pi:.1f} turns")
if "--film" in sys.argv:
    print(lw.movie(run, "slider_crank.gif", fps=14, speed=0.3, size=(3.2, 2.0), azimuth=-75, elevation=12))
