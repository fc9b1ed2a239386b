"""A chain between two supports: where it hangs, what the supports carry, how it swings. Draws it."""

import numpy as np

import linkwork as lw
from linkwork.model import solids

N, SPAN, WEIGHT = 24, 16.0, 0.5 * 9.81  # links of 1 m and 0.5 kg
chain = lw.Builder("hanging_chain")
for i in range(N):
    parent, at = (f"link{i - 1}", (1, 0, 0)) if i else (None, None)
    link = solids.capsule(0.5, 0.08, (1, 0, 0), color=(0.25, 0.45, 0.7, 1.0))
    chain.body(f"link{i}", parent, at, lw.Revolute(axis=(0, 1, 0)), joint_name=f"pin{i}", **link)
chain.loop("support", None, f"link{N - 1}", lw.Revolute(axis=(0, 1, 0)), at=(SPAN, 0, 0), on=(1, 0, 0))
robot = lw.Dynamics(chain.model(), compiled=False)

start = np.diff(np.linspace(1.2, -1.2, N), prepend=0.0)  # an arc, roughly; it is assembled
rest = robot.equilibrium(start)
slope = np.cumsum(rest.q)
step = np.diff(np.tan(slope))  # of the exact solution: equal, a weight over the pull along x
print(rest.stability, rest.steps, "steps; slopes are those of the discrete catenary to", f"{np.ptp(step) / abs(step.mean()):.0e}")
print("the pull along x is", round(-WEIGHT / step.mean(), 4), "N")

modes = robot.modes(rest)
print("frequencies", modes.frequencies[:4].round(4), "Hz")
mode = modes[1]
lw.snapshot(mode.motion(cycles=1.0), [0.0, 0.5, 1.5], "hanging_chain.png", size=(6.4, 3.6), azimuth=-90, elevation=0)
print("hanging_chain.png")
