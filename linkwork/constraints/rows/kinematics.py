"""Where places of a mechanism are and how they move: what constraints ask for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...lie.scalars import like
from ...model.tree import Tree
from ...spatial import Pose, homogeneous, phi
from ...systems import BONDS, Nodes


@dataclass(frozen=True, eq=False)
class Place:
    """A frame on a body: pose in the world, Jacobian, velocity and the acceleration it has with v̇ = 0, in its own axes."""

    T: Any  # (..., 4, 4)
    J: Any  # (..., 6, nv)
    V: Any  # (..., 6, 1) or None
    alpha: Any  # (..., 6, 1) or None


@dataclass(frozen=True, eq=False)
class Kinematics:
    """A state of a mechanism, or a batch of them; without v only where it is.

    `drive` is f, ḟ and f̈ (..., 3) of each constraint that is driven, by name; without it they are those of time t. With `members` it is
    the motion of these nodes seen from the one that carries them, as if that stood still at the origin: relative motion among them is
    the same, and nothing else of the mechanism is needed.
    """

    nodes: Nodes
    q: Any
    v: Any = None
    t: Any = 0.0
    drive: Any = None
    members: Sequence[int] | None = None  # of a loop, each after what it stands on; all nodes where there are none
    carrier: int = Tree.world

    @property
    def batch(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.q.shape[:-1], () if self.v is None else self.v.shape[:-1])

    @property
    def width(self) -> int:
        """How many velocities rows are written over."""
        return sum(self.nodes.tree.widths[k] for k in self._moving)

    def column(self, j: int) -> int:
        """Where velocity j of the mechanism is among them."""
        whole = self.nodes.tree.rows
        return next(r.start + j - whole[k].start for k, r in self._rows.items() if whole[k].start <= j < whole[k].stop)

    def over(self, Jc):
        """Rows (..., m, nv) over all velocities as rows over these."""
        return Jc if self.members is None else np.concatenate([Jc[..., self.nodes.tree.rows[k]] for k in self.members], -1)

    @property
    def _moving(self) -> Iterable[int]:
        return self.nodes.tree.base_to_tips() if self.members is None else self.members

    @cached_property
    def _rows(self) -> dict[int, slice]:
        ends = np.cumsum([0, *(self.nodes.tree.widths[k] for k in self._moving)])
        return {k: slice(int(a), int(b)) for k, a, b in zip(self._moving, ends, ends[1:])}

    # --- of each node; what they stand on first

    @cached_property
    def _coordinates(self):
        return self.nodes.split(self.q)

    @cached_property
    def _rates(self):
        return self.nodes.tree.split(self.v)

    @cached_property
    def _X(self):
        return {k: self.nodes.node(k).placement(self._coordinates) for k in self._moving}

    @cached_property
    def phi(self):
        return {k: self.nodes.node(k).shift(x, self._coordinates) for k, x in self._X.items()}

    @cached_property
    def _H(self):
        return {k: self.nodes.node(k).joint_map(self._coordinates) for k in self._moving}

    def _outward(self, start, step):
        out = {self.carrier: start}
        for k in self._moving:
            out[k] = step(k, out[self.nodes.tree.parent[k]])
        return out

    @cached_property
    def _T(self):
        return self._outward(like(np.eye(4), self.q), lambda k, T: T @ self._X[k])

    @cached_property
    def V(self):
        return self._outward(self.nodes.still, lambda k, V: self.phi[k].mT @ V + self._H[k].mT @ self._rates[k])

    @cached_property
    def _alpha(self):
        bend = {k: self.nodes.node(k).coriolis(self._H[k], self._coordinates, self.V, self._rates) for k in self._moving}
        return self._outward(self.nodes.still, lambda k, alpha: self.phi[k].mT @ alpha + bend[k])

    # --- of places

    def varied(self, name: str, number: int | None):
        """A constant of a constraint, by its number among those of its kind, where it varies; else None."""
        bonds = self.nodes.bonds or {}
        return None if number is None or name not in bonds else bonds[name][(..., number, *(slice(None),) * (len(BONDS[name]) - 1))]

    def pose(self, k: int):
        """Of a node (..., 4, 4)."""
        return self._T[k]

    def first_axes(self, body: int | None):
        """The axes, in those of the carrier, of the first joint on the way to a body, at rest: a plane loop moves in two of them."""
        tree, fixed = self.nodes.tree, self.nodes.fixed
        way = [] if body is None else [k for k, _ in tree.path(self.nodes.on[body], None, via=lambda k, _: None, until=self.carrier)]
        axes = like(np.eye(3), self.q)
        for k in reversed(way):
            axes = axes @ fixed[k][..., :3, :3]
            if tree.widths[k]:
                break
        return axes

    def place(self, body: int | None, pose: Pose, shift=None, axes=None) -> Place:
        """A frame placed on a body (its number), or on the world (None); with a shift (..., 3) that far beside it, in the body's axes. With
        `axes` (..., 3, 3), given in those of the carrier, rates are in these."""
        k, on = self._on_node(body, pose, shift)
        T = self._T[k] @ on  # first: axes that are given are found again in it
        F = phi(on if axes is None else _turned(on, self._T[k][..., :3, :3].mT @ axes))
        J, world = self._jacobian(k, F), self.nodes.tree.world
        if self.v is None:
            return Place(T, J, None, None)
        V, alpha = (self.nodes.still, self.nodes.still) if k == world else (self.V[k], self._alpha[k])
        return Place(T, J, F.mT @ V, F.mT @ alpha)

    def _on_node(self, body: int | None, pose: Pose, shift) -> tuple[int, Any]:
        """The node of a frame, and its pose there."""
        if body is not None:
            return self.nodes.on_node(body, pose, shift)
        return self.nodes.tree.world, self.nodes.pose_matrix(pose, 0.0 if shift is None else shift)

    def _jacobian(self, k: int, F):
        """The Jacobian (..., 6, width) of a frame that the shift F leads to from node k."""
        J = {i: (self._H[i] @ A).mT for i, A in self.nodes.tree.path(k, F, via=lambda i, A: self.phi[i] @ A, until=self.carrier)}
        maps = np.zeros_like(F, shape=(*np.broadcast_shapes(*(x.shape[:-2] for x in J.values())), 6, self.width))
        for i, x in J.items():
            maps[..., self._rows[i]] = x
        return maps


def _turned(place, R):
    """A place with the rotation R in place of its own; either may have batch axes."""
    p = place[..., :3, 3]
    return homogeneous(R + np.zeros_like(p[..., None]), p + np.zeros_like(R[..., 0]))


@dataclass(frozen=True, eq=False)
class NodeKinematics(Kinematics):
    """Motion whose Jacobians are not written over velocities of joints but over the velocities of a few nodes, six each, and
    then those of the joints: rows are Q of Jc = Q [J of the nodes; I], few numbers each."""

    touched: tuple[int, ...] = ()

    @property
    def width(self):
        return 6 * len(self.touched) + self.nodes.tree.nv

    def column(self, j):
        return 6 * len(self.touched) + j

    def over(self, Jc):
        return np.concatenate([np.zeros_like(Jc, shape=(*Jc.shape[:-1], 6 * len(self.touched))), Jc], -1)

    def _jacobian(self, k, F):
        J = np.zeros_like(F, shape=(6, self.width))
        if k != self.nodes.tree.world:
            at = 6 * self.touched.index(k)
            J[:, at : at + 6] = F.mT
        return J
