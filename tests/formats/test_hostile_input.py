"""Input that nobody means well: every one of these gives one error of the library, soon, and short."""

import os

import pytest

import linkwork as lw
from linkwork.model import mechanisms

LINK = '<link name="{}"/>'
SCREWS = '{{"screws": 1, "bodies": [{{"name": "a", "mass": {}}}], "joints": [{{"name": {}, "child": "a"}}]}}'
CASES = {
    "no bodies in JSON": '{"screws": 1}',
    "no bodies in MJCF": "<mujoco/>",
    "no links in SDF": '<sdf><model name="m"/></sdf>',
    "3000 models": "<sdf>" + '<model name="m">' * 3000 + "</model>" * 3000 + "</sdf>",
    "5000 levels of JSON": '{"screws": ' + "[" * 5000 + "]" * 5000 + "}",
    "100000 levels of JSON": '{"screws": ' + '{"a":' * 100000 + "1" + "}" * 100001,
    "5000 levels of YAML": "screws: " + "[" * 5000 + "]" * 5000,
    "3000 bodies of MJCF in each other": "<mujoco><worldbody>" + "<body>" * 3000 + "</body>" * 3000 + "</worldbody></mujoco>",
    "a number past float": SCREWS.format("1" + "0" * 400, '"j"'),
    "a number of 10000 digits": SCREWS.format("1" * 10000, '"j"'),
    "a float past float": SCREWS.format("1e400", '"j"'),
    "a number of 10000 digits in YAML": f"screws: 1\nbodies: [{{name: a, mass: {'1' * 10000}}}]",
    "a list for a name": SCREWS.format(1, '["j"]'),
    "an object for a name": SCREWS.format(1, '{"j": 1}'),
    "a list for the name of an entry": "screws: 1\n? [a, b]\n: 1",
    "an impossible date": "screws: 1\nname: 2001-99-99",
    "a Python object": "screws: 1\nname: !!python/object:os.system {}",
    "laughs": "screws: 1\na: &a [1, 1]\n"
    + "".join(f"{x}: &{x} [*{y}, *{y}]\n" for x, y in zip("bcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxy")),
    "itself": "screws: &a [*a]",
    "an entity": '<!DOCTYPE robot [<!ENTITY a "b">]><robot>&a;</robot>',
    "a size of eleven digits": "chain:99999999999",
    "a size of five thousand digits": "chain:" + "9" * 5000,
}


@pytest.mark.parametrize("what", CASES)
def test_hostile_input_is_one_short_error(what):
    with pytest.raises(lw.LinkworkError) as caught:
        lw.load(CASES[what])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "closed_loop: [[a, [b]]]\ntype: [6d]",
        "closed_loop: [[a, b]]\ntype: [[6d]]",
        "name_mot: [[a]]",
        "joint_name: [[a]]\njoint_type: [[b]]",
        "name_mot: " + "[" * 3000 + "]" * 3000,
    ],
)
def test_lists_where_names_belong_in_a_loop_file(text):
    from io import StringIO

    with pytest.raises(lw.LinkworkError):
        lw.load("double_pendulum", loops=StringIO(text))


def test_two_thousand_files_that_include_each_other(tmp_path):
    for i in range(300):
        (tmp_path / f"{i}.xml").write_text(f'<mujoco><include file="{i + 1}.xml"/></mujoco>')
    (tmp_path / "300.xml").write_text("<mujoco/>")
    with pytest.raises(lw.ModelError, match="includes more than 200 files"):
        lw.load(tmp_path / "0.xml")


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(lw.ModelError, match="is a pipe or a device"):
        lw.load(tmp_path / "pipe.urdf")
    with pytest.raises(lw.ModelError, match="is a pipe or a device"):
        lw.load("/dev/zero")


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: lw.load(f'<robot name="r"><link name="{LONG}"/><link name="b"/></robot>'),
        lambda: lw.load(SCREWS.format(1, f'"{LONG}", "parent": "{LONG}"')),
        lambda: lw.load(f'<robot name="r"><link name="a" {LONG}="1"/></robot>x'),
        lambda: lw.load("double_pendulum").body(LONG),
        lambda: lw.load(f"chain:{LONG}"),
        lambda: lw.Builder("b").body("a", LONG).model(),
        lambda: lw.Builder("b").body(LONG).body(LONG).model(),
        lambda: mechanisms.mechanism(LONG),
    ],
)
def test_messages_do_not_repeat_what_is_long(call):
    with pytest.raises(lw.LinkworkError) as caught:
        call()
    assert len(str(caught.value)) < 1000


def test_a_warning_does_not_repeat_what_is_long():
    link = f'<link name="{LONG}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="9"/></inertial></link>'
    with pytest.warns(lw.ModelWarning) as caught:
        lw.load(f'<robot name="r">{link}</robot>')
    assert len(str(caught[0].message)) < 1000
