"""A thin blade on a hub that is spun up: it lags behind, swings, and is straightened by its own rotation. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

strip = lw.sections.rectangle(0.006, 0.05, lw.sections.ALUMINIUM)
blade = lw.FlexibleBody.beam(2.0, strip, elements=20, directions="y", count=3, damping=0.01)
rotor = lw.Builder("rotor", gravity=(0, 0, 0))
rotor.body("hub", joint=lw.Revolute(), mass=5.0, tensor=(0.1, 0.1, 0.1))
rotor.flexible("blade", blade, "hub")
robot = lw.Dynamics(rotor.model())
print(blade)


def motor(t, q, v):
    tau = np.zeros(robot.nv)
    tau[0] = 12.0 * ((6.0 if t < 2.5 else 0.0) - v[0])
    return tau


run = lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=5.0, control=motor)
tip = robot.pose(run.q, "blade.tip")[:, :3, 3]
angle = np.unwrap(np.arctan2(tip[:, 1], tip[:, 0])) - run.q[:, 0]
print(f"the tip lags by {-np.degrees(angle.min()):.1f} and leads by {np.degrees(angle.max()):.1f} degrees")
if "--film" in sys.argv:
    print(lw.movie(run, "spinning_beam.gif", fps=15, size=(3.2, 2.4), trace=["blade.tip"], azimuth=-90, elevation=50))
