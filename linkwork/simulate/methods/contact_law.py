"""How bodies and joints touch, and the solver of the problems of steps that it says."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ...contact.problem import Problem
from ...contact.solver.gauss_seidel import gauss_seidel
from ...contact.solver.implicit import implicit
from ...contact.solver.interior import interior
from ...contact.solver.least_norm import least_norm
from ...contact.solver.newton import descent, newton
from ...errors import SimulationError
from ...lie.iteration import iterate
from ...lie.scalars import still
from ...motion.contact_step import RECOVERY

WANTED = {None: "gauss_seidel", "fast": "newton", "accurate": "newton"}  # the method of the rounds, by what is wanted
ACCURATE: dict[str, Any] = {"rounds": 100, "tolerance": 1e-10, "polish": 6, "least_norm": True}  # of rollouts
VALUES = {
    "solver": ("gauss_seidel", "newton", "interior", *WANTED),
    "friction": ("solved", "first"),
    "impacts": ("together", "poisson", "one_by_one"),
}


@dataclass(frozen=True)
class ContactLaw:
    """How bodies and joints touch, and how it is solved.

    limits      joints stop at their limits
    restitution  speed after an impact at a joint limit divided by the speed before, 0 to 1; that of contacts is of their materials
    impacts     "together": Newton's law for all contacts that strike at one time; and, in runs that go event by event, "poisson": impulses
                that stop them, and e times their normal parts once more; "one_by_one": one contact after another, the fastest first,
                as often as it takes
    recovery    m/s: how fast bodies that are in each other are pushed apart, at most
    solver      "fast": rounds in kernels until `tolerance`; "accurate": many digits, and where two bodies share a load at several points
                the forces of least norm. None: `simulate` is accurate, `rollout` fast. Or the method of the rounds by its name:
                "gauss_seidel": contact after contact, each solved exactly: for a few points that do not share a load; "newton": few
                rounds, each a linear system as sparse as the mass matrix: for feet with several points, many contacts, joint limits
                and dry friction; "interior": an interior point, for few contacts that are hard (large mass ratios)
    rounds      of the solver at most, in each step; they start from the forces of the step before
    tolerance   where rounds end: the last change of a velocity, relative to the velocities of the problem
    polish      Newton steps after the rounds, where these have not come to an end: for few contacts and many digits
    least_norm  of forces that are not unique, those with the least norm; off, any of them
    friction    dry friction of joints, of rollouts: "solved" with the contacts, or "first", joint by joint before the contacts are solved:
                rounds are then fewer, and a joint that both hold creeps
    impact_times  derivatives: does a change of the state shift the times of impacts that bounce, as in the motion; or are they those of
                the steps alone, in which an impact stays in its step?
    smoothing   m/s, of rollouts: contacts push before they touch, as a potential −s² log gap for each unit of mass does, and derivatives
                are continuous (contact/solver/interior.py, whatever the solver). Errors are O(s²), where contacts
                change O(s)
    """

    limits: bool = False
    restitution: float = 0.0
    impacts: str = "together"
    recovery: float = RECOVERY
    solver: str | None = None
    rounds: int = 50
    tolerance: float = 1e-7
    polish: int = 0
    least_norm: bool = False
    friction: str = "solved"
    impact_times: bool = True
    smoothing: float = 0.0

    def __post_init__(self):
        for name, values in VALUES.items():
            if getattr(self, name) not in values:
                said = " or ".join(f'"{x}"' for x in values if x)
                raise SimulationError(f'a contact law has {name} "{getattr(self, name)}"; it may be {said}.')
        for name, least in (("rounds", 1), ("polish", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or value < least:
                raise SimulationError(f"a contact law has {name} {value!r}; it takes a whole number, at least {least}.")
        for name in ("tolerance", "recovery", "smoothing"):
            if not getattr(self, name) >= 0:
                raise SimulationError(f"a contact law has {name} {getattr(self, name)!r}; it takes a number that is not negative.")
        if self.smoothing and (self.polish or self.least_norm or self.solver == "accurate"):
            raise SimulationError("a contact law with smoothing has one solution, by Newton's method: leave polish and least_norm away.")

    def solves(self) -> "ContactLaw":
        """The law with the method of its rounds by name."""
        more = ACCURATE if self.solver == "accurate" else {}
        return replace(self, solver=WANTED.get(self.solver, self.solver), **more)

    @property
    def chosen(self) -> "ContactLaw | None":
        """The solver of single runs, if the law says anything of it."""
        own = (x for x in fields(self) if x.name not in ("limits", "restitution", "solver"))
        default = all(getattr(self, x.name) == x.default for x in own) and self.solver in (None, "accurate")
        return None if default else self.solves()

    # --- as a solver of kernels: of `simulate`, where what is not good enough is solved again, and of `rollout`, where it is not

    @property
    def by_mass(self) -> bool:
        """Does it take rows and the mass matrix in place of G?"""
        return self.solver == "newton" and not (self.polish or self.least_norm or self.smoothing)

    def __call__(self, p: Problem, force):
        """λ, and (residual, rounds)."""
        if self.solver == "interior" or self.smoothing:
            found, left, rounds = interior(p, self.rounds, force, self.tolerance, smoothing=self.smoothing)
        else:
            found, rounds = (newton if self.solver == "newton" else gauss_seidel)(p, force, self.rounds, self.tolerance)
        if self.polish:
            found, more = iterate(lambda x: self._polished(p, x), found, self.polish)
            rounds = rounds + np.minimum(more, self.polish)
        found = least_norm(p, found) if self.least_norm else found
        left = left if self.smoothing else p.residual(found)
        return found, np.stack([left, rounds + 0.0 * left], -1)

    def differentiable(self, p: Problem, force):
        """As a call, with the derivative of the problem's solution, whatever the rounds were."""
        found, said = self(p, still(force))
        return self.solution(p, found), still(said)

    def solution(self, p: Problem, force):
        """The solution near a λ, with its derivative by all that the problem is made of; the λ itself where no better one is near."""
        return implicit(p, force, self.smoothing)

    def _polished(self, p: Problem, force):
        """λ after a Newton step, and whether it was good before."""
        done = p.residual(force) <= self.tolerance
        return np.where(done[..., None], force, descent(p, force)[0]), done


PRECISE = ContactLaw(solver="gauss_seidel", rounds=100, tolerance=1e-11, polish=6, least_norm=True)  # for a single run
UNSHARED = ContactLaw(solver="newton", rounds=20, tolerance=1e-10)  # and where no points share a load


def contact_solver(method: str = "gauss_seidel", **said) -> ContactLaw:
    """The law of an earlier version's ContactSolver."""
    return ContactLaw(solver=method, **said)
