"""Contact points where geometry degenerates, on real robots beside MuJoCo, and by derivatives of programs."""

import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_contact_points import near, two_bodies

import linkwork as lw
from linkwork.contact import PAIRS
from linkwork.model import solids
from linkwork.model.contacts import shape_of, sides

MODELS = Path(__file__).parents[1] / "models"
ANGLES = ("x", 0), ("x", 90), ("y", 90), ("x", 180), ("z", 45)
TURNS = [Rotation.from_euler(axis, angle, degrees=True).as_quat() for axis, angle in ANGLES]
PLACES = [(0, 0, 0), (0, 0, 0.35), (0.3, 0, 0), (0, 0.25, 0), (1e-12, 0, 0), (0, 0, 1e6)]


def centred(kinds):
    """Two bodies with their shapes at their origins, and states in which axes are parallel and centres meet."""
    model = two_bodies(kinds)
    bodies = (replace(b, collisions=tuple(replace(s, pose=lw.Pose()) for s in b.collisions)) for b in model.bodies)
    robot = lw.Dynamics(replace(model, bodies=tuple(bodies)), compiled=False)
    return robot, np.array([np.concatenate([a, p, b, np.zeros(3)]) for a, b, p in product(TURNS, TURNS, PLACES)])


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shapes_that_coincide_are_parallel_or_far_have_finite_points(kinds, dtype):
    """finite numbers, R* R = I; what is no number stays none, in its own sample only"""
    robot, q = centred(kinds)
    q = q.astype(dtype)
    v = np.random.default_rng(0).standard_normal((len(q), robot.nv)).astype(dtype)
    found = [robot.contact_gaps(q), robot.contact_points(q), robot.contact_jacobian(q), robot.contact_bias(q, v)]
    assert all(np.isfinite(x).all() and x.dtype == dtype for x in found)
    R = robot.contact_frames(q)
    np.testing.assert_allclose(R.mT @ R, np.broadcast_to(np.eye(3), R.shape), atol=1e-12 if dtype is np.float64 else 1e-5)
    q[0, 5] = np.nan
    gaps = robot.contact_gaps(q[:2])
    assert np.isnan(gaps[0]).any() and np.isfinite(gaps[1]).all()


@pytest.mark.parametrize("kinds", [("capsule", "plane"), ("sphere", "cylinder"), ("capsule", "box"), ("ellipsoid", "box")], ids="-".join)
def test_the_derivative_of_a_gap_is_its_normal_row(kinds):
    """∂gap/∂q by the program of the gap = J_n, of shapes that are iterated too"""
    robot = lw.Dynamics(two_bodies(kinds))
    q, _ = near(robot, 20, spread=0.5)
    q = q[robot.contact_gaps(q)[:, 0] > 0] if kinds == ("ellipsoid", "box") else q
    np.testing.assert_allclose(robot.derivative("contact_gaps", q), robot.contact_jacobian(q)[:, ::3], atol=1e-9)


def test_gaps_of_a_humanoid_are_the_distances_of_mujoco():
    """the least gap of each pair of geoms = mj_geomDistance, at random configurations"""
    mujoco, path = pytest.importorskip("mujoco"), MODELS / "humanoid_mjcf" / "humanoid.xml"
    if not path.exists():
        pytest.skip("the model is not here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.load(path, contacts="all")
    robot, m = lw.Dynamics(model, compiled=False), mujoco.MjModel.from_xml_path(str(path))
    names = [[shape_of(model, x.name, *side).name for side in sides(x)] for x in model.contacts]
    d, rng = mujoco.MjData(m), np.random.default_rng(0)
    for _ in range(3):
        d.qpos = m.qpos0 + 0.4 * rng.standard_normal(m.nq)
        d.qpos[3:7] /= np.linalg.norm(d.qpos[3:7])
        mujoco.mj_kinematics(m, d)
        q = lw.convert.mujoco(robot).q_from(d.qpos)
        least = np.full(len(names), np.inf)
        np.minimum.at(least, robot.contacts.pair, robot.contact_gaps(q))
        expected = [mujoco.mj_geomDistance(m, d, m.geom(a).id, m.geom(b).id, 10.0, None) for a, b in names]
        np.testing.assert_allclose(least, expected, atol=1e-9)


def test_a_stack_touches_in_the_corners_of_the_smaller_face():
    """a cube on a larger one: four points of gap zero at its corners, normals up; crossed planks touch where they cross"""
    made = lw.Builder("planks").body("low", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("box", (2.0, 0.4, 0.2)),))
    made.body("high", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("box", (2.0, 0.3, 0.2)),))
    robot = lw.Dynamics(made.contact("high", "low").model(), compiled=False)
    q = robot.neutral()
    q[11:14], q[7:11] = (0.1, 0.0, 0.2), Rotation.from_euler("z", 90, degrees=True).as_quat()
    gap, x, R = robot.contact_gaps(q), robot.contact_points(q).mean(-2), robot.contact_frames(q)
    np.testing.assert_allclose(gap, 0, atol=1e-15)
    np.testing.assert_allclose(R[:, :, 0], np.tile([0, 0, 1.0], (5, 1)), atol=1e-15)
    corners = {(-0.05, 0.2), (-0.05, -0.2), (0.25, 0.2), (0.25, -0.2)}
    assert {tuple(np.round(point[:2], 9) + 0.0) for point in x} == corners


@pytest.mark.slow
def test_ten_powers_of_ten_between_two_masses_are_no_jam():
    """A ball of 1e5 kg rests on one of 1e-5 kg: both contacts bear its weight."""
    made = lw.Builder("two").ground()
    for name, mass in (("small", 1e-5), ("large", 1e5)):
        made.body(name, joint=lw.Prismatic(axis=(0, 0, 1)), **solids.sphere(mass, 0.1))
    robot = lw.Dynamics(made.contact("small").contact("small", "large").model(), compiled=False)
    run = lw.simulate(robot, ([0.1, 0.3], [0.0, 0.0]), until=0.05, method="contact", dt=0.01)
    assert "jammed" not in run.message
    np.testing.assert_allclose(run.q[-1], [0.1, 0.3], atol=1e-6)
    np.testing.assert_allclose(run.contact.force[-1, :, 0], 9.81e5, rtol=1e-4)
