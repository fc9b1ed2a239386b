"""A car in a bend: slowly its wheels roll on the circle they are steered to, fast they slide out of it. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

BASE, TRACK, RADIUS, FRICTION, STEER = 0.30, 0.20, 0.05, 0.7, 0.2
made = lw.Builder("car").ground()
made.body("car", joint=lw.Free(), **solids.box(3.0, (0.42, 0.16, 0.06), color=(0.75, 0.2, 0.2, 1.0)))
wheel = solids.cylinder(0.15, RADIUS, 0.03, axis=(0, 1, 0), color=(0.15, 0.15, 0.15, 1.0))
for name, x, y in (("fl", BASE, TRACK), ("fr", BASE, -TRACK), ("rl", -BASE, TRACK), ("rr", -BASE, -TRACK)):
    spring = lw.Prismatic(axis=(0, 0, 1), stiffness=1500.0, damping=20.0, rest=-0.005)
    hub = {"mass": 0.05, "tensor": (2e-5,) * 3}
    made.body(f"{name} hub", "car", (x / 2, y / 2, -0.02), spring, **hub)
    if name[0] == "f":
        made.body(f"{name} knuckle", f"{name} hub", joint=lw.Revolute(axis=(0, 0, 1)), **hub)
    made.body(name, f"{name} knuckle" if name[0] == "f" else f"{name} hub", joint=lw.Revolute(axis=(0, 1, 0)), **wheel)
    made.contact(name, friction=FRICTION)
robot = lw.Dynamics(made.model())
steering = [robot.v_index(f"{name} knuckle_joint").start for name in ("fl", "fr")]
driven = [robot.v_index(f"{name}_joint").start for name in ("rl", "rr")]


def driver(speed):
    """Hold a speed by the rear wheels; steer after half a second."""

    def control(t, q, v):
        tau = np.zeros(robot.nv)
        tau[steering] = 0.5 * ((t > 0.5) * STEER - q[[i + 1 for i in steering]]) - 0.01 * v[steering]
        tau[driven] = np.clip(0.5 * (speed - v[3]), -0.5, 0.5)
        return tau

    return control


def drive(speed, until):
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[6] = RADIUS + 0.02 - robot.contact_gaps(q).min() * 0
    v[3] = speed
    for name in ("fl", "fr", "rl", "rr"):
        v[robot.v_index(f"{name}_joint")] = speed / RADIUS
    q[6] -= robot.contact_gaps(q).min()
    return lw.simulate(robot, (q, v), until=until, method="contact", dt=0.002, control=driver(speed))

import time
for speed, until in ((0.8, 4.0), (3.0, 3.0)):
    t0=time.time()
    run = drive(speed, until)
    print(time.time()-t0)
    late = run.t > until - 1.0
    x, y = run.q[late, 4], run.q[late, 5]
    A = np.stack([2 * x, 2 * y, np.ones_like(x)], -1)
    c = np.linalg.lstsq(A, x**2 + y**2)[0]
    print(speed, np.sqrt(c[2] + c[0] ** 2 + c[1] ** 2), BASE / np.tan(STEER), speed**2 / FRICTION / 9.81, run.v[-1, :6], run.q[-1,:7])
