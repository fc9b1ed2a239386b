"""A craft with two arms catches a tumbling panel: its hands go to two corners, then hold them. Films it if asked: --film"""

import sys
from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork.model import solids

SIDES, REACH = ("left", "right"), 6.0
debris = lw.Builder("debris", gravity=(0, 0, 0))
debris.body("panel", joint=lw.Free(), joint_name="drift", **solids.box(40.0, (0.5, 0.9, 0.08), color=(0.7, 0.3, 0.2, 1)))
for side, y in zip(SIDES, (0.45, -0.45)):
    debris.frame(f"{side}_grip", "panel", (-0.25, y, 0))
model = lw.load("space_robot").with_model(None, debris.model())
robot = lw.Dynamics(model)
arms = robot.actuated(*(f"{side}_{joint}" for side in SIDES for joint in ("yaw", "pitch", "elbow")))  # nothing pushes the bus or the panel
hands, grips = ([(f"{side}_{what}", (0, 0, 0)) for side in SIDES] for what in ("hand", "grip"))

q, v = robot.neutral(), np.zeros(robot.nv)
for side in SIDES:
    q[robot.q_index(f"{side}_pitch")], q[robot.q_index(f"{side}_elbow")] = -1.0, 2.2
q[robot.q_index("drift")] = 0, 0, 0, 1, 1.9, 0.05, 0.15
v[robot.v_index("drift")] = 0.02, 0.1, -0.03, -0.04, 0.0, -0.03


def apart(q):
    """From the corners to the hands, both in one vector."""
    return np.concatenate([(robot.pose(q, f"{side}_hand") - robot.pose(q, f"{side}_grip"))[:3, 3] for side in SIDES])


gap = apart(q)


def follow(t, q, v):
    """What lies between hands and corners becomes zero smoothly."""
    s = min(t / REACH, 1.0)
    way, rate, acc = 1 - s**3 * (10 - 15 * s + 6 * s**2), -30 * s**2 * (1 - s) ** 2 / REACH, -60 * s * (1 - s) * (1 - 2 * s) / REACH**2
    moving = (robot.task_jacobian(q, *hands, axes="world") - robot.task_jacobian(q, *grips, axes="world")) @ v
    corners = robot.ask(("task_acceleration", *((*grip, "world") for grip in grips)), q, v, np.zeros(robot.nv))
    wanted = corners + acc * gap + 4 * (rate * gap - moving) + 4 * (way * gap - apart(q))
    return arms.computed_torque(q, v, wanted, *hands, axes="world")[0]


come = lw.simulate(robot, (q, v), until=REACH, control=follow)
print(f"the hands arrive {np.abs(apart(come.q[-1])).max():.1e} m from the corners")
fore, panel = (robot.pose(come.q[-1], body) for body in ("left_fore", "panel"))
left = lw.Loop("left", "left_fore", "panel", lw.Fixed(), lw.Pose.of(np.linalg.solve(fore, panel)))  # grips it as it comes
right = lw.Loop("right", "right_fore", "panel", lw.Spherical(), lw.Pose.of((0.8, 0, 0)), model.place("right_grip")[1])
held = lw.Dynamics(replace(model, loops=(left, right)))
brake = np.where(arms.prescribed > 0, 15.0, 0.0)  # N m s in the joints of the arms
hold = lw.simulate(held, held.constraints.project(come.q[-1], come.v[-1]), until=12.0, control=lambda t, q, v: -brake * v)
before, after = robot.momentum(come.q[0], come.v[0]), robot.momentum(hold.q[-1], hold.v[-1])
still = np.abs(hold.v[-1, arms.active]).max()
print(f"after the catch the joints come to rest, {still:.0e} rad/s; momentum is off by {np.abs(after - before).max():.0e} since the start")
if "--film" in sys.argv:
    t, states = np.r_[come.t, REACH + hold.t], (np.r_[come.q, hold.q], np.r_[come.v, hold.v])
    print(lw.movie(lw.Motion(robot, t, *states), "grasp.gif", fps=10, speed=2.0, size=(4.0, 2.6), azimuth=-50, elevation=25))
