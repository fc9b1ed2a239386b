"""Static balance: where a mechanism rests, and whether it stays there."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..constraints import Constrained
from ..constraints.systems.forces import Forces, constraint_forces
from ..contact import refuse_contacts
from ..engine.running.device import on_device
from ..engine.tracing.array import Traced
from ..errors import OptionError, ShapeError, listed
from ..lie.scalars import working_dtype
from ..model.coordinates import entry_names, entry_units
from ..motion.joint_limits import each_velocity
from .balance import INDIFFERENT, Place, Problem
from .search import force_text, main_names, settle
from .tables import LONGEST, table

SEARCHES = "energy", "forces"
STIFFNESS_UNIT = {"rad": "N m", "m": "N/m", "m √kg": "1/s²", "modal": "J/modal²"}  # by the unit of the coordinate


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium:
    """A configuration at which all forces balance; print it.

    q              (nq,)
    tau            the forces of the joints that were given (nv,)
    lam            multipliers of the constraints (m,); `forces` has them as wrenches on bodies
    stops          what limits exert, {joint: force}, with limits=True
    stiffness      of the independent coordinates (n, n), which `coordinates` names: force per displacement along them
    eigenvalues    of the stiffness (n,), smallest first, in N m: angles in radians, lengths against the size of the mechanism
    directions     columns (nv, n) of the motions that belong to them
    stability      "stable", "unstable", "indifferent" (some motions change nothing), or "not known" where forces have no energy
    residual       the largest force that is left, in N m: forces along lengths times the size of the mechanism
    energy         potential energy less the work of tau, in J; NaN where there is none
    search         how it was found: "energy" or "forces"
    notes          what else is to be known
    """

    robot: Any
    q: np.ndarray
    tau: np.ndarray
    lam: np.ndarray
    stops: dict[str, float]
    coordinates: list[str]
    stiffness: np.ndarray
    eigenvalues: np.ndarray
    directions: np.ndarray
    stability: str
    residual: float
    energy: float
    search: str
    steps: int
    notes: tuple[str, ...]
    t: float | None
    external: np.ndarray | None
    place: Place = field(repr=False)

    @cached_property
    def forces(self) -> Forces:
        """What constraints and joints carry at rest: multipliers, wrenches on bodies; print it."""
        p, q = self.place.problem, self.place.q
        still = np.zeros(self.robot.nv)
        stopped = still.copy()
        stopped[[limit.rate for limit in self.place.active]] = self.place.stop_forces
        tau = p.tau + self.robot.passive_force(q, still) + stopped
        return constraint_forces(p.set, q, still, tau, still, p.external, p.t)

    @property
    def indifferent(self) -> np.ndarray:
        """Columns (nv, k) of motions along which nothing pushes back or away."""
        return self.directions[:, self.eigenvalues == 0]

    def __str__(self) -> str:
        name = self.robot.model.name
        how = "down the energy" if self.search == "energy" else "by the balance of forces"
        when = "" if self.t is None else f" at t = {self.t:g} s"
        lines = [f"{name} at rest{when}, {self.stability}: {self.steps} steps {how}, {self._left} left"]
        q_names, _ = entry_names(self.robot.model)
        lines += table(("coordinate", "q"), [(x, f"{round(float(value), 12) + 0.0:.6g}") for x, value in zip(q_names, self.q)])
        lines += table(("limit of", "pushes with"), [(x, f"{force:.6g}") for x, force in self.stops.items()])
        lines += table(("row of", "multiplier"), [(f"{a}, {b}", f"{x:.6g}") for (a, b), x in zip(self.place.problem.set.labels, self.lam)])
        reach = self.place.problem.set.reach
        along = [main_names(self.place, column / reach) for column in self.directions.T[:LONGEST]]
        along += [""] * (len(self.eigenvalues) - len(along))
        lines += table(("stiffness", "along"), zip(map(self._stiffness_text, self.eigenvalues, self.directions.T), along))
        return "\n".join([*lines, *(f"note: {x}" for x in self.notes)])

    def __repr__(self) -> str:
        return f"Equilibrium({self.robot.model.name}, {self.stability}, residual {self._left})"

    @property
    def _left(self) -> str:
        """The residual in the unit of the coordinate that it acts along."""
        return force_text(self.place, self.place.X @ self.place.g, digits=2)

    def _stiffness_text(self, eigenvalue, direction) -> str:
        """An eigenvalue in the unit of the coordinates that move most along its direction; in N m if those have several units."""
        reach, units = self.place.problem.set.reach, entry_units(self.robot.model)
        moved = np.abs(direction / reach) > 0.1 * np.abs(direction / reach).max(initial=0.0)
        along = {units[i][0]: reach[i] for i in np.flatnonzero(moved)}
        unit, size = next(iter(along.items())) if len(along) == 1 else ("rad", 1.0)
        return f"{eigenvalue / size**2:.4g} {STIFFNESS_UNIT[unit]}"


def equilibrium(robot, q0, tau=None, external=None, *, t=None, search: str | None = None, limits: bool = False) -> Equilibrium:
    """The rest that is found from q0."""
    if search is not None and not (isinstance(search, str) and search in SEARCHES):
        raise OptionError(f'search is "{search}"; it may be "energy", down to a stable rest, or "forces", to any balance.')
    if not isinstance(limits, (bool, np.bool_)):
        raise OptionError(f"limits is {limits!r}; it is True where limits of joints stop them, or False.")
    problem, q0, kind = posed(robot, "equilibrium", q0, tau, external, t, limits)
    if search == "energy" and problem.without_energy:
        raise OptionError(f'{robot.model.name} cannot go down its energy: {problem.without_energy}. Use search="forces".')
    search = search or ("forces" if problem.without_energy else "energy")
    active = tuple(x for x in problem.limits if x.side * (q0[x.row] - x.bound) <= 0) if limits else ()
    place, steps = settle(problem, problem.closed(q0, active), active, search == "energy")
    return described(place, steps, search, t, kind)


def posed(robot, who: str, q, tau, external, t, limits: bool) -> tuple[Problem, np.ndarray, np.dtype]:
    """What was given, checked, as a problem in float64, and the dtype of the answer."""
    for name, x in (("q", q), ("tau", tau), ("external", external)):
        if on_device(x) or isinstance(x, Traced) or getattr(x, "requires_grad", False):
            raise OptionError(
                f"{who} of {robot.model.name} is a search in NumPy: {name} may not be on a GPU, part of a kernel, or carry a gradient. "
                "Give NumPy arrays, such as x.detach().cpu().numpy()."
            )
    refuse_contacts(robot.model, who)
    held = robot.constraints if robot.constraints is not None else Constrained(robot)
    named = {"q": q, "tau": np.zeros(robot.nv) if tau is None else tau, **({} if external is None else {"external": external})}
    given = [x for x in (q, tau, external) if x is not None]
    lowered = robot.lowered
    arrays, _ = lowered.checked([lowered.input(x, {"q": ("nq",), "tau": ("nv",), "external": ("nb", 6)}[x]) for x in named], named.values())
    for name, x in zip(named, arrays):
        if x.ndim > (2 if name == "external" else 1):
            raise ShapeError(
                f"{who} is about one configuration, but {name} has shape {x.shape}: [robot.{who}(x) for x in q] goes through a batch."
            )
        if not np.isfinite(x).all():
            raise ShapeError(f"{who} of {robot.model.name}: {name} has entries that are not finite.")
    q, tau, *push = (x.astype(float) for x in arrays)
    when = held.time(t)
    return Problem(robot, held, tau, push[0] if push else None, when, limits), q, working_dtype(*map(np.asarray, given))


def described(place: Place, steps: int, search: str, t, kind) -> Equilibrium:
    problem, robot, reach = place.problem, place.problem.robot, place.problem.set.reach
    values, vectors, stability = judged(place)
    values = np.where(np.abs(values) <= INDIFFERENT * place.stiffness_scale, 0.0, values)
    left = place.X @ place.g
    names = entry_names(robot.model)[1]
    which = independent(place.X)
    B = place.X @ np.linalg.inv(place.X[which]) if len(which) else place.X
    stiffness = B.T @ place.whole_stiffness @ B / (reach[which][:, None] * reach[which])
    cast = lambda x: np.asarray(x).astype(kind)
    return Equilibrium(
        robot,
        cast(place.q),
        cast(problem.tau),
        cast(place.lam),
        {limit.name: float(x) for limit, x in zip(place.active, place.stop_forces)},
        [names[i] for i in which],
        cast(stiffness),
        cast(values),
        cast(reach[:, None] * (place.X @ vectors)),
        stability,
        float(np.abs(left).max(initial=0.0)),
        place.energy if not problem.without_energy else float("nan"),
        search,
        steps,
        tuple(notes(place)),
        t,
        problem.external,
        place,
    )


def judged(place: Place) -> tuple[np.ndarray, np.ndarray, str]:
    """Eigenvalues and columns of the stiffness along all rows, and what they mean."""
    K = place.X.T @ place.whole_stiffness @ place.X
    least = INDIFFERENT * place.stiffness_scale
    if place.problem.without_energy and np.abs(K - K.T).max(initial=0.0) > 1e-8 * place.stiffness_scale:
        values, vectors = np.linalg.eig(K)
        order = np.argsort(values.real)
        values, vectors = values.real[order], vectors.real[:, order]
        return values, vectors, "unstable" if np.linalg.det(K) < 0 else "not known"
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    if (values < -least).any():
        return values, vectors, "unstable"
    return values, vectors, "indifferent" if (values <= least).any() else "stable"


def independent(X) -> np.ndarray:
    """Coordinates that the others follow from (n,), in their order."""
    from scipy.linalg import qr

    n = X.shape[1]
    return np.sort(qr(X.T, mode="r", pivoting=True)[1][:n]) if n else np.zeros(0, int)


def notes(place: Place):
    """What an answer does not say by itself."""
    problem, model = place.problem, place.problem.robot.model
    dry = each_velocity(problem.robot, "friction") > 0
    if dry.any():
        names = entry_names(model)[1]
        yield (
            f"dry friction ({listed([name for name, x in zip(names, dry) if x])}) can hold it at configurations around this one, too: "
            "rest is a set, and this is the one that friction has no part in"
        )
    if not problem.stops:
        beyond = [x for x in problem.limits if x.side * (place.q[x.row] - x.bound) < -1e-9 * problem.set.reach[x.rate]]
        if beyond:
            yield f"{', '.join(x.name.replace(' at its ', ' is beyond its ') for x in beyond)}: limits=True stops joints there"
    if problem.without_energy:
        yield f"{problem.without_energy}; robot.modes(rest) says whether small motions die out"
    if len(problem.set) and place.X.shape[1] and problem.held.report(place.q, problem.t).singular:
        yield "the mechanism is singular here: more motions are possible than nearby, and constraint forces may not be unique"
    elif len(problem.set) and almost_singular(problem.set, place.q, problem.t):
        stiff = ". A beam with both ends held needs to stretch: x among its directions" if model.flexible_bodies else ""
        yield f"the mechanism is almost singular here: constraints hardly change along what they forbid, and forces may be huge{stiff}"


def almost_singular(constraints, q, t) -> bool:
    """Has Jc singular values that are not zero, and yet far below the largest?"""
    s = np.linalg.svd(constraints.without_units(constraints.rows(q, t=t).Jc), compute_uv=False)
    return bool(((s > 1e-11 * s[0]) & (s < 1e-6 * s[0])).any())
