"""The same state in other conventions: what other libraries compute from it is what we compute."""

import re
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork import convert
from linkwork.formats import load

MODELS = Path(__file__).parent / "models"
LIBRARIES = {"pinocchio": convert.pinocchio, "mujoco": convert.mujoco, "drake": convert.drake}
ROW = [
    ("limited", lw.Revolute(axis=(0, 1, 0), lower=-1.0, upper=1.0)),
    ("wheel", lw.Revolute(axis=(1, 0, 0))),
    ("rail", lw.Prismatic(axis=(0, 0, 1))),
    ("ball", lw.Spherical()),
    ("table", lw.Planar()),
    ("stage", lw.Translation()),
    ("wrist", lw.Compound(row=(("pitch", lw.Revolute(axis=(0, 1, 0))), ("knuckle", lw.Spherical(), (0.2, 0.1, 0.3))))),
]
BODY = {"mass": 1.5, "center": (0.1, 0.2, -0.1), "tensor": (0.3, 0.2, 0.25)}


def everything():
    """A free body, one of each joint in a row on it, and a second free body."""
    builder = lw.Builder("everything")
    builder.body("base", joint=lw.Free(), joint_name="base", **BODY)
    before = "base"
    for name, joint in ROW:
        builder.body(f"{name}_body", before, (0.2, 0.1, 0.3), joint, joint_name=name, **BODY)
        before = f"{name}_body"
    builder.body("other", joint=lw.Free(), joint_name="other", **BODY)
    return lw.Dynamics(builder.model())


@pytest.fixture(scope="module")
def robot():
    return everything()


@pytest.fixture(params=LIBRARIES)
def library(request, robot):
    return LIBRARIES[request.param](robot)


@pytest.fixture(params=[(), (4,), (2, 3)], ids=str)
def state(request, robot):
    """q, v, vdot, tau of one batch shape."""
    rng = np.random.default_rng(1)
    q, v = robot.random_state(request.param, seed=2)
    return q, v, rng.standard_normal(v.shape), rng.standard_normal(v.shape)


# --- laws


def test_there_and_back_is_where_it_was(library, state):
    q, v, vdot, tau = state
    there = library.q_to(q)
    back = library.q_from(there)
    assert np.allclose(library.q_to(back), there) and there.shape == (*q.shape[:-1], library.nq_there)
    assert np.allclose(library.v_from(q, library.v_to(q, v)), v)
    assert np.allclose(library.vdot_from(q, v, library.vdot_to(q, v, vdot)), vdot)
    assert np.allclose(library.tau_from(q, library.tau_to(q, tau)), tau)


def test_the_state_that_comes_back_is_the_same_place(robot, library, state):
    q = state[0]
    assert np.allclose(robot.poses(library.q_from(library.q_to(q))), robot.poses(q))


def test_power_is_the_same(library, state):
    """tau'* v' = tau* v."""
    q, v, _, tau = state
    assert np.allclose((library.tau_to(q, tau) * library.v_to(q, v)).sum(-1), (tau * v).sum(-1))


def test_axes_are_orthogonal_and_turn_velocities(library, state):
    q, v, _, _ = state
    A = library.axes(q)
    assert np.allclose(A @ A.mT, np.eye(v.shape[-1]))
    assert np.allclose((A @ v[..., None])[..., 0], library.v_to(q, v))


def test_vdot_is_the_rate_of_v(robot, library, state):
    """d/dt (A v) along a motion with the given v and vdot."""
    q, v, vdot, _ = state
    h = 1e-5
    after = library.v_to(robot.integrate(q, h * v + h * h / 2 * vdot), v + h * vdot)
    before = library.v_to(robot.integrate(q, -h * v + h * h / 2 * vdot), v - h * vdot)
    assert np.allclose(library.vdot_to(q, v, vdot), (after - before) / (2 * h), atol=1e-7)


def test_one_q_serves_many_velocities(robot, library):
    q, _ = robot.random_state(seed=1)
    _, v = robot.random_state((5,), seed=2)
    assert np.array_equal(library.v_to(q, v), np.stack([library.v_to(q, each) for each in v]))


def test_float32_stays_float32(library, state):
    q, v, vdot, tau = (x.astype(np.float32) for x in state)
    results = library.q_to(q), library.v_to(q, v), library.vdot_to(q, v, vdot), library.tau_to(q, tau), library.axes(q)
    assert {x.dtype for x in results} == {np.dtype(np.float32)}


# --- what each library means


def rates(robot, q, v, body, h=1e-6):
    """Velocity of a body's origin and its angular velocity, both in world axes, by differences of its pose."""
    after, here, before = (robot.pose(robot.integrate(q, s * v), body) for s in (h, 0.0, -h))
    rate = (after - before) / (2 * h)
    W = rate[:3, :3] @ here[:3, :3].T
    return here, rate[:3, 3], np.array([W[2, 1], W[0, 2], W[1, 0]])


def test_mujoco_has_velocity_in_the_world_and_omega_in_the_body(robot):
    q, v = robot.random_state(seed=5)
    pose, velocity, omega = rates(robot, q, v, "base")
    mj = convert.mujoco(robot)
    assert np.allclose(mj.q_to(q)[:7], [*pose[:3, 3], q[3], *q[:3]])
    assert np.allclose(mj.v_to(q, v)[:6], [*velocity, *(pose[:3, :3].T @ omega)], atol=1e-7)


def test_drake_has_omega_and_velocity_in_the_world(robot):
    q, v = robot.random_state(seed=5)
    pose, velocity, omega = rates(robot, q, v, "base")
    drake = convert.drake(robot)
    assert np.allclose(drake.q_to(q)[:7], [q[3], *q[:3], *pose[:3, 3]])
    assert np.allclose(drake.v_to(q, v)[:6], [*omega, *velocity], atol=1e-7)


def test_drake_has_balls_as_angles_and_planes_in_parent_axes(robot):
    q, v = robot.random_state(seed=5)
    drake = convert.drake(robot)
    ball, table = robot.q_index("ball"), robot.q_index("table")
    there, rows = drake.q_to(q), slice(ball.start, ball.start + 3)
    a, b, c = there[rows]
    turned = lw.Pose.rpy((0, 0, 0), (a, b, c)).rotation
    assert np.allclose(turned, lw.lie.so3.rotation_matrix(q[ball]))
    assert np.allclose(drake.v_to(q, v)[robot.v_index("ball")], turned @ v[robot.v_index("ball")])
    assert np.allclose(there[table.start - 1 : table.stop - 1], np.roll(q[table], -1))
    planar = robot.qdot(q, v)[table]
    assert np.allclose(drake.v_to(q, v)[robot.v_index("table")], np.roll(planar, -1))


def test_whole_turns_are_lost_in_cos_and_sin():
    wheel = lw.Dynamics(lw.Builder("wheel").body("rim", joint=lw.Revolute(), **BODY).model())
    there = convert.pinocchio(wheel)
    assert np.allclose(there.q_from(there.q_to([2.0 + 4 * np.pi])), [2.0])


# --- Pinocchio


ROBOTS = {
    "double_pendulum": ("double_pendulum/double_pendulum.urdf", False),
    "panda": ("panda/panda.urdf", False),
    "solo12": ("solo12/solo12.urdf", True),
    "pr2": ("pr2/pr2.urdf", True),
    "simple_humanoid": ("simple_humanoid/simple_humanoid.urdf", True),
    "everything": (None, True),
}


def pinocchio_everything():
    """The same mechanism as `everything`, by Pinocchio's own means."""
    model = pin.Model()
    place = pin.SE3(np.eye(3), np.array([0.2, 0.1, 0.3]))
    body = pin.Inertia(BODY["mass"], np.array(BODY["center"]), np.diag(BODY["tensor"]))
    kinds = {
        "limited": pin.JointModelRY(),
        "wheel": pin.JointModelRUBX(),
        "rail": pin.JointModelPZ(),
        "ball": pin.JointModelSpherical(),
        "table": pin.JointModelPlanar(),
        "stage": pin.JointModelTranslation(),
        "pitch": pin.JointModelRY(),
        "knuckle": pin.JointModelSpherical(),
    }

    def add(parent, kind, at, name, inertia):
        joint = model.addJoint(parent, kind, at, name)
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        return joint

    joint = add(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base", body)
    for name, kind in kinds.items():
        joint = add(joint, kind, place, name, pin.Inertia.Zero() if name == "pitch" else body)
    add(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "other", body)
    return model


@pytest.fixture(scope="module", params=[pytest.param(x, marks=pytest.mark.slow) if x in ("pr2", "simple_humanoid") else x for x in ROBOTS])
def pair(request):
    """(ours, Pinocchio's, the convention)."""
    file, floating = ROBOTS[request.param]
    if file is None:
        theirs = pinocchio_everything()
        return everything(), theirs, convert.pinocchio(everything(), order=theirs.names)
    path = str(MODELS / file)
    theirs = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    with warnings.catch_warnings(action="ignore", category=lw.ModelWarning):  # pr2 has bodies that cannot be
        ours = lw.Dynamics(load(path, floating=floating, mimic="free"))
    return ours, theirs, convert.pinocchio(ours)


@pytest.fixture
def pinocchio_states(pair):
    robot, _, there = pair
    q, v = robot.random_state((3,), seed=7)
    tau = np.random.default_rng(8).standard_normal(v.shape)
    return q, v, tau, list(zip(there.q_to(q), there.v_to(q, v), there.tau_to(q, tau)))


def test_pinocchio_has_the_same_sizes(pair):
    robot, theirs, there = pair
    assert (there.nq_there, robot.nv) == (theirs.nq, theirs.nv)


def test_pinocchio_gives_the_same_mass_matrix(pair, pinocchio_states):
    robot, theirs, there = pair
    q, _, _, states = pinocchio_states
    A = there.axes(q)
    ours = A @ robot.mass_matrix(q) @ A.mT
    for M, (x, _, _) in zip(ours, states):
        upper = np.triu(pin.crba(theirs, theirs.createData(), x))
        assert np.allclose(np.triu(M), upper, rtol=0, atol=1e-9 * np.abs(upper).max())


def test_pinocchio_gives_the_same_accelerations(pair, pinocchio_states):
    robot, theirs, there = pair
    q, v, tau, states = pinocchio_states
    ours = there.vdot_to(q, v, robot.forward_dynamics(q, v, tau))
    for vdot, (x, u, f) in zip(ours, states):
        other = pin.aba(theirs, theirs.createData(), x, u, f)
        assert np.allclose(vdot, other, rtol=0, atol=1e-8 * np.abs(other).max())


def test_pinocchio_gives_the_same_bias(pair, pinocchio_states):
    robot, theirs, there = pair
    q, v, _, states = pinocchio_states
    for bias, (x, u, _) in zip(there.tau_to(q, robot.bias(q, v)), states):
        other = pin.nle(theirs, theirs.createData(), x, u)
        assert np.allclose(bias, other, rtol=0, atol=1e-9 * np.abs(other).max())


def test_joints_come_in_the_order_of_pinocchio_by_default(pair):
    robot, theirs, there = pair
    given = convert.pinocchio(robot, order=theirs.names)
    q, v = robot.random_state(seed=1)
    assert np.array_equal(there.v_to(q, v), given.v_to(q, v))


# --- orders and errors


def test_an_order_moves_joints_and_parts(robot):
    names = [name for name in robot.joints if name != "wrist"]
    q, v = robot.random_state(seed=1)
    there = convert.mujoco(robot, order=names[::-1])
    assert np.array_equal(there.v_to(q, v)[-6:], convert.mujoco(robot).v_to(q, v)[:6])
    assert np.allclose(there.q_from(there.q_to(q)), q)


def test_the_one_joint_that_only_each_side_names_is_the_same(robot):
    names = ["root_joint" if name == "base" else name for name in robot.joints]
    q, v = robot.random_state(seed=1)
    assert np.array_equal(convert.mujoco(robot, order=names).v_to(q, v), convert.mujoco(robot).v_to(q, v))


def test_continuous_joints_can_be_named(robot):
    none, one = (convert.pinocchio(robot, continuous=names) for names in ([], ["wheel"]))
    assert one.nq_there == none.nq_there + 1
    said = 'everything has no revolute joint "wheeel". Did you mean "wheel"?'
    with pytest.raises(lw.UnknownNameError, match=re.escape(said)):
        convert.pinocchio(robot, continuous=["wheeel"])


def test_a_model_will_do(robot):
    q, v = robot.random_state(seed=1)
    assert np.array_equal(convert.drake(robot.model).v_to(q, v), convert.drake(robot).v_to(q, v))


def test_nothing_that_moves_is_nothing_to_convert():
    block = convert.mujoco(lw.Builder("block").body("b", **BODY).model())
    assert block.q_to(np.zeros((3, 0))).shape == block.v_to(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)
    assert block.axes(np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (["base", "pinion", "rack"], 'everything has no joint "pinion". There are: '),
        (["bas", "rial"], 'everything has no joint "bas". Did you mean "base"?'),
        (["base", "other", "wheel"], "order leaves out limited, rail, ball, table, stage, wrist; it takes the name"),
    ],
)
def test_an_order_names_every_joint_and_no_other(robot, order, said):
    with pytest.raises(lw.UnknownNameError) as error:
        convert.drake(robot, order=order)
    assert str(error.value).startswith(said)


def test_wrong_shapes_are_named(robot):
    there = convert.pinocchio(robot)
    with pytest.raises(lw.ShapeError, match=r"v has shape \(3,\), but everything has nv = 28\."):
        there.v_to(robot.neutral(), np.zeros(3))
    with pytest.raises(lw.ShapeError, match=r"q has shape \(3,\), but everything has nq there = 34\."):
        there.q_from(np.zeros(3))


@pytest.mark.parametrize("limits", ["", 'lower="1" upper="-1"', 'lower="-1e308" upper="1e308"'])
@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_q_for_pinocchio_is_as_long_as_pinocchio_has_it(kind, limits):
    """A revolute joint has one coordinate there, with limits or without; a continuous one has (cos, sin)."""
    link = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    joint = f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/><limit effort="1" velocity="1" {limits}/></joint>'
    text = f'<robot name="r">{link.format("a")}{link.format("b")}{joint}</robot>'
    there = pytest.importorskip("pinocchio").buildModelFromXML(text)
    assert lw.convert.pinocchio(lw.load(text)).q_to(np.zeros(1)).shape == (there.nq,)
