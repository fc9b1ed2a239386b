"""The rollout with contacts as GPU code, run by the emulation of threads on the CPU."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scenes

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))
from emulated import emulated
from test_ptx import assembled
from test_ptx_emulated import KINDS, pointer

import linkwork as lw
from linkwork.engine import ptx_march
from linkwork.engine.march import March
from linkwork.simulate.contact import law_of
from linkwork.simulate.contact_rollout import whole_contact_step
from linkwork.simulate.whole_step import LENGTH, TAU


@pytest.mark.parametrize("method", ["gauss_seidel", "newton"])
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_a_rollout_with_contacts_is_the_same_on_the_gpu(dtype, method, tmp_path):
    """A ball that falls, strikes, slides and rolls: 60 steps of the march, state, impulse and residual in registers."""
    robot, kind = scenes.ball(friction=0.3), KINDS[dtype]
    solver = lw.ContactSolver(method=method, rounds=20, tolerance=1e-6)
    kernel = whole_contact_step(robot, law_of(robot, limits=False), solver, None, None, {TAU: (6,), LENGTH: ()})
    samples, steps = 3, 60
    q, v = np.tile(scenes.placed(robot, z=0.12), (samples, 1)).astype(kind), np.tile([0, 0, 0, 1.0, 0, 0], (samples, 1)).astype(kind)
    v[:, 4] = np.linspace(0, 1, samples)
    starts = [q, v, np.zeros((samples, 3), kind), np.zeros((samples, 2), kind)]
    tau, h = np.zeros((samples, steps, 6), kind), np.full(samples, 0.002, kind)
    expected, found = ([np.zeros((steps + 1, *x.shape), kind) for x in starts] for _ in range(2))
    March(kernel, dtype[0], 1)([*starts, tau, h], expected, steps, 1)
    text = ptx_march.text(kernel.program, dtype, ("rows",) * 10, 1)
    places = [*((x, x.shape[1]) for x in starts), (tau, 6 * steps), (h, 1), *((x, x.shape[2]) for x in found)]
    onward = [6, *(samples * x.shape[2] for x in found)]
    emulated(text)(samples, samples, steps, 1, *(a for x, step in places for a in (pointer(x), step)), *onward)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 if dtype == "double" else 1e-4)
    assert np.abs(expected[1][-1, :, 3] - 1).max() > 0.01
    assembled(text, tmp_path)
