"""Five boxes on each other, each three times as heavy as the one below, stand still until a ball strikes them. Films it if asked: --film"""

import sys
from itertools import combinations

import numpy as np

import linkwork as lw
from linkwork.model import solids

BOXES, EDGE, STRIKE, SPEED = 5, 0.1, 0.6, 2.0  # number, m, s, m/s
made = lw.Builder("stack").ground()
for i in range(BOXES):
    color = (0.25 + 0.12 * i, 0.4, 0.75 - 0.1 * i, 1.0)
    made.body(f"box{i}", joint=lw.Free(), **solids.box(0.1 * 3**i, (EDGE, EDGE, EDGE), color=color))
made.body("ball", joint=lw.Free(), **solids.sphere(4.0, 0.08))
for body in (*(f"box{i}" for i in range(BOXES)), "ball"):
    made.contact(body, friction=0.5)
for one, other in combinations((*(f"box{i}" for i in range(BOXES)), "ball"), 2):
    made.contact(one, other, friction=0.5)
robot = lw.Dynamics(made.model())

q, v = robot.neutral().reshape(-1, 7), np.zeros((BOXES + 1, 6))
q[:BOXES, 6] = EDGE * (np.arange(BOXES) + 0.5)
v[-1, 3:] = SPEED, 0.0, 0.5 * 9.81 * STRIKE  # thrown so that it is as high as it started when it strikes
q[-1, 4:] = -0.13 - SPEED * STRIKE, 0.03, 0.38
run = lw.simulate(robot, (q.ravel(), v.ravel()), until=1.5, method="contact", dt=0.004)

places = run.q.reshape(-1, BOXES + 1, 7)[:, :BOXES, 4:]
before = run.t < STRIKE
pressed = run.contact.force[50, : 8 * BOXES, 0].sum()  # of the points with the ground
print(f"until the ball comes, the boxes move by {np.abs(places[before] - places[0]).max():.0e} m")
print(f"the ground bears {pressed:.6f} N; they weigh {9.81 * sum(x.mass for x in robot.model.bodies[:BOXES]):.6f} N")
print(
    f"at the end the highest box is at {places[-1, :, 2].max():.3f} m; nothing was in another by more than {-run.contact.gap.min():.0e} m"
)

if "--film" in sys.argv:
    lw.movie(run, "contact_stack.gif", fps=25, azimuth=-60, elevation=12)
    print("wrote contact_stack.gif")
