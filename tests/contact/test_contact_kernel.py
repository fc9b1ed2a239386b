"""contact_kernel: a step with contacts, and its derivative by the implicit function theorem."""

import numpy as np
import pytest
import scenes

import linkwork as lw
from linkwork.errors import SimulationError

BALL = scenes.ball(friction=0.3)
STEP = lw.contact_kernel(BALL, dt=0.01)
STATES = {
    "open": (0.5, [0.1, 0.2, 0.3, 0.5, -0.2, 0.1]),
    "sliding": (0.1, [0.1, 0.2, 0.3, 1.0, 0.4, -0.05]),
    "sticking": (0.1, [0.001, 0.002, 0.003, 0.0002, 0.0001, -0.05]),
}


def test_a_step_is_that_of_a_rollout():
    q, v = scenes.placed(BALL, z=0.1), np.array([0, 0, 0, 1.0, 0, 0])
    run = lw.rollout(BALL, q[None], v[None], dt=0.01, steps=1, method="contact")
    stepped = STEP(q, v, np.zeros(6), np.zeros(3))
    assert np.allclose(stepped[0], run.q[0, -1], atol=1e-12) and np.allclose(stepped[1], run.v[0, -1], atol=1e-12)


@pytest.mark.parametrize("name", STATES)
def test_the_derivative_of_a_step_is_that_of_differences(name):
    """∂v⁺/∂v and ∂v⁺/∂τ while the contact is open, slides, sticks: kernel.jacobian against central differences."""
    z, v = STATES[name]
    q, v, tau, force = scenes.placed(BALL, z=z), np.array(v), np.array([0.01, 0.02, 0, 0.1, 0.05, 0]), np.zeros(3)
    by_v, by_tau = STEP.jacobian(of=1, by=("v", "tau"))(q, v, tau, force)
    for slope, k, h in ((by_v, 1, 1e-6), (by_tau, 2, 1e-4)):
        columns = []
        for d in np.eye(6):
            up, down = ([q, v, tau, force] for _ in range(2))
            up[k], down[k] = up[k] + h * d, down[k] - h * d
            columns.append((STEP(*up)[1] - STEP(*down)[1]) / (2 * h))
        assert np.allclose(slope, np.stack(columns, -1), atol=1e-6)
    if name != "open":
        assert np.abs(by_tau - 0.01 * BALL.mass_matrix_inverse(q)).max() > 1e-4


def test_torch_has_the_gradient():
    torch = pytest.importorskip("torch")
    z, v = STATES["sliding"]
    tau = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    q, v, force = (torch.as_tensor(x) for x in (scenes.placed(BALL, z=z), np.array(v), np.zeros(3)))
    STEP(q, v, tau, force)[1][3].backward()
    wanted = STEP.jacobian(of=1, by="tau")(q.numpy(), v.numpy(), np.zeros(6), np.zeros(3))[3]
    assert np.allclose(tau.grad.numpy(), wanted, atol=1e-9)


def test_robots_without_such_a_kernel_are_told():
    with pytest.raises(SimulationError, match="contact points"):
        lw.contact_kernel(lw.Dynamics(lw.load("double_pendulum")), dt=0.01)
