"""Other processors: the same results to the bit, whatever the width of vectors, with LLVM's code in place of our own assembly."""

import os
import subprocess
import sys

import pytest

from linkwork.engine.writers.processor import forced_width, writes_assembly
from linkwork.errors import OptionError

SCRIPT = """
import hashlib, sys
import numpy as np
import linkwork as lw
from linkwork.engine.loading import compiler
robot = lw.Dynamics(lw.load("chain:12"))
q, v = robot.random_state((13,), seed=0)
q[3, 0], v[5, 1] = 1e9, np.nan
results = [robot.forward_dynamics(q, v, v), robot.mass_matrix(q), robot.forward_dynamics(*(x.astype(np.float32) for x in (q, v, v)))]
two = lw.Dynamics(lw.load("double_pendulum"))
results.append(lw.simulate(two, (np.ones((9, 2)), np.ones((9, 2))), until=0.1, dt=0.05, progress=False).q)
print(compiler.kinds("double")[0].width, *(hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()[:16] for x in results))
"""


def run(**settings):
    environment = {**os.environ, **settings}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
def test_bits_do_not_depend_on_the_processor():
    """Vectors of 2, 4 and 8 samples, LLVM alone; a lane that is not a number, one with a large angle, an incomplete last vector."""
    widths = {width: run(LINKWORK_VECTOR_WIDTH=width) for width in "248"}
    assert [x[0] for x in widths.values()] == [*"248"]
    alone = run(LINKWORK_ASSEMBLY="0")
    assert len(alone) == 5 and all(x[1:] == alone[1:] for x in widths.values())


@pytest.mark.parametrize("name, ask", [("LINKWORK_VECTOR_WIDTH", forced_width), ("LINKWORK_ASSEMBLY", writes_assembly)])
def test_a_setting_that_means_nothing_is_refused(name, ask, monkeypatch):
    monkeypatch.setenv(name, "3")
    with pytest.raises(OptionError, match=f"{name} is '3'; it may be "):
        ask.__wrapped__()
