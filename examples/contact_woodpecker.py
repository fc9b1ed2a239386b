"""A woodpecker toy: its sleeve jams on the pole, and lets go each time the bird on its spring pecks. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw

POLE, INSIDE, HALF = 0.0025, 0.0031, 0.0058  # m: radius of the pole, radius and half height of the sleeve's hole
AXIS = 0, -1, 0  # everything moves in the plane of x and z


def seen(kind, size, at, color):
    return lw.Shape(kind, size, lw.Pose.of(at), (*color, 1.0))


def corner(name, x, z):
    return lw.Shape("sphere", (0.0,), lw.Pose.of((x, 0, z)), name=name)  # a sphere of radius 0 is a point


made = lw.Builder("woodpecker").ground(POLE, (1, 0, 0))  # the side of the pole is a plane
made.body("pole", visuals=(seen("cylinder", (POLE, 0.22), (0, 0, -0.07), (0.6, 0.5, 0.4)),))
made.body("height", joint=lw.Prismatic(axis=(0, 0, 1)))
look = seen("cylinder", (0.0045, 2 * HALF), (0, 0, 0), (0.3, 0.5, 0.4)), seen("box", (0.01, 0.001, 0.001), (0.005, 0, 0), (0.5, 0.5, 0.5))
hole = corner("upper", INSIDE, HALF), corner("lower", INSIDE, -HALF)
made.body("sleeve", "height", joint=lw.Revolute(axis=AXIS), mass=3e-4, tensor=(5e-9,) * 3, visuals=look, collisions=hole)
RED, BLACK = (0.8, 0.3, 0.2), (0.2, 0.2, 0.2)
look = (
    seen("ellipsoid", (0.007, 0.006, 0.018), (0.015, 0, 0), RED),
    seen("sphere", (0.006,), (0.010, 0, 0.02), RED),
    seen("box", (0.010, 0.002, 0.002), (-0.0001, 0, 0.02), BLACK),
)
spring = lw.Revolute(axis=AXIS, stiffness=0.0056)
bird = {"mass": 4.5e-3, "center": (0.015, 0, 0), "tensor": (7e-7,) * 3}
made.body("bird", "sleeve", (0.010, 0, 0), spring, **bird, visuals=look, collisions=(corner("beak", -0.0051, 0.02),))
made.contact("upper", friction=0.3).contact("lower", friction=0.3).contact("beak", friction=0.3, restitution=0.5)
robot = lw.Dynamics(made.model())

q, v = np.array([0, -0.1036, -0.1752]), np.array([-0.3411, 0, -7.4583])
run = lw.simulate(robot, (q, v), until=1.2, rtol=1e-8)
pecks = [x for x in run.events if x.name.startswith("bird.beak") and x.name.endswith("strikes")]
periods = np.diff([x.t for x in pecks])
print("from peck to peck", *np.round(periods, 6), "s: it has found its rhythm")
down = 1e3 * (pecks[-2].q[0] - pecks[-1].q[0])
print(f"each takes it down by {down:.4f} mm, and its angles come back to {np.abs(pecks[-1].q - pecks[-2].q)[1:].max():.0e} rad")

if "--film" in sys.argv:
    lw.movie(run, "contact_woodpecker.gif", fps=25, speed=0.25, azimuth=-90, elevation=5)
    print("wrote contact_woodpecker.gif")
