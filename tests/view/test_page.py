"""The page that plays a motion holds everything it needs."""

import json
import re
from base64 import b64decode
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.lie.so3 import rotation_matrix
from linkwork.view import Motion

VIEW = Path(lw.__file__).parent / "view"


def content(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])


def numbers(text, *shape):
    return np.frombuffer(b64decode(text), "<f4").reshape(shape)


def test_the_page_holds_the_poses_of_the_motion(swing, tmp_path):
    page = content(lw.record(swing, tmp_path / "swing.html", fps=20))
    assert (page["n"], page["bodies"]) == (41, 2)
    poses = numbers(page["poses"], 41, 2, 7)
    expected = swing.at(np.arange(41) * page["dt"]).poses
    assert np.allclose(rotation_matrix(poses[..., :4].astype(float)), expected[..., :3, :3], atol=1e-6)
    assert np.allclose(poses[..., 4:], expected[..., :3, 3], atol=1e-6)


def test_the_page_asks_the_network_for_nothing(swing, tmp_path):
    text = lw.record(swing, tmp_path / "swing.html").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"\b(src|href|import|fetch|XMLHttpRequest)\b\s*[=(]", text)


def test_a_trace_is_the_way_of_a_frame(swing, tmp_path):
    page = content(lw.record(swing, tmp_path / "swing.html", fps=20, trace=["end"]))
    (way,) = page["traces"]
    times = np.arange(41) * page["dt"]
    assert np.allclose(numbers(way, 41, 3), swing.robot.pose(swing.at(times).q, "end")[:, :3, 3], atol=1e-6)


def test_a_title_is_only_words(swing, tmp_path):
    text = lw.record(swing, tmp_path / "x.html", title="<script>alert(1)</script>").read_text(encoding="utf-8")
    assert "<script>alert" not in text


def test_a_model_can_be_recorded_too(tmp_path):
    page = content(lw.record(lw.load("humanoid"), tmp_path / "humanoid.html"))
    assert page["n"] == 1
    assert {part["mesh"] for part in page["parts"]} <= set(page["meshes"])


def test_a_long_run_makes_a_page_that_can_still_be_opened(tmp_path):
    robot = lw.Dynamics(lw.load("pendulum"))
    t = np.linspace(0, 1e5, 5001)
    page = content(lw.record(Motion(robot, t, np.sin(t)[:, None], np.cos(t)[:, None]), tmp_path / "long.html"))
    assert page["n"] <= 20_001


def test_the_player_is_short_enough_to_read():
    assert len((VIEW / "page.js").read_text(encoding="utf-8").splitlines()) < 500
