"""Operational space: places of a mechanism that are to move in some way (Jain, chapter 10).

A task is a row of places (body, pose, linear, axes): a frame `pose` on a body, all six directions of it, or only the three linear
ones, in its own axes ("body", if not said) or in the world's.
"""

import numpy as np

from .. import spatial, sweeps
from ..lie.embedding import cross
from ..model.tree import concatenated
from ..spatial.ldl import inverse
from . import long
from .declaration import Honours, quantity
from .kinematics import FAR, jacobian, to_world_axes
from .options import task as places_of

NOTHING = Honours.NOTHING


def on_nodes(system, q, task):
    """The places of a task as (node, directions on it)."""
    found = []
    for body, pose, linear, axes in map(with_axes, task):
        k, T = system.on_node(body, pose)
        B = spatial.phi(T)
        if axes == "world":
            B = B @ to_world_axes(system.kinematic, q, body, pose).mT
        found.append(system.place(k, B[..., 3:] if linear else B))
    return found


def with_axes(place):
    return (*place, "body")[:4]


@quantity(("task", "nv"), NOTHING, options=places_of, rolls=False, long=long.task_jacobian, straight_up_to=FAR)
def task_jacobian(system, q, task):
    """J of a task."""
    each = map(with_axes, task)
    rows = [jacobian(system, q, body, pose, axes)[..., 3 if linear else 0 :, :] for body, pose, linear, axes in each]
    return concatenated(rows, -2)


@quantity(("task", "task"), Honours.CONSTRAINTS, of_joints=True, options=places_of, rolls=False, long=long.task_compliance)
def task_compliance(system, q, task):
    """Λ̲ = J 𝓜⁻¹ J*, under the constraints                                                     Jain (10.6), (10.12)."""
    s = system.blocks(q)
    _, D, G, _ = sweeps.articulated_inertia(s)
    return sweeps.compliance(s, D, G, on_nodes(system, q, task))


@quantity((("task", "task"), ()), Honours.CONSTRAINTS, of_joints=True, options=places_of, rolls=False, long=long.task_inertia)
def task_inertia(system, q, task):
    """Λ = (J 𝓜⁻¹ J*)⁻¹, and how independent the directions are: the least pivot of Λ̲ over its diagonal entry, 1 at best,
    0 or rounding where one direction follows from those before it and Λ means nothing."""
    return inverse(task_compliance(system, q, task))


@quantity(("nv", "task"), Honours.CONSTRAINTS, options=places_of, rolls=False, long=long.joint_response)
def joint_response(system, q, task):
    """𝓜⁻¹ J*, what forces on the task's places do to the joints, under the constraints           Jain (7.44)."""
    s = system.blocks(q)
    _, D, G, _ = sweeps.articulated_inertia(s)
    columns = [sweeps.joint_compliance(s, D, G, k, B) for k, B in on_nodes(system, q, task)]
    return concatenated([system.response(s, vdot) for vdot in columns], -1)


@quantity(("task",), Honours.GRAVITY | Honours.CONSTRAINTS, options=places_of, rolls=False, long=long.task_acceleration)
def task_acceleration(system, q, v, tau, task):
    """Accelerations of the task's places under forces τ, gravity and constraints included: rates of velocities, component by component
    in the axes that those are taken in."""
    s = system.blocks(q)
    r = system.rates(s, v, tau)
    P, D, G, _ = sweeps.articulated_inertia(s)
    _, alpha, _ = sweeps.forward_dynamics(s, P, D, G, r)
    alpha[s.tree.world] = r.base
    rows = []
    for place, (k, B) in zip(task, on_nodes(system, q, task)):
        falling = s.tree.carried(k, B, via=lambda j, F: s.A[j] @ F).mT @ r.base  # the part due to the acceleration of the base
        rows.append(B.mT @ alpha[k] - falling + axes_rate(system, q, v, place))
    return concatenated(rows, -2)[..., 0]


def axes_rate(system, q, v, place):
    """What turning axes take off the rate of a velocity, in world axes [0; ω × u]; in the body's own, nothing."""
    body, pose, linear, axes = with_axes(place)
    if axes == "body":
        return 0.0
    V = jacobian(system.kinematic, q, body, pose, "world") @ v[..., None]
    u = cross(V[..., :3, 0], V[..., 3:, 0])[..., None]
    return u if linear else concatenated([np.zeros_like(u), u], -2)
