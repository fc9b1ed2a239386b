"""Every example runs, in an empty folder, and says something."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
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
