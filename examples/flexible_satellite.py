"""A craft with two long panels turns by a reaction torque and stops: the panels swing on, momentum is kept. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

sheet = lw.sections.rectangle(0.5, 0.009, lw.sections.ALUMINIUM)
panel = lw.FlexibleBody.beam(4.0, sheet, elements=20, count=4, directions="zt", damping=0.005)
craft = lw.Builder("craft", gravity=(0, 0, 0))
craft.body("hull", joint=lw.Free(), **solids.box(300.0, (1.2, 1.0, 1.0)))
craft.flexible("right", panel, "hull", (0.6, 0, 0))
craft.flexible("left", panel, "hull", lw.Pose.rpy((-0.6, 0, 0), (0, 0, np.pi)))
robot = lw.Dynamics(craft.model())


def wheels(t, q, v):
    """A torque about y that turns the craft in two seconds, and stops it in two more."""
    tau = np.zeros(robot.nv)
    tau[1] = 500.0 * (np.sin(np.pi * t / 2) if t < 4 else 0.0)
    return tau


run = lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=8.0, control=wheels)
after = run.t > 4.0
momentum = robot.centroidal_momentum(run.q[after], run.v[after])
bent = robot.pose(run.q, "right.tip")[:, :3, 3] - robot.pose(run.q, "right")[:, :3, 3]
print(f"panels of {panel.frequencies[0]:.2f} Hz; momentum after the manoeuvre changes by {np.ptp(momentum, axis=0).max():.1e}")
print(f"the hull turns by {np.degrees(2 * np.arcsin(abs(run.q[-1, 1]))):.1f} degrees")
if "--film" in sys.argv:
    print(lw.movie(run, "satellite.gif", fps=12, size=(3.2, 2.4), azimuth=-75, elevation=12))
