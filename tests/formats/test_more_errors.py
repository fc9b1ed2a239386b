"""Files and models that cannot be read, written or made: each error names the thing and says what is possible."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.equations.algebra import Algebra
from linkwork.model import gears, solids

BODY = {"name": "link", "mass": 1.0}
JOINT = {"name": "pin", "child": "link"}


def world_frame(**entries):
    """A file in the world frame of one link, with other entries."""
    return lw.load(json.dumps({"screws": 1, "bodies": [BODY], "joints": [JOINT]} | entries))


def joint(**entries):
    return lambda: world_frame(joints=[JOINT | entries])


def bond(**entries):
    return lambda: world_frame(constraints=[{"name": "bond"} | entries])


WORLD_FRAME = {
    'a body has no "name"': lambda: world_frame(bodies=[{"mass": 1.0}]),
    'joint "pin" has no "child"': lambda: world_frame(joints=[{"name": "pin"}]),
    "bodies is .*; a list is needed": lambda: world_frame(bodies={"name": "link"}),
    "a body is 'link'; it takes an object": lambda: world_frame(bodies=["link"]),
    "the child of joint \"pin\" is 3; it takes a text": joint(child=3),
    'joint "pin" is revolute; a pitch is for helical joints, which need one': joint(kind="revolute", pitch=0.1),
    'joint "pin" is helical; a pitch is for helical joints, which need one': joint(kind="helical"),
    'joint "pin" has no parts; a compound joint has at least one': joint(parts=[]),
    'the rotation of joint "pin" is zero; it is a quaternion x y z w': joint(rotation=[0, 0, 0, 0]),
    'constraint "bond" has kind "distanc"; there are distance, linear.*Did you mean "distance"': bond(kind="distanc"),
    'constraint "bond" has an entry "radius", which is not known': bond(kind="distance", child="link", length=1.0, radius=2.0),
    'constraint "bond" has no "length"': bond(kind="distance", child="link"),
    'coupling "gear" has no "joint"': lambda: world_frame(couplings=[{"name": "gear"}]),
}

PIN = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
ARM = f'<robot name="arm"><link name="a"/><link name="b"/>{PIN}</robot>'


def sdf(inside, model='name="m"'):
    return lambda: lw.load(f'<sdf version="1.7"><model {model}><link name="a"/><link name="b"/>{inside}</model></sdf>')


def sdf_joint(kind, inside="", parent="a", child="b"):
    return sdf(f'<joint name="j" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>')


SPRING = "<axis><xyz>0 0 1</xyz><dynamics><spring_stiffness>2</spring_stiffness></dynamics></axis>"
FILES = {
    "names 1 joints, but 0 types": lambda: lw.load(ARM, loops=StringIO("joint_name: [j]")),
    "closed loop 1 is 'a'; it takes two names of links or joints": lambda: lw.load(ARM, loops=StringIO("closed_loop: [a]\ntype: [6d]")),
    "the file has no <model>": lambda: lw.load('<sdf version="1.7"><world name="w"/></sdf>'),
    "the file has 2 <world> elements; it must have one": lambda: lw.load('<sdf><world><model name="a"/></world><world/></sdf>'),
    "has the world as its child; make it the parent": sdf_joint("revolute", "<axis/>", parent="a", child="world"),
    "has no <screw_thread_pitch>, metres per turn": sdf_joint("screw", "<axis/>"),
    "which is not a direction": sdf_joint("revolute", "<axis><xyz>0 0 0</xyz></axis>"),
    "has a spring, which a ball joint cannot have here": sdf_joint("ball", SPRING),
    "has a placement_frame, which is not read; give the pose": sdf("", 'name="m" placement_frame="a"'),
}


def saved(model, **options):
    return lambda: lw.save(model(), "/nowhere/model.json", **options)


def open_loop():
    model = lw.load("four_bar")
    return replace(model, loops=(replace(model.loops[0], active=False),))


def driven():
    return lw.load("pendulum").with_constraints(constraints.Driven("drive", "joint1", np.sin))


WRITTEN = {
    'four_bar cannot be written in the world frame: loop "pin" is not active': saved(open_loop, world_frame=True),
    'constraint "drive" is a function, which a file cannot hold; remove it from the model first': saved(driven),
}


def geared(joint, ratio):
    builder = lw.Builder("arm")
    builder.body("base", joint=lw.Revolute(), **solids.box(1.0, (0.1, 0.1, 0.1)))
    builder.body("upper", "base", joint=joint, **solids.box(1.0, (0.1, 0.1, 0.1)))
    return lambda: gears.with_rotors(builder.model(), {"upper_joint": ratio})


def rolling_on_a_body():
    return lw.load("pendulum").with_model("link1", lw.load("rolling_disk"), prefix="disk_")


MODELS = {
    'arm has no joint "elbow" for a motor. Did you mean "elbo"': lambda: lw.Builder("arm").body("a", joint_name="elbo").motor("elbow", 9),
    "is no constraint of a model; see linkwork.constraints": lambda: lw.load("pendulum").with_constraints("tight"),
    r"a rotor takes a joint with one velocity and a finite ratio, not zero": geared(lw.Spherical(), 10.0),
    r"its ratio 0.0; a rotor takes": geared(lw.Revolute(armature=1e-3), 0.0),
    'the rotor of "upper_joint" cannot be part of its carrier': geared(lw.Revolute(armature=100.0), 1.0),
    "is about motion in the world: its model cannot stand on body": rolling_on_a_body,
    r'shape "tip" has the kind "spere"; there are .*Did you mean "sphere"': lambda: lw.Shape("spere", (0.1,), name="tip"),
    r"sphere has size \(1.0, 2.0\); it takes 1 finite number, not negative": lambda: lw.Shape("sphere", (1.0, 2.0)),
    r"sphere has size -1.0; it takes 1 finite number, not negative": lambda: lw.Shape("sphere", -1.0),
    r"box has size \(1, 1, nan\); it takes 3 finite numbers, not negative": lambda: lw.Shape("box", (1, 1, np.nan)),
    r"ellipsoid has size \(0.0, 1.0, 1.0\); it takes 3 finite numbers, positive": lambda: lw.Shape("ellipsoid", (0.0, 1.0, 1.0)),
    r"plane has size \(1,\); it takes 0 finite numbers\.": lambda: lw.Shape("plane", (1,)),
    r"text, line 3: sphere has size \(-0.1,\)": lambda: lw.load(
        '<robot name="r"><link name="a">\n<visual><geometry>\n<sphere radius="-0.1"/></geometry></visual></link></robot>'
    ),
    r"text, line 3: box .* has size \(1.0, -1.0, 1.0\)": lambda: lw.load(
        '<sdf version="1.7"><model name="r"><link name="a">\n<visual name="v"><geometry>\n<box><size>1 -1 1</size></box></geometry>'
        "</visual></link></model></sdf>"
    ),
    "it takes three finite numbers": lambda: lw.Push("push", "link1", force=(1.0, 2.0)),
    "structure constants of shape": lambda: Algebra(np.zeros((2, 3, 3))),
}  # fmt: skip
CASES = WORLD_FRAME | FILES | WRITTEN | MODELS


@pytest.mark.parametrize("said", CASES)
def test_an_error_names_the_thing_and_the_remedy(said):
    with pytest.raises(lw.ModelError, match=said):
        CASES[said]()


@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.urdf"])
def test_what_is_no_model_is_not_saved(name, tmp_path):
    """A robot has its model beside it."""
    with pytest.raises(lw.LinkworkError, match=r"not a Dynamics; .* robot\.model"):
        lw.save(lw.Dynamics(lw.load("pendulum")), tmp_path / name)
    assert not (tmp_path / name).exists()
