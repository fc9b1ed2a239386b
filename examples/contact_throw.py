"""A ball is thrown through two bounces to a mark: gradients through impacts and friction say how. Draws it if asked: --draw

The throw is (vx, vz, spin). Where the ball is after 1.1 s depends on it through the bounces, whose times move with the throw, and through
friction, which turns spin into speed. Newton's method on the two coordinates of the end, with the exact Jacobian; beside it differences.
"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

GOAL, UNTIL, DT = np.array([2.4, 0.34]), 1.1, 0.0005
made = lw.Builder("ball").body("x", joint=lw.Prismatic(axis=(1, 0, 0))).body("z", "x", joint=lw.Prismatic(axis=(0, 0, 1)))
made.body("ball", "z", joint=lw.Revolute(axis=(0, 1, 0)), **solids.sphere(0.3, 0.06))
robot = lw.Dynamics(made.ground().contact("ball", friction=0.25, restitution=0.75).model())
start, steps = np.array([0, 0.6, 0]), round(UNTIL / DT)  # x, z, angle


def thrown(throws, every=steps):
    """Paths (n, rows, 2) of x and z."""
    throws = np.atleast_2d(throws)
    return lw.rollout(robot, np.tile(start, (len(throws), 1)), throws, dt=DT, steps=steps, every=every, method="contact").q[..., :2]


def jacobian(throw):
    """∂(x, z)/∂(vx, vz, spin) at the end: two samples of one rollout, one for each weight."""
    weights = np.zeros((2, 2, 3))
    weights[:, 1, :2] = np.eye(2)
    how = {"dt": DT, "steps": steps, "every": steps, "method": "contact"}
    return lw.rollout_gradient(robot, np.tile(start, (2, 1)), np.tile(throw, (2, 1)), weights=(weights, None), **how).v


def differences(throw, h=0.04):
    """The same by central differences, wide enough to see past the steps."""
    moved = thrown(np.concatenate([throw + h * np.eye(3), throw - h * np.eye(3)]))[:, -1]
    return (moved[:3] - moved[3:]).T / (2 * h)


throw = np.array([1.2, -1.5, 0.0])
tried = [throw]
for _ in range(7):
    off = GOAL - thrown(throw)[0, -1]
    print(f"{throw.round(3)} is off by {np.linalg.norm(off):.1e} m")
    change = np.linalg.lstsq(jacobian(throw), off, rcond=None)[0]
    throw = throw + change * min(1, 0.6 / np.linalg.norm(change))  # slopes hold until another bounce comes in
    tried.append(throw)
print("exact slopes\n", jacobian(throw).round(3), "\ndifferences\n", differences(throw).round(3))
if "--draw" in sys.argv:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    paths = thrown(np.array(tried), every=10)
    for n, path in enumerate(paths):
        last = n == len(paths) - 1
        axes.plot(*path.T, color="C0" if last else "0.75", lw=2 if last else 1, zorder=2 if last else 1)
        axes.plot(*path[-1], "o", color="C0" if last else "0.75", ms=9 if last else 5)
    axes.plot(*GOAL, "x", color="C3", ms=12, mew=2)
    axes.axhline(0.06, color="0.6", lw=0.8, ls=":")
    axes.axhline(0, color="k", lw=1)
    axes.set(xlabel="x, m", ylabel="z, m", aspect="equal", ylim=(-0.03, None))
    figure.savefig("contact_throw.png", dpi=110)
