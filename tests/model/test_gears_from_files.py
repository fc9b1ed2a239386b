"""Gear ratios that files know, and the rotors they make of armatures."""

import pytest

import linkwork as lw
from linkwork.model.gears import with_rotors

INERTIA = '<inertial><mass value="9"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'

URDF = f"""<robot name="arm"><link name="base">{INERTIA}</link><link name="arm">{INERTIA}</link>
<joint name="elbow" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
<transmission name="t"><joint name="elbow"/>
<actuator name="m"><mechanicalReduction>{{}}</mechanicalReduction></actuator></transmission></robot>"""

MJCF = """<mujoco><worldbody><body name="base" pos="0 0 1"><inertial mass="9" pos="0 0 0" diaginertia="1 1 1"/>
<body name="arm"><joint name="elbow" axis="0 0 1" armature="0.5"/>
<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body></body></worldbody>
<actuator><motor joint="elbow" gear="50"/></actuator></mujoco>"""


def test_a_transmission_gives_its_joint_a_gear():
    assert lw.load(URDF.format(100)).joint("elbow").joint.gear == 100


def test_a_reduction_that_is_no_number_is_an_error():
    with pytest.raises(lw.ModelError, match='a <mechanicalReduction> is "fast"; it takes a finite number, not zero'):
        lw.load(URDF.format("fast"))


def test_an_actuators_gear_makes_a_rotor_of_the_armature():
    """An armature is ratio² times the rotor's inertia."""
    model = lw.load(MJCF)
    assert model.joint("elbow").joint.gear == 50
    geared = with_rotors(model)
    assert geared.body("elbow_rotor").tensor[2][2] == pytest.approx(0.5 / 50**2)
    assert geared.couplings[0].coefficients == (0.0, 50.0)
