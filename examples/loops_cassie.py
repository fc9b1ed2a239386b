"""Cassie hangs by its pelvis and treads the air: four rods close its legs, springs and all. Films it if asked: --film"""

import sys
from pathlib import Path

import numpy as np

import linkwork as lw

model = lw.load(Path(__file__).parents[1] / "tests" / "models" / "cassie_mjcf" / "cassie.xml")
hips = {f"{leg}-hip-{way}": [0.0] for leg in ("left", "right") for way in ("roll", "yaw")}
robot = lw.Dynamics(model.locked({"cassie-pelvis_joint1": [0, 0, 0, 1, 0, 0, 1.01], **hips}))
start = robot.assemble(robot.neutral())
report = robot.constraint_report(start)
print(f"{report.rows} rows of rank {report.rank} close its legs; {report.mobility} of {report.velocities} velocities are free")
motors = [f"{leg}-{joint}" for leg in ("left", "right") for joint in ("hip-pitch", "knee")]
rows, columns = ([index(joint).start for joint in motors] for index in (robot.v_index, robot.q_index))
middle, phase = np.array([0.5, -1.2, 0.5, -1.2]), np.array([0, 1.5, np.pi, np.pi + 1.5])


def control(t, q, v):
    """Hips and knees follow a swing; the feet hang."""
    tau = np.zeros(robot.nv)
    tau[rows] = 400 * (middle + 0.4 * np.sin(2 * np.pi * t + phase) - q[columns]) - 20 * v[rows]
    return tau


run = lw.simulate(robot, (start, np.zeros(robot.nv)), until=1.25, control=control)
print(f"{len(run.t)} steps, loops closed to {np.abs(robot.constraints.residual(run.q)).max():.1e} m")
if "--film" in sys.argv:
    last = lw.Motion(robot, *(x[run.t >= 0.25] for x in (run.t, run.q, run.v)))
    print(lw.movie(last, "cassie.gif", fps=12, speed=0.4, size=(2.4, 3.0), azimuth=-50, elevation=8))
