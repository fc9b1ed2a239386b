"""Events: a pendulum swings against a wall and loses a fifth of its speed each time."""

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("pendulum"))

wall = lw.Event(lambda t, q, v: q[0] + 0.3, name="wall", direction=-1, reset=lambda t, q, v: (q, -0.8 * v))
turn = lw.Event(lambda t, q, v: v[0], name="turn", direction=-1)
end = lw.Event(lambda t, q, v: t - 6.0, name="six seconds", terminal=True)
run = lw.simulate(robot, (np.array([1.2]), np.zeros(1)), until=20.0, events=[wall, turn, end])

print(run)
turns = [event.q[0] for event in run.events if event.name == "turn"]
print("turns at", np.round(turns, 4), "rad")
lw.plot(run, "q", "v", "phase", path="bounce.png")
print("wrote bounce.png")
