"""A kernel and the plain run of its sweep agree to rounding."""

from itertools import product

import numpy as np
import pytest
from pairwise import pairwise
from test_batches import CALLS, each, every_call
from zoo import MECHANISMS, close, state
from zoo.mechanisms import ROBOTS

import linkwork as lw

KERNELS = {name: ROBOTS.get(f"{name} kernel") or lw.Dynamics(model) for name, model in MECHANISMS.items()}
INVERTS = "inverse", "forward"
CELLS = [x for x in product(MECHANISMS, CALLS, (np.float64, np.float32)) if x[0] != "massless" or x[2] is np.float64]  # its ratios are 1e6


def agree(mechanism, name, kind=np.float64):
    s = each(state(ROBOTS[mechanism], (5,)), kind)
    condition = 20 if any(word in name for word in INVERTS) else 1
    close(CALLS[name](KERNELS[mechanism], s), CALLS[name](ROBOTS[mechanism], s), 1000 * condition * np.finfo(kind).eps)


@pytest.mark.parametrize("mechanism", ["planar 2R", "universal", "free"])
@every_call
def test_a_kernel_is_its_sweep(mechanism, name):
    """kernel(q, v) = sweep(q, v), float64."""
    agree(mechanism, name)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism, name, kind", pairwise(CELLS))
def test_every_kernel_is_its_sweep(mechanism, name, kind):
    """kernel(q, v) = sweep(q, v), float64 and float32."""
    agree(mechanism, name, kind)
