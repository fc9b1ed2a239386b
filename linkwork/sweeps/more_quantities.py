"""More quantities of a rigid mechanism as functions of its nodes and state: operational space, hybrid dynamics, forces.

As in `quantities`, a function here is the whole definition, for floats and for kernels alike. A task is a row of places
(body, pose, linear): a frame `pose` on a body, all six directions of it in its own axes, or only the three linear ones.
"""

import numpy as np

from .. import spatial
from ..lie.scalars import like
from ..model.tree import concatenated
from ..spatial.ldl import factor
from .articulated_inertia import articulated_inertia
from .forward_dynamics import forward_dynamics as _forward_dynamics
from .hybrid_dynamics import hybrid_dynamics as _hybrid_dynamics
from .inverse_dynamics import inverse_dynamics as _inverse_dynamics
from .kinematics import placements, shifts
from .mass_matrix_inverse import mass_matrix_inverse as _mass_matrix_inverse
from .operational_space import compliance, compliances, joint_compliance, transitions
from .quantities import jacobian, motion


def on_nodes(nodes, task):
    """The places of a task as (node, directions on it)."""
    found = []
    for body, pose, linear in task:
        k, T = nodes.on_node(body, pose)
        B = spatial.phi(T)
        found.append((k, B[..., 3:] if linear else B))
    return found


def articulated(nodes, q):
    """φ, D, G at q."""
    phi = shifts(nodes.tree, placements(nodes, q))
    _, D, G, _ = articulated_inertia(nodes.tree, phi, nodes.H, nodes.M, nodes.J)
    return phi, D, G


def explicit_mass_matrix_inverse(nodes, q):
    """𝓜⁻¹ entry by entry from the compliances of the nodes (Jain, Algorithm 10.4)."""
    tree, H = nodes.tree, nodes.H
    phi, D, G = articulated(nodes, q)
    Upsilon, L, U = compliances(tree, phi, H, D, G, nodes.still @ nodes.still.mT)
    return _mass_matrix_inverse(tree, phi, G, transitions(tree, phi, H, G), Upsilon, L, U)


def task_jacobian(nodes, q, task):
    """J of a task (..., m, nv)."""
    rows = [jacobian(nodes, q, body, pose)[..., 3 if linear else 0 :, :] for body, pose, linear in task]
    return concatenated(rows, -2)


def task_compliance(nodes, q, task):
    """Λ̲ = J 𝓜⁻¹ J* (..., m, m)                                                    Jain (10.6), (10.12)."""
    phi, D, G = articulated(nodes, q)
    return compliance(nodes.tree, phi, nodes.H, D, G, on_nodes(nodes, task))


def task_inertia(nodes, q, task):
    """Λ = (J 𝓜⁻¹ J*)⁻¹ (..., m, m), and how independent the directions are: the least pivot of Λ̲ over its diagonal
    entry, 1 at best, 0 or rounding where one direction follows from those before it and Λ means nothing."""
    compliance = task_compliance(nodes, q, task)
    n = compliance.shape[-1]
    _, pivots = factor(compliance)
    independence = pivots[0] / compliance[..., 0, 0, None]
    for i in range(1, n):
        independence = np.minimum(independence, pivots[i] / compliance[..., i, i, None])
    return spatial.solve(compliance, like(np.eye(n), compliance)), independence[..., 0]


def joint_response(nodes, q, task):
    """𝓜⁻¹ J* (..., nv, m): what forces on the task's places do to the joints            Jain (7.44)."""
    tree = nodes.tree
    phi, D, G = articulated(nodes, q)
    blocks = [joint_compliance(tree, phi, nodes.H, D, G, k, B) for k, B in on_nodes(nodes, task)]
    return concatenated([tree.join_rows(vdot) for vdot in blocks], -1)


def task_acceleration(nodes, q, v, tau, task):
    """Accelerations of the task's places under forces τ (..., m), gravity included, component by component."""
    tree, H = nodes.tree, nodes.H
    phi, _, a, b = motion(nodes, q, v)
    P, D, G, _ = articulated_inertia(tree, phi, H, nodes.M, nodes.J)
    _, alpha, _ = _forward_dynamics(tree, phi, H, P, D, G, a, b, tree.split(tau), nodes.falling)
    alpha[tree.world] = nodes.falling
    rows = []
    for k, B in on_nodes(nodes, task):
        falling = tree.carried(k, B, via=lambda j, F: phi[j] @ F).mT @ nodes.falling  # what only the world's fall does
        rows.append(B.mT @ alpha[k] - falling)
    return concatenated(rows, -2)[..., 0]


def hybrid_dynamics(nodes, q, v, given, prescribed):
    """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0): Jain (16.15)."""
    tree = nodes.tree
    phi, _, a, b = motion(nodes, q, v)
    s = tree.split(prescribed)
    other, _ = _hybrid_dynamics(tree, phi, nodes.H, nodes.M, nodes.J, a, b, tree.split(given), s, nodes.falling)
    return tree.join(other)


def joint_wrenches(nodes, q, v, vdot, bodies, external=None):
    """What the joints of the given bodies (numbers) carry, gravity and forces from outside included (..., n, 6): the
    wrench on each body, in its own axes, at its origin                                  Jain (5.43), (7.34)."""
    tree = nodes.tree
    phi, _, a, b = motion(nodes, q, v, external)
    _, _, f = _inverse_dynamics(tree, phi, nodes.H, nodes.M, nodes.J, a, b, tree.split(vdot), nodes.falling)
    rows = [spatial.phi_inverse(nodes.places[i]) @ f[nodes.on[i]] for i in bodies]
    return np.stack([row[..., 0] for row in rows], -2)


__all__ = [
    "explicit_mass_matrix_inverse",
    "hybrid_dynamics",
    "joint_response",
    "joint_wrenches",
    "task_acceleration",
    "task_compliance",
    "task_inertia",
    "task_jacobian",
]
