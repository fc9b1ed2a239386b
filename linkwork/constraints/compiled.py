"""Constrained forward dynamics as kernels: one for each choice of dependent velocities, and a look at what it returns.

A kernel tells for every sample how open the loops are, how good its pivots still are and whether the rows it left out
are kept. A sample that is not well served gets another choice, or the way by singular values, which raises if it must.
"""

from functools import cached_property

import numpy as np

from ..engine.kernel import Kernel
from ..engine.program import Input
from ..lie.scalars import like
from .augmented import INCONSISTENT, OPEN, augmented
from .couplings import Linear
from .embedding import Choice, Embedding, traceable
from .motion import Within
from .set import ConstraintSet

PIVOT = 1e-3  # of what a pivot was where it was chosen
KERNELS = 4  # choices that are compiled for one robot
MANY = 32  # samples for which another kernel is worth its while
LARGEST = 60  # velocities of a group up to which a kernel is straight-line code


class Compiled:
    """Kernels of a robot's constrained forward dynamics, made when needed."""

    def __init__(self, set_: ConstraintSet):
        self.set = set_
        self.embedding = Embedding(set_, set_.robot._split)
        self.kernels: dict[tuple[Choice, ...], object] = {}

    @staticmethod
    def serves(set_: ConstraintSet) -> bool:
        """Are there kernels for these constraints?"""
        robot = set_.robot
        return robot.compiled and not robot.rolled and robot.nv > 0 and all(map(traceable, set_.constraints))

    def forward_dynamics(self, q, v, tau):
        """v̇ (..., nv)."""
        q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
        if not np.prod(batch, dtype=int):
            return np.zeros((*batch, v.shape[-1]))
        if not self.kernels:
            first = q[(0,) * (q.ndim - 1)]
            self._make(self.embedding.choose(first), first)
        kernels = iter(list(self.kernels.values()))
        vdot, well = self._judged(next(kernels)(q, v, tau))  # type: ignore[operator]
        if well.all():
            return vdot
        flat = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, tau)]
        vdot, well = vdot.reshape(-1, v.shape[-1]), well.reshape(-1)
        for kernel in kernels:
            self._retry(kernel, flat, vdot, well)
        while (~well).sum() >= MANY and len(self.kernels) < KERNELS:
            at = flat[0][np.flatnonzero(~well)[0]]
            choices = self.embedding.choose(at)
            if choices in self.kernels:
                break
            self._retry(self._make(choices, at), flat, vdot, well)
        if not well.all():
            rest = np.flatnonzero(~well)
            vdot[rest] = augmented(self.set, *(x[rest] for x in flat)).vdot
        return vdot.reshape(*batch, -1)

    def _retry(self, kernel, flat, vdot, well) -> None:
        rest = np.flatnonzero(~well)
        if len(rest):
            vdot[rest], well[rest] = self._judged(kernel(*(x[rest] for x in flat)))

    def _judged(self, found):
        """The accelerations, and which of them are to be trusted. A sample that is not a number stays one."""
        vdot, signs = found
        well = (signs[..., 0] <= OPEN) & (signs[..., 1] >= PIVOT) & (signs[..., 2] <= np.maximum(INCONSISTENT, 100 * signs[..., 0]))
        return vdot, well | np.isnan(signs).any(-1)

    def _make(self, choices, q):
        reference = self._pivots(choices, q)
        robot = self.set.robot
        inputs = (Input("q", (robot.nq,), robot._units), Input("v", (robot.nv,)), Input("tau", (robot.nv,)))
        content = robot._digest, self._content, choices, reference.tobytes()
        kernel = Kernel("constrained_forward_dynamics", self._function(choices, reference), inputs, content)
        self.kernels[choices] = kernel.gufunc("d")
        return self.kernels[choices]

    @cached_property
    def _content(self):
        model = self.set.robot.model
        extra = [(x.name, sorted(x.terms.items()), x.constant) for x in self.set.constraints if isinstance(x, Linear)]
        return repr((model.loops, model.couplings, extra))

    def _pivots(self, choices, q) -> np.ndarray:
        nodes = self.embedding.nodes
        found = [self.embedding.dependence(nodes, g, x, q, np.zeros(nodes.tree.nv))[2] for g, x in enumerate(choices)]
        return np.abs(np.array([float(p) for part in found for p in part]))

    def _function(self, choices, reference):
        def function(q, v, tau):
            nodes = self.embedding.nodes.mapped(lambda name, index, x: like(x, q))
            vdot, pivots, left = self.embedding.accelerations(nodes, choices, q, v, tau)
            ratios = [np.abs(p) / r for p, r in zip([p for part in pivots for p in part], reference)]
            signs = [self._open(nodes, q, v), least(ratios, q), self._off(left, vdot, q)]
            return vdot, np.stack([s + np.zeros_like(q[..., 0]) for s in signs], -1)

        return function

    def _open(self, nodes, q, v):
        """The largest residual of a row against its scale."""
        worst = []
        for g, members in enumerate(self.embedding.members):
            here = Within(nodes, q, None, members=self.embedding.groups[g], carrier=self.embedding.carriers[g])
            for i in members:
                x = self.set.constraints[i]
                c = x.rows(here).c
                worst += [np.abs(c[..., j]) / s for j, s in enumerate(self.set.scale[self.set.slices[x.name]])]
        return largest(worst, q)

    def _off(self, left, vdot, q):
        """What the rows that were not needed lack, against what they are made of."""
        found = []
        speed = largest([np.abs(vdot[..., i]) for i in range(vdot.shape[-1])], q)
        for rest, G, gamma in left:
            m, n = G.shape[-2:]
            size = largest([np.abs(G[..., i, j]) for i in range(m) for j in range(n)], q) * speed
            size = size + largest([np.abs(gamma[..., i, 0]) for i in range(m)], q)
            found += [np.abs(rest[..., i, 0]) / (size + 1e-9 * speed + 1e-300) for i in range(m)]
        return largest(found, q)


def largest(values, some):
    out = np.zeros_like(some[..., 0])
    for x in values:
        out = np.maximum(out, x)
    return out


def least(values, some):
    out = np.zeros_like(some[..., 0]) + 1.0
    for x in values:
        out = np.minimum(out, x)
    return out
