"""What constraints carry: multipliers, the wrench in every cut joint and in every joint of the tree."""

from dataclasses import dataclass

import numpy as np

from ..quantities import joint_wrenches
from ..spatial import phi
from .closure import Closure
from .motion import inverse
from .set import ConstraintSet


@dataclass(frozen=True, eq=False)
class Forces:
    """Forces of constraints at a state. Where rows are redundant, how they share the load is not determined by rigid
    bodies: `lam` is the sharing of least length, and `rank` is below the number of rows."""

    lam: np.ndarray  # (..., m): along the rows of the constraints
    tau: np.ndarray  # (..., nv): G* λ, what the constraints add to the joints' forces
    vdot: np.ndarray  # (..., nv)
    rank: np.ndarray
    slices: dict[str, slice]
    cuts: dict[str, np.ndarray]  # loop: wrench (..., 6) on its child, in the loop's frame there, at its origin
    joints: dict[str, np.ndarray]  # body: wrench (..., 6) that its joint exerts on it, in its axes, at its origin

    def of(self, name: str) -> np.ndarray:
        """The multipliers of one constraint."""
        return self.lam[..., self.slices[name]]


def constraint_forces(set_: ConstraintSet, q, v, solution, external=None) -> Forces:
    motion = set_.motion(q)
    robot = set_.robot
    batch = solution.vdot.shape[:-1]
    wrenches = np.zeros((*batch, len(robot.bodies), 6))
    if external is not None:
        wrenches = wrenches + external
    cuts = {}
    rest = np.matvec(solution.G.mT, solution.lam)
    for x in set_.constraints:
        lam = solution.lam[..., set_.slices[x.name]]
        if not isinstance(x, Closure):
            continue
        f = x.force(motion, lam)  # on the child, in the joint's frame on it
        P, C = x.ends(motion)
        own = x.frame
        cuts[x.name] = np.matvec(phi(own.matrix), f)
        body, place = x.child, x.loop.on @ own
        wrenches[..., body, :] += np.matvec(phi(place.matrix), f)
        if x.parent is not None:
            back = phi(inverse(P.T) @ C.T) @ f[..., None]
            wrenches[..., x.parent, :] -= (phi((x.loop.at @ own).matrix) @ back)[..., 0]
    nodes = set_.nodes
    on_nodes = joint_wrenches(nodes, np.asarray(q, float), np.asarray(v, float), solution.vdot, _carried(nodes), wrenches)
    joints = {robot.bodies[i]: on_nodes[..., n, :] for n, i in enumerate(_carried(nodes))}
    return Forces(solution.lam, rest, solution.vdot, solution.rank, set_.slices, cuts, joints)


def _carried(nodes):
    """Bodies that stand on a joint that moves: one for each such node is enough, the first."""
    seen: dict[int, int] = {}
    for i, k in enumerate(nodes.on):
        if k != nodes.tree.world:
            seen.setdefault(k, i)
    return list(seen.values())



