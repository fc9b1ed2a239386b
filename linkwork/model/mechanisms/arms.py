"""Robot arms."""

from itertools import pairwise
from math import pi

import numpy as np

from ...joints import Fixed, Revolute
from ...spatial import Pose
from .. import solids
from ..builder import Builder, from_dh
from ..model import Model
from ..parts import Shape
from .drawing import BLUE, GREY, ORANGE, in_a_row, positive


def planar_2r() -> Model:
    """Two rods, each 1 kg and 1 m, in the plane x y: pins about z, along x at q = 0, gravity along -y."""
    return _planar("planar_2r", 2)


def planar_3r() -> Model:
    """Three rods, each 1 kg and 1 m, in the plane x y: pins about z, along x at q = 0, gravity along -y."""
    return _planar("planar_3r", 3)


def _planar(name: str, n: int) -> Model:
    end = (1.0, 0.0, 0.0)
    return in_a_row(Builder(name, gravity=(0.0, -9.81, 0.0)), n, Revolute(), solids.rod(1.0, end, color=BLUE), end, "tool")


def arm_6r() -> Model:
    """Shoulder, elbow and a wrist whose three axes meet in a point: the shape of a Puma with round numbers.

    The table is the modified one, so that link i's frame is at joint i; z of frame 6 is the direction of the tool.
    """
    table = [  # theta, d, a, alpha
        (0.0, 0.6, 0.0, 0.0),
        (0.0, 0.0, 0.0, -pi / 2),
        (0.0, 0.15, 0.45, 0.0),
        (0.0, 0.45, 0.02, -pi / 2),
        (0.0, 0.0, 0.0, pi / 2),
        (0.0, 0.0, 0.0, -pi / 2),
    ]
    links = [
        solids.cylinder(15.0, 0.1, 0.4, center=(0.0, 0.0, -0.2), color=GREY),
        solids.capsule(10.0, 0.08, (0.45, 0.0, 0.15), start=(0.0, 0.0, 0.15), color=ORANGE),
        solids.capsule(5.0, 0.06, (0.02, 0.4, 0.0), color=ORANGE),
        solids.cylinder(1.2, 0.05, 0.1, center=(0.0, 0.0, -0.05), color=GREY),
        solids.sphere(0.8, 0.05, color=GREY),
        solids.cylinder(0.3, 0.03, 0.08, center=(0.0, 0.0, 0.06), color=BLUE),
    ]
    limits, efforts = (170, 120, 150, 180, 110, 260), (150.0, 150.0, 100.0, 30.0, 20.0, 15.0)  # degrees, N m
    joints = [
        Revolute(lower=-limit, upper=limit, effort=effort, damping=0.01 * effort, armature=0.002 * effort)
        for limit, effort in zip(np.radians(limits), efforts)
    ]
    arm = from_dh(table, name="arm_6r", modified=True, bodies=links, joints=joints)
    return arm.with_frame("tool", "link6", (0.0, 0.0, 0.1))


def puma560() -> Model:
    """The Puma 560 with the parameters of Corke and Armstrong-Hélouvry (1994), standard Denavit-Hartenberg frames.

    Behind a gear G a motor adds armature G² Jm and damping G² B. The dry friction measured there differs between the
    two directions; ours does not, so it is the mean |G| (Tc⁺ − Tc⁻) / 2. The numbers are as published: link 1 has no
    mass and a moment about its axis only, for nothing else of it matters, and link 3's moments miss the triangle
    inequality by a little.
    """
    table = [  # theta, d, a, alpha
        (0.0, 0.67183, 0.0, pi / 2),
        (0.0, 0.0, 0.4318, 0.0),
        (0.0, 0.15005, 0.0203, -pi / 2),
        (0.0, 0.4318, 0.0, pi / 2),
        (0.0, 0.0, 0.0, -pi / 2),
        (0.0, 0.0, 0.0, 0.0),
    ]
    links = [  # mass, centre, moments about it
        (0.0, (0.0, 0.0, 0.0), (0.0, 0.35, 0.0)),
        (17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
        (4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
        (0.82, (0.0, 0.019, 0.0), (1.8e-3, 1.3e-3, 1.8e-3)),
        (0.34, (0.0, 0.0, 0.0), (0.3e-3, 0.4e-3, 0.3e-3)),
        (0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
    ]
    motors = [  # Jm, G, B, Tc+, Tc-
        (200e-6, -62.6111, 1.48e-3, 0.395, -0.435),
        (200e-6, 107.815, 0.817e-3, 0.126, -0.071),
        (200e-6, -53.7063, 1.38e-3, 0.132, -0.105),
        (33e-6, 76.0364, 71.2e-6, 11.2e-3, -16.9e-3),
        (33e-6, 71.923, 82.6e-6, 9.26e-3, -14.5e-3),
        (33e-6, 76.686, 36.7e-6, 3.96e-3, -10.5e-3),
    ]
    bodies = [
        {"mass": mass, "center": center, "tensor": moments, "visuals": _looks(row, radius)}
        for (mass, center, moments), row, radius in zip(links, table, (0.1, 0.08, 0.06, 0.05, 0.05, 0.03))
    ]
    joints = [
        Revolute(armature=G * G * Jm, damping=G * G * B, friction=abs(G) * (plus - minus) / 2)
        for Jm, G, B, plus, minus in motors
    ]
    return from_dh(table, name="puma560", bodies=bodies, joints=joints, strict=None).with_frame("tool", "link6")


def _looks(row, radius: float) -> tuple[Shape, ...]:
    """How a link with standard Denavit-Hartenberg frames looks: from the frame before along d, then along a."""
    _, d, a, alpha = row
    corner = Pose.rpy((a, 0.0, 0.0), (alpha, 0.0, 0.0)).inverse()
    ends = [(corner @ Pose(translation=(0.0, 0.0, -d))).translation, corner.translation, (0.0, 0.0, 0.0)]
    shapes: list[Shape] = []
    for start, end in pairwise(ends):
        if not np.allclose(start, end, atol=radius, rtol=0.0):
            shapes += solids.capsule(1.0, radius, end, start, ORANGE)["visuals"]
    return tuple(shapes) or solids.sphere(1.0, radius, color=GREY)["visuals"]


def dual_arm(*, load_mass: float = 4.0, load_length: float = 0.8) -> Model:
    """Two arms of six joints that hold a beam between them (Jain, section 11.6): 12 motors on 6 degrees of freedom.

    x is forward, y left, z up. Each arm has yaw, pitch, elbow, and a wrist of roll, bend and turn in one point; the right hand carries the
    beam, 4 kg and 0.8 m, and the left one holds it, which closes a loop. Joints are called left_yaw, right_elbow ..., frames at the ends of
    the beam left_grip and right_grip.
    """
    positive("dual_arm", load_mass=load_mass, load_length=load_length)
    arms, half = Builder("dual_arm"), load_length / 2
    axes = {"yaw": (0.0, 0.0, 1.0), "pitch": (0.0, 1.0, 0.0), "roll": (1.0, 0.0, 0.0)}
    up, down = (0.3, 0.0, 0.25), (0.35, 0.0, -0.25)
    beam = solids.box(load_mass, (0.08, load_length, 0.08), color=BLUE)
    for side, y in (("right", -half), ("left", half)):
        ball, hand = solids.sphere(0.5, 0.045, color=GREY), solids.box(0.6, (0.06, 0.06, 0.06), color=BLUE)
        row = [
            ("yaw", "yaw", (0.0, y, 0.9), solids.cylinder(4.0, 0.08, 0.16, color=GREY)),
            ("pitch", "pitch", None, solids.capsule(4.0, 0.05, up, color=ORANGE)),
            ("elbow", "pitch", up, solids.capsule(3.0, 0.04, down, color=ORANGE)),
            ("roll", "roll", down, ball),
            ("bend", "pitch", None, ball),
            ("turn", "yaw", None, hand),
        ]
        parent = None
        for name, axis, at, solid in row:
            arms.body(f"{side}_{name}_link", parent, at, Revolute(axis=axes[axis]), joint_name=f"{side}_{name}", **solid)
            parent = f"{side}_{name}_link"
        if side == "right":
            arms.body("load", parent, (0.0, half, 0.0), joint_name="grip", **beam)
    arms.frame("right_grip", "load", (0.0, -half, 0.0)).frame("left_grip", "load", (0.0, half, 0.0))
    arms.loop("hold", "left_turn_link", "load", Fixed(), on=(0.0, half, 0.0))
    return arms.model()
