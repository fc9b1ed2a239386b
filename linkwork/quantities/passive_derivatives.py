"""Derivatives of what holds a mechanism without motors: gravity, springs, dampers and pushes; those by q along the group."""

from functools import cache

import numpy as np

from .. import sweeps
from ..engine.differentiation.derived import Derived, inlined
from ..engine.loading.interpreter import run
from ..engine.tracing.array import Traced
from ..engine.tracing.program import Input, Program
from ..lie.embedding import tilde
from ..lie.scalars import like
from ..model import Spring
from ..sweeps.jacobian import owners
from . import by_program, long
from .declaration import Honours, quantity
from .energy import joint_spring
from .kinematics import group_rates
from .point_forces import at_point, point_force
from .points import conservative, pull, pull_derivatives, pushed

SPRINGS = Honours.JOINT_SPRINGS | Honours.POINT_FORCES
SQUARE = "nv", "nv"
GRAVITY, ENERGY = by_program.jacobian("gravity_force", "q"), by_program.jacobian("potential_energy", "q")
PASSIVE = by_program.jacobian("passive_force", "q", "v")


@quantity(SQUARE, Honours.GRAVITY, of_joints=True, rolls=False, long=long.gravity_force_derivative, of_tree=True, program=GRAVITY)
def gravity_force_derivative(system, q):
    """∂g/∂q of the forces that hold the tree still."""
    system.check_rigid("gravity_force_derivative")
    s = system.blocks(q)
    _, alpha, f = sweeps.inverse_dynamics(s, system.rates_at_rest(s), s.tree.split(system.zeros))
    V = s.tree.constant(system.still) | {s.tree.world: system.still}
    by_q, _ = sweeps.inverse_dynamics_derivatives(s, system.block_rates(s, system.zeros), V, alpha, f)
    return by_q


@quantity(("nv",), Honours.GRAVITY | SPRINGS, of_joints=True, long=long.potential_energy_gradient, program=ENERGY)
def potential_energy_gradient(system, q):
    """∂U/∂q: the forces that hold the mechanism against gravity, springs, and pushes that are constant in the world."""
    system.check_rigid("potential_energy_gradient")
    s = system.blocks(q)
    return point_force(system, q, system.zeros, s.tree.join(weight_and_springs(system, s, q)), conservative(system.forces), -1.0)


def weight_and_springs(system, s, q):
    """The force of each joint that holds the mechanism against gravity and the springs of the joints."""
    coordinates, tau = system.split(q), s.tree.slots()
    gravity, _, _ = sweeps.inverse_dynamics(s, system.rates_at_rest(s), s.tree.split(system.zeros))
    for k in s.tree.base_to_tips():
        tau[k] = gravity[k] + joint_spring(system.groups[k], coordinates[k], system.stiffness[k], system.rest[k])
    return tau


@quantity((SQUARE,) * 2, SPRINGS, rolls=False, long=long.passive_force_derivatives, program=PASSIVE)
def passive_force_derivatives(system, q, v):
    """∂Q/∂q and ∂Q/∂v of `passive_force`; dry friction does not change until the motion turns round."""
    tree, coordinates = system.tree, system.split(q)
    by_q, by_v = {}, {}
    for k in filter(tree.widths.__getitem__, tree.base_to_tips()):
        by_q[k, k] = -spring_derivative(system.groups[k], coordinates[k], system.stiffness[k], system.rest[k])
        by_v[k, k] = -system.damping[k][..., None] * like(np.eye(tree.widths[k]), system.damping[k])
    found = tree.matrix(by_q), tree.matrix(by_v)
    for each in of_points(system, q, v):
        found = tuple(x + y for x, y in zip(found, each))
    return found


# --- springs of joints


def spring_derivative(group, q, stiffness, rest):
    """How the force of a joint's spring changes along each velocity (..., nv, nv), by the derivative of its program."""
    given, program = (q, stiffness, rest), _spring_program(group)
    if any(isinstance(x, Traced) for x in given):
        return inlined(program, given)
    return run(program, dict(zip(("q", "stiffness", "rest"), given)))[0]


@cache
def _spring_program(group) -> Program:
    inputs = Input("q", (group.nq,), group.units), Input("stiffness", (group.nv,)), Input("rest", (group.nq,))
    spring = Derived("spring", lambda *given: joint_spring(group, *given)[..., 0], inputs, {"q": lambda q: group_rates(group, q)})
    return spring.jacobian_program((0,), (0,))


# --- springs, dampers and pushes between points


def of_points(system, q, v):
    """(∂Q/∂q, ∂Q/∂v) of each: in world axes, with w and u the angular and the linear columns of the points' Jacobians."""
    before = like(owners(system.tree)[:, None] < owners(system.tree), q)
    for force, places in system.forces:
        ends = [at_point(system, q, v, place) for place in places]
        if isinstance(force, Spring):
            yield _of_spring(force, ends, v, before)
        else:
            F, N = pushed(force, ends[0])
            change = turning(ends[0], F, N, before)
            if force.axes == "body":
                w, u = in_world(ends[0])
                change = change - u.mT @ tilde(F) @ w - w.mT @ tilde(N) @ w
            yield change, np.zeros_like(change)


def _of_spring(spring, ends, v, before):
    """F pulls the first point and −F the other: Q = −D* F, D the rate of the way between them per velocity."""
    one, other = ends
    way, rate, F = pull(spring, one, other)
    by_way, by_rate = pull_derivatives(spring, way, rate)
    held = [(sign, end) for sign, end in ((-1.0, one), (1.0, other)) if end.body is not None]
    D = sum(sign * in_world(end)[1] for sign, end in held)
    bent = sum(sign * rate_derivative(end, v, before) for sign, end in held)
    change = -D.mT @ (by_way @ D + by_rate @ bent)
    return sum((-sign * turning(end, F, np.zeros_like(F), before) for sign, end in held), change), -D.mT @ by_rate @ D


def in_world(point):
    """(w, u): the rows of the Jacobian of a point, in world axes."""
    return point.rotation @ point.J[..., :3, :], point.rotation @ point.J[..., 3:, :]


def turning(point, F, N, before):
    """∂J* [N; F] of a force and a torque that keep their direction in the world (..., nv, nv): entry (a, c) is
    w_a · (u_c × F) where a comes before c on the path of the point, else  w_a · (N × w_c) + u_a · (F × w_c)."""
    w, u = in_world(point)
    return before * (-w.mT @ tilde(F) @ u) + (1 - before) * (w.mT @ tilde(N) @ w + u.mT @ tilde(F) @ w)


def rate_derivative(point, v, before):
    """∂(u v)/∂q, how the velocity of a point changes (..., 3, nv): column c is Σ v_a (w_a × u_c) over a before c, else v_a (w_c × u_a)."""
    w, u = in_world(point)
    turned, moved = (w * v[..., None, :]) @ before, (u * v[..., None, :]) @ (1 - before)
    return (tilde(turned.mT) @ u.mT[..., None] + tilde(w.mT) @ moved.mT[..., None])[..., 0].mT
