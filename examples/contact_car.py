"""A car in a bend: slowly its wheels roll on the circle they are steered to, fast they slide out of it. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

BASE, TRACK, RADIUS, FRICTION, STEER = 0.30, 0.20, 0.05, 0.7, 0.2
made = lw.Builder("car").ground()
made.body("car", joint=lw.Free(), **solids.box(3.0, (0.42, 0.16, 0.06), color=(0.75, 0.2, 0.2, 1.0)))
wheel = solids.cylinder(0.15, RADIUS, 0.03, axis=(0, 1, 0), color=(0.15, 0.15, 0.15, 1.0))
tyre = (lw.Shape("sphere", (RADIUS,)),)  # touches the ground in one point
for name, x, y in (("fl", BASE, TRACK), ("fr", BASE, -TRACK), ("rl", -BASE, TRACK), ("rr", -BASE, -TRACK)):
    spring = lw.Prismatic(axis=(0, 0, 1), stiffness=1500.0, damping=20.0, rest=-0.005)
    hub = {"mass": 0.05, "tensor": (2e-5,) * 3}
    made.body(f"{name} hub", "car", (x / 2, y / 2, -0.02), spring, **hub)
    if name[0] == "f":
        made.body(f"{name} knuckle", f"{name} hub", joint=lw.Revolute(axis=(0, 0, 1), armature=1e-3), **hub)
    made.body(name, f"{name} knuckle" if name[0] == "f" else f"{name} hub", joint=lw.Revolute(axis=(0, 1, 0)), **wheel, collisions=tyre)
    made.contact(name, friction=FRICTION)
robot = lw.Dynamics(made.model())
steering = [robot.v_index(f"{name} knuckle_joint").start for name in ("fl", "fr")]
driven = [robot.v_index(f"{name}_joint").start for name in ("rl", "rr")]


def driver(speed):
    """Hold a speed by the rear wheels; steer from 0.3 s to 0.8 s."""

    def control(t, q, v):
        tau = np.zeros(robot.nv)
        tau[steering] = 8 * (STEER * np.clip(2 * t - 0.6, 0, 1) - q[[i + 1 for i in steering]]) - 0.15 * v[steering]
        tau[driven] = np.clip(0.5 * (speed - v[3]), -0.5, 0.5)
        return tau

    return control


def drive(speed, until=2.5):
    """A run that starts on the ground, the wheels rolling."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[6] -= robot.contact_gaps(q).min()
    v[3] = speed
    for name in ("fl", "fr", "rl", "rr"):
        v[robot.v_index(f"{name}_joint")] = speed / RADIUS
    return lw.simulate(robot, (q, v), until=until, method="contact", dt=0.002, control=driver(speed))


def radius(run):
    """Of the circle on which the middle of the rear axle goes in the last second."""
    axle = robot.pose(run.q[run.t > run.t[-1] - 1.0], "car") @ [-BASE / 2, 0, 0, 1]
    x, y = axle[:, 0], axle[:, 1]
    (cx, cy, c), *_ = np.linalg.lstsq(np.stack([2 * x, 2 * y, np.ones_like(x)], -1), x**2 + y**2)
    return np.sqrt(c + cx**2 + cy**2)


slow, fast = drive(0.8), drive(4.0)
print(f"steered to a circle of {BASE / np.tan(STEER):.3f} m: slowly it drives one of {radius(slow):.3f} m")
print(f"with 4 m/s friction bends its way to {16 / (9.81 * FRICTION):.3f} m at least; it drives one of {radius(fast):.3f} m")

if "--film" in sys.argv:
    lw.movie(fast, "contact_car.gif", fps=25, contacts=fast.contact)
    print("wrote contact_car.gif")
