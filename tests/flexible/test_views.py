"""Flexible bodies are drawn bent."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.view.drawn import bent, drawn_names, drawn_poses
from linkwork.view.scene import Scene

from .test_body import elastic


def beam_robot():
    body = lw.FlexibleBody.beam(1.0, lw.sections.rectangle(0.01, 0.02, lw.sections.STEEL), elements=30, count=2, directions="y")
    return lw.Dynamics(lw.Builder("arm").flexible("a", body, joint=lw.Revolute()).model(), compiled=False)


def test_pieces_of_a_beam_go_from_its_root_to_its_bent_tip():
    robot = beam_robot()
    q = np.array([0.3, 0.05, -0.01])
    (piece,) = bent(robot.model)
    poses = drawn_poses(robot, q)[len(robot.bodies) :]
    ends = poses[-1, :3, 3] + poses[-1, :3, 0] * piece.lengths[-1] / 2
    assert len(poses) == 24
    assert np.allclose(ends, robot.pose(q, "a.tip")[:3, 3], atol=1e-3)
    assert np.allclose(np.linalg.det(poses[:, :3, :3]), 1)
    assert len(drawn_names(robot.model)) == len(robot.bodies) + 24 + 1


def test_a_scene_draws_pieces_of_the_section():
    robot = beam_robot()
    scene = Scene.of(lw.Motion(robot, np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3))))
    boxes = [part for part in scene.parts if part.mesh == "box"]
    assert [part.body for part in boxes] == list(range(len(robot.bodies), len(robot.bodies) + 24))
    assert np.allclose(np.diag(boxes[0].matrix)[1:3], [0.01, 0.02])


@pytest.mark.parametrize("ending", ["png", "html"])
def test_pictures_and_pages_have_them(ending, tmp_path):
    robot = beam_robot()
    run = lw.Motion(robot, np.arange(3) / 10, np.array([[0, 0, 0], [0.1, 0.02, 0], [0.2, 0.0, 0.0]]), np.zeros((3, 3)))
    path = tmp_path / f"run.{ending}"
    lw.snapshot(run, 0.1, path) if ending == "png" else lw.record(run, path)
    assert path.stat().st_size > 1000


def test_nodes_of_other_bodies_are_drawn_as_points(rng):
    p = rng.standard_normal((4, 3))
    body = lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 4, elastic(p, 6, rng), count=2)
    robot = lw.Dynamics(lw.Builder("lump").flexible("a", body).model(), compiled=False)
    q = np.array([0.1, 0.2])
    poses = drawn_poses(robot, q)[len(robot.bodies) :]
    assert np.allclose(poses[:, :3, 3] - robot.pose(q, "a.floating")[:3, 3], p + body.outline.linear @ q)
