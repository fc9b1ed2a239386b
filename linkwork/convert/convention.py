"""A convention: the joints of a model, each with its conversion rule, in the order of another library."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from ..errors import ShapeError
from ..model import Model
from .rules import Rule


@dataclass(frozen=True)
class Piece:
    """A joint, or a part of a compound: its names, its conversion rule, the number of its coordinates in the other library,
    and its rows in our q and v."""

    names: tuple[str, ...]
    rule: Rule
    nq: int
    q: slice
    v: slice


class Convention:
    """Converts the states and forces of a model to another library (`_to`) and back (`_from`).

    Joints have the order of the pieces there. Velocities, accelerations and forces are converted at a state of linkwork,
    q or (q, v). Leading axes are batch axes.
    """

    def __init__(self, model: Model, pieces: Iterable[Piece]):
        self.model = model
        self.pieces = tuple(pieces)
        self._q_there = _slices(piece.nq for piece in self.pieces)
        self._v_there = _slices(piece.v.stop - piece.v.start for piece in self.pieces)
        self.nq = sum(placed.joint.nq for placed in model.joints)
        self.nv = sum(placed.joint.nv for placed in model.joints)
        self.nq_there = sum(piece.nq for piece in self.pieces)

    def q_to(self, q):
        (q,) = self._checked(q=q)
        there = [(rows, p.rule.q_to(q[..., p.q])) for p, rows in zip(self.pieces, self._q_there)]
        return _joined(self.nq_there, q, there)

    def q_from(self, q):
        (q,) = self._checked(q_there=q)
        here = [(p.q, p.rule.q_from(q[..., rows])) for p, rows in zip(self.pieces, self._q_there)]
        return _joined(self.nq, q, here)

    def v_to(self, q, v):
        """v' = A v."""
        q, v = self._checked(q=q, v=v)
        return self._there(q, v)

    def v_from(self, q, v):
        """v = A* v'."""
        q, v = self._checked(q=q, v=v)
        return self._here(q, v)

    def vdot_to(self, q, v, vdot):
        """vdot' = A (vdot + c(v))."""
        q, v, vdot = self._checked(q=q, v=v, vdot=vdot)
        return self._there(q, vdot + self._drift(v))

    def vdot_from(self, q, v, vdot):
        """vdot = A* vdot' - c(v), with v of linkwork."""
        q, v, vdot = self._checked(q=q, v=v, vdot=vdot)
        return self._here(q, vdot) - self._drift(v)

    def tau_to(self, q, tau):
        """tau' = A tau, so that tau'* v' = tau* v."""
        q, tau = self._checked(q=q, tau=tau)
        return self._there(q, tau)

    def tau_from(self, q, tau):
        """tau = A* tau'."""
        q, tau = self._checked(q=q, tau=tau)
        return self._here(q, tau)

    def axes(self, q):
        """A (..., nv, nv), for matrices: 𝓜' = A 𝓜 A*, and a Jacobian is J' = J A*."""
        (q,) = self._checked(q=q)
        return self._there(q[..., None, :], np.eye(self.nv, dtype=q.dtype)).mT

    def _there(self, q, x):
        rotated = [p.rule.axes(q[..., p.q]) @ x[..., p.v, None] for p in self.pieces]
        return _joined(self.nv, q, [(rows, column[..., 0]) for rows, column in zip(self._v_there, rotated)], x)

    def _here(self, q, x):
        rotated = [p.rule.axes(q[..., p.q]).mT @ x[..., rows, None] for p, rows in zip(self.pieces, self._v_there)]
        return _joined(self.nv, q, [(p.v, column[..., 0]) for p, column in zip(self.pieces, rotated)], x)

    def _drift(self, v):
        return _joined(self.nv, v, [(p.v, p.rule.drift(v[..., p.v])) for p in self.pieces])

    def _checked(self, **inputs):
        """The inputs as arrays of floats; `q_there` is the q of the other library."""
        sizes = {"q": ("q", "nq", self.nq), "q_there": ("q", "nq there", self.nq_there)}
        arrays = [np.asarray(x) for x in inputs.values()]
        for name, x in zip(inputs, arrays):
            label, size, n = sizes.get(name, (name, "nv", self.nv))
            if x.shape[-1:] != (n,):
                raise ShapeError(f"{label} has shape {x.shape}, but {self.model.name} has {size} = {n}.")
        return [x if x.dtype.kind == "f" else x.astype(float) for x in arrays]


def _slices(widths) -> list[slice]:
    ends = [0, *accumulate(widths)]
    return [slice(a, b) for a, b in pairwise(ends)]


def _joined(n, like, pieces, other=0.0):
    """The vector of n numbers with these pieces in their rows; its batch axes are those of `like` and `other`."""
    batch = np.broadcast_shapes(like.shape[:-1], np.shape(other)[:-1])
    out = np.empty((*batch, n), np.result_type(like, other))
    for rows, x in pieces:
        out[..., rows] = x
    return out
