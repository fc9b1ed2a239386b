"""Gradients on a GPU: those of torch and of JAX are those of the CPU. Needs an NVIDIA GPU; `make test-gpu` runs these."""

import numpy as np
import pytest

import linkwork as lw

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")]
ROBOT = lw.Dynamics(lw.load("satellite"))


def state(count=300):
    q, v = ROBOT.random_state(count, seed=0)
    return q, v, np.random.default_rng(1).standard_normal(v.shape)


def test_gradients_of_torch_are_those_of_the_cpu():
    found = []
    for device in ("cpu", "cuda"):
        given = [torch.as_tensor(x, device=device).requires_grad_() for x in state()]
        result = ROBOT.forward_dynamics(*given)
        (result.square().sum() + result.sum()).backward()
        found.append([x.grad.cpu().numpy() for x in given])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_second_derivatives_of_torch_on_the_gpu():
    """∂²T/∂v² = 𝓜"""
    q, v, _ = (torch.as_tensor(x, device="cuda") for x in state(3))
    hessian = torch.func.vmap(torch.func.hessian(lambda q, v: ROBOT.kinetic_energy(q, v), 1))(q, v)
    np.testing.assert_allclose(hessian.cpu(), ROBOT.mass_matrix(q).cpu(), rtol=1e-10, atol=1e-10)


def test_a_rollout_has_the_gradients_of_the_cpu():
    found = []
    for device in ("cpu", "cuda"):
        q, v, _ = (torch.as_tensor(x, device=device).requires_grad_() for x in state(40))
        run = lw.rollout(ROBOT, q, v, dt=0.01, steps=20)
        (run.v[:, -1].square().sum() + run.q[:, -1].sum()).backward()
        found.append([q.grad.cpu().numpy(), v.grad.cpu().numpy()])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


# --- JAX

jax = pytest.importorskip("jax")


@pytest.fixture
def gpu():
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        pytest.skip("JAX has no GPU here")
    with jax.enable_x64(True):
        yield device


def test_kernels_in_jax_have_the_bits_of_the_cpu(gpu):
    x = state()
    there = [jax.device_put(y, gpu) for y in x]
    found = jax.jit(ROBOT.jax.forward_dynamics)(*there)
    assert found.devices() == {gpu}
    np.testing.assert_array_equal(found, ROBOT.forward_dynamics(*x))
    one = jax.jit(jax.vmap(ROBOT.jax.forward_dynamics, (0, 0, None)))(*there[:2], there[2][0])
    np.testing.assert_array_equal(one, ROBOT.forward_dynamics(*x[:2], x[2][0]))


def test_float32_in_jax(gpu):
    x = [y.astype(np.float32) for y in state()]
    found, expected = ROBOT.jax.forward_dynamics(*(jax.device_put(y, gpu) for y in x)), ROBOT.forward_dynamics(*x)
    assert found.dtype == np.float32
    assert abs(np.asarray(found) - expected).max() < 1e-4 * abs(expected).max()


def test_gradients_and_hessians_in_jax(gpu):
    q, v, tau = (jax.device_put(y, gpu) for y in state(5))
    cost = lambda q, v, tau: (ROBOT.jax.forward_dynamics(q, v, tau) ** 2).sum()
    found = jax.jit(jax.grad(cost, (0, 1, 2)))(q, v, tau)
    expected = ROBOT.as_kernel("forward_dynamics").by_components("vjp", (0, 1, 2))
    expected = expected(*state(5), 2 * ROBOT.forward_dynamics(*state(5)))
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    hessian = jax.jit(jax.vmap(jax.hessian(ROBOT.jax.kinetic_energy, 1)))(q, v)
    np.testing.assert_allclose(hessian, ROBOT.mass_matrix(state(5)[0]), rtol=1e-10, atol=1e-10)


def test_a_loop_of_jax_on_the_gpu(gpu):
    q, v, tau = (jax.device_put(y, gpu) for y in state(10))

    def step(state, _):
        q, v = state
        v = v + 0.01 * ROBOT.jax.forward_dynamics(q, v, tau)
        return (ROBOT.jax.integrate(q, 0.01 * v), v), None

    (_, found), _ = jax.jit(lambda q, v: jax.lax.scan(step, (q, v), length=50))(q, v)
    Q, V, T = state(10)
    for _ in range(50):
        V = V + 0.01 * ROBOT.forward_dynamics(Q, V, T)
        Q = ROBOT.integrate(Q, 0.01 * V)
    np.testing.assert_allclose(found, V, rtol=1e-9, atol=1e-9)
