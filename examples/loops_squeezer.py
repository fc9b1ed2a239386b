"""Andrews' squeezing mechanism: 0.03 s of a published problem, to ten digits. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

start = {"beta": -0.0617138900142764496, "theta": 0.0, "gamma": 0.455279819163070380, "phi": 0.222668390165885885,
         "delta": 0.487364979543842550, "omega": -0.222668390165885885, "epsilon": 1.23054744454982119}  # fmt: skip
robot = lw.Dynamics(lw.load("squeezer"))
q, drive = robot.neutral(), np.zeros(7)
for joint, angle in start.items():
    q[robot.q_index(joint)] = angle
drive[robot.v_index("beta")] = 0.033
run = lw.simulate(robot, (q, np.zeros(7)), until=0.03, control=lambda t, q, v: drive, method="dop853", rtol=1e-10, atol=1e-12)
end = run.q[-1]
print("computed  ", *(f"{end[robot.q_index(joint)][0]:.9f}" for joint in ("beta", "gamma", "delta")))
print("published ", 15.810771196, 0.040822240, 0.524409966)
if "--film" in sys.argv:
    print(lw.movie(run, "squeezer.gif", fps=12, speed=0.009, size=(3.2, 2.4), azimuth=-90, elevation=80))
