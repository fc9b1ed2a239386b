"""Old public names work for one more version, and each says the new one."""

from dataclasses import replace

import pytest

import linkwork as lw


def arm():
    return lw.load("double_pendulum")


def built(*, parent="parent", body="body"):
    builder = lw.Builder("arm")
    builder.body("upper", joint=lw.Revolute(), mass=1.0)
    builder.body("fore", **{parent: "upper"}, at=(0, 0, 0.4), joint=lw.Revolute(), mass=1.0)
    return builder.frame("tool", **{body: "fore"}).model()


OLD = {  # what it says: the old way, the new way
    "linkwork.Hinge is now linkwork.PlacedJoint": (lambda: lw.Hinge, lambda: lw.PlacedJoint),
    "Model.hinges is now Model.joints": (lambda: arm().hinges, lambda: arm().joints),
    "Model.hinge is now Model.joint": (lambda: arm().hinge("joint2"), lambda: arm().joint("joint2")),
    r"Model\(hinges=...\) is now Model\(joints=...\)": (
        lambda: lw.Model("arm", bodies=arm().bodies, hinges=arm().joints), lambda: lw.Model("arm", arm().bodies, arm().joints)),
    r"Model\(hinges=...\) is now Model": (
        lambda: replace(arm(), hinges=arm().joints[:1], bodies=arm().bodies[:1], frames=()),
        lambda: replace(arm(), joints=arm().joints[:1], bodies=arm().bodies[:1], frames=())),
    r"Builder.body\(on=...\) is now Builder.body\(parent=...\)": (lambda: built(parent="on"), built),
    r"Builder.frame\(on=...\) is now Builder.frame\(body=...\)": (lambda: built(body="on"), built),
}  # fmt: skip


@pytest.mark.parametrize("said", OLD)
def test_an_old_name_does_what_the_new_one_does_and_warns(said):
    old, new = OLD[said]
    with pytest.warns(DeprecationWarning, match=said):
        found = old()
    assert found == new()


def test_the_warning_points_at_the_caller():
    with pytest.warns(DeprecationWarning) as seen:
        lw.Builder("arm").body("upper", on=None)
    assert seen[0].filename == __file__
