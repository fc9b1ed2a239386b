"""The acrobot, two rods and one motor at the elbow, swings itself up and stands. Films it if asked: --film"""

import sys

import numpy as np
from scipy.linalg import solve_continuous_are

import linkwork as lw

robot = lw.Dynamics(lw.load("double_pendulum"))
arm = robot.actuated("joint2")
top = np.array([np.pi, 0.0])
A, B = robot.linearize(top, np.zeros(2), np.zeros(2))
P = solve_continuous_are(A, B[:, 1:], np.diag([10.0, 10.0, 1.0, 1.0]), [[1.0]])
K = B[:, 1] @ P
high = robot.potential_energy(top)


def control(t, q, v):
    """The elbow's acceleration is chosen (collocated linearisation) so that the energy grows to that at the top; there, LQR."""
    away = np.r_[np.angle(np.exp(1j * (q - top))), v]
    if away @ P @ away < 200.0:
        return np.array([0.0, -K @ away])
    missing = high - robot.kinetic_energy(q, v) - robot.potential_energy(q)
    wanted = -30.0 * q[1] - 3.0 * v[1] - 5.0 * missing * v[0]
    return arm.hybrid_dynamics(q, v, [np.clip(wanted, -100.0, 100.0)])[0]


run = lw.simulate(robot, (np.array([0.1, 0.0]), np.zeros(2)), until=9.0, control=control, dt=0.005, method="rk4")
away = np.abs(np.angle(np.exp(1j * (run.q - top)))).max(1)
print(f"upright to 0.1 rad after {run.t[np.flatnonzero(away > 0.1)[-1]]:.1f} s; at the end {away[-1]:.0e} rad from it")
print(f"at most {np.abs(run.tau[:, 1]).max():.0f} N m at the elbow, and {np.abs(run.tau[:, 0]).max():.0f} at the shoulder")
if "--film" in sys.argv:
    print(lw.movie(run, "acrobot.gif", fps=15, size=(2.8, 2.8), azimuth=-90, elevation=5))
