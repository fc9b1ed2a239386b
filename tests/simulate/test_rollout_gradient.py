"""Gradients of rollouts: exact derivatives of the steps, by all that a rollout takes."""

import numpy as np
import pytest

import linkwork as lw

ARM = lw.Dynamics(lw.load("double_pendulum"))
BLOCK = lw.Dynamics(lw.load("free_body"))
CART = lw.Dynamics(lw.load("cartpole"))
STEPS, RNG = 12, np.random.default_rng(0)


def slope(cost, h=1e-4):
    """The derivative of a function of one number at zero, its error of the order of h⁶."""
    return sum(c * (cost(k * h) - cost(-k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def directions(*arrays):
    return [RNG.standard_normal(np.shape(x)) for x in arrays]


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("robot, method", [(ARM, "euler"), (ARM, "rk4"), (BLOCK, "euler"), (BLOCK, "rk4")])
def test_the_gradient_is_the_slope_of_the_cost(robot, method, every):
    """dJ = ḡ·dq0 + v̄·dv0 + τ̄·dτ, the configuration moving along the group."""
    how = {"dt": 0.02, "steps": STEPS, "method": method, "every": every}
    Q, V = robot.random_state((3, 2), seed=0)
    tau = RNG.standard_normal((3, 2, STEPS, robot.nv))
    base = lw.rollout(robot, Q, V, tau, **how)
    by_q, by_v = RNG.standard_normal((2, *base.v.shape))
    dq, dv, dtau = directions(V, V, tau)

    def cost(h):
        run = lw.rollout(robot, robot.integrate(Q, h * dq), V + h * dv, tau + h * dtau, **how)
        return (by_q * robot.difference(base.q, run.q)).sum() + (by_v * run.v).sum()

    found = lw.rollout_gradient(robot, Q, V, tau, weights=(by_q, by_v), **how)
    assert found.q.shape == V.shape and found.controls.shape == tau.shape
    expected = slope(cost)
    np.testing.assert_allclose((found.q * dq).sum() + (found.v * dv).sum() + (found.controls * dtau).sum(), expected, rtol=1e-9)
    for spacing, run in ((1, None), (4, None), (7, base), (100, None), (None, base)):
        same = lw.rollout_gradient(robot, Q, V, tau, weights=(by_q, by_v), checkpoint=spacing, run=run, **how)
        for a, b in zip(same[:3], found[:3]):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * abs(b).max())


def test_policies_resets_and_constants_have_gradients():
    """By gains of each robot, by a value for each step, by masses, through a policy and a reset inside the loop."""

    @CART.kernel(t=(), gains=4, push=())
    def policy(t, q, v, gains, push):
        return np.stack([gains @ np.concatenate([q, v]) + push * np.cos(t), 0 * q[0]])

    @CART.kernel()
    def bounce(q, v):
        return q, np.where(q > 0.25, -0.5 * v, v)

    robot = CART.varying("mass", "gravity")
    Q, V = np.array([[0.2, 0.1], [0.0, 0.3]]), np.array([[1.0, 0.0], [-0.3, 0.2]])
    given = {"gains": RNG.standard_normal((2, 4)), "mass": robot.value("mass") * np.ones((2, 1))}
    each_step = {"push": RNG.standard_normal((2, STEPS))}
    how = {"controls": policy, "reset": bounce, "dt": 0.02, "steps": STEPS}
    dgains, dmass, dpush, dV = directions(given["gains"], given["mass"], each_step["push"], V)
    weights = RNG.standard_normal((2, 2, STEPS + 1, 2))

    def cost(h):
        moved = {"gains": given["gains"] + h * dgains, "mass": given["mass"] + h * dmass}
        run = lw.rollout(robot, Q, V + h * dV, given=moved, each_step={"push": each_step["push"] + h * dpush}, **how)
        return (weights[0] * run.q).sum() + (weights[1] * run.v).sum()

    found = lw.rollout_gradient(robot, Q, V, weights=weights, given=given, each_step=each_step, checkpoint=5, **how)
    assert found.controls is None
    parts = (found.given["gains"], dgains), (found.given["mass"], dmass), (found.each_step["push"], dpush), (found.v, dV)
    assert all(np.abs(by).max() > 0 for by, _ in parts)
    np.testing.assert_allclose(sum((by * d).sum() for by, d in parts), slope(cost, 1e-5), rtol=1e-7)


def test_a_linear_system_has_the_gradient_of_its_powers():
    """A body pushed along a line: q_n = q + n h v + h² Σ (n − k) τ_k / m."""
    slider = lw.Builder("slider", gravity=(0, 0, 0))
    slider.body("mass", joint=lw.Prismatic(axis=(1, 0, 0)), mass=2.0)
    robot = lw.Dynamics(slider.model())
    h, n = 0.1, 7
    weights = np.zeros((n + 1, 1))
    weights[-1] = 1
    found = lw.rollout_gradient(robot, np.zeros(1), np.zeros(1), weights=(weights, None), dt=h, steps=n)
    np.testing.assert_allclose([*found.q, *found.v], [1, n * h])
    np.testing.assert_allclose(found.controls[:, 0], h * h * (n - np.arange(n)) / 2, rtol=1e-13)


def test_single_precision_in_single_precision_out():
    Q, V = ARM.random_state((5,), seed=1)
    weights = RNG.standard_normal((2, 5, STEPS + 1, 2))
    double = lw.rollout_gradient(ARM, Q, V, weights=weights, dt=0.01, steps=STEPS)
    single = lw.rollout_gradient(ARM, Q.astype("f"), V.astype("f"), weights=weights, dt=0.01, steps=STEPS)
    for a, b in zip(single[:3], double[:3]):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * abs(b).max())


def test_no_steps_have_the_weights_themselves():
    Q, V = ARM.random_state((2,), seed=1)
    found = lw.rollout_gradient(ARM, Q, V, weights=(np.ones(2), None), dt=0.01, steps=0)
    np.testing.assert_array_equal(found.q, np.ones((2, 2)))
    np.testing.assert_array_equal(found.v, np.zeros((2, 2)))
    assert found.controls.shape == (2, 0, 2)


def test_what_has_no_gradient_says_so():
    Q, V = ARM.random_state((2,), seed=1)
    how = {"weights": (None, None), "dt": 0.01, "steps": 3}
    with pytest.raises(lw.SimulationError, match="controls is a function of the whole batch"):
        lw.rollout_gradient(ARM, Q, V, lambda t, q, v: v, **how)
    with pytest.raises(lw.SimulationError, match="not a pair"):
        lw.rollout_gradient(ARM, Q, V, **(how | {"weights": 3}))
    with pytest.raises(lw.ShapeError, match=r"weights by q has shape \(7,\)"):
        lw.rollout_gradient(ARM, Q, V, **(how | {"weights": (np.ones(7), None)}))
    with pytest.raises(lw.SimulationError, match="checkpoint is 0"):
        lw.rollout_gradient(ARM, Q, V, checkpoint=0, **how)
    with pytest.raises(lw.SimulationError, match="straight-line kernels"):
        lw.rollout_gradient(lw.Dynamics(lw.load("double_pendulum"), rolled=True), Q, V, **how)
