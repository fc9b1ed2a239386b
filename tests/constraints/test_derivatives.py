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
    "a function of time": lambda: arm(Holonomic("height", lambda q, t: np.sin(q[0]) + np.sin(q[0] + q[1]) - 0.2 * np.cos(3 * t), 1)).model(),
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
