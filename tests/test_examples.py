"""Every example runs, in an empty folder, and says something."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ALWAYS = "loops_four_bar", "loops_slider_crank", "loops_snakeboard"  # of the gallery of loops; the others are slow
LONG = "deployment", "why_quasi_velocities", "flying_grasp", "swing_from_a_hand", "flexible_arm", "flexible_satellite", "flexible_plate"
LONG_CONTACT = "contact_stack", "contact_trot", "contact_gripper", "contact_car"


def is_slow(name: str) -> bool:
    return name in (*LONG, *LONG_CONTACT) or (name.startswith("loops_") and name not in ALWAYS)


EXAMPLES = [
    pytest.param(file, id=file.stem, marks=[pytest.mark.slow] if is_slow(file.stem) else [])
    for file in sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with np.printoptions():
        runpy.run_path(str(example), run_name="__main__")
    plt.close("all")
    said = capsys.readouterr().out
    assert said
    for word in said.replace(",", " ").split():
        if word.endswith((".png", ".gif", ".html", ".npz")):
            assert (tmp_path / word).exists()
