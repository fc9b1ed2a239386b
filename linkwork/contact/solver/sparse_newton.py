"""Newton's method on Coulomb's problem by rows of J and the mass matrix, without G: what many contacts of a tree need little work for.

    F(λ) = λ − Π(λ − ρ u),   u = b + J 𝓜⁻¹ J* λ + r λ,    ρ = 1/g,  r the compliance of the contacts themselves,  D = dΠ
    (E + D ρ (J 𝓜⁻¹ J* + r)) Δλ = −F,    E = 1 + ε − D                                           Alart and Curnier, regularized

With w = 𝓜⁻¹ J* Δλ, the change of v, that is

    (𝓜 + J* C J) w = −J* E⁻¹ F,    Δλ = −E⁻¹ F − C J w,    C = E⁻¹ D ρ        (E + D ρ r for E)

whose matrix is as sparse as 𝓜 for contacts with the world: a contact couples the joints that carry its body. ε falls where the
residual does and grows where it does not (Levenberg and Marquardt): forces that a redundant problem leaves open do not run away.

A contact has three rows (n, t1, t2). Joint limits and dry friction of joints are single rows with bounds on λ.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import like
from ...spatial.lu import solve
from .cone import blocks, flat, in_disc, nonzero, norm, residual, scaled, spread, times
from .newton import alart_curnier, times_solve

LEAST, FIRST, MOST = 1e-4, 0.1, 0.3  # bounds of ε, at the start the residual
ENOUGH = 0.9  # of a residual: what is above it after a round is no progress
UP, DOWN, SLOWER, SLOWEST = 3.0, 10.0, 0.7, 1.5  # factors of ε without and with progress; the latter shrinks each time that there is none


class Piece(NamedTuple):
    """What the rows of a kind add to a Newton step: E⁻¹ F, J* C J as a sum of products of rows, and C J w of J w."""

    step: Any
    products: list[tuple]  # (rows a, rows c): a* c; all but the last are symmetric
    change: Callable


class Contacts(NamedTuple):
    """Of n contacts: J (3n, nv), b (3n,), and g, r, μ (n,)."""

    J: Any
    b: Any
    g: Any
    r: Any
    mu: Any

    def velocity(self, change, force):
        """u from the change of v that all forces make."""
        none = np.zeros_like(self.r)
        return times(self.J, change) + self.b + flat(np.stack([self.r * blocks(force)[..., 0], none, none], -1))

    def admissible(self, force):
        return flat(projected(blocks(force), self.mu))

    def left(self, u, force):
        """g |F|, the largest."""
        F = blocks(force) - projected(blocks(force) - blocks(u) / nonzero(self.g)[..., None], self.mu)
        return (np.abs(F).max(-1) * self.g).max(-1)

    def piece(self, u, force, eps) -> Piece:
        """With e the direction of z_t and f across it, in the axes (n, e, f) of each contact:

            D = [c; μ, a; p]       open: 0;  stuck: c = a = p = 1, μ = 0;  sliding: c = 1, a = 0, p = μ z_n/|z_t|
        """
        rho, L = 1 / nonzero(self.g), blocks(force)
        z = L - blocks(u) * rho[..., None]
        t, radius, one = norm(z[..., 1:]), self.mu * np.maximum(z[..., 0], 0.0), like(1.0, u)
        e = np.where((t > 0)[..., None], z[..., 1:] / nonzero(t)[..., None], like([1.0, 0.0], u))
        closed, slides = z[..., 0] > 0, t > radius
        c = np.where(closed, one, 0.0)
        a = np.where(closed & ~slides, one, 0.0)
        p = np.where(closed, np.where(slides, radius / nonzero(t), one), 0.0)
        m = np.where(closed & slides, self.mu, 0.0)
        F, own = turned(e, L - projected(z, self.mu)), 1 - rho * self.r
        En, Ee, Ef = (1 / (1 + eps - x) for x in (c * own, a, p))
        Cn, Ce, Cf = rho * c * En, rho * a * Ee, rho * p * Ef
        skew = rho * m * Ee * (1 + own * c * En)
        step = np.stack([En * F[..., 0], Ee * (F[..., 1] + m * own * En * F[..., 0]), Ef * F[..., 2]], -1)
        J = self.J.reshape(*self.J.shape[:-2], -1, 3, self.J.shape[-1])
        Jn, Je, Jf = np.moveaxis(turned(e[..., None, :], np.moveaxis(J, -2, -1)), -1, 0)

        def change(Jw):
            x = turned(e, blocks(Jw))
            return flat(back(e, np.stack([Cn * x[..., 0], Ce * x[..., 1] + skew * x[..., 0], Cf * x[..., 2]], -1)))

        products = [(x, C[..., None] * y) for C, x, y in ((Cn, Jn, Jn), (Ce, Je, Je), (Cf, Jf, Jf), (skew, Je, Jn))]
        return Piece(flat(back(e, step)), products, change)


class Bounded(NamedTuple):
    """Of m single rows: J (m, nv), b, g, and bounds of λ (m,)."""

    J: Any
    b: Any
    g: Any
    lower: Any
    upper: Any

    def velocity(self, change, force):
        return times(self.J, change) + self.b

    def admissible(self, force):
        return np.minimum(np.maximum(force, self.lower), self.upper)

    def left(self, u, force):
        return (np.abs(force - self.admissible(force - u / nonzero(self.g))) * self.g).max(-1)

    def piece(self, u, force, eps) -> Piece:
        """D is 1 within the bounds, 0 beyond."""
        rho = 1 / nonzero(self.g)
        z = force - rho * u
        inside = np.where((z > self.lower) & (z < self.upper), like(1.0, u), 0.0)
        E = 1 / (1 + eps - inside)
        C = rho * inside * E
        return Piece(E * (force - self.admissible(z)), [(self.J, C[..., None] * self.J)], lambda Jw: C * Jw)


def projected(z, mu):
    """Π: λ_n not negative, λ_t in the disc of radius μ λ_n."""
    n = np.maximum(z[..., 0], 0.0)
    return np.concatenate([n[..., None], in_disc(z[..., 1:], mu * n)], -1)


def turned(e, x):
    """(n, t1, t2) in axes (n, e, f), f across e."""
    return np.stack([x[..., 0], e[..., 0] * x[..., 1] + e[..., 1] * x[..., 2], e[..., 0] * x[..., 2] - e[..., 1] * x[..., 1]], -1)


def back(e, x):
    """(n, e, f) in axes (n, t1, t2)."""
    return np.stack([x[..., 0], e[..., 0] * x[..., 1] - e[..., 1] * x[..., 2], e[..., 1] * x[..., 1] + e[..., 0] * x[..., 2]], -1)


class SparseProblem(NamedTuple):
    """Rows of all kinds that there are; forces are one array for each kind."""

    mass: Any  # (nv, nv)
    divided: Callable  # x (nv,) -> 𝓜⁻¹ x
    kinds: tuple[Contacts | Bounded, ...]
    size: Any  # the velocity that residuals are relative to

    def change(self, forces):
        """𝓜⁻¹ J* λ."""
        return self.divided(sum(times(kind.J.mT, x) for kind, x in zip(self.kinds, forces)))

    def velocities(self, forces):
        change = self.change(forces)
        return [kind.velocity(change, x) for kind, x in zip(self.kinds, forces)]

    def left(self, u, forces):
        """The largest residual."""
        first, *more = (kind.left(w, x) for kind, w, x in zip(self.kinds, u, forces))
        return reduce(np.maximum, more, first) / self.size


class Damping(NamedTuple):
    """ε of the next round, what it is divided by where there is progress, and the residual: all (...)."""

    eps: Any
    down: Any
    left: Any

    @classmethod
    def first(cls, left):
        return cls(np.minimum(np.maximum(left, LEAST), FIRST), DOWN + 0.0 * left, left)

    def after(self, left) -> "Damping":
        better = left < ENOUGH * self.left
        down = np.where(better, self.down, np.maximum(SLOWER * self.down, SLOWEST))
        return Damping(np.where(better, np.maximum(self.eps / down, LEAST), np.minimum(UP * self.eps, MOST)), down, left)


def newton_step(p: SparseProblem, forces, u, eps):
    """λ after a Newton step from forces and their velocities."""
    pieces = [kind.piece(w, x, eps[..., None]) for kind, w, x in zip(p.kinds, u, forces)]
    products = sorted((x for piece in pieces for x in enumerate(piece.products)), key=lambda x: x[0])  # what is symmetric is summed first
    A = reduce(lambda total, x: total + x[1][0].mT @ x[1][1], products, p.mass)
    right = -sum(times(kind.J.mT, piece.step) for kind, piece in zip(p.kinds, pieces))
    dv = solve(A[..., ::-1, ::-1], right[..., ::-1, None])[..., ::-1, 0]  # tips to base, where nothing fills in
    return [x - piece.step - piece.change(times(kind.J, dv)) for kind, piece, x in zip(p.kinds, pieces, forces)]


def sparse_newton(p: SparseProblem, forces, most: int, tolerance: float):
    """λ of each kind, within their cones and bounds, and the rounds: until the residual is below the tolerance."""

    n = len(p.kinds)

    def step(eps, down, before, *both):
        forces = newton_step(p, both[:n], both[n:], eps)
        u = p.velocities(forces)
        damping = Damping(eps, down, before).after(p.left(u, forces))
        return *damping, *forces, *u, damping.left <= tolerance

    u = p.velocities(forces)
    (_, _, _, *both), rounds = iterate(step, (*Damping.first(p.left(u, forces)), *forces, *u), most)
    return [kind.admissible(x) for kind, x in zip(p.kinds, both)], rounds


def dense_newton(G, b, mu, force, most: int, tolerance: float):
    """The same rounds where G is what is known: λ in the cones, and the rounds."""
    S, c, d = scaled(G, b)

    def step(eps, down, before, x):
        F, D = alart_curnier(S, c, mu, x)
        D = spread(D)
        x = x - times_solve((1 + eps[..., None, None]) * like(np.eye(G.shape[-1]), G) - D + D @ S, F)
        damping = Damping(eps, down, before).after(residual(G, b, mu, x / d))
        return *damping, x, damping.left <= tolerance

    (_, _, _, x), rounds = iterate(step, (*Damping.first(residual(G, b, mu, force)), force * d), most)
    return flat(projected(blocks(x / d), mu)), rounds


@dataclass(frozen=True)
class Newton:
    """A solver that takes G, or rows and the mass matrix in its place."""

    rounds: int
    tolerance: float

    def __call__(self, G, b, mu, force):
        """λ, and (residual, rounds)."""
        found, rounds = dense_newton(G, b, mu, force, self.rounds, self.tolerance)
        left = residual(G, b, mu, found)
        return found, np.stack([left, rounds + 0.0 * left], -1)

    def by_rows(self, p: SparseProblem, forces):
        """λ of each kind, and the rounds."""
        return sparse_newton(p, forces, self.rounds, self.tolerance)
