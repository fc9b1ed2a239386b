"""Events: a pendulum swings against a wall and loses a fifth of its speed each time, until it has hit it five times."""

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("pendulum"))
hits = []


def bounce(t, q, v):
    hits.append(t)
    return q, -0.8 * v


wall = lw.Event(lambda t, q, v: q[0] + 0.3, name="wall", direction=-1, reset=bounce)
enough = lw.Event(lambda t, q, v: 4.5 - len(hits), name="fifth hit", terminal=True)
run = lw.simulate(robot, (np.array([1.2]), np.zeros(1)), until=20.0, events=[wall, enough])

print(run)
print("hits at", np.round(hits, 4), "s")
lw.plot(run, "q", "v", "phase", path="bounce.png")
print("wrote bounce.png")
