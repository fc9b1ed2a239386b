"""A pendulum whose only motor turns a wheel at its end: it rocks itself up, and the wheel holds it there. Films it if asked: --film"""

import sys

import numpy as np
from scipy.linalg import solve_continuous_are

import linkwork as lw
from linkwork.model import solids

PIN = lw.Revolute(axis=(0, 1, 0))
GREY, RED = (0.5, 0.5, 0.5, 1), (0.75, 0.3, 0.25, 1)
system = lw.Builder("wheel_pendulum")
system.body("rod", joint=PIN, joint_name="pin", **solids.rod(0.2, (0, 0, -0.5), color=GREY))
mark = solids.box(0.04, (0.28, 0.03, 0.03), color=RED)  # to see it turn
wheel = solids.together(solids.cylinder(0.4, 0.15, 0.02, axis=(0, 1, 0), color=(0.3, 0.5, 0.7, 1)), mark)
system.body("wheel", "rod", (0, 0, -0.5), PIN, joint_name="motor", **wheel)
robot = lw.Dynamics(system.model())
view = robot.actuated("motor")

top = np.array([np.pi, 0.0])
A, B = robot.linearize(top, np.zeros(2), np.zeros(2))
keep = [0, 2, 3]  # where the wheel stands does not matter
A, B = A[np.ix_(keep, keep)], B[keep, 1:]
P = solve_continuous_are(A, B, np.diag([10.0, 1.0, 0.001]), [[1.0]])
K = (B.T @ P)[0]
high = robot.potential_energy(top)


def control(t, q, v):
    """Power into the pendulum while its energy is too small; near the top, LQR."""
    away = np.r_[np.angle(np.exp(1j * (q[0] - top[0]))), v]
    if abs(away[0]) < 0.3:
        return np.array([0.0, np.clip(-K @ away, -1.5, 1.5)])
    own = robot.potential_energy(q) + robot.kinetic_energy(q, v * [1, 0])
    return np.array([0.0, np.clip(-4.0 * (high - own) * v[0], -0.4, 0.4)])


run = lw.simulate(robot, (np.array([0.1, 0.0]), np.zeros(2)), until=7.0, control=control, rtol=1e-6)
away = np.abs(np.angle(np.exp(1j * (run.q[:, 0] - top[0]))))
print(f"the wheel accelerates the rod by {view.disturbance_jacobian(top).item():.3f} of its own acceleration, wherever it is")
up, fast = run.t[np.flatnonzero(away > 0.1)[-1]], np.abs(run.v[:, 1]).max()
print(f"upright to 0.1 rad after {up:.1f} s; the wheel turned at most {fast:.0f} rad/s")
print(f"at the end {away[-1]:.0e} rad from upright, and the wheel turns {run.v[-1, 1]:.0e} rad/s")
if "--film" in sys.argv:
    print(lw.movie(run, "wheel.gif", fps=15, size=(2.8, 2.8), azimuth=-75, elevation=10))
