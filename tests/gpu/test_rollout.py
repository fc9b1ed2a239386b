"""Rollouts on a GPU: the loop over time runs there, and in float64 its bits are those of the loop on the CPU."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.loading.cuda import DeviceError

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")]
ARM = lw.Dynamics(lw.load("arm_6r"))
SATELLITE = lw.Dynamics(lw.load("satellite"))


def cuda(x, dtype=torch.float64):
    return torch.as_tensor(np.ascontiguousarray(x), device="cuda", dtype=dtype)


def same(found, expected):
    for a, b in zip(found, expected):
        assert a.is_cuda
        np.testing.assert_array_equal(a.cpu().numpy(), b)


@pytest.mark.parametrize("method", ["euler", "rk4"])
@pytest.mark.parametrize("robot", [ARM, SATELLITE], ids=["arm", "satellite"])
def test_a_rollout_on_the_gpu_has_the_bits_of_one_on_the_cpu(robot, method):
    q, v = robot.random_state(300, seed=0)
    tau = np.random.default_rng(1).standard_normal((300, 20, robot.nv))
    for controls in (None, tau):
        expected = lw.rollout(robot, q, v, controls, dt=0.01, steps=20, every=5, method=method)
        there = None if controls is None else cuda(controls)
        same(lw.rollout(robot, cuda(q), cuda(v), there, dt=0.01, steps=20, every=5, method=method), expected)


@pytest.mark.parametrize("robot", [ARM, SATELLITE], ids=["arm", "satellite"])
def test_the_gradient_of_a_rollout_on_the_gpu_is_that_of_the_cpu(robot):
    q, v = robot.random_state(300, seed=0)
    tau, by_q, by_v = (np.random.default_rng(n).standard_normal((300, rows, robot.nv)) for n, rows in ((1, 20), (2, 5), (3, 5)))
    how = {"dt": 0.01, "steps": 20, "every": 5}
    expected = lw.rollout_gradient(robot, q, v, tau, weights=(by_q, by_v), **how)
    for spacing in (1, 5, 6):
        found = lw.rollout_gradient(robot, *map(cuda, (q, v, tau)), weights=(cuda(by_q), cuda(by_v)), checkpoint=spacing, **how)
        for a, b in zip(found[:3], expected[:3]):
            assert a.is_cuda
            np.testing.assert_allclose(a.cpu().numpy(), b, rtol=0, atol=1e-11 * abs(b).max())


def test_an_angle_that_grows_large_is_still_turned_right():
    q, v = ARM.random_state(100, seed=0)
    v[17] = 1e12
    same(lw.rollout(ARM, cuda(q), cuda(v), dt=0.01, steps=3), lw.rollout(ARM, q, v, dt=0.01, steps=3))


def test_a_nan_disturbs_nobody():
    q, v = ARM.random_state(100, seed=0)
    q[40] = np.nan
    found = lw.rollout(ARM, cuda(q), cuda(v), dt=0.01, steps=5)
    same(found, lw.rollout(ARM, q, v, dt=0.01, steps=5))
    assert found.q.isnan().any(-1).any(-1).sum() == 1


@ARM.kernel(gain=())
def holds(t, q, v, gain, target):
    return gain * (target - q) - v + np.sin(t)


@ARM.kernel(again=(), q_new=6)
def restarted(q, v, again, q_new):
    return np.where(again > 0, q_new, q), np.where(again > 0, 0 * v, v)


def test_policy_reset_and_constants_run_inside_the_loop():
    rng, varying = np.random.default_rng(3), ARM.varying("mass")
    q, v = ARM.random_state(300, seed=0)
    given = {"gain": rng.uniform(1, 5, 300), "target": rng.standard_normal((300, 6)), "q_new": q[::-1],
             "mass": rng.uniform(0.5, 2, (300, 1)) * varying.value("mass")}  # fmt: skip
    again, how = rng.random((300, 30)) < 0.1, {"dt": 0.01, "steps": 30, "reset": restarted}
    expected = lw.rollout(varying, q, v, holds, given=given, each_step={"again": again}, **how)
    given = {name: cuda(x) for name, x in given.items()}
    found = lw.rollout(varying, cuda(q), cuda(v), holds, given=given, each_step={"again": cuda(again, torch.bool)}, **how)
    same(found, expected)


def test_a_network_may_be_asked_at_each_step():
    q, v = ARM.random_state(300, seed=0)
    net = torch.nn.Linear(12, 6).double().cuda().requires_grad_(False)
    found = lw.rollout(ARM, cuda(q), cuda(v), lambda t, Q, V: net(torch.cat([Q, V], -1)), dt=0.01, steps=5)
    W, b = net.weight.cpu().numpy(), net.bias.cpu().numpy()
    expected = lw.rollout(ARM, q, v, lambda t, Q, V: np.concatenate([Q, V], -1) @ W.T + b, dt=0.01, steps=5)
    np.testing.assert_allclose(found.q.cpu().numpy(), expected.q, atol=1e-12)


def test_it_runs_on_the_callers_stream_into_room_given():
    q, v = ARM.random_state(300, seed=0)
    expected = lw.rollout(ARM, q, v, dt=0.01, steps=10)
    there, out = (cuda(q), cuda(v)), [torch.empty(300, 11, 6, device="cuda", dtype=torch.float64) for _ in range(2)]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        lw.rollout(ARM, *there, dt=0.01, steps=10, out=out)
    stream.synchronize()
    same(out, expected[1:])


def test_cupy_arrays_come_back_as_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    q, v = ARM.random_state(30, seed=0)
    found = lw.rollout(ARM, cupy.asarray(q), cupy.asarray(v), dt=0.01, steps=10)
    assert all(isinstance(x, cupy.ndarray) for x in found)
    np.testing.assert_array_equal(cupy.asnumpy(found.q), lw.rollout(ARM, q, v, dt=0.01, steps=10).q)


def test_float32_stays_float32_and_near():
    q, v = ARM.random_state(300, seed=0)
    found = lw.rollout(ARM, cuda(q, torch.float32), cuda(v, torch.float32), dt=0.001, steps=10)
    assert found.q.dtype == torch.float32
    expected = lw.rollout(ARM, q, v, dt=0.001, steps=10).q
    assert abs(found.q.cpu().numpy() - expected).max() < 1e-5 * abs(expected).max()


def test_tensors_on_the_cpu_go_through_numpy():
    q, v = ARM.random_state(3, seed=0)
    found = lw.rollout(ARM, torch.as_tensor(q), torch.as_tensor(v), lambda t, Q, V: -V, dt=0.01, steps=4)
    assert all(isinstance(x, torch.Tensor) for x in found)
    np.testing.assert_array_equal(found.q.numpy(), lw.rollout(ARM, q, v, lambda t, Q, V: -V, dt=0.01, steps=4).q)


def test_what_is_not_there_is_refused():
    q, v = ARM.random_state(3, seed=0)
    with pytest.raises(DeviceError, match="different places"):
        lw.rollout(ARM, cuda(q), v, dt=0.01, steps=1)
