"""Where a model may come from, and where its meshes may be."""

import io
from pathlib import Path

import pytest

from linkwork.errors import ModelError
from linkwork.formats import load
from linkwork.joints import Free

MODELS = Path(__file__).parents[1] / "models"
UR5 = MODELS / "ur5/ur5.urdf"


def test_path_text_and_open_file_give_the_same_model(monkeypatch):
    model = load(UR5)
    text, data = UR5.read_text(), UR5.read_bytes()
    assert load(str(UR5)) == model
    assert load(text) == load(data) == load("\ufeff" + text) == model
    assert load(io.StringIO(text)) == load(io.BytesIO(data)) == model
    with UR5.open() as words, UR5.open("rb") as raw:
        assert load(words) == load(raw) == model
    monkeypatch.chdir(UR5.parent)
    assert load("ur5.urdf") == model


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_a_file_may_say_its_encoding(encoding, tmp_path):
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?><robot name="bärli"><link name="füße"/></robot>'
    (tmp_path / "bear").write_bytes(text.encode(encoding))
    model = load(tmp_path / "bear")
    assert (model.name, model.bodies[0].name) == ("bärli", "füße")


def test_the_content_says_the_format_not_the_name(tmp_path):
    (tmp_path / "arm.xml").write_text(UR5.read_text())
    assert load(tmp_path / "arm.xml") == load(UR5)


def test_a_robot_without_a_name_is_called_after_its_file(tmp_path):
    (tmp_path / "arm.urdf").write_text('<robot><link name="base"/></robot>')
    assert load(tmp_path / "arm.urdf").name == "arm"


def test_an_error_in_an_open_file_names_the_file(tmp_path):
    (tmp_path / "arm.urdf").write_text("<robot>\n<link/></robot>")
    with (tmp_path / "arm.urdf").open() as file, pytest.raises(ModelError, match=r"^arm\.urdf, line 2: <link> has no"):
        load(file)


def test_a_name_is_a_built_in_mechanism_even_beside_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "double_pendulum").write_text('<robot name="other"><link name="base"/></robot>')
    assert load("double_pendulum").name == "double_pendulum"
    assert load("./double_pendulum").name == load(Path("double_pendulum")).name == "other"


def test_a_built_in_mechanism_may_have_a_size():
    assert sum(placed.joint.nv for placed in load("chain:7").joints) == 7


@pytest.mark.parametrize("source", [UR5, "joint_zoo"])
def test_floating_puts_the_root_on_a_free_joint(source):
    root = load(source, floating=True).joint("floating_base")
    assert root.joint == Free() and root.parent is None


@pytest.mark.parametrize("source", [UR5, "double_pendulum"])
def test_gravity_may_be_given(source):
    assert load(source, gravity=(0, 0, -1.62)).gravity == (0.0, 0.0, -1.62)
    assert load(source).gravity == (0.0, 0.0, -9.81)


# --- meshes


def with_mesh(uri):
    geometry = f'<visual><geometry><mesh filename="{uri}"/></geometry></visual>'
    return f'<robot name="r"><link name="base">\n{geometry}</link></robot>'


def shape(source, **options):
    return load(source, **options).bodies[0].visuals[0]


@pytest.fixture
def packages(tmp_path):
    """A folder of packages with one mesh, and a file beside the folder."""
    (tmp_path / "outside.stl").touch()
    mesh = tmp_path / "packages" / "robot" / "meshes" / "a b.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    return tmp_path / "packages"


def test_a_mesh_in_a_package_is_found_in_the_package_root(packages):
    uri = "package://robot/meshes/a%20b.stl"
    found = shape(with_mesh(uri), package_root=packages)
    assert found.mesh == uri and found.path == str(packages / "robot/meshes/a b.stl")
    assert shape(with_mesh(uri), package_root=str(packages / "robot")).path == found.path


def test_a_mesh_that_is_not_there_is_only_named(packages):
    assert shape(with_mesh("package://robot/no.stl"), package_root=packages).path is None
    assert shape(with_mesh("package://robot/meshes/a b.stl")).path is None
    assert shape(with_mesh("https://example.org/a.stl"), package_root=packages).path is None


@pytest.mark.parametrize(
    "uri",
    [
        "package://../outside.stl",
        "package://robot/../../outside.stl",
        "package://robot/%2e%2e/%2e%2e/outside.stl",
        "package:///../outside.stl",
        "package://robot/link.stl",
    ],
)
def test_a_package_name_never_leads_outside_the_package_root(uri, packages):
    (packages / "robot" / "link.stl").symlink_to(packages.parent / "outside.stl")
    with pytest.raises(ModelError, match=r'text, line 2: link "base" has mesh ".*", which leaves the folder'):
        load(with_mesh(uri), package_root=packages)


def test_the_package_itself_as_root_is_not_left_either(packages):
    with pytest.raises(ModelError, match="which leaves the folder"):
        load(with_mesh("package://robot/../x.stl"), package_root=packages / "robot")


def test_other_meshes_are_looked_up_beside_the_file(packages):
    file = packages / "robot" / "robot.urdf"
    file.write_text(with_mesh("meshes/a b.stl"))
    assert shape(file).path == str(packages / "robot/meshes/a b.stl")
    file.write_text(with_mesh(f"file://{packages}/robot/meshes/a%20b.stl"))
    assert shape(file).path == str(packages / "robot/meshes/a b.stl")
