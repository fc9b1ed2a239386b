"""A mechanism that moves, seen in inertial axes as chapter 18 of the book sees it: dense operators, their rates, and the velocities that
rates are written with.

Rates along a unit velocity are the book's sensitivities (18.26). In the names here, V_w is V^ω as [ω; 0], DV is Δ_V = H* v, and _S marks
what a node takes from its parent.
"""

from functools import cache, cached_property

import numpy as np
import pytest
from dense import SHAPE, Dense, close, row
from zoo import grown, plain, state
from zoo.mechanisms import named

from linkwork.operators import operators
from linkwork.spatial import bar, tilde

ONE_VELOCITY = {
    "pins": grown("pins", row(*["revolute"] * 5), seed=11),
    "mixed": grown("mixed", row("revolute", "prismatic", "helical", "universal", "compound"), seed=13),
    "branched": grown("branched", named(
        (None, "helical"), (0, "revolute"), (1, "prismatic"), (1, "revolute"), (0, "universal"), (4, "prismatic"), (None, "revolute"),
    ), seed=14),
}  # fmt: skip


class Moving:
    """The dense operators of a model at its state, moving along its v, or along one velocity i, in inertial axes."""

    def __init__(self, name, i=None):
        model = ONE_VELOCITY[name]
        self.node_axes = m = Dense(model, state(plain(model), SHAPE))
        self.tree, self.n, self.I, self.i = m.tree, m.n, m.I, i
        self.v = m.state.v if i is None else np.broadcast_to(np.eye(m.tree.nv)[i], m.state.v.shape)
        self.op = operators(model, m.state.q, m.state.v)
        turn = [np.zeros((*SHAPE, 6, 6)) for _ in range(m.n)]
        for k in range(m.n):
            turn[k][..., :3, :3] = turn[k][..., 3:, 3:] = m.T[k][..., :3, :3]
        self.Q = m.diagonal(turn)

    def turned(self, A, X):
        """The matrix X of an operator A in inertial axes."""
        left = self.Q @ X if A.rows.kind == "nodes" else X
        return left @ self.Q.mT if A.columns.kind == "nodes" else left

    def __getattr__(self, name):
        """An operator of the robot by its name in Python, in inertial axes."""
        if name.startswith("_"):
            raise AttributeError(name)
        A = getattr(self.op, name)
        return self.turned(A, A.dense())

    def of(self, text):
        A = self.op(text)
        return self.turned(A, A.dense())

    def rate(self, text):
        """The rate of an operator in inertial axes: that in the axes of the nodes, which turn."""
        A = self.op(text)
        found = self.turned(A, self.op.rate(A, self.v).dense())
        X = self.turned(A, A.dense())
        if A.rows.kind == "nodes":
            found = found + self.til(self.V_w) @ X
        return found - X @ self.til(self.V_w) if A.columns.kind == "nodes" else found

    # --- velocities, stacked columns

    @cached_property
    def DV(self):
        return self.H.mT @ self.v[..., None]

    @cached_property
    def V(self):
        return self.phi.mT @ self.DV

    def w(self, z):
        """The angular part, [ω; 0]."""
        return self._masked(z, 0)

    def u(self, z):
        """The linear part, [0; v]."""
        return self._masked(z, 1)

    def _masked(self, z, part):
        mask = np.tile(np.repeat([1.0, 0.0] if part == 0 else [0.0, 1.0], 3), self.n)
        return z * mask[:, None]

    def S(self, z):
        """z of the parents; nothing for roots."""
        out = np.zeros_like(z)
        for k, p in enumerate(self.tree.parent):
            if p != self.tree.world:
                out[..., 6 * k : 6 * k + 6, :] = z[..., 6 * p : 6 * p + 6, :]
        return out

    V_w = property(lambda self: self.w(self.V))
    V_u = property(lambda self: self.u(self.V))
    DV_w = property(lambda self: self.w(self.DV))
    DV_u = property(lambda self: self.u(self.DV))

    def til(self, z):
        return self._each(tilde, z)

    def bar(self, z):
        return self._each(bar, z)

    def _each(self, cross, z):
        return self.node_axes.diagonal([cross(z[..., 6 * k : 6 * k + 6, 0]) for k in range(self.n)])

    # --- what the book writes with them

    @cached_property
    def tau_bar(self):
        return self.I - self.G @ self.H

    @cached_property
    def lam(self):
        """λ̌ = Ṗ − (V_S^ω)~ P + P (V_S^ω)~: the rate of P seen from the parent's side of the joint (lemma 18.11)."""
        turning = self.til(self.S(self.V_w))
        return self.rate("P") - turning @ self.P + self.P @ turning

    @cached_property
    def factor(self):
        """I + H φ K."""
        return np.eye(self.tree.nv) + self.H @ self.phi @ self.K


@cache
def moving(name, i):
    return Moving(name, i)


def directions():
    for name, model in ONE_VELOCITY.items():
        yield pytest.param(name, None, id=f"{name} along v")
        nv = plain(model).nv
        for i in sorted({0, nv // 2, nv - 1}):
            yield pytest.param(name, i, id=f"{name} along {i}")


along_everything = pytest.mark.parametrize("name, i", list(directions()))

__all__ = ["ONE_VELOCITY", "along_everything", "close", "moving"]
