"""Derivatives along constraints: of accelerations, of forces of constraints and of multipliers, by the state, by forces and by time."""

from functools import cache

import numpy as np
import pytest
from zoo import close

import linkwork as lw
from linkwork.constraints import Holonomic, Pfaffian
from linkwork.errors import ModelError, ShapeError, TraceError

from . import gallery

EIGHTH = (1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)


def slope(f, h=5e-4):
    """f'(0), to h⁸."""
    return sum(w * (f(i * h) - f(-i * h)) for i, w in EIGHTH) / h


def arm(*constraints, **joint):
    m = lw.Builder("arm", (0, -9.81, 0))
    for parent, name in ((None, "a"), ("a", "b"), ("b", "c")):
        m.body(name, parent, (1, 0, 0), lw.Revolute(**joint), **gallery.rod(1.0))
    return m.constrain(*constraints)


MADE = {
    "driven": lambda: arm(stiffness=3.0, damping=0.4).drive("a_joint", lambda t: 0.3 * np.sin(2 * t)).model(),
    "rows in time": lambda: arm(
        Pfaffian("row", lambda q, t: np.stack([np.cos(t) + 0 * q[0], np.sin(q[1]), 2 + q[0] * q[2]]), 1)
    ).model(),
    "a function of time": lambda: arm(
        Holonomic("height", lambda q, t: np.sin(q[0]) + np.sin(q[0] + q[1]) - 0.2 * np.cos(3 * t), 1)
    ).model(),
}
SOME = pytest.mark.parametrize("name", ["four_bar", "slider_crank", "rolling_disk", "snakeboard", *MADE])


@cache
def robot_of(name):
    return lw.Dynamics(MADE[name]() if name in MADE else lw.load(name))


def at(robot, seed=0):
    """The constraints, a state that keeps them, forces, and a time where there is one."""
    held = robot.constraints
    t = 0.4 if held.set.moving else None
    q, v = held.random_state(seed=seed, t=t)
    return held, q, v, np.random.default_rng(seed).standard_normal(robot.nv), t


def changes(robot, f, q, v, tau, t):
    """The derivatives by q, v, τ and t of f(q, v, τ, t), every state put back on the constraints."""
    held, zero = robot.constraints, np.zeros(robot.nv)

    def there(dq, dv, dtau, dt):
        then = None if t is None else t + dt
        return f(*held.project(robot.integrate(q, dq), v + dv, then), tau + dtau, then)

    each = [[lambda s, e=e, i=i: there(*(s * e if j == i else zero for j in range(3)), 0.0) for e in np.eye(robot.nv)] for i in range(3)]
    by = [np.stack([slope(g) for g in column], -1) for column in each]
    return *by, slope(lambda s: there(zero, zero, zero, s))


@SOME
def test_they_are_those_of_the_dynamics_put_back_on_the_constraints(name):
    """∂v̇ = d/ds v̇(project(q ∘ exp s dq, v + s dv), τ + s dτ, t + s)"""
    robot = robot_of(name)
    held, q, v, tau, t = at(robot)
    found = held.derivatives(q, v, tau, t=t)
    close(found.vdot, robot.forward_dynamics(q, v, tau, t=t), 1e-11)
    expected = changes(robot, lambda q, v, tau, t: robot.forward_dynamics(q, v, tau, t=t), q, v, tau, t)
    for one, other in zip((found.vdot_by.q, found.vdot_by.v, found.vdot_by.tau, found.vdot_by.t), expected):
        close(one, other, 1e-9)


@SOME
def test_forces_of_constraints_change_as_they_say(name):
    """∂(Jc* λ) and ∂λ, λ of least length where rows are redundant"""
    robot = robot_of(name)
    held, q, v, tau, t = at(robot, seed=1)
    found = held.derivatives(q, v, tau, t=t)

    def forces(q, v, tau, t):
        all_ = held.constraint_forces(q, v, tau, t=t)
        return np.concatenate([all_.tau, all_.lam])

    for name, other in zip(("q", "v", "tau", "t"), changes(robot, forces, q, v, tau, t)):
        close(np.concatenate([getattr(found.force_by, name), getattr(found.multipliers_by, name)]), other, 1e-8)


def test_a_parallel_robot_has_them_too():
    """delta: three loops that share a platform"""
    robot, held, q = gallery.assembled("delta_robot")
    q, v = held.project(q, 0.3 * np.random.default_rng(0).standard_normal(robot.nv))
    tau = np.random.default_rng(2).standard_normal(robot.nv)
    found, rng = held.derivatives(q, v, tau), np.random.default_rng(1)
    dq, dv = rng.standard_normal((2, robot.nv))

    def along(s):
        return robot.forward_dynamics(*held.project(robot.integrate(q, s * dq), v + s * dv), tau + s * dq)

    close(found.vdot_by.q @ dq + found.vdot_by.v @ dv + found.vdot_by.tau @ dq, slope(along, 1e-4), 1e-8)


def test_the_method_of_the_robot_takes_batches_precisions_and_out():
    robot = robot_of("slider_crank")
    held, _, _, tau, _ = at(robot)
    states = [held.random_state(seed=seed) for seed in range(3)]
    Q, V = (np.stack(x) for x in zip(*states))
    found = robot.forward_dynamics_derivatives(Q, V, tau)
    for i in range(3):
        for one, other in zip(found, robot.forward_dynamics_derivatives(Q[i], V[i], tau)):
            close(one[i], other)
    into = tuple(np.zeros_like(x) for x in found)
    robot.forward_dynamics_derivatives(Q, V, tau, out=into)
    for one, other in zip(into, found):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ShapeError, match="out has shape"):
        robot.forward_dynamics_derivatives(Q, V, tau, out=tuple(x[0] for x in into))
    single = robot.forward_dynamics_derivatives(*(x.astype("f") for x in (Q, V, tau)))
    assert all(x.dtype == np.float32 for x in single)
    close(single[0], found[0], 1e-3)
    Q[1] = np.nan
    nothing = robot.forward_dynamics_derivatives(Q, V, tau)
    assert np.isnan(nothing[0][1]).all()
    close(nothing[0][2], found[0][2])


def test_the_same_without_kernels():
    robot, plain = robot_of("slider_crank"), lw.Dynamics(lw.load("slider_crank"), compiled=False)
    _, q, v, tau, _ = at(robot)
    for one, other in zip(plain.forward_dynamics_derivatives(q, v, tau), robot.forward_dynamics_derivatives(q, v, tau)):
        close(one, other, 1e-11)


def test_wrenches_on_bodies_are_part_of_them():
    robot = robot_of("slider_crank")
    _, q, v, tau, _ = at(robot)
    external = np.random.default_rng(2).standard_normal((len(robot.bodies), 6))
    found = robot.forward_dynamics_derivatives(q, v, tau, external)
    expected = changes(robot, lambda q, v, tau, t: robot.forward_dynamics(q, v, tau, external), q, v, tau, None)
    for one, other in zip(found, expected):
        close(one, other, 1e-9)


def test_rates_and_gradients_are_these_along_a_direction(rng):
    """v̇' = ∂v̇ (dq, dv, dτ), and weight · ∂v̇"""
    robot = robot_of("rolling_disk")
    _, q, v, tau, _ = at(robot)
    along, weight = rng.standard_normal((3, robot.nv)), rng.standard_normal(robot.nv)
    parts = robot.forward_dynamics_derivatives(q, v, tau)
    close(robot.ask("forward_dynamics_rate", q, v, tau, *along), sum(J @ d for J, d in zip(parts, along)), 1e-11)
    for one, J in zip(robot.ask("forward_dynamics_gradient", q, v, tau, weight), parts):
        close(one, weight @ J, 1e-11)


def test_changes_that_would_break_the_constraints_change_nothing():
    """∂v̇/∂v Jc⁺ = 0 and ∂v̇/∂q Jʰ⁺ = 0 in the metric of the mass matrix: those are put back"""
    robot = robot_of("four_bar")
    held, q, v, tau, _ = at(robot)
    across = np.linalg.solve(robot.mass_matrix(q), held.jacobian(q).T)
    by_q, by_v, _ = robot.forward_dynamics_derivatives(q, v, tau)
    size = np.abs(by_q).max() * np.abs(across).max()
    assert np.abs(by_q @ across).max() < 1e-11 * size and np.abs(by_v @ across).max() < 1e-11 * size


def test_a_function_that_cannot_be_traced_is_refused():
    """It says which, why, and what to do"""
    robot = lw.Dynamics(arm(Holonomic("table", lambda q: [float(q[0]) - 0.5 * float(q[1])], 1)).model())
    q, v = robot.constraints.project(np.zeros(3), np.zeros(3))
    with pytest.raises(ModelError, match=r'derivatives under constraints of arm take those of "table".*np.stack'):
        robot.forward_dynamics_derivatives(q, v, np.zeros(3))
    robot = robot_of("slider_crank")
    with pytest.raises(TraceError, match="cannot be part of another kernel"):
        robot.kernel(lambda q, v, tau: robot.forward_dynamics_derivatives(q, v, tau)[0])(*robot.random_state(), np.zeros(robot.nv))


def test_a_drive_that_cannot_be_traced_is_differentiated_by_numbers():
    """its rates by differences, to nine digits"""
    from math import sin

    made = [arm().drive("a_joint", f).model() for f in (lambda t: 0.3 * sin(2 * t), lambda t: 0.3 * np.sin(2 * t))]
    by_time = []
    for model in made:
        robot = lw.Dynamics(model)
        held = robot.constraints
        q, v = held.project(np.array([0.0, 0.3, 0.2]), np.array([0.0, 1.0, -0.5]), 0.4)
        by_time.append(held.derivatives(q, v, np.zeros(3), t=0.4).vdot_by.t)
    close(*by_time, 1e-6)


def test_kernels_have_the_derivatives_along_the_constraints():
    """∂v̇/∂q δq + ∂v̇/∂v δv of the kernel is that of `forward_dynamics_derivatives` where δq and δv keep the loop; elsewhere it is not."""
    robot, tau = lw.Dynamics(lw.load("four_bar")), np.array([1.0, 2.0, 3.0])
    q, v = robot.constraints.project(robot.assemble(robot.neutral() + 0.3, hold=[robot.joints[0]]), np.ones(3))
    ahead, behind = (robot.constraints.project(robot.integrate(q, h * v), v)[1] for h in (1e-5, -1e-5))
    changes = v, (ahead - behind) / 2e-5
    by_q, by_v, _ = robot.forward_dynamics_derivatives(q, v, tau)
    kernel = robot.as_kernel("forward_dynamics")
    along = lambda dq, dv: (kernel.jvp(q, v, tau, dq, dv, np.zeros(3)), by_q @ dq + by_v @ dv)
    close(*along(*changes), 1e-6)
    assert np.abs(np.subtract(*along(np.eye(3)[0], np.zeros(3)))).max() > 1.0
