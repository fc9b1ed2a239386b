"""Operational space: places of a mechanism that are to move in some way (Jain, chapter 10).

A task is a row of places (body, pose, linear): a frame `pose` on a body, all six directions of it in its own axes, or only
the three linear ones.
"""

from .. import spatial, sweeps
from ..model.tree import concatenated
from ..spatial.ldl import inverse
from . import long
from .declaration import Honours, quantity
from .kinematics import FAR, jacobian
from .options import task as places_of

NOTHING = Honours.NOTHING


def on_nodes(system, task):
    """The places of a task as (node, directions on it)."""
    found = []
    for body, pose, linear in task:
        k, T = system.on_node(body, pose)
        B = spatial.phi(T)
        found.append(system.place(k, B[..., 3:] if linear else B))
    return found


@quantity(("task", "nv"), NOTHING, options=places_of, rolls=False, long=long.task_jacobian, straight_up_to=FAR)
def task_jacobian(system, q, task):
    """J of a task."""
    rows = [jacobian(system, q, body, pose)[..., 3 if linear else 0 :, :] for body, pose, linear in task]
    return concatenated(rows, -2)


@quantity(("task", "task"), Honours.CONSTRAINTS, of_joints=True, options=places_of, rolls=False, long=long.task_compliance)
def task_compliance(system, q, task):
    """Λ̲ = J 𝓜⁻¹ J*, under the constraints                                                     Jain (10.6), (10.12)."""
    s = system.blocks(q)
    _, D, G, _ = sweeps.articulated_inertia(s)
    return sweeps.compliance(s, D, G, on_nodes(system, task))


@quantity((("task", "task"), ()), Honours.CONSTRAINTS, of_joints=True, options=places_of, rolls=False, long=long.task_inertia)
def task_inertia(system, q, task):
    """Λ = (J 𝓜⁻¹ J*)⁻¹, and how independent the directions are: the least pivot of Λ̲ over its diagonal entry, 1 at best,
    0 or rounding where one direction follows from those before it and Λ means nothing."""
    return inverse(task_compliance(system, q, task))


@quantity(("nv", "task"), NOTHING, options=places_of, rolls=False, long=long.joint_response, of_tree=True)
def joint_response(system, q, task):
    """𝓜⁻¹ J* of the tree: what forces on the task's places do to the joints                Jain (7.44)."""
    s = system.blocks(q)
    _, D, G, _ = sweeps.articulated_inertia(s)
    columns = [sweeps.joint_compliance(s, D, G, k, B) for k, B in on_nodes(system, task)]
    return concatenated([s.tree.join_rows(vdot) for vdot in columns], -1)


@quantity(("task",), Honours.GRAVITY, options=places_of, rolls=False, long=long.task_acceleration, of_tree=True)
def task_acceleration(system, q, v, tau, task):
    """Accelerations of the task's places under forces τ, gravity included, component by component."""
    s = system.blocks(q)
    r = system.rates(s, v, tau)
    P, D, G, _ = sweeps.articulated_inertia(s)
    _, alpha, _ = sweeps.forward_dynamics(s, P, D, G, r)
    alpha[s.tree.world] = r.base
    rows = []
    for k, B in on_nodes(system, task):
        falling = s.tree.carried(k, B, via=lambda j, F: s.A[j] @ F).mT @ r.base  # the part due to the acceleration of the base
        rows.append(B.mT @ alpha[k] - falling)
    return concatenated(rows, -2)[..., 0]
