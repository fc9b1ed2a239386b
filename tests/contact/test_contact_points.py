"""Gaps, frames and Jacobians of contact points: they agree with each other, with finite differences, and on all roads."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact import PAIRS
from linkwork.errors import LinkworkError, ModelError

SIZES = {"sphere": (0.2,), "capsule": (0.1, 0.5), "ellipsoid": (0.2, 0.3, 0.15), "cylinder": (0.15, 0.4), "box": (0.3, 0.2, 0.4)}
SIZES |= {"plane": ()}
SECOND = {"capsule": (0.08, 0.7), "box": (0.5, 0.3, 0.2), "cylinder": (0.2, 0.3), "ellipsoid": (0.1, 0.25, 0.2)}
ITERATED = [kinds for kinds in PAIRS if "ellipsoid" in kinds and kinds[1] != "plane"]
ITERATED += [("capsule", "cylinder"), ("cylinder", "cylinder"), ("cylinder", "box")]
KINDS = [kinds for kinds in PAIRS if kinds not in ITERATED]
H = 1e-6


def two_bodies(kinds, on_world=False):
    """Two free bodies with a shape each, or one and the world."""
    first, second = kinds
    made = lw.Builder("pair")
    solid = {"mass": 1.0, "tensor": (0.1, 0.2, 0.15)}
    shape = lw.Shape(first, SIZES[first], lw.Pose.rpy((0.05, -0.02, 0.03), (0.3, 0.2, -0.4)), name="first")
    other = lw.Shape(second, SECOND.get(second, SIZES[second]), lw.Pose.rpy((-0.03, 0.02, 0.01), (-0.2, 0.5, 0.1)), name="second")
    made.body("one", joint=lw.Free(), collisions=(shape,), **solid)
    if on_world:
        made.ground(shape=other)
        return made.contact("one").model()
    made.body("other", joint=lw.Free(), collisions=(other,), **solid)
    return made.contact("one", "other").model()


def near(robot, count, seed=0, spread=0.35):
    """Random attitudes, places near to each other."""
    q, v = robot.random_state((count,), seed=seed)
    rng = np.random.default_rng(seed)
    for start in range(4, robot.nq, 7):
        q[:, start : start + 3] = spread * rng.standard_normal((count, 3))
    return q, v


def smooth(robot, q, v):
    """Samples within whose step no choice of features changes: normals and points change by as much as they should."""
    there, back = robot.integrate(q, 10 * H * v), robot.integrate(q, -10 * H * v)
    jump = [np.abs(made(there) - made(back)).max((-1, -2)) for made in (robot.contact_points, robot.contact_frames)]
    return np.maximum(*jump) < 1e-3


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("on_world", [False, True], ids=["two bodies", "on the world"])
def test_the_rate_of_a_gap_is_the_normal_row(kinds, on_world):
    """d gap/dt = J_n v,   d(J v)/dt = J̇ v at v̇ = 0"""
    robot = lw.Dynamics(two_bodies(kinds, on_world), compiled=False)
    q, v = near(robot, 200)
    there, back = robot.integrate(q, H * v), robot.integrate(q, -H * v)
    good = smooth(robot, q, v)
    rate = (robot.contact_gaps(there) - robot.contact_gaps(back)) / (2 * H)
    u = np.matvec(robot.contact_jacobian(q), v)
    assert good.mean() > 0.9
    np.testing.assert_allclose(rate[good], u[:, ::3][good], atol=1e-7)
    turning = (np.matvec(robot.contact_jacobian(there), v) - np.matvec(robot.contact_jacobian(back), v)) / (2 * H)
    bias = robot.contact_bias(q, v)
    good = np.repeat(good, 3, -1)
    np.testing.assert_allclose(bias[good], turning[good], atol=2e-6 * max(1.0, np.abs(bias[good]).max()))


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_frames_are_rotations_and_the_surfaces_are_a_gap_apart(kinds):
    """R* R = I, det R = 1,   x₁ − x₂ = gap n"""
    robot = lw.Dynamics(two_bodies(kinds), compiled=False)
    q, _ = near(robot, 500)
    R, gap, x = robot.contact_frames(q), robot.contact_gaps(q), robot.contact_points(q)
    np.testing.assert_allclose(R.mT @ R, np.broadcast_to(np.eye(3), R.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)
    np.testing.assert_allclose(x[..., 0, :] - x[..., 1, :], gap[..., None] * R[..., 0], atol=1e-12)


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_rigid_motion_of_all_bodies_changes_no_gap(kinds):
    robot = lw.Dynamics(two_bodies(kinds), compiled=False)
    q, _ = near(robot, 100)
    T, turn = robot.poses(q), lw.Pose.rpy((0.3, -1.0, 2.0), (0.4, 1.0, -0.7)).matrix
    moved = np.concatenate([np.concatenate([quaternions(turn @ T[:, i]), (turn @ T[:, i])[:, :3, 3]], -1) for i in range(2)], -1)
    gaps = robot.contact_gaps(moved)
    np.testing.assert_allclose(gaps, robot.contact_gaps(q), atol=1e-12)


def quaternions(T):
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(T[:, :3, :3]).as_quat()


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_kernels_agree_with_the_plain_run(kinds):
    model = two_bodies(kinds)
    plain, kernel = lw.Dynamics(model, compiled=False), lw.Dynamics(model)
    q, _ = near(plain, 64)
    for name in ("contact_gaps", "contact_points"):
        np.testing.assert_allclose(kernel.ask(name, q), plain.ask(name, q), atol=1e-12)


@pytest.mark.parametrize("kinds", ITERATED, ids="-".join)
def test_rates_of_shapes_that_are_iterated_agree_until_their_cores_meet(kinds):
    """d gap/dt = J_n v to the accuracy of the iteration, of four in five samples better than 1e-5; J̇ v by differences, to 1e-2"""
    robot = lw.Dynamics(two_bodies(kinds), compiled=False)
    q, v = near(robot, 150, spread=0.5)
    q, v = (x[robot.contact_gaps(q)[:, 0] > 0] for x in (q, v))
    there, back = robot.integrate(q, H * v), robot.integrate(q, -H * v)
    rate = (robot.contact_gaps(there) - robot.contact_gaps(back))[:, 0] / (2 * H)
    error = np.abs(rate - np.matvec(robot.contact_jacobian(q), v)[:, 0])
    assert np.quantile(error, 0.8) < 1e-5
    h = 1e-4
    there, back = robot.integrate(q, h * v), robot.integrate(q, -h * v)
    turning = (np.matvec(robot.contact_jacobian(there), v) - np.matvec(robot.contact_jacobian(back), v)) / (2 * h)
    error = np.abs(turning - robot.contact_bias(q, v))[:, :3].max(-1)
    assert np.quantile(error, 0.7) < 1e-2 * max(1.0, np.abs(turning).max())


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ITERATED, ids="-".join)
def test_iterations_are_loops_in_kernels(kinds):
    model = two_bodies(kinds)
    plain, kernel = lw.Dynamics(model, compiled=False), lw.Dynamics(model)
    q, _ = near(plain, 64, spread=0.5)
    np.testing.assert_allclose(kernel.contact_gaps(q), plain.contact_gaps(q), atol=1e-5)


def test_momentum_is_not_made_by_contacts_between_bodies():
    """Σ forces = 0 and Σ moments = 0 of any λ between two free bodies"""
    robot = lw.Dynamics(two_bodies(("sphere", "capsule")), compiled=False)
    q, _ = near(robot, 5)
    lam = np.random.default_rng(0).standard_normal((5, 3))
    force = np.matvec(robot.contact_jacobian(q).mT, lam).reshape(5, 2, 6)
    T = robot.poses(q)
    R = T[..., :3, :3]
    f, moment = np.matvec(R, force[..., 3:]), np.matvec(R, force[..., :3])
    np.testing.assert_allclose(f.sum(1), 0, atol=1e-14)
    np.testing.assert_allclose((moment + np.cross(T[..., :3, 3], f)).sum(1), 0, atol=1e-14)


def test_a_ball_on_the_ground_has_the_gap_of_its_height():
    ball = lw.Builder("ball").body("ball", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("sphere", (0.2,)),))
    robot = lw.Dynamics(ball.ground(height=0.1).contact("ball", friction=0.3, restitution=0.5).model())
    q = np.array([0, 0, 0, 1, 3.0, 4.0, 0.5])
    np.testing.assert_allclose(robot.contact_gaps(q), [0.2])
    np.testing.assert_allclose(robot.contact_points(q), [[[3, 4, 0.3], [3, 4, 0.1]]])
    np.testing.assert_allclose(robot.contact_frames(q)[0], [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert (robot.contacts.friction, robot.contacts.restitution) == (0.3, 0.5)
    assert robot.contacts.names == ("ball.0/ground.ground",)


def test_what_would_leave_contacts_out_says_so():
    model = two_bodies(("sphere", "plane"), on_world=True)
    robot, without = lw.Dynamics(model), lw.Dynamics(replace(model, contacts=()))
    state = robot.random_state(seed=0)
    for call in (lambda: lw.simulate(robot, state, until=0.1, method="euler", dt=0.1), lambda: lw.rollout(robot, *state, dt=0.1, steps=1)):
        with pytest.raises(LinkworkError, match=r'"(euler|rk4)".* takes no contacts of the model: it would leave them out'):
            call()
    with pytest.raises(ModelError, match=r"has no contacts.*with_contacts"):
        without.contact_gaps(state[0])
