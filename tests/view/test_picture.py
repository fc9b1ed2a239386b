"""Pictures and films: something is seen, and it moves."""

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

import linkwork as lw

SMALL = {"size": (2.0, 1.5), "dpi": 60}


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255


def test_a_snapshot_shows_the_mechanism_in_its_colour():
    picture = pixels(lw.snapshot(lw.load("double_pendulum"), **SMALL))
    blue = picture[..., 2] > picture[..., 0] + 0.15
    assert 20 < blue.sum() < blue.size / 4


def test_at_another_time_it_is_elsewhere(swing):
    one, other = (pixels(lw.snapshot(swing, t, **SMALL)) for t in (0.0, 1.0))
    assert np.abs(one - other).max() > 0.3


def test_earlier_times_are_paler(swing):
    count = lambda picture, depth: (picture.max(-1) < depth).sum()
    one, several = pixels(lw.snapshot(swing, 2.0, **SMALL)), pixels(lw.snapshot(swing, [0.0, 2.0], **SMALL))
    assert (several.min(-1) < 0.85).sum() > 1.5 * (one.min(-1) < 0.85).sum()
    assert count(several, 0.5) < 2 * count(one, 0.5) + 5


def test_a_trace_is_drawn(swing):
    red = lambda picture: (picture[..., 0] > picture[..., 2] + 0.3).sum()
    assert red(pixels(lw.snapshot(swing, **SMALL))) == 0
    assert red(pixels(lw.snapshot(swing, trace=["end"], **SMALL))) > 20


def test_a_snapshot_can_be_written(swing, tmp_path):
    lw.snapshot(swing, 1.0, tmp_path / "there.png", **SMALL)
    assert imread(tmp_path / "there.png").shape[:2] == (90, 120)


def test_a_film_has_a_picture_for_each_moment_and_moves(swing, tmp_path):
    lw.movie(swing, tmp_path / "film.gif", fps=5, **SMALL)
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 11
        frames = []
        for i in (0, 5):
            film.seek(i)
            frames.append(np.asarray(film.convert("RGB"), float))
    assert np.abs(frames[0] - frames[1]).max() > 60


def test_a_film_can_be_mp4(swing, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    lw.movie(swing, tmp_path / "film.mp4", fps=5, **SMALL)
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"


def test_a_film_of_another_kind_is_refused(swing, tmp_path):
    with pytest.raises(lw.LinkworkError, match=r'"film.txt" has the ending ".txt"; a movie is .gif'):
        lw.movie(swing, tmp_path / "film.txt")


def test_a_camera_goes_along_with_what_travels_far(tumble):
    """After three seconds it has fallen 38 metres, and it fills as much of the picture as at first."""
    seen = [(pixels(lw.snapshot(tumble, t, **SMALL)).min(-1) < 0.7).mean() for t in (0.0, 3.0)]
    assert min(seen) > 0.02


def test_a_time_outside_of_a_motion_is_refused(swing):
    for motion, t in ((swing, 99.0), (swing, np.nan), (lw.load("double_pendulum"), [0.3, 0.2])):
        with pytest.raises(lw.LinkworkError, match=r"t has .* goes from 0 to .*lw.Motion"):
            lw.snapshot(motion, t, **SMALL)
