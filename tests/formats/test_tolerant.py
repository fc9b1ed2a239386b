"""Files as people write them: names that are taken, worlds, several models, bad decoration, meshes elsewhere."""

from io import StringIO

import numpy as np
import pytest

import linkwork as lw

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
ARM = f"""<robot name="arm"><link name="base"/><link name="hand">{INERTIAL}{{inside}}</link>
<joint name="floating_base" type="continuous"><parent link="base"/><child link="hand"/>{{joint}}</joint>{{more}}</robot>"""


def arm(inside="", joint="", more=""):
    return ARM.format(inside=inside, joint=joint, more=more)


def test_a_floating_root_takes_a_name_that_is_free():
    model = lw.load(arm(), floating=True)
    assert [placed.name for placed in model.joints] == ["floating_base_", "floating_base"]
    assert lw.load("double_pendulum").locked({"joint1": 0.0}).floating().joints[0].name == "floating_base"


def test_a_root_may_stand_on_a_world_that_is_no_link():
    """<parent link="world"/> without <link name="world"/>, as Gazebo reads it."""
    text = f"""<robot name="r"><link name="a">{INERTIAL}</link>
    <joint name="to_world" type="fixed"><origin xyz="0 0 1"/><parent link="world"/><child link="a"/></joint></robot>"""
    model = lw.load(text)
    assert [body.name for body in model.bodies] == ["a"]
    assert model.joints[0].parent is None and model.joints[0].at == lw.Pose.of((0, 0, 1))
    assert lw.Dynamics(lw.load(text, floating=True)).nv == 6
    assert lw.Dynamics(lw.load(text.replace("fixed", "prismatic"))).nv == 1
    with pytest.raises(lw.ModelError, match='stands on the world, but link "b" is the child of no joint'):
        lw.load(text.replace("<joint", f'<link name="b">{INERTIAL}</link><joint', 1))


LINK = '<link name="{}"><pose>{}</pose><inertial><mass>2</mass></inertial></link>'
CART = '<model name="{0}"><pose>0 {1} 0 0 0 0</pose>{2}{3}<joint name="slide" type="prismatic"><parent>rail</parent><child>cart</child>'
CART = CART + "<axis><xyz>1 0 0</xyz></axis></joint></model>"


def sdf(inside):
    return f'<sdf version="1.7">{inside}</sdf>'


def cart(name, y):
    return CART.format(name, y, LINK.format("rail", "0 0 0 0 0 0"), LINK.format("cart", "0 0 1 0 0 0"))


@pytest.mark.parametrize("wrapped", ['<world name="yard">{}</world>', "{}"], ids=["world", "no world"])
def test_several_models_of_an_sdf_are_one_mechanism(wrapped):
    model = lw.load(sdf(wrapped.format(cart("one", 0) + cart("two", 3))))
    assert [body.name for body in model.bodies] == ["one::rail", "one::cart", "two::rail", "two::cart"]
    robot = lw.Dynamics(model, compiled=False)
    assert robot.joints == ["one::slide", "two::slide"]
    np.testing.assert_allclose(robot.pose(np.array([0.5, 0.25]), "two::cart")[:3, 3], (0.25, 3, 1))


def test_joints_of_a_world_join_its_models():
    tie = '<joint name="tie" type="revolute"><parent>one::cart</parent><child>two::rail</child><axis><xyz>0 0 1</xyz></axis></joint>'
    model = lw.load(sdf(f'<world name="yard">{cart("one", 0)}{cart("two", 3)}{tie}</world>'))
    assert model.joint("tie").parent == "one::cart" and lw.Dynamics(model).nv == 3


def test_one_model_in_a_world_keeps_its_names():
    assert [body.name for body in lw.load(sdf(f"<world>{cart('one', 0)}</world>")).bodies] == ["rail", "cart"]


@pytest.mark.parametrize("pair", ["XY", "YX", "XZ", "ZX", "YZ", "ZY"])
def test_universal_joints_of_loop_files_may_turn_about_any_two_axes(pair):
    loops = StringIO(f"joint_name: [floating_base]\njoint_type: [UJOINT_{pair}]")
    joint = lw.load(arm(), loops=loops).joint("floating_base").joint
    assert [part.axis for _, part, _ in joint.parts] == [tuple(np.eye(3)["XYZ".index(a)]) for a in pair]


def on_an_axis(element: str) -> str:
    return cart("m", 0).replace("</axis>", f"{element}</axis>")


def test_one_bad_transmission_is_left_out_alone():
    gear = (
        '<transmission name="{0}"><joint name="floating_base"/><actuator name="m">'
        "<mechanicalReduction>{1}</mechanicalReduction></actuator></transmission>"
    )
    model = lw.load(arm(more=gear.format("good", "10") + gear.format("bad", "oops")), lenient=True)
    assert model.joint("floating_base").joint.gear == 10 and sum(note.startswith("left out: ") for note in model.notes) == 1


BAD = {
    "a shape": arm(inside='<visual><geometry><box size="1 x 1"/></geometry></visual>'),
    "a material": arm(more='<material name="m"><color rgba="1 1"/></material>'),
    "limits": arm(joint='<limit effort="much" velocity="1"/>'),
    "damping": arm(joint='<dynamics damping="-1"/>'),
    "a mimic": arm(joint='<mimic joint="nobody"/>'),
    "a transmission": arm(
        more='<transmission name="t"><joint name="floating_base"/><actuator name="m">'
        "<mechanicalReduction>0</mechanicalReduction></actuator></transmission>"
    ),
    "a shape of SDF": sdf(
        f'<model name="m">{LINK.format("a", "").replace("<inertial>", "<visual><geometry><box/></geometry></visual><inertial>")}</model>'
    ),
    "limits of SDF": sdf(on_an_axis("<limit><lower>x</lower></limit>")),
    "damping of SDF": sdf(on_an_axis("<dynamics><damping>x</damping></dynamics>")),
    "a mimic of SDF": sdf(on_an_axis('<mimic joint="nobody"><multiplier>x</multiplier></mimic>')),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_element_that_a_model_can_do_without_can_be_left_out(what):
    with pytest.raises(lw.ModelError):
        lw.load(BAD[what])
    model = lw.load(BAD[what], lenient=True)
    assert any(note.startswith("left out: ") for note in model.notes)


def test_what_a_model_cannot_do_without_is_an_error_all_the_same():
    with pytest.raises(lw.ModelError, match="mass"):
        lw.load(arm().replace('value="1"', 'value="heavy"'), lenient=True)


def test_rounding_in_an_inertia_is_no_warning(recwarn):
    rounding = '<inertial><mass value="0.1"/><inertia ixx="-2e-22" iyy="0" izz="1e-22"/></inertial>'
    model = lw.load(arm().replace('<link name="base"/>', f'<link name="base">{rounding}</link>'), strict=True)
    assert not recwarn.list and not model.notes


# --- meshes


def drawn(mesh):
    return arm(inside=f'<visual><geometry><mesh filename="{mesh}"/></geometry></visual>')


def test_missing_meshes_are_noted():
    assert lw.load(drawn("hand.stl")).notes == ("meshes that are not there: hand.stl",)


@pytest.mark.parametrize("written", ["../secret.stl", "file://{}/secret.stl", "{}/secret.stl"])
def test_meshes_outside_the_folder_need_an_option(tmp_path, written):
    (tmp_path / "robot").mkdir()
    (tmp_path / "secret.stl").write_text("solid")
    file = tmp_path / "robot" / "arm.urdf"
    file.write_text(drawn(written.format(tmp_path)))
    (shape,) = (model := lw.load(file)).body("hand").visuals
    assert shape.path is None and "meshes_outside=True" in model.notes[0]
    (shape,) = lw.load(file, meshes_outside=True).body("hand").visuals
    assert shape.path is not None
    (shape,) = lw.load(file, package_root=tmp_path).body("hand").visuals
    assert shape.path is not None


def test_meshes_of_an_mjcf_outside_its_folder_need_an_option(tmp_path):
    (tmp_path / "robot").mkdir()
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    file = tmp_path / "robot" / "m.xml"
    text = """<mujoco><compiler meshdir=".."/><asset><mesh name="t" file="t.obj"/></asset><worldbody><body name="b"><joint/>
    {}<geom type="mesh" mesh="t"/></body></worldbody></mujoco>"""
    file.write_text(text.format('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'))
    assert lw.load(file).body("b").visuals[0].path is None
    assert lw.load(file, meshes_outside=True).body("b").visuals[0].path is not None
    file.write_text(text.format(""))
    with pytest.raises(lw.ModelError, match="meshes_outside=True"):
        lw.load(file)
    assert lw.load(file, meshes_outside=True).mass > 0


def test_lines_before_the_declaration_do_no_harm():
    """A text in a program often begins with a line break; lines in errors stay those of the text."""
    text = '\n\n<?xml version="1.0"?>\n' + arm()
    assert lw.load(text).name == "arm" and lw.load(text.encode()).name == "arm"
    with pytest.raises(lw.ModelError, match="line 4"):
        lw.load(text.replace('value="1"', 'value="x"'))


def test_a_mesh_may_have_one_scale_for_all_directions():
    """As in the files of Drake."""
    text = arm('<visual><geometry><mesh filename="a.obj" scale="0.5"/></geometry></visual>')
    assert lw.load(text).body("hand").visuals[0].size == (0.5, 0.5, 0.5)


def test_lenient_reaches_the_file_of_loops():
    """A name that is not there is left out of loops, types and motors, with a note."""
    file = "closed_loop: [[base, hand], [base, hnad]]\ntype: [6d, 6d]\nname_mot: [floating_base, motr]\n"
    file += "joint_name: [elbw]\njoint_type: [SPHERICAL]"
    with pytest.raises(lw.ModelError, match='names the joint "elbw", which arm has not'):
        lw.load(arm(), loops=StringIO(file))
    model = lw.load(arm(), loops=StringIO(file), lenient=True)
    assert [x.name for x in model.loops] == ["base_hand"]
    said = [note for note in model.notes if note.startswith("left out")]
    assert all(any(f'"{name}"' in note for note in said) for name in ("hnad", "motr", "elbw"))
