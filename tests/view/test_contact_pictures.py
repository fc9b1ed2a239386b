"""Collision shapes, what stands in the world, and forces at contact points in pictures."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import OptionError, ShapeError
from linkwork.view.contacts import contact_segments
from linkwork.view.scene import Scene

pytest.importorskip("matplotlib")


@pytest.fixture
def robot():
    made = lw.Builder("step").ground(height=-0.2).ground(shape=lw.Shape("box", (1, 1, 0.2), lw.Pose.of((2.0, 0, 0))))
    visuals, collisions = (lw.Shape("sphere", (0.1,)),), (lw.Shape("box", (0.2, 0.2, 0.2)),)
    made.body("foot", joint=lw.Free(), mass=2.0, tensor=(1, 1, 1), visuals=visuals, collisions=collisions)
    return lw.Dynamics(made.contact("foot").model())


def test_bodies_are_drawn_by_the_shapes_that_are_asked_for(robot):
    motion = lw.Motion.of(robot)
    assert [part.mesh for part in Scene.of(motion).parts] == ["sphere", "box"]  # the foot, and the step in the world
    scene = Scene.of(motion, "collision")
    assert [part.mesh for part in scene.parts] == ["box", "box"]
    assert scene.ground(scene.corners(motion)) == -0.2
    with pytest.raises(OptionError, match='"visual" or "collision"'):
        lw.snapshot(robot, shapes="both")


def test_a_force_at_a_contact_is_a_segment_from_its_point_along_it(robot):
    """the weight is half as long as the mechanism"""
    q, n = robot.neutral(), len(robot.contacts)
    forces = np.zeros(3 * n)
    forces[0] = 2.0 * 9.81  # normal, at the first corner on the plane
    found = contact_segments(robot, q, forces, size=1.0)
    np.testing.assert_allclose(found[0, 1] - found[0, 0], [0, 0, 0.5], atol=1e-12)
    np.testing.assert_allclose(found[1:, 1], found[1:, 0], atol=1e-12)
    with pytest.raises(ShapeError, match="contact points"):
        contact_segments(robot, q, forces[:3], 1.0)


def test_pictures_and_pages_show_them(robot, tmp_path):
    """arrows change the picture; a page has the step of the world as one more body"""
    forces = np.zeros((1, 3 * len(robot.contacts)))
    plain = picture(lw.snapshot(robot, shapes="collision"))
    forces[0, 0] = 30.0
    assert not np.array_equal(picture(lw.snapshot(robot, shapes="collision", contacts=forces)), plain)
    page = lw.record(robot, tmp_path / "page.html", shapes="collision").read_text(encoding="utf-8")
    assert '"bodies": 2' in page


def picture(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()
