"""A mechanism in a few lines: a crane with a turning column, a jib that luffs, a trolley on it and a load on a rope."""

import numpy as np

import linkwork as lw
from linkwork.model import solids

crane = lw.Builder("crane")
crane.body("column", joint=lw.Revolute(damping=200.0), joint_name="slew",
           **solids.cylinder(800.0, 0.3, 6.0, center=(0, 0, 3)))  # fmt: skip
crane.body("jib", "column", (0, 0, 6), lw.Revolute(axis=(0, -1, 0), damping=500.0), joint_name="luff",
           **solids.box(300.0, (8.0, 0.3, 0.3), center=(4, 0, 0)))  # fmt: skip
crane.body("trolley", "jib", (2, 0, -0.3), lw.Prismatic(axis=(1, 0, 0), lower=0.0, upper=5.0, damping=50.0),
           joint_name="drive", **solids.box(60.0, (0.6, 0.5, 0.3)))  # fmt: skip
crane.body("load", "trolley", joint=lw.Spherical(), joint_name="hook",
           **solids.together(solids.rod(2.0, (0, 0, -4)), solids.sphere(200.0, 0.4, (0, 0, -4.4))))  # fmt: skip
crane.frame("load_point", "load", (0, 0, -4.4))

robot = lw.Dynamics(crane.model())
print(robot)

q, v = robot.neutral(), np.zeros(robot.nv)
print("\nforce that holds it still:")
for name in robot.joints:
    print(f"  {name:6}", np.round(robot.gravity_force(q)[robot.v_index(name)], 3))


def control(t, q, v):
    """Hold the jib and the trolley, slew for two seconds."""
    tau = robot.gravity_force(q)
    tau[robot.v_index("hook")] = 0.0
    tau[robot.v_index("slew")] = 1500.0 if t < 2.0 else 0.0
    tau[robot.v_index("luff")] -= 2e5 * q[robot.q_index("luff")] + 2e4 * v[robot.v_index("luff")]
    tau[robot.v_index("drive")] -= 2e4 * q[robot.q_index("drive")] + 5e3 * v[robot.v_index("drive")]
    return tau


run = lw.simulate(robot, (q, v), until=5.0, control=control)
swing = run.pose("load_point")[:, :3, 3] - run.pose("trolley")[:, :3, 3]
print(f"\nthe load swings out by {np.degrees(np.arctan2(np.hypot(*swing.T[:2]), -swing[:, 2]).max()):.1f} degrees")
lw.snapshot(run, [0.0, 2.0, 3.5, 5.0], "crane.png", trace=["load_point"])
print("wrote crane.png")
