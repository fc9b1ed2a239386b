"""Long programs: bounded in size, and Ctrl-C works while they are traced and compiled."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.tracing import trace
from linkwork.engine.writers import pieces
from linkwork.errors import TraceError

LONG = """
import sys, threading, time
import numpy as np, linkwork as lw
from linkwork.engine.loading import compiler

def said(text):
    print(text, flush=True)

def f(q, v):
    x = q
    for i in range({n}):
        x = np.sin(x) + v * (i + 0.5)
        if i == 100:
            said("traces")
    return x

entered = compiler.llvm.parse_assembly
compiler.llvm.parse_assembly = lambda text: (said("compiles"), entered(text))[1]
try:
    lw.Dynamics(lw.load("pendulum")).kernel(f)(np.ones(1), np.ones(1))
    said("done")
except KeyboardInterrupt:
    compiles = threading.active_count() > 1  # LLVM goes on in its thread: nobody waits for it
    said(f"interrupted, {{compiles=}}")
"""


def steps(n):
    def f(q, v):
        x = q
        for i in range(n):
            x = np.sin(x) + v * (i + n)
        return x

    return f


def test_a_program_past_the_limit_is_an_error_that_says_its_size(monkeypatch):
    monkeypatch.setattr(trace, "MOST", 2000)
    robot = lw.Dynamics(lw.load("pendulum"))
    with pytest.raises(TraceError, match=r"the trace has 2,000 operations, .* lw.iterate"):
        robot.kernel(steps(1000))(np.ones(1), np.ones(1))
    robot.kernel(steps(10))


@pytest.mark.parametrize("n, long", [(100, False), (2000, True)])
def test_many_calls_of_functions_make_a_program_long(n, long):
    """Values in use around a call are saved, so that one function of many calls takes longer than its length to compile."""
    kernel = lw.Dynamics(lw.load("pendulum")).kernel(steps(n))
    assert pieces.is_long(kernel.program) is long


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals are other here")
@pytest.mark.parametrize("when, n", [("traces", 200_000), ("compiles", 5000)])
def test_ctrl_c_interrupts(when, n):
    """KeyboardInterrupt comes at once, not after LLVM has finished."""
    environment = {**os.environ, "LINKWORK_CACHE_DIR": ""}
    process = subprocess.Popen([sys.executable, "-c", LONG.format(n=n)], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        while process.stdout.readline().strip() != when:
            assert process.poll() is None
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        asked = time.perf_counter()
        assert process.stdout.readline().strip() == f"interrupted, compiles={when == 'compiles'}"
        assert time.perf_counter() - asked < 10
        assert process.wait(120) == 0
    finally:
        process.kill()
