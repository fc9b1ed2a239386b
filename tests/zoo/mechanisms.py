"""The mechanisms themselves."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.lie import so3
from linkwork.spatial import Pose, inertia_parameters, point_masses

SKEW = (0.36, 0.48, -0.8)
ELBOW = lw.Compound(
    row=(
        ("lift", lw.Prismatic(axis=(0, 1, 0))),
        ("swing", lw.Revolute(axis=SKEW), (0.1, 0.0, 0.2)),
        ("drive", lw.Helical(axis=(1, 0, 0), pitch=-0.2), Pose.rpy((0.0, 0.1, 0.0), (0.3, 0.2, -0.5))),
    )
)
JOINTS = {
    "fixed": lw.Fixed(),
    "revolute": lw.Revolute(axis=SKEW),
    "prismatic": lw.Prismatic(axis=SKEW),
    "helical": lw.Helical(axis=SKEW, pitch=0.3),
    "cylindrical": lw.Cylindrical(axis=SKEW),
    "planar": lw.Planar(axis=SKEW),
    "planar translation": lw.PlanarTranslation(axis=SKEW),
    "spherical": lw.Spherical(),
    "translation": lw.Translation(),
    "schoenflies": lw.Schoenflies(axis=SKEW),
    "free": lw.Free(),
    "universal": lw.Universal(),
    "compound": ELBOW,
}


def solid(rng, scale=1.0):
    """Mass, centre and tensor of seven random particles, as Builder.body takes them."""
    M = scale * point_masses(rng.uniform(0.1, 0.5, 7), rng.uniform(-0.4, 0.4, (7, 3)))
    mass, center, tensor = inertia_parameters(M)
    return {"mass": float(mass), "center": center, "tensor": tensor}


def spread(rng, reach=0.5):
    """A pose anywhere."""
    q = rng.standard_normal(4)
    return Pose.of(lw.spatial.homogeneous(so3.rotation_matrix(q), rng.uniform(-reach, reach, 3)))


def grown(name, plan, seed=0, gravity=(0.7, -1.1, -9.6), solids=None):
    """A model from (number of the parent body or None, joint) for each body; the rest is random, or from `solids`."""
    rng = np.random.default_rng(seed)
    builder = lw.Builder(name, gravity)
    for i, (on, joint) in enumerate(plan):
        parent = None if on is None else f"body{on}"
        at, joint_on, substance = spread(rng), spread(rng, 0.2), solid(rng)
        if solids is not None and i in solids:
            substance = solids[i]
        builder.body(f"body{i}", parent, at, joint, joint_name=f"joint{i}", joint_on=joint_on, **substance)
    return builder.model()


def named(*plan):
    """A plan with the joints named as in JOINTS."""
    return [(on, JOINTS[name]) for on, name in plan]


def planar_2r(gravity=(0.0, 0.0, 0.0)):
    """Two pins along z, links of one metre and one kilogram: the fixture of every textbook."""
    link = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (1 / 12,) * 3}
    arm = lw.Builder("planar 2R", gravity)
    arm.body("upper", joint=lw.Revolute(), **link)
    arm.body("fore", "upper", (1, 0, 0), lw.Revolute(), **link)
    arm.frame("tip", "fore", (1, 0, 0))
    return arm.model()


def geared():
    """Rotors, springs away from their rest, damping and dry friction on one joint of each size."""
    physics = {"armature": 0.3, "damping": 0.4, "friction": 0.1, "stiffness": 5.0}
    several = {"armature": (0.1, 0.2, 0.3), "damping": (0.3, 0.2, 0.1), "stiffness": (1.0, 2.0, 3.0)}
    half = (0.5, 0.5, 0.5, 0.5)
    return grown(
        "geared",
        [
            (None, lw.Revolute(axis=SKEW, rest=0.7, **physics)),
            (0, lw.Prismatic(axis=(1, 0, 0), rest=-0.2, **physics)),
            (1, lw.Spherical(rest=half, friction=0.05, **several)),
            (1, lw.Planar(axis=SKEW, rest=(0.1, 0.2, 0.3), **several)),
            (3, lw.Free(rest=(*half, 0.1, -0.2, 0.3), stiffness=2.0, armature=0.05)),
            (2, lw.Universal(armature=0.2, stiffness=1.5)),
            (5, lw.Revolute(axis=(0, 1, 0), armature=0.4)),
        ],
        seed=5,
        solids={6: {"mass": 0.0}},  # a tip without mass: its rotor is all that holds it back
    )


def massless():
    """Bodies that are only names for places, between others that have mass, and a light one."""
    nothing = {"mass": 0.0}
    light = {"mass": 1e-6, "tensor": (1e-9, 1e-9, 1e-9)}
    plan = named(
        (None, "free"), (0, "revolute"), (1, "prismatic"), (2, "spherical"), (0, "helical"), (4, "universal"),
        (0, "fixed"),
    )  # fmt: skip
    return grown("massless", plan, seed=6, solids={1: nothing, 2: nothing, 4: light, 6: nothing})


MECHANISMS = {
    **{name: grown(name, [(None, joint)], seed=1) for name, joint in JOINTS.items()},
    "tree": grown("tree", named(
        (None, "revolute"), (0, "spherical"), (0, "prismatic"), (1, "planar"), (1, "universal"), (2, "cylindrical"),
        (2, "helical"), (4, "compound"), (4, "free"), (5, "schoenflies"), (9, "translation"), (6, "planar translation"),
        (6, "fixed"), (12, "revolute"),
    ), seed=2),
    "chain": grown("chain", named(
        (None, "revolute"), (0, "prismatic"), (1, "universal"), (2, "helical"), (3, "cylindrical"), (4, "revolute"),
    ), seed=3),
    "floating": grown("floating", named(
        (None, "free"), (0, "revolute"), (1, "revolute"), (0, "spherical"), (3, "prismatic"), (0, "revolute"),
    ), seed=4),
    "forest": grown("forest", named(
        (None, "free"), (None, "revolute"), (1, "universal"), (None, "fixed"), (3, "prismatic"), (0, "spherical"),
        (1, "helical"),
    ), seed=7),
    "welded": grown("welded", named(
        (None, "fixed"), (0, "fixed"), (1, "revolute"), (2, "fixed"), (3, "fixed"), (4, "spherical"), (2, "prismatic"),
        (6, "fixed"),
    ), seed=8),
    "massless": massless(),
    "geared": geared(),
    "planar 2R": planar_2r(),
}  # fmt: skip


def plain(model):
    """The model's Dynamics in plain NumPy: laws are about the sweeps, and nothing waits for a compiler."""
    return lw.Dynamics(model, compiled=False)


def robots(*names):
    """Parametrizes a test by the Dynamics of these mechanisms."""
    return pytest.mark.parametrize("robot", [ROBOTS[name] for name in names], ids=names)


ROBOTS = {name: plain(model) for name, model in MECHANISMS.items()}
ROBOTS |= {f"{name} kernel": lw.Dynamics(MECHANISMS[name]) for name in ("universal", "free")}
every_mechanism = robots(*MECHANISMS)
