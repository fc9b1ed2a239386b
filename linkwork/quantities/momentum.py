"""Momentum of a whole mechanism, and what follows from it: how it moves as one body, how a free base moves with its joints."""

import numpy as np

from .. import spatial, sweeps
from ..errors import ModelError
from ..joints import Free
from ..lie.embedding import tilde
from ..lie.scalars import like
from ..model.tree import concatenated
from ..spatial import solve
from ..sweeps.momentum import moment_of_mass, subtree_momentum
from ..systems.rigid import placements
from . import long
from .declaration import Honours, quantity
from .kinematics import FAR

NOTHING = Honours.NOTHING


@quantity((6,), NOTHING)
def momentum(system, q, v):
    """About the world's origin, in its axes, angular first                                          Jain, Exercise 4.1."""
    s = system.blocks(q)
    return (system.still + sweeps.momentum(s, sweeps.velocities(s, s.tree.split(v), system.still)))[..., 0]


@quantity((6,), NOTHING)
def centroidal_momentum(system, q, v):
    """The momentum about the world's origin, moved to the centre of mass c:  [n − c × f; f]."""
    X = placements(system, q)
    center, s = center_of(system, X, q), system.placed_blocks(X, q)
    h = system.still + sweeps.momentum(s, sweeps.velocities(s, s.tree.split(v), system.still))
    return from_center(center, h)[..., 0]


@quantity((6, "nv"), NOTHING, rolls=False, long=long.centroidal_momentum_matrix)
def centroidal_momentum_matrix(system, q):
    """A with A v the centroidal momentum: the column of each velocity is φ(c,k) R(k) H*(k), R the composite inertia."""
    X = placements(system, q)
    s = system.placed_blocks(X, q)
    R, T = sweeps.composite_inertia(s), sweeps.poses(s.tree, X, like(np.eye(4), system.gravity))
    columns = [spatial.phi(T[k]) @ (R[k] @ s.H[k].mT)[..., -6:, :] for k in s.tree.base_to_tips()]
    return from_center(center_of(system, X, q), concatenated([system.still[..., :0], *columns], -1))


@quantity((6, 6), NOTHING)
def centroidal_inertia(system, q):
    """Inertia of the mechanism as one rigid body, about its centre of mass, in world axes: composite inertia."""
    X = placements(system, q)
    center, R = center_of(system, X, q), world_inertia(system.placed_blocks(X, q), system.still @ system.still.mT)
    return from_center(center, from_center(center, R).mT)


@quantity((6,), NOTHING)
def average_velocity(system, q, v):
    """The velocity of one rigid body of the same inertia with the same momentum, at the centre of mass, in world axes."""
    X = placements(system, q)
    s, center = system.placed_blocks(X, q), center_of(system, X, q)
    h = system.still + sweeps.momentum(s, sweeps.velocities(s, s.tree.split(v), system.still))
    R = world_inertia(s, system.still @ system.still.mT)
    return solve(from_center(center, from_center(center, R).mT), from_center(center, h))[..., 0]


@quantity((6,), NOTHING)
def centroidal_momentum_rate(system, q, v, vdot):
    """The rate of the centroidal momentum, A v̇ + Å v: the wrench that all else exerts on the mechanism, gravity included."""
    X = placements(system, q)
    s = system.placed_blocks(X, q)
    r = system.rates(s, v)._replace(base=system.still)
    _, _, f = sweeps.inverse_dynamics(s, r, s.tree.split(vdot))
    total = system.still + s.tree.sum(s.A[j] @ f[j] for j in s.tree.children[s.tree.world])
    return from_center(center_of(system, X, q), total)[..., 0]


def of_one_free_root(model):
    """One free joint carries every joint that moves; its place among the joints that do is returned."""
    moving = [placed for placed in model.joints if placed.joint.nv]
    carried = set(model.subtree(moving[0].child)) if moving else set()
    if not moving or not isinstance(moving[0].joint, Free) or any(x.child not in carried for x in moving):
        raise ModelError(
            f"{model.name} does not fly freely: one free joint is to carry all that moves. model.floating() sets it free; "
            "robot.momentum(q, v) is for every mechanism."
        )
    return ()


@quantity(("nv",), NOTHING, of_joints=True, options=of_one_free_root, rolls=False, long=long.free_flying_velocity, straight_up_to=FAR)
def free_flying_velocity(system, q, v, momentum):
    """v with the velocity of the free base that gives the mechanism this momentum about the world's origin:

        R v_base = φ⁻¹ h − Σ A M V of the joints alone,    R the composite inertia at the base         Jain (16.27)
    """
    X = placements(system, q)
    s = system.placed_blocks(X, q)
    base = next(k for k in s.tree.base_to_tips() if s.tree.widths[k])
    rates = s.tree.split(v)
    rates[base] = np.zeros_like(rates[base])
    own = subtree_momentum(s, sweeps.velocities(s, rates, system.still))[base]
    T = sweeps.poses(s.tree, X, like(np.eye(4), system.gravity))[base]
    h = spatial.phi_inverse(T) @ momentum[..., None] - own
    rates[base] = solve(sweeps.composite_inertia(s)[base], h)
    return s.tree.join(rates)


def center_of(system, X, q):
    """The centre of mass in the world, as a vector."""
    total = moment_of_mass(system.tree, X, system.moments(q))
    return total[..., :3, 0] / total[..., 3, :]


def world_inertia(s, nothing):
    """Composite inertia of all that moves, about the world's origin."""
    R = sweeps.composite_inertia(s)
    return nothing + s.tree.sum(s.A[j] @ R[j] @ s.A[j].mT for j in s.tree.children[s.tree.world])


def from_center(center, h, more=0.0):
    """Columns [n; f] about the world's origin moved to the centre c, [n − c × f; f]; `more` is added to their angular rows."""
    n, f = h[..., :3, :], h[..., 3:, :]
    return np.concatenate([n - tilde(center) @ f + more, f], -2)
