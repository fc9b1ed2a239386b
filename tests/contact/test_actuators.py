"""Actuators of a model: forces of motors and servos, plain, compiled, in simulations, and beside MuJoCo."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ShapeError

MJCF = """<mujoco model="driven"><option gravity="0 0 0"><flag contact="disable"/></option><worldbody>
  <body name="a"><joint name="hip" axis="0 1 0" damping="0.1"/><geom type="capsule" size="0.05 0.2" mass="1"/>
    <body name="b" pos="0 0 0.4"><joint name="knee" axis="0 1 0" actuatorfrcrange="-3 3"/><geom type="box" size="0.05 0.05 0.2" mass="1"/>
      <body name="c" pos="0 0 0.4"><joint name="slide" type="slide" axis="0 0 1"/><geom type="sphere" size="0.05" mass="0.5"/></body>
    </body></body></worldbody>
  <tendon><fixed name="both"><joint joint="hip" coef="0.5"/><joint joint="slide" coef="-2"/></fixed></tendon>
  <actuator>
    <motor name="m" joint="hip" gear="30" ctrlrange="-0.4 0.4"/>
    <position name="p" joint="knee" kp="40" kv="2" ctrlrange="-1 1"/>
    <velocity name="v" joint="slide" kv="5" forcerange="-2 2"/>
    <general name="t" tendon="both" gainprm="3" biastype="affine" biasprm="0.2 -4 -0.3"/>
  </actuator></mujoco>"""


def robot():
    pytest.importorskip("mujoco")
    return lw.Dynamics(lw.load(MJCF))


def states(robot, count=50):
    rng = np.random.default_rng(0)
    q, v = robot.random_state((count,), seed=0)
    return q, v, 1.5 * rng.standard_normal((count, len(robot.actuators)))


def test_forces_are_those_of_mujoco():
    """qfrc_actuator of mj_forward at random states and commands, ranges and efforts included"""
    mujoco = pytest.importorskip("mujoco")
    ours, m = robot(), mujoco.MjModel.from_xml_string(MJCF)
    d = mujoco.MjData(m)
    q, v, u = states(ours)
    assert [x.kind for x in ours.model.actuators] == ["motor", "position", "velocity", "affine"]
    found = ours.actuators.force(q, v, u)
    for i in range(len(q)):
        d.qpos, d.qvel, d.ctrl = q[i], v[i], u[i]
        mujoco.mj_forward(m, d)
        np.testing.assert_allclose(found[i], d.qfrc_actuator, atol=1e-12)


def test_the_kernel_is_the_plain_function():
    ours = robot()
    q, v, u = states(ours)
    np.testing.assert_allclose(ours.actuators.kernel(np.zeros(len(q)), q, v, u), ours.actuators.force(q, v, u), atol=1e-13)
    single = ours.actuators.force(*(x.astype(np.float32) for x in (q, v, u)))
    assert single.dtype == np.float32


def test_simulations_and_rollouts_take_it_as_control():
    """Both by the same steps: rollout with commands as a policy's input, simulate with a function"""
    ours = robot()
    q, v, _ = states(ours, 1)
    u = np.array([0.1, 0.5, 0.2, 0.0])
    run = lw.simulate(ours, (q[0], v[0]), until=0.05, method="rk4", dt=0.001, control=ours.actuators.control(u))
    batch = lw.rollout(ours, q, v, ours.actuators.kernel, dt=0.001, steps=50, method="rk4", given={"u": u[None]})
    np.testing.assert_allclose(batch.q[0, -1], run.q[-1], atol=1e-3)
    assert np.abs(run.q[-1] - q[0]).max() > 1e-3


def test_a_servo_holds_its_position():
    """At rest stiffness (u − q) = g"""
    model = lw.load("double_pendulum").with_actuators("position", stiffness=500.0, damping=60.0)
    pendulum = lw.Dynamics(model)
    u = np.array([0.7, -0.3])
    run = lw.simulate(pendulum, (u, np.zeros(2)), until=4.0, control=pendulum.actuators.control(lambda t, q, v: u))
    np.testing.assert_allclose(500 * (u - run.q[-1]), pendulum.gravity_force(run.q[-1]), atol=1e-4)


def test_a_transmission_of_urdf_is_a_motor_within_the_effort_of_its_joint():
    urdf = """<robot name="arm"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
      ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="20" velocity="1"/></joint><transmission name="t"><type>simple</type><joint name="j"/>
      <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission></robot>"""
    arm = lw.Dynamics(lw.load(urdf))
    np.testing.assert_allclose(arm.actuators.force(np.zeros(1), np.zeros(1), np.array([0.1])), [5.0])
    np.testing.assert_allclose(arm.actuators.force(np.zeros(1), np.zeros(1), np.array([1.0])), [20.0])


def test_errors_name_what_is_wrong():
    with pytest.raises(ModelError, match=r"has no actuators.*with_actuators"):
        _ = lw.Dynamics(lw.load("double_pendulum")).actuators
    with pytest.raises(ModelError, match=r"actuator \"x\" is on \"elbw\""):
        replace(lw.load("double_pendulum"), actuators=(lw.Actuator("x", (("elbw", 1.0),)),))
    with pytest.raises(ModelError, match=r"lower 1\.0 above upper 0\.0"):
        lw.Actuator("x", (("j", 1.0),), lower=1.0, upper=0.0)
    driven = lw.Dynamics(lw.load("double_pendulum").with_actuators())
    with pytest.raises(ShapeError, match=r"u has shape \(3,\), but double_pendulum has 2 actuators"):
        driven.actuators.force(np.zeros(2), np.zeros(2), np.zeros(3))
    assert str(driven.actuators).startswith("2 actuators")
