"""Every mechanism can be seen."""

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import mechanisms, solids
from linkwork.view import mesh
from linkwork.view.camera import Camera
from linkwork.view.labels import labels
from linkwork.view.raster import FINE, Raster
from linkwork.view.scene import Scene

MODELS = Path(__file__).parents[1] / "models"
FILES = ["panda/panda.urdf", "anymal_c/anymal_c.urdf", "chain16/chain16.urdf", "cassie_mjcf/cassie.xml", "delta_robot/robot.urdf"]


def scene(model):
    return Scene.of(lw.Motion.of(model))


@pytest.mark.parametrize("name", [*mechanisms.NAMES, *FILES])
@pytest.mark.filterwarnings("ignore::linkwork.ModelWarning")
def test_every_body_that_moves_or_weighs_is_seen(name):
    model = lw.load(MODELS / name if "/" in name else name)
    shown = {part.body for part in scene(model).parts}
    hidden = [b.name for i, (b, h) in enumerate(zip(model.bodies, model.joints)) if h.joint.nv and b.mass and i not in shown]
    assert not hidden
    assert np.isfinite([part.matrix for part in scene(model).parts]).all()


def test_a_body_without_geometry_is_drawn_from_joint_to_joint():
    arm = lw.Builder("arm")
    arm.body("upper", joint=lw.Revolute(), mass=1.0, center=(0.5, 0, 0))
    arm.body("fore", "upper", (1.0, 0.2, 0), lw.Revolute(), mass=1.0, center=(0.3, 0, 0))
    link = next(part for part in scene(arm.model()).parts if part.mesh == "cylinder" and part.body == 0)
    ends = link.matrix @ np.array([[0, 0, -0.5, 1], [0, 0, 0.5, 1]]).T
    assert np.allclose(ends[:3].T, [[0, 0, 0], [1.0, 0.2, 0]])


def test_collision_shapes_are_shown_where_there_are_no_visuals():
    block = lw.Builder("block")
    block.body("block", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("box", (1.0, 2.0, 3.0)),))
    (part,) = scene(block.model()).parts
    assert part.mesh == "box"
    assert np.allclose(np.diag(part.matrix), [1, 2, 3, 1])


def test_a_mesh_that_is_there_is_shown_and_one_that_is_not_is_replaced(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "there.stl")
    text = """<robot name="r"><link name="a"><visual><geometry><mesh filename="{}" scale="2 2 2"/></geometry></visual>
        <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    for name, seen in (("there.stl", True), ("nowhere.stl", False)):
        file = tmp_path / "r.urdf"
        file.write_text(text.format(name))
        found = scene(lw.load(file))
        assert any(part.mesh.endswith("there.stl") for part in found.parts) == seen
        assert found.parts


def test_a_mesh_that_cannot_be_read_is_replaced(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "broken.stl").write_bytes(b"no triangles here")
    assert mesh.read(str(tmp_path / "broken.stl")) is None


@pytest.mark.parametrize(("name", "volume"), [("box", 1.0), ("sphere", 4 / 3 * np.pi), ("cylinder", np.pi)])
def test_unit_solids_are_closed_and_face_outward(name, volume):
    """6 V = Σ a · (b × c) over the triangles."""
    solid = mesh.UNIT[name]()
    a, b, c = (solid.vertices[solid.faces[:, i]] for i in range(3))
    assert np.isclose((a * np.cross(b, c)).sum() / 6, volume, rtol=0.06)
    flat = np.cross(b - a, c - a)
    assert np.allclose(flat.sum(0), 0, atol=1e-12)
    assert ((flat * solid.normals[solid.faces[:, 0]]).sum(1) > 0).all()


def test_a_disc_of_no_thickness_is_still_seen():
    coin = lw.Builder("coin").body("coin", joint=lw.Free(), **solids.cylinder(1.0, 0.2, 0.0)).model()
    (part,) = scene(coin).parts
    assert np.linalg.det(part.matrix[:3, :3]) > 0


def test_up_is_against_gravity_and_without_gravity_there_is_no_floor():
    assert np.allclose(scene(lw.load("planar_2r")).up, [0, 1, 0])
    weightless = scene(lw.load("satellite"))
    assert np.allclose(weightless.up, [0, 0, 1])
    assert weightless.ground(np.zeros((1, 3))) is None


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_a_camera_around_points_sees_them_all(rng, aspect):
    points = rng.standard_normal((50, 3)) * (1, 5, 0.1)
    flat, depth = Camera.around(points, np.array([0.0, 0, 1]), 30, 20, aspect).seen(points)
    assert (np.abs(flat) <= (max(aspect, 1), max(1 / aspect, 1))).all()
    assert (depth > 0).all()


def test_a_pixel_shows_what_is_nearest():
    triangle = np.array([[0, 0], [8, 0], [0, 8.0]])
    red, blue = np.array([1.0, 0, 0, 1]), np.array([0, 0, 1.0, 1])
    for order in (1, -1):
        raster = Raster(8, 8)
        depth = np.array([[2.0] * 3, [1.0] * 3])[::order]
        color = np.array([[red] * 3, [blue] * 3])[::order]
        raster.add(np.stack([triangle, triangle]), depth, color)
        assert np.allclose(raster.image()[1, 1], blue)
        assert raster.image()[7, 7, 3] == 0


def test_clear_triangles_let_through_what_is_behind():
    triangle = np.array([[[0, 0], [8, 0], [0, 8.0]]] * 2)
    raster = Raster(8, 8)
    color = np.array([[[0, 0, 1.0, 0.25]] * 3, [[1.0, 0, 0, 1]] * 3])
    raster.add(triangle, np.array([[1.0] * 3, [2.0] * 3]), color)
    assert np.allclose(raster.image()[1, 1], [0.75, 0, 0.25, 1])


def test_a_triangle_covers_as_many_pixels_as_its_area(rng):
    corners = rng.uniform(0, 100, (1, 3, 2))
    (ax, ay), (bx, by), (cx, cy) = corners[0]
    area = abs((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)) / 2
    raster = Raster(100, 100)
    raster.add(corners, np.ones((1, 3)), np.ones((1, 3, 4)))
    assert np.isclose((raster.nearness > 0).sum() / FINE**2, area, rtol=0.02)


@pytest.mark.parametrize("name", mechanisms.NAMES)
def test_every_number_of_a_state_has_a_name_and_a_unit(name):
    model = lw.load(name)
    robot = lw.Dynamics(model)
    for what, n in (("q", robot.nq), ("v", robot.nv), ("tau", robot.nv)):
        found = labels(model, what)
        assert len(found) == n
        assert len({str(label) for label in found}) == n


def test_units_are_those_of_what_a_joint_does():
    units = [label.unit for label in labels(lw.load("cartpole"), "tau")]
    assert units == ["N", "N m"]
    free = labels(lw.load("free_body"), "q")
    assert [label.part for label in free] == ["qx", "qy", "qz", "qw", "x", "y", "z"]
    assert [label.unit for label in free] == ["", "", "", "", "m", "m", "m"]
