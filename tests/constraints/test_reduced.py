"""The minimal view: velocities, accelerations and dynamics in u, with drives and in batches."""

import numpy as np
import pytest

import linkwork as lw

from .gallery import assembled

ROD = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.1, 0.1, 0.1)}


def driven():
    """Two rods, the first of which is driven."""
    b = lw.Builder("driven").body("a", joint=lw.Revolute(axis=(0, 1, 0)), **ROD)
    b.body("b", "a", (1, 0, 0), lw.Revolute(axis=(0, 1, 0)), **ROD).drive("a_joint", lambda t: 3 * t + t**2)
    robot = lw.Dynamics(b.model(), compiled=False)
    return robot, robot.constraints


def test_velocities_of_a_driven_loop_have_what_the_drive_adds():
    """v = X u + v_p: (3, 0.7) of 0.7, in both views."""
    _, held = driven()
    q = np.array([0.0, 0.2])
    view, embedded = held.reduced(q, 0.0), held.embedded(q, np.array([3.0, 0.7]), t=0.0)
    np.testing.assert_allclose(embedded.whole(np.array([0.7])), [3.0, 0.7])
    np.testing.assert_allclose(view.velocity(q, [0.7], t=0.0), [3.0, 0.7])
    np.testing.assert_allclose(view.velocity([1.75, 0.2], [0.7], t=0.5), [4.0, 0.7])


def test_dynamics_in_u_of_a_drive_are_those_of_multipliers():
    _, held = driven()
    t = 0.4
    q, view = np.array([3 * t + t**2, 0.2]), held.reduced(np.array([0.0, 0.2]), 0.0)
    v, tau = view.velocity(q, [0.7], t), np.array([0.3, -0.4])
    vdot = held.forward_dynamics(q, v, tau, t=t)
    udot = view.forward_dynamics(q, [0.7], tau, t=t)
    np.testing.assert_allclose(view.acceleration(q, [0.7], udot, t), vdot, atol=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "strandbeest", "slider_crank", "governor", "delta_robot"])
def test_dynamics_in_u_are_those_of_multipliers(name):
    """X* 𝓜 X u̇ + X* (𝓜 h + 𝓒) = X* τ gives the v̇ of (11.6); Müller and Terze (55) to (59)."""
    robot, held, q = assembled(name)
    rng = np.random.default_rng(0)
    q, v = held.project(q, rng.standard_normal(robot.nv))
    tau = rng.standard_normal(robot.nv)
    view = held.reduced(q)
    u = v[view.independent]
    vdot, udot = held.forward_dynamics(q, v, tau), view.forward_dynamics(q, u, tau)
    scale = max(1.0, np.abs(vdot).max())
    np.testing.assert_allclose(view.velocity(q, u), v, atol=1e-10 * max(1.0, np.abs(v).max()))
    np.testing.assert_allclose(view.acceleration(q, u, udot), vdot, atol=1e-8 * scale)
    np.testing.assert_allclose(view.inverse_dynamics(q, u, udot), view.force(q, tau), atol=1e-8 * scale)
    np.testing.assert_allclose(view.mass_matrix(q) @ udot + view.bias(q, u), view.force(q, tau), atol=1e-8 * scale)


def test_a_batch_is_its_samples():
    _, held, q = assembled("four_bar")
    view, rng = held.reduced(q), np.random.default_rng(0)
    Q = np.stack([held.assemble(q + np.array([x, 0, 0]), hold=["crank_joint"]) for x in (0.0, 0.1, 0.2)])
    u, tau = rng.standard_normal((3, 1)), rng.standard_normal((3, 3))
    np.testing.assert_allclose(view.X(Q), np.stack([view.X(x) for x in Q]), atol=1e-13)
    np.testing.assert_allclose(view.mass_matrix(Q), np.stack([view.mass_matrix(x) for x in Q]), atol=1e-13)
    np.testing.assert_allclose(view.velocity(Q, u), np.stack([view.velocity(a, b) for a, b in zip(Q, u)]), atol=1e-13)
    each = np.stack([view.forward_dynamics(a, b, c) for a, b, c in zip(Q, u, tau)])
    np.testing.assert_allclose(view.forward_dynamics(Q, u, tau), each, rtol=1e-12)


def test_velocities_that_decide_nothing_are_refused():
    """At its dead centre the rocker stands still whatever the crank does."""
    _, held, q = assembled("four_bar, other cut")
    q = held.assemble([0.499062266, 0.0, 1.2772027], hold=["crank_joint"])
    view = type(held.reduced(q))(held.set, np.array([held.robot.v_index("rocker_joint").start]))
    assert np.abs(view.X(q)).max() > 100
    with pytest.raises(lw.ShapeError, match="the view has 1 velocities"):
        view.velocity(q, np.zeros(2))
