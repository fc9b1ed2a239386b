"""Newton's method on a problem, by natural maps (Alart and Curnier), over any scalar.

    F(λ) = λ − Π(λ − ρ u),   ρ = 1/g,  D = dΠ,    (1 + ε − D + D ρ (J 𝓒 J* + r)) Δλ = −F

`newton` are rounds of whole steps, for kernels: ε falls where the residual does and grows where it does not (Levenberg and Marquardt), so
that forces which a redundant problem leaves open do not run away. `descent` shortens each step until |F| falls, from near a solution.
"""

from typing import Any, NamedTuple

import numpy as np

from ...lie.iteration import iterate
from ..cone import nonzero, norm
from ..problem import Problem

LEAST, FIRST, MOST = 1e-4, 0.1, 0.3  # bounds of ε, at the start the residual
ENOUGH = 0.9  # of a residual: what is above it after a round is no progress
UP, DOWN, SLOWER, SLOWEST = 3.0, 10.0, 0.7, 1.5  # factors of ε without and with progress; the latter shrinks each time that there is none
EPS = 1e-10  # ε of a descent: forces that a redundant problem leaves open stay where they are


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


def change(p: Problem, u, force, eps):
    """Δλ of a Newton step from forces with velocities u."""
    return p.compliance.step(p, u, force, p.natural(u, force), eps)


def newton(p: Problem, force, most: int, tolerance: float):
    """λ in the cones and within the bounds, and the rounds: until the residual is below the tolerance."""

    def step(eps, down, before, force, u):
        force = force + change(p, u, force, eps)
        u = p.velocities(force)
        damping = Damping(eps, down, before).after(p.left(u, force))
        return *damping, force, u, damping.left <= tolerance

    u = p.velocities(force)
    (*_, force, _), rounds = iterate(step, (*Damping.first(p.left(u, force)), force, u), most)
    return p.project(force), rounds


def descent(p: Problem, force, most: int = 1, tolerance: float = 0.0, halvings: int = 6):
    """λ after Newton steps, each shortened until |F| falls, and the steps: until |F| is below a tolerance, relative to b, or stays."""
    scale = np.sqrt(nonzero(p.g))
    size = lambda u, force: norm(scale * p.natural(u, force))
    small = tolerance * norm(p.b / scale)

    def step(force):
        u = p.velocities(force)
        least = size(u, force)
        way = change(p, u, force, EPS + 0.0 * least)

        def shorter(length, trial):
            trial = force + length[..., None] * way
            better = size(p.velocities(trial), trial) < least
            return length / 2, np.where(better[..., None], trial, force), better

        (_, new), tried = iterate(shorter, (np.ones_like(least), force), halvings)
        return new, (least <= small) | (tried > halvings)

    return iterate(step, force, most)
