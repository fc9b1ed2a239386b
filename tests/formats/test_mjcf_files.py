"""Files around an MJCF text: meshes that may be missing, includes, attached models; and what errors say."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.formats import mjcf
from linkwork.formats.xml import How

MODELS = Path(__file__).parents[1] / "models"
INERTIAL = '<inertial mass="2" pos=".1 .2 .3" quat=".8 .1 -.3 .5" diaginertia=".03 .02 .04"/>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MESHES = """
<mujoco model="meshes"><compiler meshdir="parts"/>
  <asset>
    <mesh name="t" file="t.obj" {mesh} refpos=".1 .2 .3"/><mesh file="absent.stl"/>
    <texture name="tex" type="2d" file="absent.png"/><material name="mat" texture="tex" rgba="0 0 1 1"/>
    <hfield name="hills" file="absent.png" size="1 1 1 1"/>
  </asset>
  <worldbody>
    <geom type="hfield" hfield="hills"/><geom type="mesh" mesh="absent"/>
    <body name="given">{inertial}<joint/><geom type="mesh" mesh="t" pos="1 2 3" quat="4 3 2 1" material="mat"/></body>
    <body name="taken"><joint/><geom type="mesh" mesh="t" pos="1 2 3" quat="4 3 2 1" material="mat"/></body>
    <body name="fitted">{inertial}<geom type="box" mesh="absent"/></body>
  </worldbody>
</mujoco>
"""


def one(joint, more=""):
    return f'<body name="arm">{INERTIAL}{joint}{more}</body>'


def same(ours, theirs, tolerance=1e-9):
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(np.abs(theirs).max(), 1e-12))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "t.obj").write_text(TETRAHEDRON)
    return tmp_path


def test_geoms_are_shapes_with_our_sizes():
    geoms = """
        <geom name="box" type="box" size="1 2 3" rgba="1 0 0 .5"/>
        <geom name="rod" type="capsule" size=".1" fromto="0 0 0 0 0 2" group="3"/>
        <geom name="can" type="cylinder" size=".1 2" contype="0" conaffinity="0"/>
        <geom name="egg" type="ellipsoid" size="1 2 3" contype="0" material="paint"/>
        <geom name="ball" size=".5" pos="1 0 0" group="4" contype="0" conaffinity="0"/>"""
    paint = '<asset><material name="paint" rgba="0 1 0 1"/></asset>'
    body = mjcf.read(f"<mujoco>{paint}<worldbody>{one(geoms)}</worldbody></mujoco>", How()).body("arm")
    assert [shape.name for shape in body.visuals] == ["box", "can", "egg"]
    assert [shape.name for shape in body.collisions] == ["box", "rod", "egg"]
    assert [s.size for s in (*body.visuals, body.collisions[1])] == [(2, 4, 6), (0.1, 4), (1, 2, 3), (0.1, 2)]
    assert body.visuals[0].color == (1, 0, 0, 0.5) and body.visuals[2].color == (0, 1, 0, 1)
    assert body.collisions[1].pose.translation == (0, 0, 1)


@pytest.mark.parametrize(
    "mesh", ['scale="1 2 -1"', 'scale="1 2 -1" refquat="1 1 0 0"', 'scale="2 2 2" refquat="1 2 3 4"']
)
def test_a_mesh_that_is_there_gives_mass_and_stands_where_mujoco_has_it(folder, mesh):
    model = mjcf.read(MESHES.format(inertial=INERTIAL, mesh=mesh), How(folder=folder))
    given, taken = model.body("given"), model.body("taken")
    shape, other = given.visuals[0], taken.visuals[0]
    assert (shape.mesh, shape.path) == ("t.obj", str(folder / "parts" / "t.obj"))
    assert (other.mesh, other.path, other.size) == (shape.mesh, shape.path, shape.size)
    same(other.pose.matrix, shape.pose.matrix, 1e-6)  # MuJoCo's vertices are float32
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]) * shape.size
    center = shape.pose.rotation @ corners.mean(0) + shape.pose.translation
    same(taken.center, center, 1e-6)
    assert shape.color == (0, 0, 1, 1)


def test_a_mesh_that_our_shapes_cannot_hold_is_noted(folder):
    model = mjcf.read(MESHES.format(inertial=INERTIAL, mesh='scale="1 2 -1" refquat="1 2 3 4"'), How(folder=folder))
    assert 'left out: meshes that are rotated before they are scaled "t.obj"' in model.notes
    assert not model.body("given").visuals and not model.body("taken").visuals


def test_a_geom_fitted_to_a_missing_mesh_is_noted(folder):
    model = mjcf.read(MESHES.format(inertial=INERTIAL, mesh=""), How(folder=folder))
    assert model.notes == ("meshes that are not there: absent.stl", 'left out: geoms fitted to meshes that are not there, of "fitted"')
    assert not model.body("fitted").collisions


def test_missing_meshes_keep_their_names_and_places():
    base = mjcf.read((MODELS / "go2_mjcf" / "go2.xml").read_text(), How()).body("base")
    assert [shape.mesh for shape in base.visuals] == [f"base_{i}.obj" for i in range(5)]
    assert {shape.path for shape in base.visuals} == {None}
    assert [shape.kind for shape in base.collisions] == ["box", "cylinder", "sphere"]


def test_a_missing_mesh_that_gives_mass_is_an_error(folder):
    (folder / "parts" / "t.obj").unlink()
    said = f'm.xml: body "taken" takes its mass from mesh "t", but the file "t.obj" is not in {folder}.'
    with pytest.raises(lw.ModelError, match=re.escape(f"{said} Put it there, or give the body an <inertial>.")):
        mjcf.read(MESHES.format(inertial=INERTIAL, mesh=""), How(folder=folder, name="m.xml"))
    with pytest.raises(lw.ModelError, match="is not found, since this text has no folder"):
        mjcf.read(MESHES.format(inertial=INERTIAL, mesh=""), How())


@pytest.mark.parametrize("how", ['density="0"', 'mass="0"', 'group="2"'])
def test_a_missing_mesh_without_mass_is_none_of_it(how):
    geoms = f'<geom size=".1" group="0"/><geom type="mesh" mesh="t" {how}/>'
    text = f'<asset><mesh name="t" file="t.obj"/></asset><worldbody><body name="b"><joint/>{geoms}</body></worldbody>'
    model = mjcf.read(f'<mujoco><compiler inertiagrouprange="0 1"/>{text}</mujoco>', How())
    assert model.mass == pytest.approx(1000 * 4 / 3 * np.pi * 1e-3)


def test_inertia_from_geoms_needs_the_mesh_whatever_the_inertial_says():
    mesh, body = '<mesh name="t" file="t.obj"/>', one("<joint/>", '<geom type="mesh" mesh="t"/>')
    text = f"<asset>{mesh}</asset><worldbody>{body}</worldbody>"
    with pytest.raises(lw.ModelError, match='body "arm" takes its mass from mesh "t"'):
        mjcf.read(f'<mujoco><compiler inertiafromgeom="true"/>{text}</mujoco>', How())


def test_included_files_are_found_in_the_folder_or_next_to_each_other(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "x.xml").write_text(f"<mujoco><worldbody>{one('<joint/>')}</worldbody></mujoco>")
    (tmp_path / "b" / "x.xml").write_text('<mujoco><include file="y.xml"/></mujoco>')
    (tmp_path / "b" / "y.xml").write_text(f"<mujoco><worldbody>{one('').replace('arm', 'leg')}</worldbody></mujoco>")
    text = '<mujoco>\n<!-- <include file="gone.xml"/> --><include file="a/x.xml"/><include file=\'b/x.xml\'/></mujoco>'
    monkeypatch.chdir("/")
    assert [body.name for body in mjcf.read(text, How(folder=tmp_path)).bodies] == ["arm", "leg"]


def test_attached_models_are_read(tmp_path):
    (tmp_path / "part.xml").write_text(f"<mujoco model='part'><worldbody>{one('<joint/>')}</worldbody></mujoco>")
    asset = '<asset><model name="part" file="part.xml"/></asset>'
    both = "".join(f'<attach model="part" body="arm" prefix="{side}_"/>' for side in "lr")
    model = mjcf.read(f"<mujoco>{asset}<worldbody>{both}</worldbody></mujoco>", How(folder=tmp_path))
    assert [body.name for body in model.bodies] == ["l_arm", "r_arm"]


def test_a_missing_include_is_named(tmp_path):
    text = '<mujoco><include file="parts.xml"/></mujoco>'
    said = f'm.xml needs the file "parts.xml", which is not in {tmp_path}.'
    with pytest.raises(lw.ModelError, match=re.escape(said)):
        mjcf.read(text, How(folder=tmp_path, name="m.xml"))
    with pytest.raises(lw.ModelError, match="which is not found, since this text has no folder: load it from its file"):
        mjcf.read(text, How(name="m.xml"))


def test_entities_are_refused_in_every_file(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY x "1">]><mujoco/>'
    said = "{} declares an entity; entities are not read. Write out what it stands for."
    with pytest.raises(lw.ModelError, match=said.format("m.xml")):
        mjcf.read(bomb, How(name="m.xml"))
    (tmp_path / "part.xml").write_text(bomb)
    with pytest.raises(lw.ModelError, match=said.format("part.xml")):
        mjcf.read('<mujoco><include file="part.xml"/></mujoco>', How(folder=tmp_path, name="m.xml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n<world/>", "XML Error: Schema violation: unrecognized element; Element 'world', line 2"),
        ("<worldbody><body><joint/></body></worldbody>", "Error: mass and inertia of moving bodies must be larger"),
        (f"<worldbody>{one('').replace('.03 .02 .04', '1 1 3')}</worldbody>", "Error: inertia must satisfy"),
        ("<worldbody>", "XML parse error"),
    ],
)
def test_what_mujoco_says_is_passed_on(text, said):
    with pytest.raises(lw.ModelError, match=re.escape(f"m.xml: {said}")):
        mjcf.read(f"<mujoco>{text}</mujoco>", How(name="m.xml"))


def test_a_joint_that_cannot_be_is_named():
    body = one('<joint name="j" damping="-1"/>')
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    with pytest.raises(lw.ModelError, match=r'm\.xml: joint "j": Revolute has damping -1\.0; it may not be negative'):
        mjcf.read(text, How(name="m.xml"))


def test_without_mujoco_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ImportError, match=re.escape('which is missing: pip install "linkwork[mjcf]".')):
        mjcf.read("<mujoco/>", How())
