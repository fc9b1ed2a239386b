"""Files that cannot be written: an error that names the file, and not one of the system's."""

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

FULL = Path("/dev/full")
MODEL = lw.load("pendulum")
WRITERS = {
    "a C file": (".c", lambda path: lw.Dynamics(MODEL).export.c("gravity_force", path)),
    "C for CasADi": (".c", lambda path: lw.Dynamics(MODEL).export.casadi("gravity_force", path, order=0)),
    "a model": (".json", lambda path: lw.save(MODEL, path)),
    "a robot": (".urdf", lambda path: lw.save(MODEL, path)),
    "a page": (".html", lambda path: lw.record(lw.Motion(lw.Dynamics(MODEL), [0.0, 1.0], np.zeros((2, 1)), np.zeros((2, 1))), path)),
    "a movie": (".gif", lambda path: lw.movie(lw.Motion(lw.Dynamics(MODEL), [0.0, 0.1], np.zeros((2, 1)), np.zeros((2, 1))), path, fps=10)),
    "a plot": (".png", lambda path: lw.plot_tree(MODEL, path=path)),
}


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
@pytest.mark.parametrize("what", WRITERS)
def test_a_full_disk_is_an_error_that_names_the_file(what, tmp_path):
    ending, write = WRITERS[what]
    path = tmp_path / f"full{ending}"
    path.symlink_to(FULL)
    with pytest.raises(lw.LinkworkError, match=f"full{ending}.*No space left"):
        write(path)


@pytest.mark.parametrize("what", WRITERS)
def test_a_folder_that_is_not_there_is_an_error_that_names_the_file(what, tmp_path):
    ending, write = WRITERS[what]
    with pytest.raises(lw.LinkworkError, match=f"nowhere.*full{ending}"):
        write(tmp_path / "nowhere" / f"full{ending}")
