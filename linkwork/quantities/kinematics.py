"""Where bodies are and how they move; the coordinates on their groups."""

import numpy as np

from .. import spatial, sweeps
from ..lie.scalars import like, unit
from ..spatial.ldl import solve
from ..sweeps.blocks import at_rest
from ..systems.rigid import placements
from . import by_program, long
from .declaration import Honours, quantity
from .options import one_place, place_and_axes, two_places, two_places_and_axes

NOTHING = Honours.NOTHING
OF_JACOBIAN = by_program.jacobian("jacobian", "q")
FAR = 160  # velocities: the way of one body to the world is little code for each joint


@quantity(("nb", 4, 4), NOTHING)
def poses(system, q):
    """World from body for every body."""
    T = sweeps.poses(system.tree, placements(system, q), like(np.eye(4), system.gravity))
    return system.on_bodies(T, lambda T, place: T @ place)


@quantity((4, 4), NOTHING, options=one_place, rolls=False, long=long.pose, straight_up_to=FAR)
def pose(system, q, body, place):
    """World from a frame placed on a body: carried to the world by the poses of the nodes on the way."""
    k, T = system.on_node(body, place)
    X = placements(system, q)
    return system.tree.carried(k, T, via=lambda j, T: X[j] @ T)


@quantity((6, "nv"), NOTHING, options=place_and_axes, rolls=False, long=long.jacobian, straight_up_to=FAR)
def jacobian(system, q, body, place, axes="body"):
    """Spatial velocity of a frame on a body from v, in its own axes or in the world's, at its origin."""
    k, T = system.on_node(body, place)
    return in_axes(system, q, body, place, axes, sweeps.jacobian(system.blocks(q), k, spatial.phi(T)))


def in_axes(system, q, body, place, axes: str, X):
    """Spatial columns in the axes of a frame on a body, as they are or turned into the world's."""
    return X if axes == "body" else to_world_axes(system, q, body, place) @ X


def to_world_axes(system, q, body, place):
    """A spatial vector from the axes of a frame on a body to the world's (..., 6, 6)."""
    R = pose(system, q, body, place)[..., :3, :3]
    return spatial.blocks(R, np.zeros_like(R), np.zeros_like(R), R)


@quantity((4, 4), NOTHING, options=two_places, rolls=False, long=long.relative_pose, straight_up_to=FAR)
def relative_pose(system, q, body, place, other):
    """One frame from another on the mechanism: poses of the nodes up to where their ways to the world meet, those before do not enter."""
    if other is None:
        return pose(system, q, body, place)
    (k, T), (j, X) = system.on_node(body, place), system.on_node(*other)
    on_parent, meeting = placements(system, q), system.tree.meeting(k, j)
    here, there = (system.tree.carried(i, at, via=lambda i, T: on_parent[i] @ T, until=meeting) for i, at in ((k, T), (j, X)))
    return spatial.pose_inverse(there) @ here


@quantity((6, "nv"), NOTHING, options=two_places_and_axes, rolls=False, long=long.relative_jacobian, straight_up_to=FAR)
def relative_jacobian(system, q, body, place, other, axes="body"):
    """Velocity of a frame as seen from another that moves, from v: J − φ* J(other), joints that carry both not among them."""
    if other is None:
        return jacobian(system, q, body, place, axes)
    (k, T), (j, X) = system.on_node(body, place), system.on_node(*other)
    s, meeting = system.blocks(q), system.tree.meeting(k, j)
    seen = spatial.phi(X) @ spatial.phi(relative_pose(system, q, body, place, other))
    J = sweeps.jacobian(s, k, spatial.phi(T), meeting) - sweeps.jacobian(s, j, seen, meeting)
    return in_axes(system, q, body, place, axes, J)


@quantity((6,), NOTHING, options=two_places_and_axes, rolls=False, long=long.body_velocity, straight_up_to=FAR)
def body_velocity(system, q, v, body, place, other, axes="body"):
    """Spatial velocity of one frame, of the world or as seen from another that moves."""
    return (relative_jacobian(system, q, body, place, other, axes) @ v[..., None])[..., 0]


@quantity((6, "nv", "nv"), NOTHING, options=place_and_axes, rolls=False, long=long.jacobian_derivative, program=OF_JACOBIAN)
def jacobian_derivative(system, q, body, place, axes="body"):
    """∂J/∂q, the kinematic Hessian: entry (r, a, c) is how column a of `jacobian` changes along the velocity c."""
    system.check_rigid("jacobian_derivative")
    return sweeps.jacobian_derivative(system.tree, system.on[body], jacobian(system, q, body, place, axes), axes)


@quantity(("nb", 6), NOTHING)
def body_velocities(system, q, v):
    """Spatial velocity of every body, in its axes, at its origin                                    Jain, Algorithm 3.2."""
    s = system.blocks(q)
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    return system.on_bodies(V, carried_to)


@quantity(("nb", 6), NOTHING)
def body_accelerations(system, q, v, vdot):
    """Its rate, component by component                                                              Jain (5.2)."""
    s = system.blocks(q)
    r = system.rates(s, v)._replace(base=system.still)
    _, alpha, _ = sweeps.inverse_dynamics(s, r, s.tree.split(vdot))
    return system.on_bodies(alpha, carried_to)


def carried_to(X, place):
    """The velocity or acceleration at a place on a node, from that of the node: φ* X."""
    return spatial.phi(place).mT @ X


@quantity(("nv",), Honours.EXTERNAL)
def joint_forces(system, q, external):
    """J* external: what wrenches on the bodies do along the joints."""
    s = system.blocks(q)
    r = at_rest(s, system.still)._replace(b=system.wrenches(external))
    tau, _, _ = sweeps.inverse_dynamics(s, r, s.tree.split(system.zeros))
    return s.tree.join(tau)


@quantity(("nq",), NOTHING)
def integrate(system, q, dv):
    """q moved along dv on the group, joint by joint:  q ∘ exp(dv)."""
    return _each_group(system, q, dv, lambda group, q, dv: group.compose(q, group.exp(dv)))


@quantity(("nv",), NOTHING)
def difference(system, q0, q1):
    """The dv that takes q0 to q1:  log(q0⁻¹ ∘ q1)."""
    parts = system.split(q0), system.split(q1)
    dv = system.tree.slots()
    for k in system.tree.base_to_tips():
        group = system.groups[k]
        dv[k] = group.log(group.compose(group.inverse(parts[0][k]), parts[1][k]))[..., None]
    return system.tree.join(dv)


@quantity(("nq",), NOTHING)
def qdot(system, q, v):
    """The rate of the coordinates at velocity v."""
    return _each_group(system, q, v, lambda group, q, v: group.rate(q, v))


def ad(system, v):
    """ad(v) (..., nv, nv), joint by joint: ad(v) w is the bracket [v, w]."""
    tree, v = system.tree, system.tree.split(v)
    return tree.matrix({(k, k): system.groups[k].ad(v[k][..., 0]) for k in tree.base_to_tips()})


def coordinate_rates(system, q):
    """q̇ of each velocity, as columns (..., nq, nv), of q with its quaternions made unit, as the sweeps make them: the directions of
    derivatives by q."""
    columns = [_each_group(system, q, like(e, q), lambda group, q, v: group.rate(_unit(group, q), v)) for e in np.eye(system.tree.nv)]
    return np.stack(columns, -1) if columns else np.zeros_like(q, shape=(*q.shape, 0))


def group_rates(group, q):
    """q̇ of each velocity of one joint (..., nq, nv)."""
    q = _unit(group, q)
    return np.stack([group.rate(q, like(e, q)) for e in np.eye(group.nv)], -1) if group.nv else np.zeros_like(q, shape=(*q.shape, 0))


def coordinate_weights(system, q, weight):
    """Weights on the entries of q (..., nq) that say what weights along the velocities (..., nv) do:  E (E* E)⁻¹ weight,  q̇ = E v. Those on
    a quaternion are orthogonal to it."""

    def lifted(group, q, weight):
        E = group_rates(group, q)
        return (E @ solve(E.mT @ E, weight[..., None]))[..., 0]

    return _each_group(system, q, weight, lifted)


def coordinate_velocities(system, q, rates):
    """The velocities (..., nv) nearest to rates of the entries of q (..., nq):  (E* E)⁻¹ E* rates,  q̇ = E v. What moves a quaternion along
    itself moves nothing."""
    parts, given, out = system.split(q), system.split(rates), system.tree.slots()
    for k in system.tree.base_to_tips():
        E = group_rates(system.groups[k], parts[k])
        out[k] = solve(E.mT @ E, E.mT @ given[k][..., None])
    return system.tree.join(out)


def _unit(group, q):
    """The coordinates of a group with its quaternions made unit."""
    for rows in group.units:
        q = np.concatenate([q[..., : rows.start], unit(q[..., rows]), q[..., rows.stop :]], -1)
    return q


def _each_group(system, q, v, fn):
    tree, q, v = system.tree, system.split(q), system.tree.split(v)
    out = tree.slots()
    for k in tree.base_to_tips():
        out[k] = fn(system.groups[k], q[k], v[k][..., 0])
    return system.join(out)
