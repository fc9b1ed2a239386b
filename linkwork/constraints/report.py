"""What the constraints of a robot do at a configuration: rows, rank, mobility, and what is odd about them."""

from dataclasses import dataclass

import numpy as np

from ..errors import ConstraintError
from .rows.rank import Factored, dependent_rows
from .rows.set import ConstraintSet
from .solution.at_state import AtState, rank_tolerance
from .states.assembly import CLOSED, MOST, assemble, contradiction

TRIES = 6
REACH = 0.3


@dataclass(frozen=True)
class Report:
    """A diagnosis; print it."""

    name: str
    velocities: int
    rows: int
    rank: int  # here
    generic_rank: int | None  # at other configurations near by; None where the loops are open
    counts: dict[str, int]  # rows of each constraint
    redundant: tuple[tuple[str, str, tuple[str, ...]], ...]  # constraint, row, constraints it follows from
    open: tuple[str, ...]  # constraints that are not kept, with residuals
    worst: float
    kept: float  # the least singular value that counts, against the largest,
    dropped: float  # and the largest that does not: the clearer the gap, the surer the rank
    contradiction: float = 0.0  # what of the residuals no motion changes, of a radian or of the mechanism's size

    @property
    def mobility(self) -> int:
        """In how many ways it can move from here, at the first order."""
        return self.velocities - self.rank

    @property
    def generic_mobility(self) -> int | None:
        return None if self.generic_rank is None else self.velocities - self.generic_rank

    @property
    def singular(self) -> bool:
        """Is there more freedom here than around here?"""
        return self.generic_rank is not None and self.rank < self.generic_rank

    @property
    def overconstrained(self) -> bool:
        """Are there more rows than it takes, wherever it stands?"""
        return self.generic_rank is not None and self.generic_rank < self.rows

    @property
    def closed(self) -> bool:
        return not self.open

    def __str__(self) -> str:
        said = [f"{self.name}: {self.rows} constraint rows on {self.velocities} velocities, rank {self.rank}, mobility {self.mobility}"]
        said += [f"  {name}: {n} rows" for name, n in self.counts.items()]
        said += [f"  open: {x}" for x in self.open]
        if self.contradiction:
            said.append(
                f"  contradicting: no motion near here closes them all, {self.contradiction:.2g} of a radian or of the mechanism's size is "
                "left; with a tolerance they are met in the least-squares sense"
            )
        if self.overconstrained:
            said.append(f"  over-constrained: {self.rows - (self.generic_rank or 0)} rows repeat others wherever it stands")
        for name, row, of in self.redundant:
            source = f"follows from {', '.join(of)}" if of else "forbids what cannot happen"
            said.append(f"  redundant: {name}, {row}: {source}")
        if self.dropped > 1e-3 * self.kept or self.kept < 1e-6:
            said.append(f"  nearly singular: singular values {self.kept:.2g} counts, {self.dropped:.2g} does not; the rank is not sure")
        if self.singular:
            said.append(f"  singular: mobility is {self.mobility} here, {self.generic_mobility} around here")
        return "\n".join(said)


def report(set_: ConstraintSet, q, t: float = 0.0, tolerance: float = 1e-8, seed: int = 0) -> Report:
    """The diagnosis at one configuration, and at a few others that its motion leads to."""
    q = np.asarray(q, float)
    rows = set_.rows(q, t=t)
    robot = set_.robot
    open_ = tuple(set_.bad(rows.c, tolerance))
    least = float(rank_tolerance(set_, rows)) if not open_ else 1e-9
    scaled = set_.without_units(rows.Jc)
    factored = Factored(scaled, least)
    follows = dependent_rows(scaled, least)
    redundant = tuple(
        (*set_.labels[i], tuple(dict.fromkeys(set_.labels[j][0] for j in np.flatnonzero(x)))) for i, x in follows.items()
    )
    generic = None if open_ else generic_rank(set_, q, factored, t, seed)
    counts = {x.name: len(x) for x in set_.constraints}
    worst = float(set_.misfit(rows.c))
    sigma = factored.sigma / max(factored.sigma.max(initial=0.0), 1e-300)
    kept, dropped = sigma[factored.counts].min(initial=1.0), sigma[~factored.counts].max(initial=0.0)
    left = contradiction(set_, rows) if CLOSED < worst <= MOST else 0.0
    left = left if left > max(0.5 * worst, 100 * CLOSED) else 0.0
    numbers = int(factored.rank), generic, counts, redundant, open_, worst, float(kept), float(dropped), left
    return Report(robot.model.name, robot.nv, len(set_), *numbers)


def generic_rank(set_: ConstraintSet, q, here: Factored, t: float, seed: int) -> int:
    """The largest rank at configurations reached along motions that the constraints allow."""
    rng, best = np.random.default_rng(seed), int(here.rank)
    tangent = here.null()
    for _ in range(TRIES):
        if not tangent.shape[-1]:
            break
        dv = tangent @ rng.standard_normal(tangent.shape[-1])
        there = set_.robot.integrate(q, REACH * set_.reach * dv / max(np.abs(dv).max(), 1e-300))
        try:
            there = assemble(set_, there, t=t, tolerance=100 * CLOSED)
        except ConstraintError:
            continue
        best = max(best, int(AtState.of(set_, there, t=t).factored.rank))
    return best
