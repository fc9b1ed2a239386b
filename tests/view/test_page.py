"""The page that plays a motion holds everything it needs."""

import json
import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

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
    expected = swing.at(np.frombuffer(b64decode(page["times"]), "<f8")).poses
    assert np.allclose(rotation_matrix(poses[..., :4].astype(float)), expected[..., :3, :3], atol=1e-6)
    assert np.allclose(poses[..., 4:], expected[..., :3, 3], atol=1e-6)


def test_the_page_asks_the_network_for_nothing(swing, tmp_path):
    text = lw.record(swing, tmp_path / "swing.html").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"\b(src|href|import|fetch|XMLHttpRequest)\b\s*[=(]", text)


def test_a_trace_is_the_way_of_a_frame(swing, tmp_path):
    page = content(lw.record(swing, tmp_path / "swing.html", fps=20, trace=["end"]))
    (way,) = page["traces"]
    times = np.frombuffer(b64decode(page["times"]), "<f8")
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
    with pytest.warns(UserWarning, match=r"pendulum moves too fast for 20000 stored poses in 1e\+05 s.*Record at most"):
        page = content(lw.record(Motion(robot, t, np.sin(t)[:, None], np.cos(t)[:, None]), tmp_path / "long.html"))
    assert page["n"] <= 20_001


def engine(speed, shake):
    """A crank that turns at `speed` with a rod on it, and a block that is shaken."""
    b = lw.Builder("engine", (0.0, 0.0, 0.0))
    b.body("crank", None, None, lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    b.body("rod", "crank", (0.1, 0, 0), lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    b.body("block", None, None, lw.Prismatic(axis=(1, 0, 0)), mass=1.0)
    robot, t = lw.Dynamics(b.model()), np.linspace(0, 0.2, 2001)
    q = np.stack([speed * t, -speed * t + 0.3 * np.sin(t), 0.1 * np.sin(shake * t)], -1)
    v = np.stack([speed + 0 * t, -speed + 0.3 * np.cos(t), 0.1 * shake * np.cos(shake * t)], -1)
    return Motion(robot, t, q, v)


@pytest.mark.parametrize(("speed", "shake"), [(300.0, 0.0), (376.99111843077515, 0.0), (0.0, 400.0), (753.98, 900.0)])
def test_a_fast_motion_is_stored_often_enough_to_hold_together(tmp_path, speed, shake):
    """Between stored poses the player draws straight lines: no body is far from its place, also at whole turns in 1/60 s."""
    motion = engine(speed, shake)
    page = content(lw.record(motion, tmp_path / "engine.html"))
    times = np.frombuffer(b64decode(page["times"]), "<f8")
    p = numbers(page["poses"], page["n"], 3, 7)[..., 4:]
    t = np.linspace(0, 0.2, 1999)
    drawn = np.stack([np.interp(t, times, p[:, b, k]) for b in range(3) for k in range(3)], -1).reshape(-1, 3, 3)
    true = motion.at(t).poses[..., :3, 3]
    assert np.abs(drawn - true).max() < 2e-3
    assert page["n"] < 0.2 * (speed + 4 * shake) / 0.1


def test_a_slow_motion_is_stored_as_often_as_asked(tmp_path):
    assert content(lw.record(engine(1.0, 1.0), tmp_path / "slow.html", fps=60))["n"] == 13


def test_a_run_with_few_rows_is_shown_as_it_was(tmp_path):
    robot = lw.Dynamics(lw.load("double_pendulum"))
    start = np.array([2.0, 0.5]), np.zeros(2)
    fine, coarse = (lw.simulate(robot, start, until=2.0, rtol=1e-9, dt=dt) for dt in (0.01, 1.0))
    pages = [content(lw.record(run, tmp_path / "run.html")) for run in (fine, coarse)]
    assert pages[0]["poses"] == pages[1]["poses"]


def test_the_player_is_short_enough_to_read():
    for name, most in (("page.js", 500), ("page_bent.js", 150)):
        assert len((VIEW / name).read_text(encoding="utf-8").splitlines()) < most


def test_a_long_motion_that_is_slow_is_not_called_too_fast(swing, tmp_path, recwarn):
    """A thousand seconds have fewer poses a second, and no warning."""
    lw.record(lw.Motion(swing.robot, [0.0, 1000.0], np.zeros((2, 2)), np.zeros((2, 2))), tmp_path / "slow.html")
    assert not recwarn.list
