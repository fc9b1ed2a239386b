"""Arrays on a GPU in, the same kind out. Needs an NVIDIA GPU and torch; `make test-gpu` runs these."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.loading.cuda import DeviceError

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")]


def robot_and_state(count=300):
    robot = lw.Dynamics(lw.load("satellite"))
    q, v = robot.random_state(count, seed=0)
    return robot, q, v, np.random.default_rng(1).standard_normal(v.shape)


def cuda(*arrays, dtype=None):
    return [torch.as_tensor(x, device="cuda", dtype=dtype or torch.float64) for x in arrays]


def test_float64_on_the_gpu_is_the_cpu_kernel_to_the_bit():
    robot, q, v, u = robot_and_state()
    for method, arrays in ((robot.forward_dynamics, (q, v, u)), (robot.inverse_dynamics, (q, v, u)), (robot.mass_matrix, (q,))):
        result = method(*cuda(*arrays))
        assert result.is_cuda and result.dtype == torch.float64
        np.testing.assert_array_equal(result.cpu().numpy(), method(*arrays))


def test_float32_stays_float32_and_near():
    robot, q, v, u = robot_and_state()
    result, expected = robot.forward_dynamics(*cuda(q, v, u, dtype=torch.float32)), robot.forward_dynamics(q, v, u)
    assert result.dtype == torch.float32
    assert abs(result.cpu().numpy() - expected).max() < 1e-4 * abs(expected).max()


def test_any_layout_gives_the_same_numbers():
    robot, q, v, u = robot_and_state()
    expected = robot.forward_dynamics(q, v, u)
    columns = [x.T.contiguous().T for x in cuda(q, v, u)]
    np.testing.assert_array_equal(robot.forward_dynamics(*columns).cpu().numpy(), expected)
    spread = [torch.stack([x, x], -1)[..., 0] for x in cuda(q, v, u)]
    np.testing.assert_array_equal(robot.forward_dynamics(*spread).cpu().numpy(), expected)
    one, v1, u1 = cuda(q[0], v, u)
    np.testing.assert_array_equal(robot.forward_dynamics(one, v1, u1).cpu().numpy(), robot.forward_dynamics(q[0], v, u))
    two = [x.reshape(3, 100, -1) for x in cuda(q, v, u)]
    np.testing.assert_array_equal(robot.forward_dynamics(*two).cpu().numpy(), expected.reshape(3, 100, -1))


def test_a_large_angle_is_done_the_long_way_and_disturbs_nobody():
    robot = lw.Dynamics(lw.load("arm_6r"))
    q, v = robot.random_state(200, seed=0)
    q[17, 2], q[90, 0], q[150, 1] = 3e12, -7e11, np.nan
    result = robot.forward_dynamics(*cuda(q, v, v)).cpu().numpy()
    np.testing.assert_array_equal(result, robot.forward_dynamics(q, v, v))
    assert np.isnan(result).any(1).sum() == 1


def test_a_rolled_kernel_has_the_bits_of_the_cpu():
    robot = lw.Dynamics(lw.load("satellite"), rolled=True)
    q, v = robot.random_state(300, seed=0)
    result = robot.forward_dynamics(*cuda(q, v, v))
    np.testing.assert_array_equal(result.cpu().numpy(), robot.forward_dynamics(q, v, v))


def test_a_result_may_be_written_over_an_input():
    robot, q, v, u = robot_and_state()
    given = cuda(q, v, u)
    assert robot.forward_dynamics(*given, out=given[2]) is given[2]
    np.testing.assert_array_equal(given[2].cpu().numpy(), robot.forward_dynamics(q, v, u))


def test_a_users_kernel_and_constants_that_vary_run_there():
    robot, q, v, u = robot_and_state()
    power = robot.kernel(lambda q, v, tau: tau @ v + robot.kinetic_energy(q, v))
    np.testing.assert_array_equal(power(*cuda(q, v, u)).cpu().numpy(), power(q, v, u))
    varying = robot.varying("mass")
    masses = np.linspace(0.5, 2, 300)[:, None] * varying.value("mass")
    result = varying.forward_dynamics(*cuda(q, v, u), mass=cuda(masses)[0])
    np.testing.assert_array_equal(result.cpu().numpy(), varying.forward_dynamics(q, v, u, mass=masses))


def test_derivatives_are_taken_there():
    robot, q, v, u = robot_and_state()
    for by in ("q", "mass"):
        found = robot.derivative("inverse_dynamics", *cuda(q, v, u), by=by)
        np.testing.assert_array_equal(found.cpu().numpy(), robot.derivative("inverse_dynamics", q, v, u, by=by))


def test_results_go_where_out_says_on_the_callers_stream():
    robot, q, v, u = robot_and_state()
    given, out = cuda(q, v, u), torch.empty(300, robot.nv, device="cuda", dtype=torch.float64)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert robot.forward_dynamics(*given, out=out) is out
    stream.synchronize()
    np.testing.assert_array_equal(out.cpu().numpy(), robot.forward_dynamics(q, v, u))


def test_cupy_arrays_come_back_as_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    robot, q, v, u = robot_and_state()
    result = robot.forward_dynamics(*map(cupy.asarray, (q, v, u)))
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(result), robot.forward_dynamics(q, v, u))


def test_arrays_in_different_places_are_refused():
    robot, q, v, u = robot_and_state()
    with pytest.raises(DeviceError, match="arrays live in different places"):
        robot.forward_dynamics(cuda(q)[0], v, u)


def test_tensors_on_the_cpu_go_through_numpy():
    robot, q, v, u = robot_and_state()
    result = robot.forward_dynamics(*map(torch.as_tensor, (q, v, u)))
    assert isinstance(result, torch.Tensor)
    np.testing.assert_array_equal(result.numpy(), robot.forward_dynamics(q, v, u))
