"""An SKO model as dense matrices, node after node; what P, D, G ... are is taken from the sweeps."""

from functools import cached_property
from itertools import pairwise

import numpy as np

BATCH = (2,)


class Dense:
    """Operators as arrays (..., rows, columns); stacked vectors as columns. T is `tau`, τ̄ is `tau_bar`, 𝓜 is `mass`."""

    def __init__(self, name, make):
        self.name, self.make = name, make

    def __repr__(self):
        return self.name

    @cached_property
    def sko(self):
        return self.make()

    tree = property(lambda self: self.sko.tree)
    n = property(lambda self: len(self.sko.tree))
    nv = property(lambda self: self.sko.nv)

    # --- stacking

    @cached_property
    def rows(self):
        """Where each node is in a stacked vector of nodes."""
        ends = np.cumsum([0, *self.sko.heights])
        return [slice(a, b) for a, b in pairwise(ends)]

    @property
    def size(self):
        return sum(self.sko.heights)

    def diagonal(self, x):
        """diag{x(k)}."""
        shapes = [x[k].shape[-2:] for k in range(self.n)]
        heights, widths = ([0, *np.cumsum([s[i] for s in shapes])] for i in (0, 1))
        out = np.zeros((*BATCH, heights[-1], widths[-1]))
        for k in range(self.n):
            out[..., heights[k] : heights[k + 1], widths[k] : widths[k + 1]] = x[k]
        return out

    def column(self, x):
        """col{x(k)}."""
        return np.concatenate([np.broadcast_to(x[k], (*BATCH, *x[k].shape[-2:])) for k in range(self.n)], -2)

    def slots(self, x):
        return {k: x[..., rows, :] for k, rows in enumerate(self.rows)}

    def block(self, A, i, j):
        return A[..., self.rows[i], :][..., self.rows[j]]

    def only_diagonal(self, A):
        """diagOf{A}."""
        return self.diagonal([self.block(A, k, k) for k in range(self.n)])

    def kernel(self, A):
        """𝓔_A of blocks A(p,k) that have this model's sizes."""
        out = np.zeros((*BATCH, self.size, self.size))
        for k, p in enumerate(self.tree.parent):
            if p >= 0:
                out[..., self.rows[p], self.rows[k]] = A[k]
        return out

    def path(self, k):
        """The nodes from k to its root."""
        return [j for j, _ in self.tree.path(k, None, via=lambda j, X: None)]

    def common(self, i, j):
        """The nearest node that carries both, or None."""
        above = self.path(j)
        return next((k for k in self.path(i) if k in above), None)

    # --- operators

    I = cached_property(lambda self: np.eye(self.size))
    Iv = cached_property(lambda self: np.eye(self.nv))
    E = cached_property(lambda self: self.kernel(self.sko.A))
    A = cached_property(lambda self: np.linalg.inv(self.I - self.E))
    At = property(lambda self: self.A - self.I)
    H = cached_property(lambda self: self.diagonal(self.sko.H))
    M = cached_property(lambda self: self.diagonal(self.sko.M))
    armature = cached_property(lambda self: self.diagonal(self.sko.armature))
    R = cached_property(lambda self: self.diagonal(self.sko.R))
    P = cached_property(lambda self: self.diagonal(self.sko.P))
    P_plus = cached_property(lambda self: self.diagonal(self.sko.P_plus))
    D = cached_property(lambda self: self.diagonal(self.sko.D))
    G = cached_property(lambda self: self.diagonal(self.sko.G))
    K = cached_property(lambda self: self.E @ self.G)
    tau_ = cached_property(lambda self: self.G @ self.H)
    tau_bar = cached_property(lambda self: self.I - self.tau_)
    E_psi = cached_property(lambda self: self.E @ self.tau_bar)
    psi = cached_property(lambda self: np.linalg.inv(self.I - self.E_psi))
    psit = property(lambda self: self.psi - self.I)
    mass = cached_property(lambda self: self.H @ self.A @ self.M @ self.A.mT @ self.H.mT + self.armature)
    left = cached_property(lambda self: self.Iv + self.H @ self.A @ self.K)  # I + HAK
    right = cached_property(lambda self: self.Iv - self.H @ self.psi @ self.K)  # I − HψK
    Upsilon = cached_property(lambda self: self.diagonal(self.sko.Upsilon))
    Omega = cached_property(lambda self: self.psi.mT @ self.H.mT @ np.linalg.solve(self.D, self.H @ self.psi))
    a = cached_property(lambda self: self.column(self.sko.a))
    b = cached_property(lambda self: self.column(self.sko.b))

    @cached_property
    def base(self):
        """E* base: what the world's acceleration does to the roots."""
        felt = [np.zeros((h, 1)) for h in self.sko.heights]
        for k in self.tree.children[self.tree.world]:
            felt[k] = self.sko.A[k].mT @ self.sko.base
        return self.column(felt)

    @cached_property
    def bias(self):
        """𝓒 = H A (M A* (a + E* base) + b)."""
        return self.H @ self.A @ (self.M @ self.A.mT @ (self.a + self.base) + self.b)
