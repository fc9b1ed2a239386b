"""What all tests share."""

import os
import re
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the workers of pytest-xdist: threads of BLAS on shared cores wait for each other

import numpy as np
import pytest
from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs tests in the background has turned Ctrl-C off for them

os.environ["MPLBACKEND"] = "Agg"  # before anything imports matplotlib
os.environ["LINKWORK_QUIET"] = "1"  # no lines about compilation where a test looks at stderr

# The same examples every time, and no deadline: the first example may compile a kernel.
settings.register_profile("linkwork", derandomize=True, deadline=None)
settings.load_profile("linkwork")


SLOW_SECONDS = 300  # the time limit of slow tests; that of all others is in pyproject.toml
MARKER_OF_FOLDER = {"gpu": "gpu", "tensors": "torch", "browser": "browser"}  # these need what most machines lack


def is_asked_for(marker, config):
    return re.search(rf"(?<!not )\b{marker}\b", config.option.markexpr) is not None


def pytest_ignore_collect(collection_path, config):
    marker = MARKER_OF_FOLDER.get(collection_path.name) if collection_path.parent.name == "tests" else None
    if marker and not is_asked_for(marker, config):
        return True


def pytest_collection_modifyitems(config, items):
    """Tests that need a GPU, torch or a browser run where `-m` names their marker, and nowhere else. Slow ones may take longer."""
    absent = [marker for marker in MARKER_OF_FOLDER.values() if not is_asked_for(marker, config)]
    dropped = {item for item in items if any(item.get_closest_marker(marker) for marker in absent)}
    config.hook.pytest_deselected(items=list(dropped))
    items[:] = [item for item in items if item not in dropped]
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture
def registries():
    """What a test adds to the tables of quantities, operations, constraints, rows of steps and methods is taken out again."""
    from linkwork.constraints.rows.set import ROWS
    from linkwork.contact.step_rows import ROWS as IN_STEPS
    from linkwork.engine.tracing.operations import OPERATIONS
    from linkwork.quantities import QUANTITIES
    from linkwork.simulate.requests.options import METHODS
    from linkwork.simulate.requests.settings import PAIRS

    before = [(table, dict(table)) for table in (QUANTITIES, OPERATIONS, ROWS, IN_STEPS, METHODS, PAIRS)]
    yield
    for table, rows in before:
        table.clear()
        table.update(rows)
