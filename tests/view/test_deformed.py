"""Flexible bodies drawn more bent than they are, as surfaces, and in colours of their deformation."""

import json
import re
from base64 import b64decode

import numpy as np
import pytest

import linkwork as lw
from linkwork.flexible import outer_faces
from linkwork.view.paint import STOPS, Paint
from linkwork.view.scene import Scene

SMALL = {"size": (2.0, 1.5), "dpi": 60}
BRICK = {"hexahedron": np.arange(8)[None]}
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float)


def content(path):
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1])


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255


@pytest.fixture(scope="module")
def arm():
    """A beam on a hinge that carries a load, bent at first and straight at last."""
    beam = lw.FlexibleBody.beam(1.0, lw.sections.rectangle(0.02, 0.03, lw.sections.STEEL), elements=12, count=2, directions="y")
    b = lw.Builder("arm")
    b.flexible("a", beam, joint=lw.Revolute())
    b.body("load", "a.tip", mass=1.0)
    robot = lw.Dynamics(b.model(), compiled=False)
    q = np.array([[0.3, 0.02, 0.001], [0.3, 0.01, 0.0], [0.3, 0.0, 0.0]])
    return lw.Motion(robot, np.arange(3) / 2, q, np.zeros((3, 3)))


@pytest.fixture(scope="module")
def block():
    """A cube of eight nodes joined by springs, drawn as a surface."""
    d = CORNERS[:, None] - CORNERS
    K = np.zeros((8, 3, 8, 3))
    for i, j in zip(*np.triu_indices(8, 1)):
        k = 1e3 * np.outer(d[i, j], d[i, j]) / (d[i, j] @ d[i, j])
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            K[a, :, b] += sign * k
    options = {"root": [0, 1, 2, 3], "frames": {"top": [4, 5, 6, 7]}, "count": 2, "faces": outer_faces(BRICK)}
    body = lw.FlexibleBody.of_matrices(np.eye(24), K.reshape(24, 24), CORNERS, **options)
    robot = lw.Dynamics(lw.Builder("block").flexible("a", body, joint=lw.Revolute()).model(), compiled=False)
    return lw.Motion(robot, np.arange(2.0), np.array([[0.2, 0.1, 0.05], [0.4, -0.1, 0.0]]), np.zeros((2, 3)))


def test_exaggeration_multiplies_modal_coordinates_and_what_they_carry_moves_along(arm):
    """poses(q, x) = poses(q with x η), also between rows; the joint's own coordinate stays."""
    drawn = arm.exaggerated(5.0).at([0.0, 0.3])
    q = arm.at([0.0, 0.3]).q * [1, 5, 5]
    assert np.allclose(drawn.q, q, atol=1e-15)
    assert np.allclose(drawn.poses[:, : len(arm.robot.bodies)], arm.robot.poses(q), atol=1e-12)


def test_an_exaggerated_run_is_that_of_its_dense_output(arm):
    run = lw.simulate(arm.robot, (arm.q[0], np.zeros(3)), until=0.02)
    between = 0.37 * run.t[-1]
    assert np.allclose(lw.Motion.of(run).exaggerated(3.0).at(between).q, lw.Motion.of(run).at(between).q * [1, 3, 3])


def test_a_brick_has_twelve_outer_triangles_turned_outward_and_two_bricks_have_twenty():
    faces = outer_faces(BRICK)
    a, b, c = (CORNERS[faces[:, i]] for i in range(3))
    assert len(faces) == 12
    assert (((a + b + c) / 3 - 0.5) * np.cross(b - a, c - a) > -1e-12).all()
    assert np.isclose((a * np.cross(b, c)).sum() / 6, 1.0)  # the volume inside
    two = np.array([[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 8, 9, 10, 11]])
    assert len(outer_faces({"hexahedron20": two, "line": two[:, :2]})) == 20


def test_a_surface_goes_through_the_displaced_nodes(block):
    """x = p + R (r₀ + Π η)."""
    (points,), line = block.surfaces, block.model.flexible_bodies["a_modes"].outline
    pose = block.robot.pose(block.q, "a.floating")
    expected = line.points + np.einsum("pxi,ni->npx", line.linear, block.q[:, 1:])
    assert np.allclose(points, expected @ pose[:, :3, :3].mT + pose[:, None, :3, 3])
    scene = Scene.of(block)
    assert not [part for part in scene.parts if part.body >= len(block.robot.bodies)]
    assert len(scene.surfaces[0].faces) == 12


def test_a_surface_and_elements_strains_are_kept_in_files(block, arm, tmp_path):
    for motion, name in ((block, "faces"), (arm, "strains")):
        lw.save(motion.model, tmp_path / "x.json")
        before, after = (x.flexible_bodies["a_modes"].outline for x in (motion.model, lw.load(tmp_path / "x.json")))
        assert np.allclose(getattr(before, name), getattr(after, name))


def test_the_colours_go_from_none_to_the_greatest_of_the_motion(arm):
    paint = Paint.of(arm, "displacement")
    tip = arm.robot.pose(arm.q, "a.tip")[:, :3, 3] - arm.robot.pose(arm.q * [1, 0, 0], "a.tip")[:, :3, 3]
    assert 0.9 * np.linalg.norm(tip[0]) < paint.most < np.linalg.norm(tip[0])  # the last piece's middle is short of the tip
    colors = paint.pieces(arm.q)
    assert np.allclose(colors[0, -1], STOPS[-1])
    assert np.allclose(colors[2], STOPS[0])


def test_strain_energies_of_elements_add_up_to_that_of_the_beam(arm):
    """Σ mₑ ½ η* Sₑ η = ½ η* K η; a bent cantilever is strained most at its root."""
    body, eta = arm.model.flexible_bodies["a_modes"], arm.q[0, 1:]
    first = np.array([0.02, 0.0])
    each = eta @ body.outline.strains @ eta / 2
    assert np.isclose(each.sum() * body.mass / 12, body.strain_energy(eta))
    assert (first @ body.outline.strains @ first).argmax() == 0
    assert np.isclose(Paint.of(arm, "strain").most, each.max())


@pytest.mark.parametrize("color", ["displacement", "strain"])
def test_pictures_are_painted(arm, block, color):
    for motion in (arm, block):
        plain, painted = (pixels(lw.snapshot(motion, 0.0, color=x, exaggeration=2, **SMALL)) for x in (None, color))
        red = lambda x: (x[..., 0] > x[..., 2] + 0.25).sum()
        assert red(plain) == 0
        assert red(painted) > 10


def test_the_page_has_the_motion_at_several_exaggerations(block, tmp_path):
    page = content(lw.record(block, tmp_path / "x.html", exaggeration=4, color="displacement", trace="a.top", fps=5))
    assert [x["factor"] for x in page["levels"]] == [0, 1, 2, 4]
    times = np.frombuffer(b64decode(page["times"]), "<f8")
    for level in page["levels"]:
        p = np.frombuffer(b64decode(level["poses"]), "<f4").reshape(len(times), -1, 7)[..., 4:]
        assert np.allclose(p, block.exaggerated(level["factor"]).at(times).poses[..., :3, 3], atol=1e-6)
    assert page["poses"] == page["levels"][-1]["poses"]
    (surface,) = page["surfaces"]
    assert len(b64decode(surface["tints"])) == len(times) * 8 * 3
    assert content(lw.record(block, tmp_path / "x.html"))["levels"] == []


def test_the_browser_view_has_a_slider(arm, block):
    pytest.importorskip("viser")
    for motion in (arm, block):
        with lw.view(motion, port=0, block=False, exaggeration=3, color="displacement", trace="a") as scene:
            scene.exaggerate(2.0)
            scene.show(motion.q[1])
            expected = motion.exaggerated(2.0).poses[1, 1, :3, 3]
            assert np.allclose(scene._bodies[1].position, expected)


def test_what_cannot_be_drawn_is_refused(arm, swing, tmp_path):
    with pytest.raises(lw.LinkworkError, match=r"exaggeration is 3, but double_pendulum has no flexible body"):
        lw.snapshot(swing, exaggeration=3, **SMALL)
    with pytest.raises(lw.LinkworkError, match=r'color is "strain", but double_pendulum has no flexible body'):
        lw.record(swing, tmp_path / "x.html", color="strain")
    with pytest.raises(lw.LinkworkError, match=r"color is 'strian'; it is displacement or strain.*strain"):
        lw.snapshot(arm, color="strian", **SMALL)
    for factor in (-1.0, np.nan, np.inf):
        with pytest.raises(lw.LinkworkError, match=r"exaggeration is .*finite number that is not negative"):
            lw.movie(arm, tmp_path / "x.gif", exaggeration=factor)


@pytest.mark.parametrize(
    ("faces", "match"), [([[0, 1, 9]], "nodes 0 to 9; there are nodes 0 to 7"), ([[0.0, 1, 2]], "whole"), ([1, 2], "shape")]
)
def test_faces_are_checked(faces, match):
    with pytest.raises(lw.LinkworkError, match=match):
        lw.FlexibleBody.of_matrices(np.eye(24), np.zeros((24, 24)), CORNERS, faces=faces, count=1)


def test_a_mesh_from_a_file_brings_its_surface(tmp_path):
    meshio = pytest.importorskip("meshio")
    meshio.write_points_cells(tmp_path / "x.vtk", CORNERS, BRICK)
    np.save(tmp_path / "m.npy", np.eye(24))
    B = np.concatenate([np.tile(np.eye(3), (8, 1)), *(np.cross(a, CORNERS).reshape(24, 1) for a in np.eye(3))], 1)
    np.save(tmp_path / "k.npy", 1e3 * (np.eye(24) - B @ np.linalg.pinv(B)))  # resists everything but rigid motions
    body = lw.load_flexible(tmp_path / "m.npy", tmp_path / "k.npy", tmp_path / "x.vtk", root=[0, 1, 2, 3], count=1)
    assert np.array_equal(body.outline.faces, outer_faces(BRICK))


def test_a_mode_can_be_exaggerated_too(arm, tmp_path):
    """A beam of twelve elements is painted in twelve pieces."""
    mode = arm.robot.modes(arm.robot.equilibrium(arm.robot.neutral()).q)[-1]
    page = content(lw.record(mode, tmp_path / "mode.html", exaggeration=3, color="strain"))
    assert len(b64decode(page["pieces"]["tints"])) == page["n"] * 12 * 3
