"""What all tests share."""

import os

import numpy as np
import pytest
from hypothesis import settings

pytest_plugins = ["slow_part"]

os.environ["MPLBACKEND"] = "Agg"  # before anything imports matplotlib
os.environ["LINKWORK_QUIET"] = "1"  # no lines about compilation where a test looks at stderr

# The same examples every time, and no deadline: the first example may compile a kernel.
settings.register_profile("linkwork", derandomize=True, deadline=None)
settings.load_profile("linkwork")


ASKED_FOR = {"gpu": "gpu", "tensors": "torch"}  # folders that need what most machines lack, and the marker that asks for them


def pytest_ignore_collect(collection_path, config):
    marker = ASKED_FOR.get(collection_path.name) if collection_path.parent.name == "tests" else None
    if marker and f"not {marker}" in config.option.markexpr:
        return True


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture
def registries():
    """What a test adds to the tables of quantities and operations is taken out again."""
    from linkwork.engine.operations import OPERATIONS
    from linkwork.quantities import QUANTITIES

    before = [(table, dict(table)) for table in (QUANTITIES, OPERATIONS)]
    yield
    for table, rows in before:
        table.clear()
        table.update(rows)
