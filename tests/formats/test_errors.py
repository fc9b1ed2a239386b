"""Every error of a URDF file names the thing, its line, what came and what was expected."""

import re

import pytest

from linkwork.errors import LinkworkError, MissingFileError, ModelError
from linkwork.formats import load

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="forearm">
    <inertial>
      <origin xyz="0 0 0.1" rpy="0 0 0"/>
      <mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial>
    <visual><geometry><sphere radius="0.1"/></geometry></visual>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="base"/>
    <child link="forearm"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
    <dynamics damping="1" friction="1"/>
  </joint>
</robot>
"""
HAND = '<link name="hand"/><joint name="wrist" type="fixed"><parent link="{}"/><child link="{}"/></joint></robot>'

WRONG = [  # what is replaced, by what, and what the error says
    ('<child link="forearm"/>', '<child link="forearm_2"/>',
     'line 13: joint "elbow" has child "forearm_2", which no <link> defines. Did you mean "forearm"?'),
    ('<parent link="base"/>', '<parent link="floor"/>',
     'line 12: joint "elbow" has parent "floor", which no <link> defines. There are: base, forearm.'),
    ('<parent link="base"/>', "", 'line 11: joint "elbow" has no <parent>.'),
    ('<child link="forearm"/>', "<child/>", 'line 13: joint "elbow" has no link="..." in its <child>.'),
    ('name="elbow"', "", 'line 11: <joint> has no name="...".'),
    (' type="revolute"', "", 'line 11: joint "elbow" has no type="...".'),
    ('"revolute"', '"revolut"',
     'line 11: joint "elbow" has type "revolut", which URDF does not know. Did you mean "revolute"?'),
    ('"revolute"', '"ball"', 'There are: fixed, revolute, continuous, prismatic, floating, planar.'),
    ('"0 0 1"', '"0 0 0"', 'line 14: joint "elbow" has axis 0 0 0, which is not a direction.'),
    ('"0 0 1"', '"1 2"', 'line 14: joint "elbow" has <axis> xyz "1 2" where three numbers are expected.'),
    ('"0 0 0.1"', '"0 0 1e999"', 'line 5: link "forearm" has <origin> xyz "0 0 1e999", which is not finite.'),
    ('"0 0 0.1"', '"0 nan 0"', 'line 5: link "forearm" has <origin> xyz "0 nan 0", which is not finite.'),
    ('"0 0 0.1"', '"0 0 1_0"', 'line 5: link "forearm" has <origin> xyz "1_0", which is not a number.'),
    ('"0 0 0.1"', '"0 0 ${h}"', "which is not a number; this looks like xacro: run xacro on the file first."),
    ('mass value="1"', 'mass value="-1"', 'line 6: link "forearm" has <mass> value -1; it may not be negative.'),
    ('<mass value="1"/>', "", 'line 4: link "forearm" has no <mass> in its <inertial>.'),
    ('ixx="1"', "", 'line 7: link "forearm" has no ixx="..." in its <inertia>.'),
    ('damping="1"', 'damping="-1"', 'line 16: joint "elbow" has <dynamics> damping -1; it may not be negative.'),
    ('upper="1"', 'upper="nan"', 'line 15: joint "elbow" has <limit> upper "nan", which is not finite.'),
    ('radius="0.1"', 'radius="1 2"', 'line 9: link "forearm" has <sphere> radius "1 2" where one number is expected.'),
    ('<link name="base"/>', '<link name="base"/><link name="base"/>',
     'line 2: link "base" is there twice, first in line 2; names may not repeat.'),
    ("</robot>", '<joint name="elbow"/></robot>', 'line 18: joint "elbow" is there twice, first in line 11'),
    ("<dynamics", '<mimic joint="elbo"/><dynamics',
     'joint "elbow" mimics joint "elbo", which is not there. Did you mean "elbow"?'),
    ("</robot>", HAND.format("base", "forearm"),
     'line 18: link "forearm" is the child of two joints, "wrist" and "elbow" in line 11'),
    ("</robot>", '<link name="hand"/></robot>', 'line 18: link "hand" is the child of no joint, and neither is "base"'),
    ("</robot>", HAND.format("forearm", "base"),
     'robot "arm" is not a tree: its joints form a cycle, "base" -> "forearm" -> "base".'),
    ("</robot>", HAND.format("hand", "hand"),
     'line 18: robot "arm" is not a tree: its joints form a cycle, "hand" -> "hand".'),
    ("</robot>", "", "line 19: this is not well-formed XML (no element found)."),
    ("</link>", "</lnk>", "line 10: this is not well-formed XML (mismatched tag)."),
    ("</robot>", "&who;</robot>", "line 18: this is not well-formed XML (undefined entity)."),
]


def refused(said, error=ModelError):
    return pytest.raises(error, match=re.escape(said))


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[said[:60] for _, _, said in WRONG])
def test_an_error_names_its_line_and_what_is_wrong(old, new, said, tmp_path):
    assert old in ARM
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace(old, new, 1))
    with refused(said) as caught:
        load(file)
    assert str(caught.value).startswith("arm.urdf, line ")


def test_the_file_without_mistakes_loads():
    assert load(ARM).name == "arm"


def test_joints_in_a_circle_leave_no_root():
    back = '<joint name="back" type="fixed"><parent link="forearm"/><child link="base"/></joint></robot>'
    text = ARM.replace("</robot>", back)
    with refused('robot "arm" has no root link: its joints form a cycle, "base" -> "forearm" -> "base".'):
        load(text)


def test_a_robot_without_links_is_refused():
    with refused('text, line 1: robot "void" has no <link>'):
        load('<robot name="void"/>')


BOMB = """<!DOCTYPE robot [
  <!ENTITY a "aaaaaaaaaa">
  <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
]>
<robot name="&b;"><link name="base"/></robot>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "line 2: the file declares an entity; entities are not read."),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot>&x;</robot>', "the file declares an entity"),
        ('<!DOCTYPE r [<!ENTITY % x SYSTEM "http://a/b"> %x;]>\n<robot/>', "line 1: the file declares an entity"),
        ('<!DOCTYPE robot SYSTEM "robot.dtd"><robot/>', 'a DOCTYPE that refers to another file, "robot.dtd"'),
    ],
)
@pytest.mark.parametrize("root", ["robot", "mujoco"])
def test_entities_are_refused_in_every_format(text, said, root):
    with refused(said):
        load(text.replace("<robot", f"<{root}").replace("</robot", f"</{root}"))


def test_a_document_type_without_entities_is_no_harm():
    assert load(f"<!DOCTYPE robot>{ARM}").name == "arm"


@pytest.mark.parametrize("tag", ["sdformat", "html"])
def test_other_formats_are_named_with_those_that_are_read(tag):
    with refused("linkwork reads: URDF (<robot>), SDF (<sdf>), MJCF (<mujoco>), JSON or YAML"):
        load(f"<{tag}/>")


def test_a_missing_file_suggests_the_file_beside_it(tmp_path):
    (tmp_path / "panda.urdf").write_text(ARM)
    with refused('of that name. Did you mean "panda.urdf"?', MissingFileError) as caught:
        load(tmp_path / "pnda.urdf")
    assert isinstance(caught.value, FileNotFoundError) and isinstance(caught.value, LinkworkError)


def test_a_missing_file_suggests_a_built_in_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused('Did you mean "double_pendulum"?', MissingFileError):
        load("double_pendulun")


def test_a_missing_folder_is_said(tmp_path):
    with refused('nor a folder "nowhere" for it', MissingFileError):
        load(tmp_path / "nowhere" / "arm.urdf")


def test_text_that_is_no_path_is_no_crash():
    with refused("there is no file", MissingFileError):
        load("not xml " * 1000)
    with refused("there is no file", MissingFileError):
        load("a\0b")


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    with refused("is a folder; load takes one file. In it: arm.urdf"):
        load(tmp_path)


def test_an_empty_file_is_said(tmp_path):
    (tmp_path / "arm.urdf").write_text("\n")
    with refused("arm.urdf is empty"):
        load(tmp_path / "arm.urdf")


def test_bytes_in_no_encoding_are_said():
    with refused("text is not text in the encoding utf-8"):
        load(b"<robot name='\xff\xfe\xfa'/>")
    with refused("in the encoding klingon"):
        load(b"<?xml version='1.0' encoding='klingon'?><robot/>")


def test_a_number_is_no_model():
    with refused("load takes a path, a text, an open file or a built-in name, not a int", TypeError):
        load(3)


def test_an_unknown_way_to_treat_mimic_is_refused():
    with refused('mimic is \'off\'; it may be None or "free"'):
        load(ARM, mimic="off")
