"""A mechanism in ten lines, and arms from Denavit-Hartenberg tables."""

from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

plain = partial(lw.Dynamics, compiled=False)  # what is tested here is the model


def crane():
    crane = lw.Builder("crane", gravity=(0, 0, -1.6))
    crane.body("tower", **solids.box(100.0, (1.0, 1.0, 10.0), center=(0, 0, 5)))
    crane.body("jib", "tower", at=(0, 0, 10), joint=lw.Revolute(), joint_name="slew", **solids.rod(20.0, (8, 0, 0)))
    crane.body("trolley", "jib", joint=lw.Prismatic(axis=(1, 0, 0), lower=1.0, upper=8.0), mass=2.0)
    crane.body("load", "trolley", joint=lw.Spherical(), **solids.sphere(50.0, 0.5, center=(0, 0, -4)))
    crane.frame("hook", "load", (0, 0, -3.5))
    return crane.model()


def test_a_crane_takes_ten_lines():
    model = crane()
    assert [body.name for body in model.bodies] == ["tower", "jib", "trolley", "load"]
    assert [placed.name for placed in model.joints] == ["tower_joint", "slew", "trolley_joint", "load_joint"]
    assert [placed.joint.kind for placed in model.joints] == ["fixed", "revolute", "prismatic", "spherical"]
    assert model.mass == 172.0
    assert model.gravity == (0.0, 0.0, -1.6)
    assert model.joint("trolley_joint").joint.upper == 8.0


def test_a_frame_is_where_the_builder_put_it():
    robot = plain(crane())
    q = robot.neutral()
    q[robot.q_index("trolley_joint")] = 5.0
    assert np.allclose(robot.pose(q, "hook")[:3, 3], (5.0, 0.0, 6.5))


def test_a_body_may_be_given_its_whole_tensor_or_the_diagonal():
    whole = lw.Builder("x").body("a", mass=1.0, tensor=np.diag([1.0, 2.0, 2.5])).model()
    assert whole == lw.Builder("x").body("a", mass=1.0, tensor=(1.0, 2.0, 2.5)).model()


def test_the_child_may_carry_its_joint_away_from_its_origin():
    """pose(child) = at · on⁻¹ at rest."""
    at, on = lw.Pose.rpy((1, 2, 3), (0.1, 0.2, 0.3)), lw.Pose.rpy((0.3, 0.2, 0.1), (0.5, 0, 0))
    model = lw.Builder("x").body("a", at=at, joint=lw.Revolute(), joint_on=on, mass=1.0).model()
    robot = plain(model)
    assert np.allclose(robot.pose(robot.neutral(), "a"), at.matrix @ np.linalg.inv(on.matrix))


def test_loops_and_couplings_are_kept():
    four_bar = lw.Builder("four_bar")
    for name, on in (("crank", None), ("coupler", "crank"), ("rocker", "coupler")):
        four_bar.body(name, on, (1, 0, 0), lw.Revolute(), mass=1.0)
    four_bar.loop("closure", None, "rocker", lw.Revolute(), at=(3, 0, 0), on=(1, 0, 0))
    four_bar.couple("rocker_joint", "crank_joint", (0.5, -1))
    model = four_bar.model()
    assert model.loops[0].at.translation == (3.0, 0.0, 0.0)
    assert model.couplings[0] == lw.Coupling("rocker_joint_coupling", "rocker_joint", "crank_joint", (0.5, -1.0))


# --- Denavit-Hartenberg


def screw(axis, angle, distance):
    """The homogeneous matrix of a turn about and a slide along x (0) or z (2)."""
    T = np.eye(4)
    i, j = {0: (1, 2), 2: (0, 1)}[axis]
    T[i, i] = T[j, j] = np.cos(angle)
    T[j, i], T[i, j] = np.sin(angle), -np.sin(angle)
    T[axis, 3] = distance
    return T


TABLE = np.array([(0.3, 0.7, 0.1, np.pi / 2), (-0.2, 0.0, 0.4, 0.0), (0.0, 0.2, 0.02, -1.1), (1.0, 0.4, 0.0, 0.5)])
JOINTS = [lw.Revolute(), lw.Revolute(), lw.Prismatic(), lw.Revolute()]


@pytest.mark.parametrize("modified", [False, True])
def test_denavit_hartenberg_tables_are_products_of_screws(rng, modified):
    """Standard Rz(θ) Tz(d) Tx(a) Rx(α), modified Rx(α) Tx(a) Rz(θ) Tz(d), q added to θ or d."""
    robot = plain(lw.from_dh(TABLE, modified=modified, joints=JOINTS, bodies=[(1.0, (0, 0, 0), (1, 1, 1))] * 4))
    q = rng.uniform(-2, 2, 4)
    T = np.eye(4)
    for i, ((theta, d, a, alpha), joint) in enumerate(zip(TABLE, JOINTS)):
        slides = isinstance(joint, lw.Prismatic)
        z = screw(2, theta + (0.0 if slides else q[i]), d + (q[i] if slides else 0.0))
        x = screw(0, alpha, a)
        T = T @ (x @ z if modified else z @ x)
        assert np.allclose(robot.pose(q, f"link{i + 1}"), T, atol=1e-14)


def test_denavit_hartenberg_links_may_be_solids():
    arm = lw.from_dh([(0, 0, 1, 0)], bodies=[solids.rod(3.0, (-1, 0, 0))], name="one")
    assert arm.body("link1").center == (-0.5, 0.0, 0.0)
    assert arm.body("link1").visuals
