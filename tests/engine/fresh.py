"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def environment(**variables):
    """This process's, with these variables (None takes one away), and the tests' modules at hand."""
    kept = {name: x for name, x in os.environ.items() if name not in variables}
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE.parent), str(HERE)])
    return kept | {"PYTHONPATH": path} | {name: str(x) for name, x in variables.items() if x is not None}


def start(code, **variables):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process, seconds=300):
    """What it printed; a failure, or death by a signal, is a failure here."""
    said, complained = process.communicate(timeout=seconds)
    assert process.returncode == 0, f"exit {process.returncode}\n{said}\n{complained}"
    return said.strip()


def python(code, **variables):
    return finish(start(code, **variables))
