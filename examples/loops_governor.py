"""Watt's governor: the faster the shaft, the higher the balls, and with them the slider. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("governor"))
shaft, slider = (robot.v_index(joint).start for joint in ("shaft_joint", "slider_joint"))


def engine(t, q, v):
    """Leads the speed of the shaft up and down."""
    tau = np.zeros(robot.nv)
    tau[shaft] = 100 * (5.5 + 2.0 * np.sin(2 * np.pi * t / 4.0) - v[shaft])
    return tau


run = lw.simulate(robot, (robot.neutral(), 5.5 * np.eye(robot.nv)[shaft]), until=8.0, control=engine)
rate, lift = run.v[:, shaft], run.q[:, slider]
for i in (rate.argmin(), rate.argmax()):
    print(f"at {rate[i]:.2f} rad/s the slider is at {0.5 + lift[i]:.3f} m")
if "--film" in sys.argv:
    last = lw.Motion(robot, *(x[run.t >= 4.0] for x in (run.t, run.q, run.v)))
    print(lw.movie(last, "governor.gif", fps=12, size=(3.0, 2.2), azimuth=-60, elevation=12))
