"""Müller and Terze, sections 2.3 and 3: products of exponentials, in one world frame, without body frames."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, every_mechanism, plain, robots, spread, state

import linkwork as lw
from linkwork.equations import QuasiVelocities, Screws, screw
from linkwork.equations.screws import exponential
from linkwork.lie import SO3
from linkwork.model.world_frame import in_world_frame, with_body_frames

KINDS = "second kind", "first kind", "euler parameters"
every_kind = pytest.mark.parametrize("kind", KINDS)
STEP = 1e-30


def coordinates(screws, seed=0, shape=(3,)):
    """x at random, attitudes away from singularities and of unit length."""
    x = np.random.default_rng(seed).uniform(-0.7, 0.7, (*shape, screws.nx))
    for motion in screws.joints:
        for unit in motion.group.units if motion.columns.stop - motion.columns.start == motion.group.nq else ():
            rows = slice(motion.columns.start + unit.start, motion.columns.start + unit.stop)
            x[..., rows] /= np.linalg.norm(x[..., rows], axis=-1, keepdims=True)
    return x


@every_mechanism
@every_kind
def test_a_product_of_exponentials_is_the_pose(robot, kind):
    """C(k) = e^{Y₁ q₁} ... m(k) (11), with coordinates of the first and second kind and with Euler parameters."""
    screws = Screws(robot.model, kind)
    x = coordinates(screws)
    close(screws.poses(x), robot.poses(screws.q(x)), 1e-12)


def test_kinds_are_picked_joint_by_joint():
    """Only the ball's coordinates change, and the poses do not."""
    robot = plain(MECHANISMS["floating"])
    mixed = Screws(robot.model, {"joint0": "euler parameters", "joint3": "first kind"})
    assert (mixed.nx, mixed.nv) == (14, 13)
    x = coordinates(mixed)
    close(mixed.poses(x), robot.poses(mixed.q(x)), 1e-12)


def test_first_and_second_kind_are_singular_where_euler_parameters_are_not():
    """A ball joint at ±90 degrees, and after a whole turn; its v and quaternion have neither."""
    robot = plain(MECHANISMS["spherical"])
    second, first = (QuasiVelocities(robot, {"joint0": kind}) for kind in KINDS[:2])
    for choice, x in ((second, [0.3, np.pi / 2, 0.2]), (first, 2 * np.pi * np.array([0.6, 0.0, 0.8]))):
        assert choice.condition(x)["joint0"] > 1e8
        with pytest.raises(lw.ModelError, match='joint "joint0" of spherical is at a singularity'):
            choice.check(x)
        q, v = choice.q(np.array(x)), np.array([0.3, -0.2, 0.1])
        close(SO3.rate(q, v) @ SO3.rate(q, v), v @ v / 4)  # q̇ is as long everywhere
        assert np.isfinite(robot.forward_dynamics(q, v, v)).all()


@robots("chain", "tree", "floating")
@every_kind
def test_the_columns_of_the_body_jacobian_are_screws_carried_along(robot, kind):
    """K_a = Ad⁻¹ Ad⁻¹ Y_a (21) times S of the kind of coordinates: K ẋ = J v."""
    screws = Screws(robot.model, kind)
    x = coordinates(screws)
    choice = QuasiVelocities(robot, {m.name: kind for m in screws.joints if m.group.nv > 1})
    u = np.random.default_rng(1).standard_normal((3, robot.nv))
    for body in robot.bodies[-3:]:
        expected = robot.jacobian(screws.q(x), body) @ choice.v(x, u)[..., None]
        close(screws.jacobian(x, body) @ u[..., None], expected, 1e-11)


@robots("chain", "universal", "compound", "planar 2R")
def test_the_body_jacobian_is_the_derivative_of_the_pose(robot):
    """C⁻¹ ∂C/∂x_a = K_a^, by an imaginary step; recursive and closed."""
    screws = Screws(robot.model)
    x, tip = coordinates(screws, shape=()), robot.bodies[-1]
    C = screws.poses(x)[-1]
    for a in range(screws.nv):
        later = screws.poses(x + 1j * STEP * np.eye(screws.nx)[a])[-1]
        rate = np.linalg.inv(C) @ np.imag(later) / STEP
        twist = np.array([rate[2, 1], rate[0, 2], rate[1, 0], *rate[:3, 3]])
        close(screws.jacobian(x, tip)[:, a], twist, 1e-11)
        close(robot.jacobian(screws.q(x), tip)[:, a], twist, 1e-11)


@robots("chain", "tree", "welded", "massless")
def test_the_mass_matrix_needs_no_body_frame(robot):
    """Σ K* J K with J in the world frame (43), Remark 6."""
    screws = Screws(robot.model, "euler parameters")
    q = state(robot, (2,)).q
    close(screws.mass_matrix(q), robot.mass_matrix(q), 1e-12)


@every_mechanism
def test_body_frames_do_not_matter(robot):
    """Turned and shifted at random, all of them: the same M, bias, forces and energies."""
    rng = np.random.default_rng(8)
    other = plain(with_body_frames(robot.model, {name: spread(rng, 2.0) for name in robot.bodies}))
    same_dynamics(robot, other)
    same_dynamics(robot, plain(in_world_frame(robot.model)))


@every_mechanism
def test_the_screws_do_not_depend_on_body_frames(robot):
    """Y and the inertias in the world frame stay; only the reference poses are others."""
    rng = np.random.default_rng(9)
    moved = {name: spread(rng) for name in robot.bodies}
    one, other = Screws(robot.model), Screws(with_body_frames(robot.model, moved))
    close(one.Y, other.Y)
    close(one.inertias, other.inertias)
    close(one.reference @ [moved[name].matrix for name in robot.bodies], other.reference)


def test_in_the_world_frame_all_reference_poses_are_the_identity():
    model = in_world_frame(lw.load("joint_zoo"))
    close(Screws(model).reference, np.eye(4) + np.zeros((len(model.bodies), 1, 1)))
    for placed in model.joints:
        if len(placed.joint.parts) == 1:
            close(placed.at.matrix, placed.on.matrix)


def test_a_screw_is_a_direction_a_point_and_a_pitch():
    """Y = [ω; p × ω + h ω]: the point stays on the axis, and moves along it by h θ."""
    direction, point, pitch = np.array([1.0, 2.0, -2.0]), np.array([0.3, -0.1, 0.7]), 0.25
    moved = exponential(screw(direction, point, pitch), np.array(1.3)) @ [*point, 1]
    close(moved[:3], point + 1.3 * pitch * direction / 3)
    close(exponential(screw(direction, point, np.inf), np.array(2.0))[:3, 3], 2 * direction / 3)
    with pytest.raises(lw.ModelError, match="the direction not all zero"):
        screw((0, 0, 0))


@pytest.mark.parametrize("name", ["universal", "planar"])
def test_they_can_stand_in_a_users_kernel(name):
    robot = lw.Dynamics(MECHANISMS[name])
    screws = Screws(robot.model, "euler parameters")
    poses = robot.kernel(lambda q: (screws.poses(q), screws.jacobian(q, "body0"), screws.mass_matrix(q)))
    q = state(robot, (4,)).q
    close(poses(q)[0], robot.poses(q))
    close(poses(q)[1], robot.jacobian(q, "body0"))
    close(poses(q)[2], robot.mass_matrix(q))


def same_dynamics(one, other):
    s = state(one, (2,))
    close(other.mass_matrix(s.q), one.mass_matrix(s.q))
    close(other.bias(s.q, s.v), one.bias(s.q, s.v))
    close(other.passive_force(s.q, s.v), one.passive_force(s.q, s.v))
    close(other.potential_energy(s.q), one.potential_energy(s.q))
    close(other.center_of_mass(s.q), one.center_of_mass(s.q))
