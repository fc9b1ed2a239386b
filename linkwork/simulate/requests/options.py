"""The options of a motion: the method and its numbers, how bodies touch, how loops are kept, what is saved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import SimulationError, deprecated, did_you_mean
from ..methods.contact_law import ContactLaw
from ..methods.pairs import Tableau
from .settings import PAIRS

if TYPE_CHECKING:
    from ...constraints import Constrained


@dataclass(frozen=True)
class Method:
    """A method of integration; its name stands for the method with defaults."""

    name: ClassVar[str]


@dataclass(frozen=True)
class Adaptive(Method):
    """Steps whose length the estimated error decides.

    rtol, atol  local error tolerances; rtol is relative to 1 rad for angles, else to the value
    max_step    s: no step is longer
    first_step  s: the first one, else it is estimated
    max_steps   a run, or a sample of an ensemble, that has made so many steps ends as "failed": 10 million of a run, 1 million of a sample
    """

    rtol: float = 1e-6
    atol: float = 1e-9
    max_step: float = inf
    first_step: float | None = None
    max_steps: int | None = None


@dataclass(frozen=True)
class RK45(Adaptive):
    """Dormand and Prince's method of order 5. `velocities` "eta": of a mass matrix that is the identity (`robot.diagonal`), of trees."""

    name = "rk45"
    velocities: str = "v"


@dataclass(frozen=True)
class DOP853(Adaptive):
    """Dormand and Prince's method of order 8, for many digits."""

    name = "dop853"
    velocities: str = "v"


@dataclass(frozen=True)
class Stiff(Adaptive):
    """Linearly implicit steps of order 4 in compiled code, those of Radau where there are none."""

    name = "stiff"


@dataclass(frozen=True)
class Rosenbrock(Adaptive):
    """Linearly implicit steps of order 4, in compiled code alone."""

    name = "rosenbrock"


@dataclass(frozen=True)
class Radau(Adaptive):
    """Radau IIA, implicit, of order 5."""

    name = "radau"


@dataclass(frozen=True)
class Fixed(Method):
    """Steps of one length dt, in seconds; a run ends as "failed" after `max_steps` of them."""

    dt: float
    max_steps: int | None = None


@dataclass(frozen=True)
class RK4(Fixed):
    """The classical method of order 4."""

    name = "rk4"
    velocities: str = "v"


@dataclass(frozen=True)
class Euler(Fixed):
    """Semi-implicit, of order 1."""

    name = "euler"


@dataclass(frozen=True)
class Midpoint(Fixed):
    """Variational, of order 2: the energy of very long runs has no trend."""

    name = "midpoint"


@dataclass(frozen=True)
class Moreau(Fixed):
    """Moreau's midpoint rule: the contacts of the model, joint limits and dry friction in one problem at each step."""

    name = "contact"


@dataclass(frozen=True)
class Project:
    """After each step the state is put back on the constraints: on the robot's own, or `onto` others.

    onto       such as lw.constraints.of(robot, ...) with a momentum
    tolerance  by how much they may contradict each other, of a radian or of the mechanism's size: what cannot be closed is met in the
               least-squares sense, and the trajectory's message says so
    """

    onto: "Constrained | None" = None
    tolerance: float | None = None


@dataclass(frozen=True)
class Embed:
    """Only independent velocities are integrated, the others are computed from them. `tolerance` as of Project."""

    tolerance: float | None = None


@dataclass(frozen=True)
class Baumgarte:
    """Accelerations pull the state back as a spring of frequency omega and damping ratio zeta does."""

    omega: float
    zeta: float = 1.0


@dataclass(frozen=True)
class Save:
    """What is kept of a motion.

    at          "steps": rows at all steps; "last": only the ends of the motions, the default of ensembles where something is watched
    dt          s: rows at its multiples, of adaptive methods
    every       of a run, only each n-th step is a row
    dense       the motion within each step, whatever rows are kept, for run(t) and run.at(t): True, False, or None, which gives it up
                when it takes more than 512 MB
    statistics  of ensembles, kernels of (t, q, v, ...) by name: of each the least, greatest, mean and last value, without rows
    """

    at: str | None = None
    dt: float | None = None
    every: int = 1
    dense: bool | None = None
    statistics: Mapping | None = None


METHODS: dict[str, type[Method]] = {x.name: x for x in (RK45, DOP853, Stiff, Rosenbrock, Radau, RK4, Euler, Midpoint, Moreau)}


def method(name: str) -> Callable[[type[Tableau]], type[Adaptive]]:
    """Registers a pair as a method of integration with this name: a decorator, which returns the class of its options."""

    def registered(pair: type[Tableau]) -> type[Adaptive]:
        if name in METHODS and PAIRS.get(name, Tableau).__module__.partition(".")[0] == __name__.partition(".")[0]:
            raise SimulationError(f'"{name}" is a method of linkwork. Give yours another name.')
        PAIRS[name] = pair
        made = METHODS[name] = type(pair.__name__, (Adaptive,), {"name": name, "__doc__": pair.__doc__, "__module__": pair.__module__})
        return made

    return registered


LOOPS = {"project": Project(), "embed": Embed()}
SHORT = "rtol", "atol", "dt", "max_step", "limits"  # shorthands for fields of options
NEW = "method", "contact", "loops", "save"  # options, each of them several settings
OLD = {
    "restitution": "contact=lw.ContactLaw(limits=True, restitution=...)",
    "first_step": "method=lw.RK45(first_step=...)",
    "max_steps": "method=lw.RK45(max_steps=...)",
    "velocities": 'method=lw.RK45(velocities="eta")',
    "constraints": "loops=lw.Project(), lw.Embed(), lw.Baumgarte(omega, zeta) or None",
    "keep": "loops=lw.Project(onto=...)",
    "tolerance": "loops=lw.Project(tolerance=...)",
    "every": "save=lw.Save(every=...)",
    "dense": "save=lw.Save(dense=...)",
    "statistics": "save=lw.Save(statistics=...)",
    "store": "save=lw.Save(at=...)",
    "sensitivity": "run.sensitivity(by=...), after the run",
}  # keywords of earlier versions, and what they are now


def settings_of(said: Mapping[str, Any], known: tuple[str, ...], where: str = "simulate") -> dict[str, Any]:
    """Settings by name, from options, their shorthands and keywords of earlier versions: what is not said is not there.

    `known` are other keywords, which stay as they are.
    """
    found: dict[str, Any] = {}
    for name, x in said.items():
        if name in NEW:
            more = OPTIONS[name](x)
        elif name in (*SHORT, *OLD, *known):
            more = {name: x}
        else:
            near = did_you_mean(name, [*known, *NEW, *SHORT])
            raise SimulationError(f'{where} has no option "{name}".{near}')
        if name in OLD:
            deprecated(f"{where}({name}=...)", OLD[name], level=4)
        twice = sorted(set(found) & set(more))
        if again := [x for x in twice if x not in ("limits", "restitution") or (x != "limits" and found[x] and more[x])]:
            raise SimulationError(f"{where} was given {again[0]} twice, as {name}= says it and by another option; give it once.")
        more |= {x: more[x] or found[x] for x in twice}
        found |= more
    if where == "resume" and isinstance(method := said.get("method"), Method):  # all numbers are those of the new one
        found = {x.name: x.default for x in fields(method)} | found
    return found


def _of_method(method) -> dict[str, Any]:
    if not isinstance(method, Method):
        return {"method": method}
    return {"method": method.name} | {x.name: said for x in fields(method) if (said := getattr(method, x.name)) != x.default}


def _of_contact(law) -> dict[str, Any]:
    return {"contact": None} if solver_of(law) is None else {"contact": law.chosen, "limits": law.limits, "restitution": law.restitution}


def _of_loops(loops) -> dict[str, Any]:
    how = LOOPS.get(loops, loops) if isinstance(loops, str) else loops
    if how is None:
        return {"constraints": None}
    if isinstance(how, Project):
        return {"constraints": "project", "keep": how.onto, "tolerance": how.tolerance}
    if isinstance(how, Embed):
        return {"constraints": "embed", "tolerance": how.tolerance}
    if isinstance(how, Baumgarte):
        return {"constraints": (how.omega, how.zeta)}
    raise SimulationError(f"loops is {loops!r}; it may be lw.Project(), lw.Embed(), lw.Baumgarte(omega, zeta) or None.")


def _of_save(save) -> dict[str, Any]:
    save = Save(at=save) if isinstance(save, str) else Save() if save is None else save
    if not isinstance(save, Save):
        raise SimulationError(f'save is {save!r}; it takes an lw.Save(...), "steps" or "last".')
    said = {"store": save.at, "dt": save.dt, "every": save.every, "dense": save.dense, "statistics": save.statistics}
    return {name: x for name, x in said.items() if x is not None and (name, x) != ("every", 1)}


OPTIONS = {"method": _of_method, "contact": _of_contact, "loops": _of_loops, "save": _of_save}


def solver_of(law) -> ContactLaw | None:
    """A contact law with the method of its rounds by name, if there is one."""
    if law is not None and not isinstance(law, ContactLaw):
        raise SimulationError(f"contact is {law!r:.60}; it takes an lw.ContactLaw(...).")
    return law and law.solves()
