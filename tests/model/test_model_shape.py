"""The tree of a model: order, paths, subtrees, branches, common ancestors."""

import pickle
import random

import pytest

import linkwork as lw
from linkwork.model import mechanism
from linkwork.model.mechanisms import NAMES

HUMANOID = mechanism("humanoid")


def test_a_path_goes_from_a_body_to_its_root():
    assert HUMANOID.path("left_foot") == ("left_foot", "left_shin", "left_thigh", "pelvis")
    assert HUMANOID.path("pelvis") == ("pelvis",)


def test_a_subtree_is_what_a_body_carries():
    assert HUMANOID.subtree("left_thigh") == ("left_thigh", "left_shin", "left_foot")
    assert HUMANOID.subtree("pelvis") == tuple(body.name for body in HUMANOID.bodies)


def test_a_body_is_in_the_subtree_of_everything_on_its_path():
    for body in HUMANOID.bodies:
        assert all(body.name in HUMANOID.subtree(above) for above in HUMANOID.path(body.name))


def test_children_stand_on_a_body_or_on_the_world():
    assert HUMANOID.children("pelvis") == ("trunk", "left_thigh", "right_thigh")
    assert HUMANOID.children(None) == ("pelvis",)
    assert HUMANOID.children("head") == ()


def test_the_common_ancestor_carries_both():
    assert HUMANOID.common_ancestor("left_forearm", "head") == "trunk"
    assert HUMANOID.common_ancestor("left_foot", "right_foot") == "pelvis"
    assert HUMANOID.common_ancestor("left_foot", "left_shin") == "left_shin"


def test_bodies_on_different_roots_have_only_the_world_in_common():
    forest = lw.Builder("forest").body("a", joint=lw.Revolute(), mass=1.0).body("b", joint=lw.Revolute(), mass=1.0)
    assert forest.model().common_ancestor("a", "b") is None


def test_branches_are_the_serial_pieces():
    assert HUMANOID.branches() == (
        ("pelvis",),
        ("trunk",),
        ("head",),
        ("left_upper_arm", "left_forearm"),
        ("right_upper_arm", "right_forearm"),
        ("left_thigh", "left_shin", "left_foot"),
        ("right_thigh", "right_shin", "right_foot"),
    )
    assert mechanism("chain").branches() == (tuple(f"link{i}" for i in range(1, 11)),)


@pytest.mark.parametrize("name", NAMES)
def test_branches_cover_every_body_once(name):
    model = mechanism(name)
    assert [body for piece in model.branches() for body in piece] == [body.name for body in model.bodies]


@pytest.mark.parametrize("name", NAMES)
def test_parents_come_first_and_a_subtree_is_contiguous(name):
    model = mechanism(name)
    assert all(p < k for k, p in enumerate(model.parent))
    names = [body.name for body in model.bodies]
    for k, body in enumerate(names):
        subtree = model.subtree(body)
        assert list(subtree) == names[k : k + len(subtree)]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_canonical_whatever_order_bodies_and_hinges_come_in(seed):
    shuffled = random.Random(seed)
    joints = list(HUMANOID.joints)
    bodies = shuffled.sample(HUMANOID.bodies, len(HUMANOID.bodies))
    assert lw.Model("humanoid", bodies, joints, HUMANOID.frames) == HUMANOID
    shuffled.shuffle(joints)
    other = lw.Model("humanoid", bodies, joints, HUMANOID.frames)
    assert all(p < k for k, p in enumerate(other.parent))
    assert all(placed.child == body.name for placed, body in zip(other.joints, other.bodies))
    assert other.renumbered([body.name for body in HUMANOID.bodies]) == HUMANOID


@pytest.mark.parametrize("name", NAMES)
def test_a_model_survives_pickling_and_has_a_hash(name):
    model = mechanism(name)
    assert len(str(model)) > 0  # fills what is cached
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert hash(again) == hash(model)


def test_a_model_is_frozen():
    with pytest.raises(AttributeError):
        HUMANOID.name = "robot"


@pytest.mark.slow
def test_ten_thousand_links_are_no_trouble():
    """Nothing recurses and nothing is quadratic: this would fail or take minutes."""
    chain = mechanism("chain:10000")
    assert len(chain.path("link10000")) == 10000
    assert len(chain.subtree("link1")) == 10000
    assert chain.common_ancestor("link10000", "link5000") == "link5000"
    assert len(chain.branches()) == 1
    assert len(pickle.loads(pickle.dumps(chain)).bodies) == 10000
    assert "... and 9800 bodies more" in str(chain)
