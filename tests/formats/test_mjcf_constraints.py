"""What binds joints in MJCF is kept as data, and what a Model has no place for is said."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.formats import mjcf
from linkwork.formats.xml import How

MODELS = Path(__file__).parents[1] / "models"
INERTIAL = '<inertial mass="2" pos=".1 .2 .3" quat=".8 .1 -.3 .5" diaginertia=".03 .02 .04"/>'
LOOPS = f"""
<mujoco>
  <compiler autolimits="true"/>
  <worldbody>
    <site name="wall" pos="1 1 0" euler="10 20 30"/>
    <body name="a" pos=".1 .2 .3" euler="10 20 30">{INERTIAL}
      <joint name="ja" ref="20"/><site name="sa" pos="0 1 .4" euler="4 5 6"/>
    </body>
    <body name="b" pos="0 1 0" euler="50 0 7">{INERTIAL}
      <joint name="jb" ref="-35"/><site name="sb" pos=".3 1 0"/>
    </body>
    <body name="c" pos="0 0 1">{INERTIAL}<joint name="jc" type="slide"/><joint name="jd" axis="1 0 0"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="a" body2="b" anchor=".1 .2 .3"/>
    <connect body1="c" anchor="1 2 3" active="false"/>
    <connect name="pin_sites" site1="sa" site2="sb"/>
    <weld name="glue" body1="a" body2="b" anchor=".3 .1 0" relpose=".1 .2 .4 1 2 3 4"/>
    <weld name="glue_world" body1="b"/>
    <weld name="glue_sites" site1="wall" site2="sb"/>
    <joint name="gear" joint1="ja" joint2="jb" polycoef=".1 2 -.3 .4 .05"/>
    <joint name="part" joint1="jd" joint2="jc" polycoef="0 3 0 0 0"/>
    <joint name="held" joint1="jb" polycoef=".2 5 0 0 0"/>
  </equality>
</mujoco>
"""


def robot_of(body, **more):
    text = "".join(f"<{tag}>{inside}</{tag}>" for tag, inside in more.items())
    return mjcf.read(f"<mujoco>{text}<worldbody>{body}</worldbody></mujoco>", How(name="text.xml"))


def one(joint, more=""):
    return f'<body name="arm">{INERTIAL}{joint}{more}</body>'


def same(ours, theirs, tolerance=1e-9):
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(np.abs(theirs).max(), 1e-12))


def test_loops_and_couplings_are_violated_as_much_as_in_mujoco(rng):
    """Gaps of points, angles of frames (where it is 2 sin(θ/2) of MuJoCo's), and q₁ - p(q₂)."""
    robot = lw.Dynamics(mjcf.read(LOOPS, How()))
    m = mujoco.MjModel.from_xml_string(LOOPS)
    d = mujoco.MjData(m)
    d.eq_active[:] = 1
    d.qpos[:] = q = rng.uniform(-1, 1, m.nq)
    mujoco.mj_forward(m, d)
    efc = {e: d.efc_pos[: d.ne][d.efc_id[: d.ne] == e] for e in range(m.neq)}
    ids = iter(range(m.neq))
    for e, loop in zip(ids, robot.model.loops):
        one = np.eye(4) if loop.parent is None else robot.pose(q, loop.parent)
        gap = np.linalg.inv(one @ loop.at.matrix) @ robot.pose(q, loop.child) @ loop.on.matrix
        same(np.linalg.norm(gap[:3, 3]), np.linalg.norm(efc[e][:3]))
        if loop.joint.kind == "fixed":
            same(np.sqrt((3 - np.trace(gap[:3, :3])) / 4), np.linalg.norm(efc[e][3:]))
    for e, coupling in zip(range(len(robot.model.loops), m.neq), robot.model.couplings):
        x = q[robot.q_index(coupling.of)] if coupling.of else 0.0
        same(q[robot.q_index(coupling.joint)] - np.polynomial.Polynomial(coupling.coefficients)(x), efc[e])


def test_equalities_keep_their_names_and_flags():
    model = mjcf.read(LOOPS, How())
    assert [loop.name for loop in model.loops] == ["pin", "connect2", "pin_sites", "glue", "glue_world", "glue_sites"]
    assert [loop.active for loop in model.loops] == [True, False, True, True, True, True]
    assert [loop.joint.kind for loop in model.loops] == ["spherical"] * 3 + ["fixed"] * 3
    couplings = [(coupling.name, coupling.joint, coupling.of) for coupling in model.couplings]
    assert couplings == [("gear", "ja", "jb"), ("part", "jd", "jc"), ("held", "jb", None)]
    off = mjcf.read(LOOPS.replace("<worldbody>", '<option><flag equality="disable"/></option><worldbody>'), How())
    assert not any(x.active for x in (*off.loops, *off.couplings))


def test_cassie_has_four_loops():
    model = mjcf.read((MODELS / "cassie_mjcf" / "cassie.xml").read_text(), How())
    assert len(model.loops) == 4 and all(loop.active for loop in model.loops)


TWO = one('<joint name="j"/>') + one('<joint name="k"/>').replace("arm", "leg")
TENDON = '<fixed name="cord"{}><joint joint="j" coef="1"/><joint joint="k" coef="-1"/></fixed>'


@pytest.mark.parametrize(
    ("body", "more", "said"),
    [
        (TWO, {"tendon": TENDON.format(' stiffness="3"')}, 'springs, dampers, friction and inertia of tendons "cord"'),
        (TWO, {"tendon": TENDON.format(' armature="3"')}, 'springs, dampers, friction and inertia of tendons "cord"'),
        (TWO, {"tendon": TENDON.format(""), "equality": '<tendon tendon1="cord"/>'}, 'equality constraints "tendon1"'),
        (one('<joint name="j" type="free" stiffness="2"/>'), {}, 'springs of free joints "j"'),
        (one('<joint name="j" type="free" armature="2"/>'), {}, 'that armature of free joints is along world axes "j"'),
        (one("<joint/>").replace("<body", '<body gravcomp="1"'), {}, 'gravity compensation "arm"'),
        (f'{one("<joint/>")}</worldbody><option viscosity="1"/><worldbody>', {}, 'forces of a fluid with "viscosity"'),
        (one('<joint name="j" stiffness="1 2"/>'), {}, 'the nonlinear part of springs "j"'),
        (one('<joint name="j" damping="1 2"/>'), {}, 'the nonlinear part of dampers "j"'),
    ],
)
def test_what_changes_the_motion_and_is_left_out_is_said_once(body, more, said):
    whole = f"text.xml: the model leaves out what changes its motion: {said}."
    with pytest.warns(lw.ModelWarning, match=re.escape(whole)) as seen:
        model = robot_of(body, **more)
    assert len(seen) == 1 and f"left out: {said}" in model.notes


def test_what_only_adds_to_the_model_is_noted():
    arm = one('<joint name="j" actuatorfrcrange="-1 2"/>')
    leg = one('<joint name="k" type="ball" range="0 45"/>').replace("arm", "leg")
    model = robot_of(
        f'{arm}{leg}<site name="wall"/><body name="ghost" mocap="true"/>',
        tendon='<fixed name="cord" range="-1 1"><joint joint="j" coef="1"/></fixed>',
        actuator='<muscle name="m" joint="j"/><motor joint="j"/>',
        sensor='<jointpos joint="j"/>',
        keyframe='<key name="home"/>',
    )
    assert model.notes == (
        'sites of the world are left out: "wall"',
        'left out: tendons "cord"',
        'left out: actuators "m"',
        'left out: sensors "sensor1"',
        'left out: keyframes "home"',
        'left out: limits of ball joints "k"',
        'left out: the smaller side of uneven force limits "j"',
        'left out: motion of mocap bodies "ghost"',
    )
