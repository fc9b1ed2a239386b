"""One problem for impacts, steps with contacts, resting forces and accelerations.

    u = b + J 𝓒 J* z + r z,    z in K(kind)

u and z are velocities and impulses, or accelerations and forces. Rows of one kind stand together (`kinds/`): contacts, joint limits, dry
friction, loops. 𝓒 is the compliance of the mechanism, 𝓜⁻¹ of a tree, X (X* 𝓜 X)⁻¹ X* with loops. Here is J 𝓒 J*, in one of two forms:

    Matrix      G = J 𝓒 J*                          anything, also where G has no inverse
    ByMass      𝓒 = 𝓜⁻¹ and J                       trees with more rows than velocities: 𝓜 is sparse, and so are rows

ByMass takes any basis S of motions, J = A S: its rows are then A and its mass (S 𝓜⁻¹ S*)⁻¹. S = 1 are the velocities of the joints; the
twists of the bodies that touch are six unknowns a foot, whatever the number of its points.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ..lie.scalars import like, still
from ..model.tree import concatenated
from ..spatial.lu import solve
from .cone import mean_compliance, nonzero, spread, times
from .kinds import Contact, Kind


class Matrix(NamedTuple):
    """G = J 𝓒 J* (..., R, R), without the compliance of contacts themselves."""

    G: Any

    def change(self, z):
        """J 𝓒 J* z."""
        return times(self.G, z)

    def step(self, p: "Problem", u, force, F, eps):
        """Δλ of (1 + ε + D (ρ (G + r) − 1)) Δλ = −F."""
        one = like(np.eye(self.G.shape[-1]), self.G)
        rows = p.matrix / nonzero(p.g)[..., None] - one
        slopes = p.by_kind("derivative", p.aims(u, force))
        D = concatenated([x.times(rows[..., here, :].mT).mT for x, here in zip(slopes, p.slices)], -2)
        return -solve((1 + eps)[..., None, None] * one + D, F[..., None])[..., 0]


class ByMass(NamedTuple):
    """Rows over some motions (..., R, m), what these have of mass (..., m, m), and x (..., m) -> mass⁻¹ x."""

    mass: Any
    divided: Callable
    rows: Any

    def motion(self, z):
        """𝓜⁻¹ J* z."""
        return self.divided(times(self.rows.mT, z))

    def change(self, z):
        """J 𝓜⁻¹ J* z."""
        return times(self.rows, self.motion(z))

    def step(self, p: "Problem", u, force, F, eps):
        """Δλ of (𝓜 + J* C J) w = −J* E⁻¹ F,  Δλ = −E⁻¹ F − C J w: a matrix as sparse as 𝓜 where things touch the world alone."""
        aims, slices = p.aims(u, force), p.slices
        pieces = [kind.piece(aims[..., rows], eps[..., None]) for kind, rows in zip(p.kinds, slices)]
        answers = joined([x.inverse(F[..., rows]) for x, rows in zip(pieces, slices)])
        products = [x for piece, rows in zip(pieces, slices) for x in enumerate(piece.products(self.rows[..., rows, :]))]
        products.sort(key=lambda x: x[0])  # what is symmetric is summed first
        A = reduce(lambda total, x: total + x[1][0].mT @ x[1][1], products, self.mass)
        w = solve(A[..., ::-1, ::-1], -times(self.rows.mT, answers)[..., ::-1, None])[..., ::-1, 0]  # tips to base: nothing fills in
        Jw = times(self.rows, w)
        return -answers - joined([x.answer(Jw[..., rows]) for x, rows in zip(pieces, slices)])


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows of all kinds that there are, in this order, and how velocities answer their forces."""

    kinds: tuple[Kind, ...]
    compliance: Any  # Matrix or ByMass

    @cached_property
    def slices(self) -> list[slice]:
        """The rows of each kind."""
        ends = accumulate((kind.b.shape[-1] for kind in self.kinds), initial=0)
        return [slice(*x) for x in pairwise(ends)]

    @cached_property
    def b(self):
        return joined([kind.b for kind in self.kinds])

    @cached_property
    def size(self):
        """The velocity that residuals are relative to: what the problem has by itself."""
        size = reduce(np.maximum, [kind.size for kind in self.kinds])
        return np.where(size > 0, size, 1.0)

    @cached_property
    def g(self):
        """One number for each row: its compliance, the mean of those of a contact."""
        return joined([kind.repeated(kind.g) for kind in self.kinds])

    @cached_property
    def matrix(self):
        """J 𝓒 J* + r."""
        return self.compliance.G + joined([kind.own for kind in self.kinds])[..., None] * like(np.eye(self.b.shape[-1]), self.b)

    def by_kind(self, method: str, *arrays):
        """The results of a method of each kind, of its parts of arrays (..., R)."""
        return [getattr(kind, method)(*(x[..., rows] for x in arrays)) for kind, rows in zip(self.kinds, self.slices)]

    def velocities(self, force):
        return joined(self.by_kind("velocity", self.compliance.change(force), force))

    def project(self, force):
        """The nearest forces that are in their cones and within their bounds."""
        return joined(self.by_kind("project", force))

    def aims(self, u, force):
        """λ − u/g, whose projection is λ in a solution."""
        return force - u / nonzero(self.g)

    def natural(self, u, force):
        """F = λ − Π(λ − u/g), zero in a solution and only there."""
        return force - self.project(self.aims(u, force))

    def left(self, u, force):
        """The largest residual of forces with velocities u, relative to those of the problem; infinite where they are not numbers."""
        largest = reduce(np.maximum, self.by_kind("left", u, force)) / self.size
        return np.where(largest >= 0, largest, np.inf)

    def residual(self, force):
        return self.left(self.velocities(force), force)

    def diagonal(self, blocks: list):
        """Blocks (..., n, each, each) of each kind on the diagonal of a matrix (..., R, R)."""
        out = np.zeros_like(blocks[0][..., :1, 0, 0], shape=(*blocks[0].shape[:-3], *2 * self.b.shape[-1:]))
        for rows, block in zip(self.slices, blocks):
            out[..., rows, rows] = spread(block)
        return out

    def selected(self, chosen: list[np.ndarray]) -> "Problem":
        """The problem of some items of each kind, of one sample; kinds without any are left out."""
        rows = np.concatenate([np.repeat(mask, kind.each) for kind, mask in zip(self.kinds, chosen)])
        kinds = (kind.selected(mask) for kind, mask in zip(self.kinds, chosen) if mask.any())
        return Problem(tuple(kinds), Matrix(self.compliance.G[np.ix_(rows, rows)]))

    def plus(self, velocities) -> "Problem":
        """The problem with these (..., R) added to b."""
        kinds = (replace(kind, b=kind.b + velocities[..., rows]) for kind, rows in zip(self.kinds, self.slices))
        return Problem(tuple(kinds), self.compliance)

    @property
    def still(self) -> "Problem":
        """The problem as numbers without derivative."""
        return Problem(tuple(kind.still for kind in self.kinds), Matrix(still(self.compliance.G)))


def joined(parts):
    """Arrays of each kind as one over all rows."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, -1)


def contacts(G, b, mu) -> Problem:
    """The problem of contacts alone, (n, t1, t2) each."""
    return Problem((Contact(b, mean_compliance(G), np.zeros_like(mu), mu),), Matrix(G))


class AsContacts:
    """A problem in which each row is a contact, for solvers that know of cones alone: a unilateral row is a normal without friction, a
    bounded one a tangent that a constant normal force presses, u_n = g (λ_n − c). Rows of a contact that are not used have the compliance
    of the one that is.

    With `gentle`, the normal force of a bounded row makes no larger velocities than those of the problem, with so much more friction.
    """

    def __init__(self, p: Problem, *, gentle: bool = False):
        start = joined([kind.middle for kind in p.kinds])
        b = p.b + times(p.matrix, start)
        first, places, alone = 0, [], []
        for kind in p.kinds:
            n = kind.b.shape[-1] // kind.each
            places.append((3 * (first + np.arange(n))[:, None] + np.array(kind.used)).ravel())
            alone += [3 * (first + i) + k for i in range(n) for k in range(3) if k not in kind.used]
            first += n
        self.places, self.start, normals = np.concatenate(places), start, 3 * np.arange(first)
        most = np.abs(b).max(-1)[..., None] if gentle else None
        press, mu = zip(*(kind.pressed(most) for kind in p.kinds))
        self.press, self.mu, g = joined(press), joined(mu), joined([kind.g for kind in p.kinds])
        shape = (*b.shape[:-1], 3 * first)
        self.G, self.b = np.zeros_like(b, shape=(*shape, 3 * first)), np.zeros_like(b, shape=shape)
        self.G[..., self.places[:, None], self.places] = p.matrix
        for k in alone:
            self.G[..., k, k] = g[..., k // 3]
        self.b[..., self.places] = b
        self.b[..., normals] = self.b[..., normals] - g * self.press

    def force(self, force):
        """The forces of the contacts that stand for rows with these."""
        out = np.zeros_like(self.b)
        out[..., self.places] = force - self.start
        normals = 3 * np.arange(self.mu.shape[-1])
        out[..., normals] = out[..., normals] + self.press
        return out

    def own(self, force):
        """The forces of the rows."""
        return force[..., self.places] + self.start
