"""Newton's cradle: five balls on strings, two of them let go. Impacts one after another give two balls out. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

BALLS, RADIUS, LENGTH = 5, 0.02, 0.3

made = lw.Builder("cradle")
for i in range(BALLS):
    bob = solids.sphere(0.1, RADIUS, center=(0, 0, -LENGTH), color=(0.7, 0.7, 0.75, 1.0))
    made.body(f"ball{i}", joint=lw.Revolute(axis=(0, -1, 0)), at=(2 * RADIUS * i, 0, 0), **bob)
for i in range(BALLS - 1):
    made.contact(f"ball{i}", f"ball{i + 1}", friction=0.0, restitution=1.0)
robot = lw.Dynamics(made.model())

q = np.array([-0.6, -0.6, 0, 0, 0])  # two are lifted together
one_by_one = lw.ContactLaw(impacts="one_by_one")
run = lw.simulate(robot, (q, np.zeros(BALLS)), until=1.4, contact=one_by_one, rtol=1e-8)
strike = next(x for x in run.events if x.name.endswith("strikes"))
after = run(strike.t + 0.05)[1]
print("at t =", round(strike.t, 4), "s two balls strike with", np.round(strike.v, 3), "rad/s; 50 ms later all have", np.round(after, 3))
energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
print("energy changes by", float(np.ptp(energy)), "J of", float(energy[0] - robot.potential_energy(np.zeros(BALLS))), "J")

if "--film" in sys.argv:
    lw.movie(run, "contact_cradle.gif", fps=25)
    print("wrote contact_cradle.gif")
