"""INTELSAT V unfolds its panels, one wing after the other; momentum stays zero, and the body turns. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("intelsat"))
q = robot.neutral()
for side in ("north", "south"):
    for part, angle in (("yoke", 90), ("panel1", -180), ("panel2", 180), ("panel3", -180)):
        q[robot.q_index(f"{side}_{part}_joint")] = np.radians(angle)
south, yoke = robot.v_index("south_yoke_joint").start, robot.q_index("south_yoke_joint").start


def latch(t, q, v):
    """Holds the southern wing for ten seconds."""
    tau = np.zeros(robot.nv)
    tau[south] = 400 * (np.pi / 2 - q[yoke]) - 100 * v[south] if t < 10.0 else 0.0
    return tau


run = lw.simulate(robot, (q, np.zeros(robot.nv)), until=35.0, control=latch, method="dop853", rtol=1e-9)
turn = 2 * np.degrees(np.arctan2(run.q[:, 0], run.q[:, 3]))
print(f"the body turns by up to {np.abs(turn).max():.2f}°, and is left turned by {turn[-1]:.2f}°")
print(f"momentum stays below {np.abs(robot.centroidal_momentum(run.q, run.v)).max():.1e}")
if "--film" in sys.argv:
    print(lw.movie(run, "intelsat.gif", fps=12, speed=8.0, size=(3.6, 2.0), azimuth=-30, elevation=20))
