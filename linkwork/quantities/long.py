"""Places on long mechanisms: what concerns a few bodies, composed of sweeps over all nodes, which roll.

Each function takes `of`, which gives another quantity of the same mechanism by its name, and then what its quantity takes.
"""

from functools import partial

import numpy as np

from .. import sweeps
from ..spatial import phi, phi_inverse, pose_inverse
from ..spatial.ldl import inverse
from ..sweeps.jacobian import carriers
from .points import Point, conservative, energy, pulls
from .roots import rearranged, rearranged_forces


def pose(of, q, body, place):
    """World from a frame placed on a body."""
    return of("poses", q)[..., body, :, :] @ place.matrix.astype(q.dtype)


def jacobian(of, q, body, place, axes="body"):
    """J row by row: J* of each of the six unit wrenches on the frame."""
    wrenches = np.zeros((6, of.nb, 6), q.dtype)
    wrenches[:, body] = phi(place.matrix).T
    J = of("joint_forces", q[..., None, :], wrenches)
    return in_axes(of, q, body, place, axes, J)


def relative_pose(of, q, body, place, other):
    return pose(of, q, body, place) if other is None else pose_inverse(pose(of, q, *other)) @ pose(of, q, body, place)


def relative_jacobian(of, q, body, place, other, axes="body"):
    """J − φ* J(other), and zero for joints that carry both."""
    J = jacobian(of, q, body, place)
    if other is not None:
        J = J - phi(relative_pose(of, q, body, place, other)).mT @ jacobian(of, q, *other)
        tree, (k, j) = of.nodes.tree, (of.nodes.on[body], of.nodes.on[other[0]])
        J[..., carriers(tree, tree.meeting(k, j))] = 0.0
    return in_axes(of, q, body, place, axes, J)


def body_velocity(of, q, v, body, place, other, axes="body"):
    """From the velocities of all bodies."""
    V = of("body_velocities", q, v)
    own = phi(place.matrix).T.astype(q.dtype) @ V[..., body, :, None]
    if other is not None:
        index, at = other
        shift = phi(relative_pose(of, q, body, place, other)).mT
        own = own - shift @ (phi(at.matrix).T.astype(q.dtype) @ V[..., index, :, None])
    return in_axes(of, q, body, place, axes, own)[..., 0]


def generalized_jacobian(of, q, prescribed, body, place, axes="body"):
    """J_G row by row, transposed: J* of the six unit wrenches, what active joints feel of it with the passive ones giving way."""
    J = jacobian(of, q, body, place, axes)
    held = prescribed[..., None, :]
    felt = of("hybrid_matrix_times", q[..., None, :], held, np.where(held > 0, 0, J))  # passive forces J_p*: the motors hold still
    return np.where(held > 0, J - felt, 0)


def in_axes(of, q, body, place, axes: str, X):
    """Spatial rows (..., 6, n) in the axes of a place, as they are or turned into the world's."""
    if axes == "body":
        return X
    R = pose(of, q, body, place)[..., :3, :3]
    return np.concatenate([R @ X[..., :3, :], R @ X[..., 3:, :]], -2)


def task_jacobian(of, q, task):
    rows = [jacobian(of, q, body, pose, axes)[..., 3 if linear else 0 :, :] for body, pose, linear, axes in task]
    return np.concatenate(rows, -2)


def joint_response(of, q, task):
    """𝓜⁻¹ J*."""
    return of("mass_matrix_solve", q[..., None, :], task_jacobian(of, q, task)).mT


def task_compliance(of, q, task):
    """J 𝓜⁻¹ J*, made symmetric."""
    compliance = task_jacobian(of, q, task) @ joint_response(of, q, task)
    return (compliance + compliance.mT) / 2


def task_acceleration(of, q, v, tau, task):
    V, alpha = of("body_velocities", q, v), of("body_accelerations", q, v, of("forward_dynamics", q, v, tau))
    rows = []
    for body, pose, linear, axes in task:
        shift = phi(pose.matrix).T.astype(q.dtype)
        u, acceleration = (in_axes(of, q, body, pose, axes, shift @ X[..., body, :, None])[..., 0] for X in (V, alpha))
        if axes == "world":  # which do not turn
            acceleration[..., 3:] += np.cross(u[..., :3], u[..., 3:])
        rows.append(acceleration[..., 3 if linear else 0 :])
    return np.concatenate(rows, -1)


def task_inertia(of, q, task):
    return inverse(task_compliance(of, q, task))


def inertial_unit(of, q, v, vdot, body, place):
    """From the velocity and acceleration of the body, and gravity in the axes of the frame."""
    shift = phi(place.matrix).T.astype(q.dtype)
    both = of("body_velocities", q, v), of("body_accelerations", q, v, vdot)
    u, a = ((shift @ x[..., body, :, None])[..., 0] for x in both)
    R = pose(of, q, body, place)[..., :3, :3]
    w, gravity = u[..., :3], np.asarray(of.nodes.gravity, q.dtype)
    return np.concatenate([w, a[..., 3:] + np.cross(w, u[..., 3:]) - (R.mT @ gravity[:, None])[..., 0]], -1)


def inverse_mass_matrix(of, q):
    return of("mass_matrix_inverse", q)


def passive_force(of, q, v):
    """That of the joints, and that of springs and pushes between points."""
    return of("passive_force", q, v) + point_force(of, q, of("body_velocities", q, v), of.forces)


def potential_energy(of, q):
    return energy(of.forces, partial(point, of("poses", q), None), of("potential_energy", q))


def lagrangian(of, q, v):
    return of("kinetic_energy", q, v) - potential_energy(of, q)


def hamiltonian(of, q, p):
    return 0.5 * np.sum(p * of("mass_matrix_solve", q, p), -1) + potential_energy(of, q)


def point(T, V, place) -> Point:
    """A point of a body from the poses and velocities of all bodies."""
    body, at = place
    X = at.matrix.astype(T.dtype)
    if body is None:
        return Point(None, X, None, place=X)
    return Point(body, T[..., body, :, :] @ X, None if V is None else phi(X).mT @ V[..., body, :, None], place=X)


def inverse_dynamics_derivatives(of, q, v, vdot, external=None):
    """Column by column, from rates along each velocity."""
    given, zero = [x[..., None, :] for x in (q, v, vdot)], np.zeros(v.shape[-1], q.dtype)
    identity = np.eye(len(zero), dtype=q.dtype)
    wrenches = None if external is None else external[..., None, :, :]
    by_q, by_v = (of("inverse_dynamics_rate", *given, *along, zero, external=wrenches).mT for along in ((identity, zero), (zero, identity)))
    return by_q, by_v, of("mass_matrix", q)


def mass_matrix_derivative(of, q):
    """Its rate along each velocity."""
    return np.moveaxis(of("mass_matrix_rate", q[..., None, :], np.eye(of.nv, dtype=q.dtype)), -3, -1)


def forward_dynamics_derivatives(of, q, v, tau, external=None, passive=(0.0, 0.0)):
    """𝓜⁻¹ times those of forces that change as `passive` says, less those of inverse dynamics, column by column."""
    by_q, by_v, _ = inverse_dynamics_derivatives(of, q, v, forward_dynamics(of, q, v, tau, external), external)
    changed = (of("mass_matrix_solve", q[..., None, :], (p - x).mT).mT for p, x in zip(passive, (by_q, by_v)))
    return *changed, of("mass_matrix_inverse", q)


def forward_dynamics_derivatives_with_passive_forces(of, q, v, tau, external=None):
    return forward_dynamics_derivatives(of, q, v, tau + passive_force(of, q, v), external, passive_force_derivatives(of, q, v))


def inverse_dynamics_derivatives_with_passive_forces(of, q, v, vdot, external=None):
    by_q, by_v, M = inverse_dynamics_derivatives(of, q, v, vdot, external)
    of_q, of_v = passive_force_derivatives(of, q, v)
    return by_q - of_q, by_v - of_v, M


def passive_force_derivatives(of, q, v):
    """Joint by joint, and along the paths of points: little work of its own."""
    return of.plain("passive_force_derivatives", q, v)


def gravity_force_derivative(of, q):
    zero = np.zeros_like(q, shape=(*q.shape[:-1], of.nv))
    return inverse_dynamics_derivatives(of, q, zero, zero)[0]


def potential_energy_gradient(of, q):
    """That of gravity and of the joints, less J* of the wrenches of springs and pushes between points."""
    return of("potential_energy_gradient", q) - conservative_force(of, q)


def hamiltonian_dynamics(of, q, p, tau):
    return of("hamiltonian_dynamics", q, p, tau + conservative_force(of, q))


def conservative_force(of, q):
    """The force of springs between points, and of pushes that are constant in the world."""
    return point_force(of, q, np.zeros((*q.shape[:-1], of.nb, 6), q.dtype), conservative(of.forces))


def point_force(of, q, V, forces):
    """J* of the wrenches of springs and pushes between points, at velocities V of the bodies."""
    T, wrenches = of("poses", q), np.zeros(V.shape, q.dtype)
    for at, force, torque in pulls(forces, partial(point, T, V)):
        wrenches[..., at.body, :] += (phi(at.place) @ at.wrench(force, torque))[..., 0]
    return of("joint_forces", q, wrenches)


def jacobian_derivative(of, q, body, place, axes="body"):
    nodes = of.nodes
    return sweeps.jacobian_derivative(nodes.tree, nodes.on[body], jacobian(of, q, body, place, axes), axes)


def center_of_mass_jacobian(of, q):
    """Linear momentum of each velocity by the mass."""
    return centroidal_momentum_matrix(of, q)[..., 3:, :] / of.mass


def centroidal_momentum_derivatives(of, q, v):
    """Column by column, from rates along each velocity."""
    identity, zero = np.eye(v.shape[-1], dtype=q.dtype), np.zeros(v.shape[-1], q.dtype)
    by_q = of("centroidal_momentum_change", q[..., None, :], v[..., None, :], identity, zero).mT
    return by_q, centroidal_momentum_matrix(of, q)


def forward_dynamics(of, q, v, tau, external=None):
    """By one sweep each way over the tree."""
    return of("forward_dynamics", q, v, tau, external=external)


def operational_inertias(of, q, bodies):
    return inverse(of("body_compliances", q)[..., list(bodies), :, :])[0]


def centroidal_momentum_matrix(of, q):
    """Column by column, the momentum of each velocity."""
    return of("centroidal_momentum", q[..., None, :], np.eye(of.nv, dtype=q.dtype)).mT


def free_flying_velocity(of, q, v, momentum):
    """From the momentum of unit velocities of the base, and that of the joints alone."""
    joints = v.copy()
    joints[..., :6] = 0.0
    base = np.eye(6, v.shape[-1], dtype=q.dtype)
    R = of("momentum", q[..., None, :], base).mT
    joints[..., :6] = np.linalg.solve(R, (momentum - of("momentum", q, joints))[..., None])[..., 0]
    return joints


def rebase(of, q, v, way):
    """From the poses and velocities of the bodies that are the old root, the new one and what the tree stands on."""
    nodes = of.bound.lowered.plain(q.dtype)
    own, rates = nodes.split(q), nodes.tree.split(v)
    root = None
    if way.base is not None:
        T, V = of("poses", q), of("body_velocities", q, v)
        (old, on), (new, there) = ((i, pose.matrix.astype(q.dtype)) for i, pose in way.roots)
        X = T[..., new, :, :] @ there
        root = pose_inverse(T[..., old, :, :] @ on) @ X, phi(there).mT @ V[..., new, :, None]
        if way.parent is not None:
            root = root[0], root[1] - phi(pose_inverse(T[..., way.parent, :, :]) @ X).mT @ V[..., way.parent, :, None]
    return rearranged(way, [(nodes.groups[k], own[k], rates[k]) for k in range(len(nodes.tree))], root)


def rebase_force(of, q, tau, way):
    """The wrench on the old base, carried to the new one, and what it does along the joints between."""
    nodes = of.bound.lowered.plain(q.dtype)
    own, force = nodes.split(q), nodes.tree.split(tau)
    if way.base is not None:
        T = of("poses", q)
        (old, on), (new, there) = ((i, pose.matrix.astype(q.dtype)) for i, pose in way.roots)
        f = phi_inverse(pose_inverse(T[..., old, :, :] @ on) @ T[..., new, :, :] @ there) @ force[way.base]
        wrenches = np.zeros((*f.shape[:-2], of.nb, 6), q.dtype)
        wrenches[..., new, :] = (phi(there) @ f)[..., 0]
        along = nodes.tree.split(of("joint_forces", q, wrenches))
        force |= {i: force[i] - along[i] for i in way.turned} | {way.base: f}
    return rearranged_forces(way, [(nodes.groups[k], own[k], force[k]) for k in range(len(nodes.tree))])

