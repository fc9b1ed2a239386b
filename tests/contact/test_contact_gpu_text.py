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
from linkwork.engine.running import ptx_repeat
from linkwork.engine.running.repeat import Form, Repeat
from linkwork.simulate.methods.fixed_step import FRICTION, LENGTH, TAU, FixedStep
from linkwork.simulate.rollouts.rollout_gradient import backward_step

SOFT = {"compliance": 1e-4, "damping": 20.0, "restitution": 0.5}
WAYS = {"gauss_seidel": ("gauss_seidel", {}), "newton": ("newton", {}), "soft": ("gauss_seidel", SOFT)}


@pytest.mark.parametrize(("method", "material"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_a_rollout_with_contacts_is_the_same_on_the_gpu(dtype, method, material, tmp_path):
    """A ball that falls, strikes, slides and rolls: 60 steps of the march, state, impulse and residual in registers."""
    robot, kind = scenes.ball(friction=0.3, **material), KINDS[dtype]
    solver = lw.ContactLaw(solver=method, rounds=20, tolerance=1e-6)
    kernel = FixedStep.of(robot, "contact", solver=solver).kernel({TAU: (6,), LENGTH: ()})
    samples, steps = 3, 60
    q, v = np.tile(scenes.placed(robot, z=0.12), (samples, 1)).astype(kind), np.tile([0, 0, 0, 1.0, 0, 0], (samples, 1)).astype(kind)
    v[:, 4] = np.linspace(0, 1, samples)
    starts = [q, v, np.zeros((samples, 3), kind), np.zeros((samples, 2), kind)]
    tau, h = np.zeros((samples, steps, 6), kind), np.full(samples, 0.002, kind)
    expected, found = ([np.zeros((steps + 1, *x.shape), kind) for x in starts] for _ in range(2))
    Repeat(kernel, dtype[0], Form(4, 1)).steps([*starts, tau, h], expected, steps, 1)
    text = ptx_repeat.text(kernel.program, dtype, ("rows",) * 10, Form(4, 1))
    places = [*((x, x.shape[1]) for x in starts), (tau, 6 * steps), (h, 1), *((x, x.shape[2]) for x in found)]
    onward = [6, *(samples * x.shape[2] for x in found)]
    emulated(text)(samples, samples, steps, 1, *(a for x, step in places for a in (pointer(x), step)), *onward)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 if dtype == "double" else 1e-4)
    assert np.abs(expected[1][-1, :, 3] - 1).max() > 0.01
    assembled(text, tmp_path)


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_the_gradient_of_a_rollout_with_contacts_is_the_same_on_the_gpu(dtype, tmp_path):
    """The march of the step backwards: weights on states and gradients by friction and τ, from states and impulses of a rollout."""
    robot, kind, samples, steps = scenes.ball(friction=0.3), KINDS[dtype], 2, 20
    solver, shapes = lw.ContactLaw(tolerance=1e-10), {TAU: (6,), LENGTH: (), FRICTION: (1,)}
    step = FixedStep.of(robot, "contact", solver=solver).differentiable("solved")
    kernel = backward_step(step, shapes, [FRICTION], [TAU], [TAU])
    q, v = np.tile(scenes.placed(robot, z=0.12), (samples, 1)), np.tile([0, 0, 0, 1.0, 0.3, 0], (samples, 1))
    v[:, 5] = -np.arange(samples)
    run = lw.rollout(robot, q, v, dt=0.005, steps=steps, method="contact", contact=solver)
    ones, zero = np.ones((samples, 6)), lambda *shape: np.zeros((samples, *shape))
    states = [ones, ones, zero(1), zero(6)]
    impulse = 0.005 * run.force[:, 1:].reshape(samples, steps, 3)
    streams = [run.q[:, :-1], run.v[:, :-1], impulse, *(zero(steps, 6) for _ in range(3))]
    arrays = [np.ascontiguousarray(x[:, ::-1] if x.ndim == 3 else x, kind) for x in (*states, *streams)]  # the last step first
    arrays += [np.full(samples, 0.005, kind), np.full((samples, 1), 0.3, kind)]
    expected, found = ([np.zeros((steps + 1, *x.shape), kind) for x in arrays[:4]] for _ in range(2))
    Repeat(kernel, dtype[0], Form(4, 6)).steps(arrays, expected, steps, 1)
    text = ptx_repeat.text(kernel.program, dtype, ("rows",) * (len(arrays) + 4), Form(4, 6))
    places = [*((x, x[0].size) for x in arrays), *((x, x.shape[2]) for x in found)]
    onward = [*(x.shape[2] for x in arrays[4:10]), *(samples * x.shape[2] for x in found)]
    emulated(text)(samples, samples, steps, 1, *(a for x, step in places for a in (pointer(x), step)), *onward)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=0, atol=(1e-12 if dtype == "double" else 2e-3) * (1 + abs(other).max()))
    assert abs(expected[2][-1]).max() > 1
    assembled(text, tmp_path)


def test_a_rollout_with_contacts_and_loops_is_the_same_on_the_gpu(tmp_path):
    """A four-bar linkage that falls on a plane: loops closed by each sample's own pivots, rounds within rounds of the march."""
    from test_contact_loops import ROBOT, SOLVER, START

    kernel = FixedStep.of(ROBOT, "contact", solver=SOLVER).kernel({TAU: (3,), LENGTH: ()})
    steps, starts = 22, [START[None], np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 2))]
    tau, h = np.zeros((1, steps, 3)), np.full(1, 0.0025)
    expected, found = ([np.zeros((steps + 1, *x.shape)) for x in starts] for _ in range(2))
    Repeat(kernel, "d", Form(4, 1)).steps([*starts, tau, h], expected, steps, 1)
    text = ptx_repeat.text(kernel.program, "double", ("rows",) * 10, Form(4, 1))
    places = [*((x, x.shape[1]) for x in starts), (tau, 3 * steps), (h, 1), *((x, x.shape[2]) for x in found)]
    emulated(text)(1, 1, steps, 1, *(a for x, step in places for a in (pointer(x), step)), 3, *(x.shape[2] for x in found))
    for one, other in zip(found[:2], expected[:2]):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    assert expected[2][:, 0, 0].max() > 1e-3
    assembled(text, tmp_path)


def test_gradients_of_arrays_on_a_gpu_are_those_of_the_cpu(monkeypatch):
    """Friction, weights on forces, checkpoints: the stand-in for CuPy runs the GPU's own text."""
    import stand_in

    cupy = stand_in.install(monkeypatch)
    here, there = (scenes.ball(friction=0.3) for _ in range(2))
    q, v = np.tile(scenes.placed(here, z=0.11), (3, 1)), np.array([[0, 0, 0, 1.0, 0.2, 0], [1.0, 0, 0, 0.3, 0, -1], [0, 0, 0, 0, 0, 3.0]])
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(x) for x in ((3, 4, 6), (3, 4, 6), (3, 4, 1, 3))]
    how = {"dt": 0.01, "steps": 12, "every": 4, "method": "contact", "checkpoint": 5}
    mu = np.full((3, 1), 0.3)
    expected = lw.rollout_gradient(here, q, v, weights=weights, given={"contact_friction": mu}, **how)
    given = {"contact_friction": cupy.asarray(mu)}
    found = lw.rollout_gradient(there, cupy.asarray(q), cupy.asarray(v), weights=[cupy.asarray(x) for x in weights], given=given, **how)
    for one, other in ((found.q, expected.q), (found.v, expected.v), *((x.given["contact_friction"] for x in (found, expected)),)):
        assert type(one) is stand_in.ndarray
        np.testing.assert_allclose(np.asarray(one), other, rtol=0, atol=1e-9 * (1 + abs(other).max()))
