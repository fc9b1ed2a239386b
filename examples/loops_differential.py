"""A car's differential: one wheel on the brake, the other turns twice as fast; then both alike. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("differential"))
cage, right = (robot.v_index(joint).start for joint in ("cage_joint", "right_wheel_joint"))


def control(t, q, v):
    """An engine that holds its speed, and for two seconds a brake on the right wheel."""
    tau = np.zeros(robot.nv)
    tau[cage] = 200 * (2.0 - v[cage])
    brake = -500 * (v[cage] + v[right]) if t < 2.0 else -5 * v[right]
    tau[[cage, right]] += brake
    return tau


run = lw.simulate(robot, (robot.neutral(), np.zeros(4)), until=4.0, control=control)
for t in (1.9, 4.0):
    q, v = run(t)
    left, right_, middle = (robot.jacobian(q, body, "world")[0] @ v for body in ("left_wheel", "right_wheel", "cage"))
    print(f"t = {t}: cage {middle:.3f}, left wheel {left:.3f}, right wheel {right_:.3f} rad/s")
if "--film" in sys.argv:
    print(lw.movie(run, "differential.gif", fps=12, size=(3.2, 2.0), azimuth=-60, elevation=20))
