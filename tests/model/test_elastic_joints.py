"""Joints with a spring between motor and link (Jain, 12.1 to 12.4)."""

import numpy as np
import pytest
from zoo import close

import linkwork as lw
from linkwork.model import solids
from linkwork.operators import rigid, with_elastic_gears
from linkwork.systems import lower
from linkwork.systems.gears import gears

LINK, ROTOR, RATIO, K = solids.rod(2.0, (0.5, 0, 0)), 0.01, 10.0, 80.0


def arm(joint, **more) -> lw.Model:
    builder = lw.Builder("arm", gravity=(0, 0, 0))
    builder.body("link", joint=joint, joint_name="knee", **LINK)
    if more:
        builder.motor("knee", RATIO, **more)
    return builder.model()


def elastic(**more) -> lw.Dynamics:
    return lw.Dynamics(arm(lw.Elastic(stiffness=K, armature=ROTOR * RATIO**2, **more)))


def test_the_twist_swings_with_the_frequency_of_two_masses():
    """ω² = k (1/J + 1/B)."""
    robot = elastic()
    J, B = 2.0 * 0.5**2 / 3, ROTOR * RATIO**2
    omega = np.sqrt(K * (1 / J + 1 / B))
    run = lw.simulate(robot, (np.array([0.0, 0.1]), np.zeros(2)), until=1.0, rtol=1e-10, atol=1e-12, progress=False)
    close(run.q[:, 1], 0.1 * np.cos(omega * run.t), 1e-8)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.ptp(energy) < 1e-8


def test_mass_matrix_and_forces_are_those_of_a_rotor_beside_the_link():
    """θ_m = μ q_motor, θ_l = q_motor + twist: 𝓜 = X* 𝓜(12.1) X of the tree with a rotor of its own."""
    robot = elastic()
    model = arm(lw.Revolute(), tensor=(0, 0, ROTOR))
    nodes = lower(model)
    sko = with_elastic_gears(rigid(nodes, np.zeros(2)), gears(model, nodes))
    X = np.array([[RATIO, 0.0], [1.0, 1.0]])  # (rotor, link) of (motor, twist)
    close(robot.mass_matrix(np.array([0.3, 0.1])), X.T @ sko.mass_matrix @ X, 1e-12)


def test_a_stiff_spring_is_no_spring():
    """Both move as a pin with the armature of the motor does, but for the twist."""
    torque = 3.0
    stiff = lw.Dynamics(arm(lw.Elastic(stiffness=1e6, damping=1e3, armature=1.0)))
    pin = lw.Dynamics(arm(lw.Revolute(armature=1.0)))
    run = lw.simulate(
        stiff, (np.zeros(2), np.zeros(2)), until=1.0, control=lambda t, q, v: np.array([torque, 0.0]), method="stiff", progress=False
    )
    (vdot,) = pin.forward_dynamics([0.0], [0.0], [torque])
    close(run.q[-1].sum(), vdot / 2, 1e-4)


def test_parts_go_by_the_name_of_their_joint():
    builder = lw.Builder("two")
    for i, on in enumerate((None, "link0")):
        builder.body(f"link{i}", on, (0.5, 0, 0) if i else None, lw.Elastic(stiffness=K, armature=1.0), joint_name=f"joint{i}", **LINK)
    robot = lw.Dynamics(builder.model(), compiled=False)
    assert [robot.v_index(f"joint{i}.{part}").start for i in (0, 1) for part in ("motor", "twist")] == [0, 1, 2, 3]
    view = robot.actuated("joint0.motor", "joint1.motor")
    assert list(view.active) == [0, 2]
    with pytest.raises(lw.UnknownNameError, match=r"joint0\.engine"):
        robot.v_index("joint0.engine")


def test_prismatic_and_what_cannot_be():
    robot = lw.Dynamics(arm(lw.Elastic(stiffness=K, armature=1.0, joint=lw.Prismatic, axis=(1, 0, 0))), compiled=False)
    close(robot.mass_matrix(np.zeros(2)), [[3.0, 2.0], [2.0, 2.0]], 1e-12)
    for wrong in ({"stiffness": 0.0, "armature": 1.0}, {"stiffness": 1.0, "armature": -1.0}, {"stiffness": (1, 2), "armature": 1.0}):
        with pytest.raises(lw.ModelError, match="positive"):
            lw.Elastic(**wrong)
    with pytest.raises(lw.ModelError, match="Revolute or"):
        lw.Elastic(stiffness=1.0, armature=1.0, joint=lw.Spherical)
