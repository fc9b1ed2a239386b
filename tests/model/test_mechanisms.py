"""The built-in mechanisms: each is sound, and those with published or closed-form numbers have them."""

from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import Joint
from linkwork.model import mechanism
from linkwork.model.mechanisms import NAMES, SIZED
from linkwork.systems import lower

plain = partial(lw.Dynamics, compiled=False)  # what is tested here is the model


BOUND = [name for name in NAMES if (m := mechanism(name)).loops or m.couplings or m.constraints]  # see test_loop_mechanisms.py


@pytest.fixture(params=[name for name in NAMES if name not in BOUND])
def robot(request):
    return plain(mechanism(request.param))


def test_the_mass_matrix_is_symmetric_and_positive_definite(robot):
    q, _ = robot.random_state((3,), seed=0)
    M = robot.mass_matrix(q)
    assert np.allclose(M, M.mT)
    assert (np.linalg.eigvalsh(M) > 0).all()


def test_forward_dynamics_undoes_inverse_dynamics(robot):
    q, v = robot.random_state(seed=1)
    vdot = np.linspace(-1, 1, robot.nv)
    assert np.allclose(robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, vdot)), vdot)


def test_every_body_can_be_seen(robot):
    assert all(body.visuals for body in robot.model.bodies)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "puma560"])
def test_every_body_could_be_real(name):
    assert [body.complaint for body in mechanism(name).bodies if body.complaint] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_has_the_name_it_was_asked_for(name):
    assert mechanism(name).name in (name, f"{name}_10")


@pytest.mark.parametrize("kind", SIZED)
def test_a_size_follows_the_colon(kind):
    small, large = mechanism(f"{kind}:4"), mechanism(f"{kind}:7")
    assert len(large.bodies) > len(small.bodies)
    assert large.name == f"{kind}_7"


def test_a_chain_of_two_is_the_double_pendulum():
    assert mechanism("chain:2").joints == mechanism("double_pendulum").joints
    assert mechanism("chain:1").bodies == mechanism("pendulum").bodies


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum", "chain", "cable", "spherical_pendulum", "cartpole"])
def test_it_is_in_equilibrium_at_rest(name):
    robot = plain(mechanism(name))
    assert np.allclose(robot.gravity_force(robot.neutral()), 0.0)


def test_a_pendulum_swings_as_a_rod_does():
    """(m l²/3) q̈ = −m g (l/2) sin q."""
    robot = plain(mechanism("pendulum"))
    vdot = robot.forward_dynamics(np.array([0.7]), np.array([0.3]), np.zeros(1))
    assert np.allclose(vdot, -1.5 * 9.81 * np.sin(0.7))


def test_the_mass_matrix_of_the_double_pendulum_is_known():
    """[[5/3 + cos q₂, 1/3 + cos(q₂)/2], [.., 1/3]] for rods of unit mass and length."""
    q = np.array([0.4, 1.1])
    c = np.cos(1.1)
    for name in ("double_pendulum", "planar_2r"):
        M = plain(mechanism(name)).mass_matrix(q)
        assert np.allclose(M, [[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]])


def test_a_cartpole_has_the_textbook_mass_matrix_and_falls_towards_positive_q():
    """[[M + m, m l/2 cos θ], [.., m l²/3]]."""
    robot = plain(mechanism("cartpole"))
    q = np.array([0.0, 0.3])
    c = 0.05 * np.cos(0.3)
    assert np.allclose(robot.mass_matrix(q), [[1.1, c], [c, 0.1 / 3]])
    assert robot.forward_dynamics(q, np.zeros(2), np.zeros(2))[1] > 0


def test_planar_arms_reach_along_x_and_carry_their_weight_along_y():
    robot = plain(mechanism("planar_3r"))
    assert np.allclose(robot.pose(np.zeros(3), "tool")[:3, 3], (3, 0, 0))
    assert np.allclose(robot.gravity_force(np.zeros(3)), 9.81 * np.array([4.5, 2.0, 0.5]))


def test_the_heavy_top_starts_as_published():
    """J(O) ω̇ = −ω × J(O) ω + c × m g, Brüls and Cardona's numbers."""
    robot = plain(mechanism("top"))
    q, v = robot.neutral(), np.array([0.0, 150.0, -4.61538])
    assert np.allclose(robot.mass_matrix(q), np.diag([15.234375, 0.46875, 15.234375]))
    assert np.allclose(robot.forward_dynamics(q, v, np.zeros(3)), (661.34616923, 0, 0), atol=1e-8)
    assert np.isclose(robot.kinetic_energy(q, v) + robot.potential_energy(q), 5435.696790866)


def test_a_free_body_falls():
    robot = plain(mechanism("free_body"))
    vdot = robot.forward_dynamics(robot.neutral(), np.zeros(6), np.zeros(6))
    assert np.allclose(vdot, (0, 0, 0, 0, 0, -9.81))


@pytest.mark.parametrize("name", ["arm_6r", "puma560"])
def test_the_axes_of_a_wrist_meet_in_a_point(name):
    """The origins of the last three joints' frames coincide whatever q is."""
    model = mechanism(name)
    robot = plain(model)
    q, _ = robot.random_state(seed=3)
    places = [robot.pose(q, h.child) @ h.on.matrix @ (0, 0, 0, 1) for h in model.joints[3:]]
    assert np.allclose(places, places[0])


QN = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])
ONES = np.ones(6)


def test_the_puma_has_the_published_gravity_load():
    gravity = plain(mechanism("puma560")).gravity_force(QN)
    assert np.allclose(gravity, (0, 31.6398803784, 6.035138023, 0, 0.0282528, 0), atol=1e-10)


def test_the_puma_has_the_published_mass_matrix():
    M = np.diag([3.6593754122, 4.4137419336, 0.9378415752, 0.1925317061, 0.1713484517, 0.1941045057])
    for i, j, x in (
        (1, 2, -0.404361246),
        (1, 3, 0.1006136478),
        (1, 4, -0.0025169558),
        (2, 3, 0.350890665),
        (2, 5, 0.0023595131),
        (3, 5, 0.0014801664),
        (4, 6, 0.0000282843),
    ):
        M[i - 1, j - 1] = M[j - 1, i - 1] = x
    assert np.allclose(plain(mechanism("puma560")).mass_matrix(QN), M, atol=1e-10)


def test_the_puma_has_the_published_inverse_dynamics():
    tau = plain(mechanism("puma560")).inverse_dynamics(QN, ONES, ONES)
    published = (1.962036487, 37.7854298333, 6.6739373224, 0.1912661164, 0.2058204096, 0.1942810742)
    assert np.allclose(tau, published, atol=1e-9)


def test_the_puma_has_the_published_forward_dynamics():
    v, tau = np.array([0.1, 0.2, 0.8, 0.2, 0.5, 1]), np.array([1, 3.2, 1.8, 0.1, 0.7, 4.6])
    vdot = plain(mechanism("puma560")).forward_dynamics(QN, v, tau)
    published = (-0.3540475686, -6.3989262832, -2.0684942475, 0.5112435386, 4.0212231565, 23.6984540652)
    assert np.allclose(vdot, published, atol=1e-8)


def test_the_puma_has_the_published_viscous_friction():
    """Damping G² B; with the dry friction in the positive direction it would be the published torque."""
    gears, B = np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686]), [1.48e-3, 0.817e-3, 1.38e-3]
    damping = [placed.joint.damping for placed in mechanism("puma560").joints]
    assert np.allclose(damping[:3], gears[:3] ** 2 * B)
    published = np.array([32.4952427549, 60.8669884751, 17.7435949128, 1.4545190261, 1.2991104105, 0.7137808875])
    smooth = plain(mechanism("puma560")).inverse_dynamics(QN, ONES, ONES)
    plus = np.array([0.395, 0.126, 0.132, 11.2e-3, 9.26e-3, 3.96e-3])
    assert np.allclose(smooth + damping + gears * plus, published, atol=1e-9)


def test_the_humanoid_is_left_right_symmetric():
    robot = plain(mechanism("humanoid"))
    assert robot.nv == 25
    assert np.isclose(robot.center_of_mass(robot.neutral())[1], 0.0)
    left, right = (robot.pose(robot.neutral(), f"{side}_sole")[:3, 3] for side in ("left", "right"))
    assert np.allclose(left, right * (1, -1, 1))


def test_the_humanoid_has_a_persons_height_and_joints_by_name():
    robot = plain(mechanism("humanoid"))
    q = robot.neutral()
    top = robot.pose(q, "head")[2, 3] + 0.1 + 0.11
    assert np.isclose(top - robot.pose(q, "left_sole")[2, 3], 1.76)
    assert robot.q_index("left_hip_yaw") == slice(14, 15)


def test_a_knee_bends_backwards_and_an_elbow_forwards():
    robot = plain(mechanism("humanoid"))
    q = robot.neutral()
    q[robot.q_index("left_knee")], q[robot.q_index("left_elbow")] = 1.0, -1.0
    assert robot.pose(q, "left_sole")[0, 3] < -0.1
    assert robot.pose(q, "left_hand")[0, 3] > 0.1


def test_the_satellite_is_in_free_fall():
    robot = plain(mechanism("satellite"))
    q, _ = robot.random_state(seed=4)
    assert not robot.gravity_force(q).any()
    assert np.allclose(robot.center_of_mass(robot.neutral()), 0.0)


def test_the_zoo_has_every_joint():
    groups = {type(group) for group in lower(mechanism("joint_zoo")).groups}
    kinds = {placed.joint.kind for placed in mechanism("joint_zoo").joints}
    every = {joint.__name__.lower() for joint in Joint.__subclasses__() if joint.__module__.startswith("linkwork.joints")}
    assert kinds == every
    assert len(groups) == 8
