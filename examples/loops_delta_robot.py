"""A parallel robot from a URDF and the YAML that closes its loops: two motors lead its foot around. Films it if asked: --film"""

import sys
from pathlib import Path

import numpy as np

import linkwork as lw

folder = Path(__file__).parents[1] / "tests" / "models" / "delta_robot"
model = lw.load(folder / "robot.urdf", loops=folder / "robot.yaml")
robot = lw.Dynamics(model)
start = robot.assemble(robot.neutral())  # as it stands in the file its loops are open
print(robot.constraint_report(start))
motors = [robot.v_index(joint).start for joint in ("mot1_rod1", "mot1_rod2")]


def control(t, q, v):
    """Each motor swings, a quarter of a turn after the other."""
    phase = 2 * np.pi * t + np.array([0.0, np.pi / 2])
    tau = np.zeros(robot.nv)
    tau[motors] = 0.3 * (start[motors] + 0.4 * (np.sin(phase) - [0, 1]) - q[motors]) - 0.002 * v[motors]
    return tau


run = lw.simulate(robot, (start, np.zeros(robot.nv)), until=2.0, control=control)
foot = robot.pose(run.q, "eff")[:, :3, 3]
print(f"the foot goes around {1e3 * np.ptp(foot[:, 1]):.0f} by {1e3 * np.ptp(foot[:, 2]):.0f} mm")
print(f"loops stay closed to {np.abs(robot.constraints.residual(run.q)).max():.1e}")
if "--film" in sys.argv:
    last = lw.Motion(robot, *(x[run.t >= 1.0] for x in (run.t, run.q, run.v)))
    print(lw.movie(last, "delta_robot.gif", fps=12, speed=0.4, size=(2.6, 2.8), trace=["eff"], azimuth=-15, elevation=10))
