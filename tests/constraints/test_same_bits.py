"""Same input, same bits: report, assembly, forward dynamics and a run of every mechanism with loops, from any history and process."""

import hashlib
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

from .gallery import MAKERS

TESTS = Path(__file__).parents[1]
BUILT_IN = {name: lambda name=name: (lw.load(name), {}, ()) for name in ("rolling_disk", "snakeboard")}
ALL = MAKERS | BUILT_IN
SHORT = "four_bar", "rolling_disk"  # whose tests are quick


def digest(name: str, seconds: float) -> str:
    """Of everything asked of a mechanism, from its assembly to the end of a run."""
    with warnings.catch_warnings(action="ignore"):
        model, guess, hold = ALL[name]()
        robot = lw.Dynamics(model)
        q = robot.neutral()
        for joint, value in guess.items():
            q[robot.q_index(joint)] = value
        q = robot.assemble(q, hold)
        q, v = robot.constraints.project(q, 0.1 * np.random.default_rng(0).standard_normal(robot.nv))
        tau = np.random.default_rng(1).standard_normal((5, robot.nv))
        run = lw.simulate(robot, (q, v), until=seconds, progress=False)
        made = hashlib.sha256(str(robot.constraint_report(q)).encode())
        for x in (q, v, robot.forward_dynamics(q, v, tau), run.t, run.q, run.v):
            made.update(np.ascontiguousarray(x).tobytes())
    return f"{made.hexdigest()[:16]} {run.status} {run.t[-1]:.9g}"


def of_another_process(name: str, seconds: float) -> str:
    said = f"from constraints.test_same_bits import digest; print(digest({name!r}, {seconds}))"
    return subprocess.run([sys.executable, "-c", said], cwd=TESTS, capture_output=True, text=True, check=True).stdout.strip()


def kinds():
    for name in ALL:
        yield pytest.param(name, marks=[] if name in SHORT else [pytest.mark.slow])


@pytest.mark.parametrize("name", list(kinds()))
def test_twice_here_and_once_elsewhere_are_the_same_bits(name, seconds=0.2):
    assert digest(name, seconds) == digest(name, seconds) == of_another_process(name, seconds)
