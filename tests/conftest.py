"""What all tests share."""

import os

import numpy as np
import pytest
from hypothesis import settings

os.environ["MPLBACKEND"] = "Agg"  # before anything imports matplotlib

# The same examples every time, and no deadline: the first example may compile a kernel.
settings.register_profile("linkwork", derandomize=True, deadline=None)
settings.load_profile("linkwork")


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)
