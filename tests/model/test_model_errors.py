"""Every way in which a mechanism can be wrong is said in full: the thing, what came, what was expected."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import Body, Coupling, Frame, Loop, Model, ModelError, PlacedJoint, UnknownNameError
from linkwork.model import mechanism, solids

A, B, C = Body("a", 1.0), Body("b", 1.0), Body("c", 1.0)
ON_A, ON_B = PlacedJoint("ja", None, "a", lw.Revolute()), PlacedJoint("jb", "a", "b", lw.Revolute())
NAN = float("nan")


def two(**more):
    return Model("x", (A, B), (ON_A, ON_B), **more)


WRONG = {
    "x has gravity (0, 0); it takes three finite numbers, the physical acceleration in m/s².": lambda: two(
        gravity=(0, 0)
    ),
    "x has gravity (0, 0, inf); it takes three finite numbers, the physical acceleration in m/s².": lambda: two(
        gravity=(0, 0, float("inf"))
    ),
    "x has a body without a name.": lambda: Model("x", (Body(""),), (PlacedJoint("j", None, "", lw.Fixed()),)),
    "x has a joint without a name.": lambda: Model("x", (A,), (PlacedJoint("", None, "a", lw.Fixed()),)),
    'x has two of the name "a"; a body needs a name of its own.': lambda: two(frames=(Frame("a", "b"),)),
    'x has two of the name "ja"; a joint needs a name of its own.': lambda: Model(
        "x", (A, B), (ON_A, PlacedJoint("ja", "a", "b", lw.Fixed()))
    ),
    'x has two of the name "l"; a loop needs a name of its own.': lambda: two(
        loops=[Loop("l", "a", "b", lw.Revolute())] * 2
    ),
    'x has two of the name "c"; a coupling needs a name of its own.': lambda: two(
        couplings=[Coupling("c", "ja", "jb")] * 2
    ),
    'x: joint "j" refers to body "leg", which is not there. There are: a.': lambda: Model(
        "x", (A,), (PlacedJoint("j", "leg", "a", lw.Fixed()),)
    ),
    'x: joint "j" refers to body "None", which is not there. There are: a.': lambda: Model(
        "x", (A,), (PlacedJoint("j", None, None, lw.Fixed()),)
    ),
    'x: loop "l" refers to body "bb", which is not there. Did you mean "b"?': lambda: two(
        loops=[Loop("l", "a", "bb", lw.Revolute())]
    ),
    'x: frame "f" refers to body "d", which is not there. There are: a, b.': lambda: two(frames=[Frame("f", "d")]),
    'x: coupling "c" refers to joint "jbb", which is not there. Did you mean "jb"?': lambda: two(
        couplings=[Coupling("c", "ja", "jbb")]
    ),
    'x: body "b" hangs on two joints, "jb" and "jc"; a loop is closed with a loop joint, not with a second joint in the tree.': (
        lambda: Model("x", (A, B), (ON_A, ON_B, PlacedJoint("jc", None, "b", lw.Fixed())))
    ),
    'x: body "b" hangs on no joint; give it one, if only to the world.': lambda: Model("x", (A, B), (ON_A,)),
    'x: joint "jb" stands on a cycle of joints that never reaches the world; close the loop with a loop joint.': (
        lambda: Model("x", (A, B, C), (ON_A, PlacedJoint("jb", "c", "b", lw.Fixed()), PlacedJoint("jc", "b", "c", lw.Fixed())))
    ),
    'body "a" has a centre of shape (2,) and a tensor of shape (3, 3); '
    "it takes a centre (3,) and a tensor (3, 3) or its diagonal (3,).": lambda: Body("a", 1.0, (0, 0)),
    'body "a" has a mass, centre or tensor that is not finite.': lambda: Body("a", NAN),
    'body "a" has mass -1 kg; it may not be negative.': lambda: Body("a", -1),
    'body "a" has a tensor that is not symmetric.': lambda: Body("a", 1.0, tensor=np.arange(9.0).reshape(3, 3)),
    'coupling "c" binds a joint that is to be locked; remove the coupling from the model first.': (
        lambda: two(couplings=[Coupling("c", "ja", "jb")]).locked({"jb": 0.0})
    ),
    'joint "ja" cannot be locked at [1, 2]; it takes one number or 1, finite.': lambda: two().locked({"ja": [1, 2]}),
    'joint "ja" cannot be locked at nan; it takes one number or 1, finite.': lambda: two().locked({"ja": NAN}),
    'joint "tip" cannot be locked at 0.0; it takes 4 coordinates, a unit quaternion among them, finite.': (
        lambda: mechanism("top").locked({"tip": 0.0})
    ),
    "x cannot be set floating: it needs one root that is welded to the world.": lambda: two().floating(),
    "the new order of x leaves out b; it takes every body once.": lambda: two().renumbered(["a"]),
    "Revolute needs an axis of three finite numbers, not all zero; got (0, 0, 0).": lambda: lw.Revolute(axis=(0, 0, 0)),
    "Revolute needs an axis of three finite numbers, not all zero; got (0, 1).": lambda: lw.Revolute(axis=(0, 1)),
    "Revolute has lower 2.0 above upper 1.0; leave both away for no limits.": lambda: lw.Revolute(lower=2.0, upper=1.0),
    "Prismatic has damping -1.0; it may not be negative.": lambda: lw.Prismatic(damping=-1.0),
    "Planar has armature (1, -2, 3); it may not be negative.": lambda: lw.Planar(armature=(1, -2, 3)),
    "Planar has stiffness (1, 2); it takes one number or 3.": lambda: lw.Planar(stiffness=(1, 2)),
    "Revolute has friction nan; it takes one number or 1.": lambda: lw.Revolute(friction=NAN),
    "Revolute has lower (0, 1); it takes one number or 1.": lambda: lw.Revolute(lower=(0, 1)),
    "Revolute has effort nan; it takes one number or 1.": lambda: lw.Revolute(effort=NAN),
    "part 2 of a compound joint is 3; a part is a joint or (name, joint[, pose]).": lambda: lw.Compound(
        row=(lw.Revolute(), ("b", 3))
    ),
    "a compound joint has no group; its parts have.": lambda: lw.Universal().group,
    "arm has a Denavit-Hartenberg table of shape (1, 3); it takes rows (theta, d, a, alpha) of finite numbers.": (
        lambda: lw.from_dh([(0, 0, 0)])
    ),
    "arm has 1 Denavit-Hartenberg rows, but 2 joints and 1 bodies; give one for each row.": lambda: lw.from_dh(
        [(0, 0, 0, 0)], joints=[lw.Revolute()] * 2
    ),
    "a pose has shape (2,); it must be a position (3,), a rotation (3, 3) or a matrix (4, 4).": lambda: lw.Pose.of(
        (1, 2)
    ),
    "a pose is [0.0, 0.0, nan]; its numbers must be finite.": lambda: lw.Pose.of((0, 0, NAN)),
    "a pose has the rotation [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]; "
    "its rows must be right-handed unit vectors.": lambda: lw.Pose.of(2 * np.eye(3)),
    "a pose has the rotation [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]; "
    "its rows must be right-handed unit vectors.": lambda: lw.Pose.of(np.diag([1, 1, -1])),
    "a box has lengths (1, -1, 1); they must be finite and not negative.": lambda: solids.box(1.0, (1, -1, 1)),
    "a rod goes from (0.0, 0.0, 0.0) to (0, 0, 0); it takes two different points.": lambda: solids.rod(1.0, (0, 0, 0)),
    "solids together have mass 0.0 kg; it must be positive, or they have no centre.": lambda: solids.together(
        solids.point(0.0)
    ),
    '"chain:x" asks for size "x"; it takes a whole number from 1, as in "chain:100".': lambda: mechanism("chain:x"),
    '"chain:0" asks for size "0"; it takes a whole number from 1, as in "chain:100".': lambda: mechanism("chain:0"),
    '"top:2" asks for a size, but top has only one; chain, cable, beam, satellite take a size.': lambda: mechanism("top:2"),
}

UNKNOWN = {
    'x has no body "aa". Did you mean "a"?': lambda: two().body("aa"),
    'x has no body "leg". There are: a, b.': lambda: two().path("leg"),
    'x has no body "d". There are: a, b.': lambda: two().children("d"),
    'x has no body "e". There are: a, b.': lambda: two().renumbered(["a", "e", "b"]),
    'x has no joint "jaw". Did you mean "ja"?': lambda: two().joint("jaw"),
    'x has no joint "jx". There are: ja, jb.': lambda: two().locked({"jx": 0.0}),
    'x has no body or frame "tool". There are: a, b.': lambda: two().place("tool"),
    'there is no built-in mechanism "puma". Did you mean "puma560"?': lambda: mechanism("puma"),
    'there is no built-in mechanism "chian". Did you mean "chain"?': lambda: mechanism("chian:100"),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_a_mechanism_is_refused(message):
    with pytest.raises(ModelError) as caught:
        WRONG[message]()
    assert str(caught.value) == message


@pytest.mark.parametrize("message", UNKNOWN)
def test_an_unknown_name_is_answered_with_the_nearest(message):
    with pytest.raises(UnknownNameError) as caught:
        UNKNOWN[message]()
    assert str(caught.value) == message


def test_a_body_that_cannot_be_real_says_why():
    assert Body("forearm", 1.0, tensor=(0.1, 1.0, 0.1)).complaint == (
        '"forearm" has principal moments 1, 0.1, 0.1 kg m²; the largest may not exceed the sum of the others.'
    )
    assert Body("a", 1.0, tensor=(1, 1, -0.5)).complaint == (
        '"a" has principal moments 1, 1, -0.5 kg m²; none may be negative.'
    )
    assert Body("a", 1.0, tensor=(1, 1, 2)).complaint is None


@pytest.mark.parametrize("road", ["builder", "dh", "file"])
def test_a_body_that_cannot_be_real_is_told_on_every_road(road):
    """Builder, from_dh and load have one check: a warning, with strict=True an error."""
    unreal = {"mass": 1.0, "tensor": (1.0, 0.1, 0.1)}
    file = '{"screws": 1, "bodies": [{"name": "a", "mass": 1, "tensor": [1, 0.1, 0.1]}], "joints": [{"name": "j", "child": "a"}]}'
    make = {
        "builder": lambda **how: lw.Builder("m").body("a", joint=lw.Revolute(), **unreal).model(**how),
        "dh": lambda **how: lw.from_dh([(0, 0, 1, 0)], bodies=[unreal], **how),
        "file": lambda **how: lw.load(file, **how),
    }[road]
    with pytest.warns(lw.ModelWarning, match="the largest may not exceed the sum of the others"):
        make()
    with pytest.raises(lw.ModelError, match="the largest may not exceed the sum of the others"):
        make(strict=True)


def test_nothing_is_tied_to_itself():
    def arm():
        b = lw.Builder("arm").body("a", None, None, lw.Revolute(), mass=1.0)
        return b.body("b", "a", (1, 0, 0), lw.Universal(), mass=1.0)

    for b in (arm().couple("a_joint", "a_joint"), arm().couple("b_joint.2", "2")):
        with pytest.raises(lw.ModelError, match="follow itself"):
            b.model()
    with pytest.raises(lw.ModelError, match='loop "pin" ties body "a" to itself'):
        arm().loop("pin", "a", "a", lw.Revolute(), on=(1, 0, 0)).model()
