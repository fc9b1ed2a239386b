"""The spatial operators of a mechanism as dense matrices, so that identities can be written as the book writes them.

Everything is stacked node after node, base first (the book numbers tips first; operators do not care). Operators have
the book's names; T is `tau`, the projector τ is `tau_` and τ̄ is `tau_bar`, 𝓜 is `mass`.
"""

from functools import cache, cached_property

import numpy as np
import pytest
from zoo import MECHANISMS, close, grown, state
from zoo.mechanisms import JOINTS, plain

from linkwork.sweeps import Rates, articulated_inertia, composite_inertia, forward_dynamics, poses, velocities
from linkwork.systems import lower
from linkwork.systems.rigid import placements

SHAPE = (2,)


class Dense:
    """A model at a state (q, v, v̇, τ), operators as arrays (..., 6n, 6n)."""

    def __init__(self, model, s):
        self.model, self.nodes, self.state = model, lower(model), s
        self.tree, self.n = self.nodes.tree, len(self.nodes.tree)
        self.X = placements(self.nodes, s.q)
        self.blocks = self.nodes.placed_blocks(self.X, s.q)
        self.I = np.eye(6 * self.n)
        self.v, self.vdot, self.tau = s.v[..., None], s.vdot[..., None], s.tau[..., None]
        self.robot = plain(model)

    # --- stacking

    def at(self, i, j):
        """Where the block (i, j) is."""
        return ..., slice(6 * i, 6 * i + 6), slice(6 * j, 6 * j + 6)

    def diagonal(self, x):
        """diag{x(k)} of blocks of any sizes."""
        heights, widths = ([0, *np.cumsum([x[k].shape[axis] for k in range(self.n)])] for axis in (-2, -1))
        out = np.zeros((*SHAPE, heights[-1], widths[-1]))
        for k in range(self.n):
            out[..., heights[k] : heights[k + 1], widths[k] : widths[k + 1]] = x[k]
        return out

    def column(self, x):
        """col{x(k)}."""
        return np.concatenate([np.broadcast_to(x[k], (*SHAPE, *x[k].shape[-2:])) for k in range(self.n)], -2)

    def slots(self, x):
        """x(k) of a stacked column."""
        return {k: x[..., 6 * k : 6 * k + 6, :] for k in range(self.n)}

    def only_diagonal(self, A):
        """diagOf{A}."""
        out = np.zeros_like(A)
        for k in range(self.n):
            out[self.at(k, k)] = A[self.at(k, k)]
        return out

    # --- chapter 3: kinematics

    @cached_property
    def E_phi(self):
        out = np.zeros((*SHAPE, 6 * self.n, 6 * self.n))
        for k in range(self.n):
            if self.tree.parent[k] != self.tree.world:
                out[self.at(self.tree.parent[k], k)] = self.blocks.A[k]
        return out

    @cached_property
    def phi(self):
        return np.linalg.inv(self.I - self.E_phi)

    @property
    def phi_tilde(self):
        return self.phi - self.I

    @cached_property
    def H(self):
        return self.diagonal(self.nodes.H)

    @cached_property
    def M(self):
        return self.diagonal(self.nodes.M)

    @cached_property
    def armature(self):
        """The inertia of rotors: nothing for the book, which has none."""
        return self.diagonal(self.blocks.armature)

    @cached_property
    def mass(self):
        return self.robot.mass_matrix(self.state.q)

    @cached_property
    def T(self):
        """World from node."""
        return poses(self.tree, self.X, np.eye(4))

    # --- chapters 4 and 5

    @cached_property
    def R(self):
        return self.diagonal(composite_inertia(self.blocks))

    @cached_property
    def rates(self):
        """a, b and the world's acceleration."""
        return self.nodes.rates(self.blocks, self.state.v)

    @cached_property
    def V(self):
        return self.column(velocities(self.blocks, self.tree.split(self.state.v), self.nodes.still))

    @cached_property
    def a(self):
        return self.column(self.rates.a)

    @cached_property
    def b(self):
        return self.column(self.rates.b)

    @cached_property
    def E(self):
        """E*: what the world does, felt by the roots (6n, 6). Its transpose picks the forces of the roots."""
        roots = self.tree.children[self.tree.world]
        return self.column([self.blocks.A[k].mT if k in roots else np.zeros((6, 6)) for k in range(self.n)]).mT

    @cached_property
    def E_bar(self):
        """Ē*: the same for every node, the shift ignored: a pure translation is the same everywhere."""
        turned = [np.zeros((*SHAPE, 6, 6)) for _ in range(self.n)]
        for k in range(self.n):
            turned[k][..., :3, :3] = turned[k][..., 3:, 3:] = self.T[k][..., :3, :3].mT
        return self.column(turned).mT

    # --- chapters 6 and 7

    @cached_property
    def _articulated(self):
        return articulated_inertia(self.blocks)

    @cached_property
    def P(self):
        return self.diagonal(self._articulated[0])

    @cached_property
    def D(self):
        return self.diagonal(self._articulated[1])

    @cached_property
    def G(self):
        return self.diagonal(self._articulated[2])

    @cached_property
    def P_plus(self):
        return self.diagonal(self._articulated[3])

    @cached_property
    def K(self):
        return self.E_phi @ self.G

    @cached_property
    def tau_(self):
        return self.G @ self.H

    @cached_property
    def tau_bar(self):
        return self.I - self.tau_

    @cached_property
    def E_psi(self):
        return self.E_phi @ self.tau_bar

    @cached_property
    def psi(self):
        return np.linalg.inv(self.I - self.E_psi)

    @property
    def psi_tilde(self):
        return self.psi - self.I

    def forward(self, base, a, b):
        """v̇, α, z of Algorithm 7.2 at the state's τ, the world accelerating with `base`."""
        P, D, G, _ = self._articulated
        r = Rates(self.slots(a), self.slots(b), base, self.tree.split(self.state.tau))
        vdot, alpha, z = forward_dynamics(self.blocks, P, D, G, r)
        return self.tree.join_rows(vdot), self.column(alpha), self.column(z)


@cache
def dense(name):
    """The dense operators of a mechanism of the zoo, or of one that only this book needs."""
    model = BOOK[name]
    return Dense(model, state(plain(model), SHAPE))


def over(*names):
    """Parametrizes a test by the dense operators of these mechanisms."""
    return pytest.mark.parametrize("op", [pytest.param(name, id=name) for name in names], indirect=True)


def row(*joints):
    """A plan of joints in a row."""
    return [(i - 1 if i else None, JOINTS[name]) for i, name in enumerate(joints)]


BOOK = {
    **{name: model for name, model in MECHANISMS.items() if name != "fixed"},
    "pins": grown("pins", row(*["revolute"] * 5), seed=11),
    "serial": grown("serial", row("free", "revolute", "spherical", "universal", "prismatic", "helical"), seed=12),
}
every_system = over(*BOOK)
every_bookish_system = over(*(name for name in BOOK if name != "geared"))  # without rotors, as the book

__all__ = ["BOOK", "Dense", "close", "dense", "every_bookish_system", "every_system", "over"]
