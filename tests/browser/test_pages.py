"""What a person sees: a recorded page plays, and a slider in the browser view moves a link."""

import io
import time

import numpy as np
import pytest
from PIL import Image

import linkwork as lw

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    return lw.simulate(robot, (np.array([2.0, 0.5]), np.zeros(2)), until=3.0)


def seen(page, clip=None):
    """The page as numbers (height, width, 3)."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"), float)


def test_a_recorded_page_plays_by_itself(page, run, tmp_path):
    page.goto(lw.record(run, tmp_path / "run.html", trace=["end"]).as_uri())
    page.wait_for_function("window.linkwork.state.t > 0")
    before, first = page.evaluate("linkwork.state.t"), seen(page)
    page.wait_for_function(f"Math.abs(linkwork.state.t - {before}) > 0.3")
    assert np.abs(seen(page) - first).max() > 50


def test_a_recorded_page_shows_the_mechanism_where_it_is(page, run, tmp_path):
    """Two times differ, the same time does not, and what is drawn is blue."""
    page.goto(lw.record(run, tmp_path / "run.html").as_uri() + "#t=0")
    page.wait_for_function("window.linkwork && !linkwork.state.playing && linkwork.state.before !== null")
    shots = []
    for t in (0.0, 1.0, 0.0):
        page.evaluate(f"linkwork.seek({t})")
        page.wait_for_function("!linkwork.state.changed")
        shots.append(seen(page, {"x": 0, "y": 0, "width": 900, "height": 500}))
    assert np.array_equal(shots[0], shots[2])
    assert (np.abs(shots[0] - shots[1]).max(-1) > 50).sum() > 200
    assert (shots[0][..., 2] > shots[0][..., 0] + 40).sum() > 200


def test_the_player_and_the_library_agree_on_poses(page, run, tmp_path):
    page.goto(lw.record(run, tmp_path / "run.html").as_uri() + "#t=1.234")
    page.wait_for_function("window.linkwork")
    poses = page.evaluate("linkwork.posesAt(1.234).map((m) => Array.from(m))")
    expected = lw.Motion.of(run).at(1.234).poses[0]
    assert np.allclose(np.array(poses).reshape(2, 4, 4).transpose(0, 2, 1), expected, atol=2e-3)


def test_play_pause_speed_and_marks_can_be_used(page, run, tmp_path):
    page.goto(lw.record(run, tmp_path / "run.html").as_uri())
    page.click("#play")
    stopped = page.evaluate("linkwork.state.t")
    for mark in ("frames", "center", "follow"):
        page.check(f"#{mark}")
    page.select_option("#speed", "5")
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(380, 240)
    page.mouse.up()
    page.mouse.wheel(0, 200)
    page.wait_for_function("!linkwork.state.changed")
    assert page.evaluate("linkwork.state.t") == stopped
    assert page.evaluate("linkwork.view.azimuth") != page.evaluate("linkwork.data.azimuth")
    page.click("#play")
    page.wait_for_function(f"linkwork.state.t !== {stopped}")


def test_a_slider_in_the_browser_moves_a_link(page):
    pytest.importorskip("viser")
    with lw.view(lw.load("double_pendulum"), port=0, block=False) as scene:
        page.goto(scene.url)
        page.get_by_text("joint2").first.wait_for(timeout=60_000)
        page.wait_for_timeout(3000)  # until the scene has come
        before = seen(page, {"x": 0, "y": 100, "width": 560, "height": 500})
        page.get_by_role("slider").last.press("End")
        until(lambda: scene.q[1] > 3)
        page.wait_for_timeout(1500)
        after = seen(page, {"x": 0, "y": 100, "width": 560, "height": 500})
    assert (np.abs(after - before).max(-1) > 30).sum() > 200


def until(condition, seconds=20.0):
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds
        time.sleep(0.05)
