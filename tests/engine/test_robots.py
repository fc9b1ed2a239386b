"""The kernels of real robots and the plain runs of their sweeps agree to rounding, wherever the robot stands."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from pairwise import pairwise
from real_robots import FILES, model, states
from zoo import CALLS, INVERTS, each, plain

import linkwork as lw

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}
WITHOUT_INERTIA = "chain16"  # its last links have none, so nothing divides by its mass matrix
CELLS = [x for x in product(FILES, CALLS, TOLERANCE) if x[0] != WITHOUT_INERTIA or x[1] not in INVERTS]
every_call = pytest.mark.parametrize("call", CALLS)


@cache
def both(name):
    """The robot by kernels and by plain runs, without its loops, which few of the states would close."""
    tree = replace(model(name), loops=(), constraints=())
    return lw.Dynamics(tree, rolled=False), plain(tree)


def agree(name, call, kind):
    """|kernel − sweep| ≤ tolerance max |sweep|, times the condition of the mass matrix where that is inverted."""
    kernel, sweep = both(name)
    s = each(states(sweep, np.random.default_rng(0)), kind)
    whole, expected = (CALLS[call](robot, s) for robot in (kernel, sweep))
    condition = np.linalg.cond(sweep.mass_matrix(s.q)).max() if call in INVERTS else 1.0
    assert whole.dtype == kind
    assert np.abs(whole - expected).max() <= TOLERANCE[kind] * condition * np.abs(expected).max()
    for i in 0, len(s.q) - 1:
        np.testing.assert_array_equal(CALLS[call](kernel, each(s, lambda x, i=i: x[i])), whole[i])


@every_call
def test_a_robots_kernel_is_its_sweep(call):
    agree("panda", call, np.float64)


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_dynamics pushed", "mass_matrix", "poses", "difference"])
def test_a_walking_robots_kernel_is_its_sweep(call):
    agree("solo12", call, np.float64)


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "difference"])
def test_a_robots_kernel_in_single_precision_is_its_sweep(call):
    agree("panda", call, np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("name, call, kind", pairwise(CELLS))
def test_every_robots_kernel_is_its_sweep(name, call, kind):
    agree(name, call, kind)
