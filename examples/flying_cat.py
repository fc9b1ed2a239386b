"""A cat falls on its back and lands on its feet: it bends, leads the bend once around, and stretches. Films it if asked: --film"""

import sys

import numpy as np
from scipy.optimize import brentq

import linkwork as lw
from linkwork.model import solids

FUR = (0.75, 0.5, 0.3, 1.0)


def half(sign):
    """One half of a cat along x: trunk, two legs down, and a head or a tail."""
    legs = [solids.capsule(0.15, 0.02, (0.2 * sign, y, -0.2), (0.2 * sign, y, -0.08), FUR) for y in (-0.05, 0.05)]
    head, tail = solids.sphere(0.3, 0.06, (0.33, 0, 0.05), FUR), solids.capsule(0.1, 0.015, (-0.45, 0, 0.15), (-0.25, 0, 0.03), FUR)
    trunk = solids.capsule(1.2, 0.07, (0.22 * sign, 0, 0), (0.05 * sign, 0, 0), FUR)
    return solids.together(trunk, *legs, head if sign > 0 else tail)


cat = lw.Builder("cat", gravity=(0, 0, 0))  # it falls, and we with it
cat.body("front", joint=lw.Free(), **half(1))
cat.body("back", "front", joint=lw.Universal(axes=((0, 1, 0), (0, 0, 1))), joint_name="spine", **half(-1))
robot = lw.Dynamics(cat.model())
flight = robot.free_flying()


def spine(bend):
    """Both angles of the spine over a second: the bend grows, goes around, and is gone again. It ends where it began."""

    def joints(t):
        s = np.clip((t - 0.2) / 0.6, 0, 1)
        turn, spin = 2 * np.pi * s, 2 * np.pi / 0.6 * (0.2 < t < 0.8)
        ramp = min(t, 1 - t) / 0.2
        size, grow = (bend * ramp * ramp * (3 - 2 * ramp), np.sign(0.5 - t) * 30 * bend * ramp * (1 - ramp)) if ramp < 1 else (bend, 0.0)
        c, s = np.cos(turn), np.sin(turn)
        return [size * c, size * s], [grow * c - size * spin * s, grow * s + size * spin * c]

    return joints


def rolled(bend):
    """By how much the trunk has turned about its length."""
    T = flight.turned(spine(bend), cycle=1.0, steps=100)
    return np.arctan2(T[2, 1], T[2, 2])


bend = brentq(lambda bend: rolled(bend) % (2 * np.pi) - np.pi, 1.5, 2.0)
q = np.r_[1, 0, 0, 0, 0, 0, 0, 0, 0]  # on its back
path = flight.path(q, spine(bend), until=1.0, steps=200)
turn, momentum = np.degrees(rolled(bend)) % 360, np.abs(robot.momentum(path.q, path.v)).max()
print(f"with its spine bent by {np.degrees(bend):.0f}° it turns by {turn:.1f}°; its momentum is {momentum:.0e} all the time")
print(f"feet point along {np.round(-robot.pose(path.q[-1], 'front')[:3, 2], 2)} at the end")
if "--film" in sys.argv:
    print(lw.movie(lw.Motion(robot, *path), "cat.gif", fps=20, speed=0.25, size=(3.2, 2.4), azimuth=-60, elevation=12))
