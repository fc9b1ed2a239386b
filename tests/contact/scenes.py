"""Mechanisms that touch something, for the tests of contact."""

from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork.model import solids

G = 9.81


def ball(restitution=0.0, friction=0.5, radius=0.1, **material):
    made = lw.Builder("ball").body("ball", joint=lw.Free(), **solids.sphere(1.0, radius))
    return lw.Dynamics(made.ground().contact("ball", friction=friction, restitution=restitution, **material).model())


def box(friction, size=(0.4, 0.3, 0.2), mass=2.0, gravity=(0.0, 0.0, -G), compiled=True):
    made = lw.Builder("box", gravity=gravity).body("box", joint=lw.Free(), **solids.box(mass, size))
    return lw.Dynamics(made.ground().contact("box", friction=friction).model(), compiled=compiled)


def placed(robot, x=0.0, y=0.0, z=0.0):
    """q of a free body at a place."""
    q = robot.neutral()
    q[4:7] = x, y, z
    return q


def ball_in_a_plane(restitution=0.0, friction=0.25, radius=0.06):
    """A ball that moves along x and z and turns about y."""
    made = lw.Builder("ball").body("x", joint=lw.Prismatic(axis=(1, 0, 0))).body("z", "x", joint=lw.Prismatic(axis=(0, 0, 1)))
    made.body("ball", "z", joint=lw.Revolute(axis=(0, 1, 0)), **solids.sphere(0.3, radius))
    return lw.Dynamics(made.ground().contact("ball", friction=friction, restitution=restitution).model())


def rod(friction):
    """A slender rod in the plane, its lower tip, a small sphere, on the ground: slides x, z and turns about y; the angle is from
    the horizontal."""
    tip = lw.Shape("sphere", (1e-9,), lw.Pose.of((-0.5, 0, 0)), name="tip")
    made = lw.Builder("rod").body("x", joint=lw.Prismatic(axis=(1, 0, 0)))
    made.body("z", "x", joint=lw.Prismatic(axis=(0, 0, 1)))
    made.body("rod", "z", joint=lw.Revolute(axis=(0, -1, 0)), mass=1.0, tensor=(0.0, 1 / 12, 1 / 12), collisions=(tip,))
    return lw.Dynamics(made.ground().contact("rod", friction=friction).model(), compiled=False)


def four_bar_with_knob():
    """A four-bar linkage, plain, with a knob on its coupler; a configuration, the place of the knob there, and the direction against
    which it falls from rest."""
    model = lw.load("four_bar")
    coupler = model.bodies[1]
    knob = replace(coupler, collisions=(lw.Shape("sphere", (0.01,), lw.Pose.of((0.1, 0, 0.05)), name="knob"),))
    plain = lw.Dynamics(replace(model, bodies=tuple(knob if b is coupler else b for b in model.bodies)), compiled=False)
    q, _ = plain.constraints.random_state(seed=1)
    at = (plain.pose(q, coupler.name) @ [0.1, 0, 0.05, 1])[:3]
    still = np.zeros(plain.nv)
    falls = plain.jacobian(q, coupler.name, axes="world")[3:] @ plain.forward_dynamics(q, still, still)
    return plain, q, at, -falls / np.linalg.norm(falls)
