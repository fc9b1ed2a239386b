"""Places on long mechanisms: what concerns a few bodies, composed of sweeps over all nodes, which roll.

Each function takes `of`, which gives another quantity of the same mechanism by its name, and then what its quantity takes.
"""

from functools import partial

import numpy as np

from ..spatial import phi
from ..spatial.ldl import inverse
from .points import Point, energy, pulls


def pose(of, q, body, place):
    """World from a frame placed on a body."""
    return of("poses", q)[..., body, :, :] @ place.matrix.astype(q.dtype)


def jacobian(of, q, body, place, axes="body"):
    """J row by row: J* of each of the six unit wrenches on the frame."""
    J = rows(of, q, body, phi(place.matrix))
    if axes == "world":
        R = pose(of, q, body, place)[..., :3, :3]
        J = np.concatenate([R @ J[..., :3, :], R @ J[..., 3:, :]], -2)
    return J


def rows(of, q, body, B):
    """B* J of a body: what wrenches along the columns of B do along the joints."""
    wrenches = np.zeros((B.shape[-1], of.nb, 6), q.dtype)
    wrenches[:, body] = B.T
    return of("joint_forces", q[..., None, :], wrenches)


def task_jacobian(of, q, task):
    return np.concatenate([rows(of, q, body, directions(pose, linear)) for body, pose, linear in task], -2)


def directions(pose, linear: bool):
    """The directions of a place of a task, as columns on its body."""
    B = phi(pose.matrix)
    return B[:, 3:] if linear else B


def joint_response(of, q, task):
    """𝓜⁻¹ J*."""
    return of("mass_matrix_solve", q[..., None, :], task_jacobian(of, q, task)).mT


def task_compliance(of, q, task):
    """J 𝓜⁻¹ J*, made symmetric."""
    compliance = task_jacobian(of, q, task) @ joint_response(of, q, task)
    return (compliance + compliance.mT) / 2


def task_acceleration(of, q, v, tau, task):
    alpha = of("body_accelerations", q, v, of("forward_dynamics", q, v, tau))
    return np.concatenate([alpha[..., body, :] @ directions(pose, linear).astype(q.dtype) for body, pose, linear in task], -1)


def task_inertia(of, q, task):
    return inverse(task_compliance(of, q, task))


def inverse_mass_matrix(of, q):
    return of("mass_matrix_inverse", q)


def passive_force(of, q, v):
    """That of the joints, and J* of the wrenches of springs and pushes between points."""
    T, V = of("poses", q), of("body_velocities", q, v)
    wrenches = np.zeros((*V.shape[:-2], of.nb, 6), q.dtype)
    for at, force, torque in pulls(of.forces, partial(point, T, V)):
        wrenches[..., at.body, :] += (phi(at.place) @ at.wrench(force, torque))[..., 0]
    return of("passive_force", q, v) + of("joint_forces", q, wrenches)


def potential_energy(of, q):
    return energy(of.forces, partial(point, of("poses", q), None), of("potential_energy", q))


def point(T, V, place) -> Point:
    """A point of a body from the poses and velocities of all bodies."""
    body, at = place
    X = at.matrix.astype(T.dtype)
    if body is None:
        return Point(None, X, None, place=X)
    return Point(body, T[..., body, :, :] @ X, None if V is None else phi(X).mT @ V[..., body, :, None], place=X)
