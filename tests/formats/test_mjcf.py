"""MJCF against MuJoCo itself: the same masses, poses, forces and accelerations at the same states."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork import convert
from linkwork.formats import load, mjcf
from linkwork.formats.xml import How

MODELS = Path(__file__).parents[1] / "models"
ROBOTS = {
    "go2": "go2_mjcf/go2.xml",
    "cassie": "cassie_mjcf/cassie.xml",
    "shadow_hand": "shadow_hand_mjcf/right_hand.xml",
    "humanoid": "humanoid_mjcf/humanoid.xml",
    "simple_humanoid": "simple_humanoid/simple_humanoid.xml",
}
INERTIAL = '<inertial mass="2" pos=".1 .2 .3" quat=".8 .1 -.3 .5" diaginertia=".03 .02 .04"/>'
TRICKY = f"""
<mujoco model="tricky">
  <option gravity="1 2 -9"/>
  <compiler angle="radian" autolimits="true"/>
  <default><joint armature=".1" damping=".3" stiffness="2"/></default>
  <worldbody>
    <body name="fixture" pos="1 2 3" quat="1 1 0 0">{INERTIAL}
      <body name="carriage" pos=".3 .2 .1" euler=".3 .2 .1">{INERTIAL}
        <joint name="slide" type="slide" axis="1 2 2" pos=".4 .5 .6" ref=".7" springref=".2" range="-1 2"/>
        <joint name="turn" axis="2 -1 .5" pos=".1 -.2 .3" ref="-.4" springref="1.2"/>
        <joint axis="0 1 0" pos=".2 0 .1" ref="1.5707963267948966" actuatorfrcrange="-3 4"/>
        <joint name="ball" type="ball" pos="-.3 .1 .2"/>
        <body name="arm" pos="0 .5 0" quat="1 2 3 4">{INERTIAL}
          <joint type="slide" axis="0 0 -1" pos="1 1 1" ref="-.3"/>
          <body pos="0 0 1">{INERTIAL}
            <joint name="wrist" type="ball" pos="0 .2 .1"/>
            <site name="arm" pos="0 .1 0"/> <site name="tip" pos="0 0 .2" quat="1 0 0 1"/> <site pos="1 0 0"/>
          </body>
        </body>
      </body>
    </body>
    <body name="ship" pos="0 0 5" quat="1 0 1 0">{INERTIAL}<freejoint/>
      <body name="mast" pos="0 0 .5" euler="0 .4 0">{INERTIAL}
        <joint name="mast" pos="0 0 -.2" axis="1 0 0" ref=".3"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def without_files(spec):
    """MuJoCo's model of a spec, less all that needs files, free of constraints and actuators."""
    for geom in list(spec.geoms):
        if geom.meshname:
            spec.delete(geom)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for asset in (*spec.meshes, *spec.textures):
        spec.delete(asset)
    m = spec.compile()
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    return m


LARGE = "simple_humanoid", "shadow_hand", "humanoid", "cassie"


@pytest.fixture(scope="module", params=[*(pytest.param(x, marks=pytest.mark.slow) if x in LARGE else x for x in ROBOTS), "tricky"])
def both(request):
    """(ours, MuJoCo's) of each robot, ours without dry friction, which is a constraint in MuJoCo."""
    if request.param == "tricky":
        model, m = mjcf.read(TRICKY, How()), without_files(mujoco.MjSpec.from_string(TRICKY))
    else:
        path = MODELS / ROBOTS[request.param]
        model = mjcf.read(path.read_text(), How(folder=path.parent, name=path.name))
        m = without_files(mujoco.MjSpec.from_file(str(path)))
    plain = [placed for placed in model.joints if not isinstance(placed.joint, lw.Compound)]
    slippery = {placed.name: replace(placed, joint=replace(placed.joint, friction=0.0)) for placed in plain}
    joints = tuple(slippery.get(h.name, h) for h in model.joints)
    return lw.Dynamics(replace(model, joints=joints, loops=(), couplings=())), m  # the tree alone, as in MuJoCo without equality


@pytest.fixture
def states(both):
    """Five states of ours, with joint forces, and MuJoCo's data at each."""
    robot, m = both
    q, v = robot.random_state((5,), seed=3)
    tau = np.random.default_rng(4).standard_normal(v.shape)
    there = convert.mujoco(robot)
    data = []
    for qpos, qvel, force in zip(there.q_to(q), there.v_to(q, v), there.tau_to(q, tau)):
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = qpos, qvel, force
        mujoco.mj_forward(m, d)
        data.append(d)
    return q, v, tau, data


def same(ours, theirs, tolerance=1e-9):
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(np.abs(theirs).max(), 1e-12))


# --- the same numbers as MuJoCo


def test_masses_agree(both):
    robot, m = both
    assert robot.model.mass == pytest.approx(m.body_mass.sum(), rel=1e-12)
    assert [body.mass for body in robot.model.bodies] == pytest.approx(m.body_mass[1:])


def test_sizes_and_order_agree(both):
    robot, m = both
    assert (robot.nq, robot.nv, len(robot.bodies)) == (m.nq, m.nv, m.nbody - 1)
    for j in range(m.njnt):
        if name := m.joint(j).name:
            assert robot.q_index(name).start == m.jnt_qposadr[j]
            assert robot.v_index(name).start == m.jnt_dofadr[j]


def test_poses_agree(both, states):
    robot, _ = both
    q, _, _, data = states
    same(robot.poses(q)[..., :3, 3], [d.xpos[1:] for d in data])
    same(robot.poses(q)[..., :3, :3], [d.xmat[1:].reshape(-1, 3, 3) for d in data])


def test_frames_are_where_sites_are(both, states):
    robot, m = both
    q, _, _, data = states
    for frame in robot.model.frames:
        s = m.site("arm" if frame.name == "arm_site" else frame.name).id
        same(robot.pose(q, frame.name)[..., :3, 3], [d.site_xpos[s] for d in data])
        same(robot.pose(q, frame.name)[..., :3, :3], [d.site_xmat[s].reshape(3, 3) for d in data])


def test_mass_matrices_agree(both, states):
    """𝓜' = A 𝓜 A*, armature included."""
    robot, m = both
    q, _, _, data = states
    A = convert.mujoco(robot).axes(q)
    theirs = np.zeros((5, m.nv, m.nv))
    for i, d in enumerate(data):
        mujoco.mj_fullM(m, d, theirs[i])
    same(A @ robot.mass_matrix(q) @ A.mT, theirs)


def test_bias_forces_agree(both, states):
    """What it takes for MuJoCo's accelerations to be zero."""
    robot, _ = both
    q, v, _, data = states
    there = convert.mujoco(robot)
    still = there.vdot_from(q, v, np.zeros_like(v))
    same(there.tau_to(q, robot.inverse_dynamics(q, v, still)), [d.qfrc_bias for d in data])


def test_springs_and_dampers_agree(both, states):
    robot, _ = both
    q, v, _, data = states
    same(convert.mujoco(robot).tau_to(q, robot.passive_force(q, v)), [d.qfrc_passive for d in data])


def test_accelerations_agree(both, states):
    robot, _ = both
    q, v, tau, data = states
    vdot = robot.forward_dynamics(q, v, tau + robot.passive_force(q, v))
    same(convert.mujoco(robot).vdot_to(q, v, vdot), [d.qacc_smooth for d in data])


@pytest.mark.parametrize("name", ROBOTS)
def test_the_robots_load_without_a_warning(name):
    """ModelWarning is an error in these tests; nothing here changes how these robots move by themselves."""
    path = MODELS / ROBOTS[name]
    model = mjcf.read(path.read_text(), How(folder=path.parent, name=path.name))
    assert bool(model.actuators) == (name != "simple_humanoid")
    assert not any(note.startswith("left out: actuators") for note in model.notes)


# --- joints


def robot_of(body, **more):
    text = "".join(f"<{tag}>{inside}</{tag}>" for tag, inside in more.items())
    return mjcf.read(f"<mujoco>{text}<worldbody>{body}</worldbody></mujoco>", How(name="text.xml"))


def one(joint, more=""):
    return f'<body name="arm">{INERTIAL}{joint}{more}</body>'


def test_joints_of_one_body_are_one_compound_with_their_own_names():
    robot = lw.Dynamics(mjcf.read(TRICKY, How()))
    placed = robot.model.joint("carriage_joints")
    assert [name for name, _, _ in placed.joint.parts] == ["slide", "turn", "carriage_joint3", "ball"]
    assert [robot.q_index(name).start for name in ("slide", "turn", "carriage_joint3", "ball")] == [0, 1, 2, 3]
    assert [robot.q_index(name) for name in ("carriage_joints", "ball")] == [slice(0, 7), slice(3, 7)]
    assert [robot.v_index(name).start for name in ("slide", "turn", "carriage_joint3", "ball")] == [0, 1, 2, 3]


def test_what_has_no_name_gets_one():
    model = mjcf.read(TRICKY, How())
    assert [body.name for body in model.bodies] == ["fixture", "carriage", "arm", "body4", "ship", "mast"]
    joints = [placed.name for placed in model.joints]
    assert joints == ["fixture_weld", "carriage_joints", "arm_joint1", "wrist", "ship_joint1", "mast"]


def test_new_names_step_aside_for_old_ones():
    inner = f'<body>{INERTIAL}<joint name="body2_joint1" axis="1 0 0"/><joint/></body>'
    model = robot_of(f'<body name="body2">{INERTIAL}<joint/>{inner}</body>')
    assert [body.name for body in model.bodies] == ["body2", "body2_"]
    assert model.joints[0].name == "body2_joint1_"


def test_sites_are_frames_and_never_share_a_body_s_name():
    assert [(f.name, f.body) for f in mjcf.read(TRICKY, How()).frames] == [("arm_site", "body4"), ("tip", "body4")]


def test_a_joint_away_from_the_origin_stands_at_its_anchor():
    placed = robot_of(one('<joint name="j" pos="0 .2 .1" axis="1 0 0"/>')).joint("j")
    assert placed.at.translation == placed.on.translation == (0.0, 0.2, 0.1)


def test_reference_angles_move_the_joint_not_its_coordinate():
    """The body is as drawn at q = ref."""
    robot = lw.Dynamics(robot_of(one('<joint name="j" ref="30" axis="0 1 0" range="20 50"/>')))
    same(robot.pose([np.pi / 6], "arm"), np.eye(4))
    joint = robot.model.joint("j").joint
    assert (joint.lower, joint.upper) == pytest.approx((np.pi / 9, np.pi / 3.6))


def test_physics_of_joints_is_kept():
    text = 'damping="1" frictionloss="2" armature="3" stiffness="4" springref="30" actuatorfrcrange="-5 5"'
    joint = robot_of(one(f'<joint name="j" {text}/>')).joint("j").joint
    assert (joint.damping, joint.friction, joint.armature, joint.stiffness, joint.effort) == (1, 2, 3, 4, 5)
    assert joint.rest == pytest.approx(np.pi / 6)
    assert (joint.lower, joint.upper, joint.speed) == (-np.inf, np.inf, None)


def test_flags_switch_things_off():
    text = '<joint name="j" damping="1" frictionloss="2" stiffness="4" range="0 1"/>'
    flags = '<flag gravity="disable" spring="disable" damper="disable" frictionloss="disable" limit="disable"/>'
    model = robot_of(one(text), option=flags)
    joint = model.joint("j").joint
    assert model.gravity == (0, 0, 0)
    assert (joint.damping, joint.friction, joint.stiffness, joint.lower) == (0, 0, 0, -np.inf)


def test_bodies_without_joints_are_welded_and_kept():
    tool = one("").replace("arm", "tool")
    model = robot_of(one("", tool))
    fused = mjcf.read(f'<mujoco><compiler fusestatic="true"/><worldbody>{one("<joint/>", tool)}</worldbody></mujoco>', How())
    assert [(h.name, h.joint.kind) for h in model.joints] == [("arm_weld", "fixed"), ("tool_weld", "fixed")]
    assert [body.name for body in fused.bodies] == ["arm", "tool"]


def test_a_welded_root_can_be_set_floating():
    model = lw.load(f"<mujoco><worldbody>{one('')}</worldbody></mujoco>", floating=True)
    assert [(h.name, h.joint.kind) for h in model.joints] == [("floating_base", "free")]
    with pytest.raises(lw.ModelError, match="cannot be set floating"):
        lw.load(f"<mujoco><worldbody>{one('<freejoint/>')}</worldbody></mujoco>", floating=True)


def test_quarter_turns_are_snapped_and_noted():
    text = f'<mujoco><worldbody><body name="b" quat="1 1.0000000002 0 0">{INERTIAL}</body></worldbody></mujoco>'
    assert mjcf.read(text, How()).joints[0].at.quaternion == (1, 0, 0, 1)
    assert mjcf.read(text, How()).notes == ('snapped to quarter turns: body "b"',)
    as_written = mjcf.read(text, How(snap=False))
    assert as_written.joints[0].at.rotation[2, 1] == pytest.approx(1)
    assert as_written.joints[0].at.rotation[1, 1] != 0 and not as_written.notes


def test_equal_moments_give_an_exact_tensor():
    text = INERTIAL.replace(".03 .02 .04", ".03 .03 .03")
    model = robot_of(f'<body name="ball">{text}</body>')
    assert np.array_equal(model.body("ball").tensor, 0.03 * np.eye(3))


def test_load_knows_mjcf():
    path = MODELS / ROBOTS["shadow_hand"]
    assert load(path) == mjcf.read(path.read_text(), How(folder=path.parent))
    assert load(path, gravity=(0, 0, 0)).gravity == (0, 0, 0)


def test_the_model_is_called_as_the_file_says_or_after_the_file():
    assert mjcf.read(TRICKY, How(name="x.xml")).name == "tricky"
    assert robot_of(one("")).name == "text"


@pytest.mark.slow
def test_one_humanoid_from_two_formats_has_the_same_dynamics():
    """simple_humanoid as URDF and as MJCF: joints by name, whatever their order."""
    urdf, xml = (lw.Dynamics(lw.load(MODELS / f"simple_humanoid/simple_humanoid.{end}")) for end in ("urdf", "xml"))
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-1, 1, (3, 5, urdf.nv))
    order = [xml.v_index(name).start for name in urdf.joints]
    there = [np.empty_like(x) for x in (q, v, tau)]
    for x, y in zip(there, (q, v, tau)):
        x[:, order] = y
    np.testing.assert_allclose(urdf.mass_matrix(q), xml.mass_matrix(there[0])[:, order][:, :, order], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(urdf.forward_dynamics(q, v, tau), xml.forward_dynamics(*there)[:, order], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(urdf.bias(q, v), xml.bias(*there[:2])[:, order], rtol=1e-9, atol=1e-9)


def test_an_actuator_with_several_controls_is_named_and_the_others_keep_theirs():
    body = '<body><joint name="{0}" type="hinge"/><geom size="0.1"/></body>'
    motors = '<dcmotor name="d" joint="j" motorconst="0.1 0.1" resistance="1" input="pos vel"/>'
    motors += '<motor name="m" joint="k" ctrllimited="true" ctrlrange="-2 3"/>'
    model = load(f"<mujoco><worldbody>{body.format('j')}{body.format('k')}</worldbody><actuator>{motors}</actuator></mujoco>")
    assert [(x.name, x.lower, x.upper) for x in model.actuators] == [("m", -2.0, 3.0)]
    assert any(note.startswith("left out: actuators") and '"d"' in note for note in model.notes)
