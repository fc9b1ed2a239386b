"""Tensors of torch on the CPU in, tensors out. Needs torch; `make test-torch` runs these."""

import numpy as np
import pytest
import torch

import linkwork as lw

pytestmark = pytest.mark.torch


@pytest.fixture
def robot():
    return lw.Dynamics(lw.load("satellite"))


def state(robot, count=5):
    q, v = robot.random_state((count,), seed=0)
    return q, v, np.random.default_rng(1).standard_normal(v.shape)


@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "kinetic_energy"])
def test_a_tensor_gives_a_tensor_with_the_numbers_of_the_array(robot, what):
    arrays = state(robot)[: {"mass_matrix": 1, "kinetic_energy": 2}.get(what, 3)]
    found = getattr(robot, what)(*map(torch.from_numpy, arrays))
    assert isinstance(found, torch.Tensor) and found.dtype == torch.float64
    np.testing.assert_array_equal(found.numpy(), getattr(robot, what)(*arrays))


def test_room_given_is_written(robot):
    arrays = state(robot)
    out = torch.empty(5, robot.nv, dtype=torch.float64)
    assert robot.forward_dynamics(*map(torch.from_numpy, arrays), out=out) is out
    np.testing.assert_array_equal(out.numpy(), robot.forward_dynamics(*arrays))


def test_a_tensor_of_another_size_is_named(robot):
    q, v, u = map(torch.from_numpy, state(robot))
    with pytest.raises(lw.ShapeError, match="v has shape"):
        robot.forward_dynamics(q, v[:, 1:], u)


def test_a_rollout_of_tensors_is_that_of_arrays(robot):
    q, v, _ = state(robot)
    found = lw.rollout(robot, torch.from_numpy(q), torch.from_numpy(v), dt=0.01, steps=4)
    expected = lw.rollout(robot, q, v, dt=0.01, steps=4)
    assert isinstance(found.q, torch.Tensor)
    np.testing.assert_array_equal(found.q.numpy(), expected.q)
    np.testing.assert_array_equal(found.v.numpy(), expected.v)


def test_a_policy_of_torch_is_asked_with_tensors(robot):
    q, v, _ = state(robot)
    found = lw.rollout(robot, torch.from_numpy(q), torch.from_numpy(v), lambda t, Q, V: -0.5 * V, dt=0.01, steps=4)
    expected = lw.rollout(robot, q, v, lambda t, Q, V: -0.5 * V, dt=0.01, steps=4)
    np.testing.assert_array_equal(found.v.numpy(), expected.v)
