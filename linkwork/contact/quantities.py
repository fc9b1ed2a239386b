"""Contact points at a configuration: gaps, frames, Jacobian, and its rate.

    gap      how far the two surfaces are apart at a point, negative where they overlap
    frame    R, its columns the normal n, from the second body to the first, and two tangents, in world axes
    rows     u = R* (velocity of the first body − velocity of the second), both at the point half way between the surfaces
             J = ∂u/∂v, three rows a point, the normal first:  d gap/dt = u_n
    bias     J̇ v

Forces λ at the points, in the axes of the frames, act on the joints as J* λ: on the first body R λ, on the second −R λ, at one point,
so that no momentum comes from nowhere.
"""

from collections.abc import Callable

import numpy as np

from .. import sweeps
from ..lie.scalars import like
from ..model.tree import concatenated
from ..quantities import Honours, quantity
from ..quantities.declaration import Quantity
from ..quantities.kinematics import carried_to
from ..systems.rigid import placements
from .geometry import long
from .geometry.bounds import bounds
from .geometry.pairs import Pairs, pairs_of
from .geometry.points import Bodies, bias_of, touching, witnesses, wrench
from .geometry.touch import frame

NOTHING = Honours.NOTHING
FAR = 160  # velocities: the way of a few bodies to the world is little code for each joint


def contact_options(model) -> tuple[Pairs]:
    """The pairs of a model, as what contact quantities take."""
    return (pairs_of(model),)


def bodies_of(system, q, pairs: Pairs, v=None) -> Bodies:
    """The bodies of the pairs at a state of a system."""
    used = sorted({*pairs.bodies[0], *pairs.bodies[1]} - {-1})
    X = sweeps.poses(system.tree, placements(system, q), like(np.eye(4), system.gravity))
    still = np.zeros_like(q[..., :1])
    T = {-1: like(np.eye(4), system.gravity) + still[..., None]} | {i: X[system.on[i]] @ system.places[i] for i in used}
    if v is None:
        return Bodies(T, {}, {})
    s = system.blocks(q)
    r = system.rates(s, v)._replace(base=system.still)
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    _, alpha, _ = sweeps.inverse_dynamics(s, r, s.tree.split(system.zeros))
    zero = system.still + still[..., None]
    both = ({-1: zero} | {i: carried_to(x[system.on[i]], system.places[i]) for i in used} for x in (V, alpha))
    return Bodies(T, *both)


def of_poses(*result) -> Callable[[Callable], Quantity]:
    """Declares a function of pairs and the poses of their bodies as a quantity: of any system, and of long mechanisms."""

    def declared(function: Callable) -> Quantity:
        def of_system(system, q, pairs):
            return function(pairs, bodies_of(system, q, pairs).T)

        of_system.__name__, of_system.__doc__ = function.__name__, function.__doc__
        composed = lambda of, q, pairs: function(pairs, long.poses(of, q))
        return quantity(result, NOTHING, options=contact_options, rolls=False, long=composed, straight_up_to=FAR)(of_system)

    return declared


@of_poses("points")
def contact_gaps(pairs, T):
    """How far surfaces are apart at each contact point, negative where they overlap."""
    return touching(pairs, T).gap


@of_poses("pairs")
def contact_bounds(pairs, T):
    """A gap that no point of each pair is below, by spheres around the shapes: the broad phase."""
    return bounds(pairs, T)


@of_poses("points", 2, 3)
def contact_points(pairs, T):
    """The points of the first and of the second surface, in the world."""
    return witnesses(touching(pairs, T))


@of_poses("points", 3, 3)
def contact_frames(pairs, T):
    """World from contact: the normal, from the second body to the first, and two tangents are the columns."""
    return frame(touching(pairs, T).normal)


@quantity(("rows", "nv"), NOTHING, options=contact_options, rolls=False, long=long.contact_jacobian, straight_up_to=FAR)
def contact_jacobian(system, q, pairs):
    """The velocity of the first surface on the second at each contact point from v, three rows a point, the normal first."""
    s, total = system.blocks(q), 0.0
    for sign, places in zip((1.0, -1.0), contact_places(system, q, pairs)):
        zero = np.zeros_like(q[..., :1, None], shape=(*q.shape[:-1], 3, system.tree.nv))
        rows = [zero if k is None else sign * sweeps.jacobian(s, k, B) for k, B in places]
        shape = np.broadcast_shapes(*(x.shape for x in rows))
        total = total + concatenated([np.broadcast_to(x, shape) for x in rows], -2)
    return total


def contact_places(system, q, pairs: Pairs):
    """Where forces at contact points act: for the first and for the second side, (node, B) of each point, or (None, None) on the world.

    B (..., 6, 3) are the wrenches on the node, in its axes at its origin, of unit forces along the axes of the contact frame; relative
    velocities are B* V of the first less that of the second.
    """
    T = bodies_of(system, q, pairs).T
    touch = touching(pairs, T)
    X = sweeps.poses(system.tree, placements(system, q), like(np.eye(4), system.gravity))
    R = frame(touch.normal)
    sides = []
    for numbers in pairs.bodies:
        found: list = []
        for i, body in enumerate(numbers):
            k = system.tree.world if body < 0 else system.on[body]
            found.append((None, None) if k == system.tree.world else (k, wrench(X[k], touch.point[..., i, :], R[..., i, :, :])))
        sides.append(found)
    return sides


@quantity(("rows",), NOTHING, options=contact_options, rolls=False, long=long.contact_bias, straight_up_to=FAR)
def contact_bias(system, q, v, pairs):
    """J̇ v of the rows of `contact_jacobian`: their rate of change at v̇ = 0, curvature of the surfaces included."""
    return bias_of(pairs, bodies_of(system, q, pairs, v))
