"""What a call may ask of a motion: features by name, each with a test of the call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...dynamics import Dynamics
from ...kernels import UserKernel
from ...motion.joint_limits import each_velocity, limits_of
from ...varying import Varying
from ..events.events import Event
from ..methods.contact import law_of
from ..methods.contact_law import ContactLaw
from ..rates.control import Hold, parts_of
from ..rates.held import Keeper
from ..rates.on_constraints import OnConstraints
from .settings import ADAPTIVE, FIXED, MissingFunction, Settings

POINTS = 600  # contact points of the kernel of a single run's step: compilers take minutes for more
LOOP = 64  # blocks of a rollout: its step is straight-line code, which grows with their square
SLOPES = 40  # blocks of a derivative, which solves a linear system of three rows for each in straight-line code
STEP = 16  # blocks of a kernel with all derivatives
BLOCKS = "contact points, limits and dry joints"


@dataclass(frozen=True, eq=False)
class Asked:
    """The arguments of a call: settings of `simulate`, or those of a rollout with the same names, and what stands beside them."""

    robot: Dynamics
    settings: Settings
    varying: Varying | None = None
    given: Mapping | None = None
    statistics: Mapping | None = None
    reset: Any = None  # of rollouts, after each step
    by: tuple[str, ...] = ()  # the names of what a run is derived by

    @staticmethod
    def of(robot: Dynamics | Varying, settings: Settings, **more) -> "Asked":
        """The arguments of a call for a robot or a varying one."""
        return Asked(robot, settings, **more) if isinstance(robot, Dynamics) else Asked(robot.robot, settings, robot, **more)

    @property
    def controls(self) -> list:
        return [] if isinstance(self.settings.control, MissingFunction) else parts_of(self.settings.control)

    @property
    def law(self) -> ContactLaw:
        return self.settings.contact or ContactLaw()

    @property
    def events(self) -> list[Event]:
        """The events; of a run from a file there are none."""
        events = () if isinstance(self.settings.events, MissingFunction) else self.settings.events
        return [x if isinstance(x, Event) else Event(x) for x in events]

    @property
    def bound(self) -> bool:
        """Are there constraints to keep?"""
        return self.robot.constraints is not None or self.settings.keep is not None

    @property
    def limits(self) -> bool:
        """Do joints stop at limits?"""
        return bool(self.settings.limits and limits_of(self.robot))

    @property
    def dry(self) -> bool:
        """Do joints stick by dry friction?"""
        return bool(each_velocity(self.robot, "friction").any())

    @property
    def blocks(self) -> int:
        """Contact points, limits and dry joints of the problem of one step."""
        rough = bool(self.varying is not None and "friction" in self.varying.names) or None
        return law_of(self.robot, limits=self.settings.limits, all_rough=rough).count

    def is_set(self, name: str) -> bool:
        """Has a setting another value than its default?"""
        return getattr(self.settings, name) != getattr(Settings, name)

    def of_another(self, x) -> bool:
        """Is it a kernel that is not compiled, or one of another robot?"""
        return isinstance(x, UserKernel) and not (x.compiled and x.robot.lowered is self.robot.lowered)


class Feature(NamedTuple):
    """Something that a call may ask for: its name in messages and tables; and whether a call asks for it, or by which name.

    `where` are the kinds of roads that it can be asked of: single runs, batches, rollouts. With none of them it counts under conditions.
    """

    title: str
    asked: Callable[[Asked], object]
    where: str = "single batch rollout"


def in_python(x) -> bool:
    """Is it a function of Python?"""
    return callable(x) and not isinstance(x, UserKernel)


def _method(name: str) -> Feature:
    return Feature(f'method "{name}"', lambda a: a.settings.method == name)


def _of_event(name: str) -> Feature:
    said = lambda a: [f'{name} of event "{x.name}"' for x in a.events if getattr(x, name) is not None]
    return Feature(f"{name} of an event", lambda a: next(iter(said(a)), ""), "single batch")


def _more_than(most: int) -> Feature:
    return Feature(f"more than {most} {BLOCKS}", lambda a: f"{a.blocks} {BLOCKS}" if a.blocks > most else "", "")


def _compliant(a: Asked) -> str:
    table = a.robot.contacts
    return next((f"compliant contact ({label})" for label, x in zip(table.labels, table.compliance) if x > 0), "")


def _no_formula(a: Asked) -> bool:
    """Are the constraints that each step returns to no part of compiled steps?"""
    s = a.settings
    return a.bound and OnConstraints.of(Keeper(a.robot, s.constraints, s.keep, tolerance=s.tolerance), a.varying) is None


def _settled_constants(a: Asked) -> bool:
    """Do constants vary that what happens between steps does not know?"""
    if a.varying is None:
        return False
    if not a.bound:
        return bool(len(a.robot.contacts)) and "at" in a.varying.own
    happens = a.limits or a.dry or "friction" in a.varying.own or any(x.reset or x.resolution or in_python(x.function) for x in a.events)
    return happens or bool(_no_formula(a))


def _producers(a: Asked) -> str:
    lowered, said = a.robot.lowered, "flexible bodies" if a.robot.lowered.is_flexible else ""
    return "" if lowered.is_rigid else f"blocks of {said or ' and '.join(x.title for x in lowered.producers)}"


def _many_points(a: Asked) -> str:
    count, unrolled = len(a.robot.contacts), a.robot.compiled and not a.robot.long and not a.bound
    return f"{count} contact points" if unrolled and count > POINTS else ""


FEATURES: dict[str, Feature] = {
    **{x: _method(x) for x in (*ADAPTIVE, *FIXED)},
    "limits": Feature("joint limits", lambda a: a.limits, "single batch"),
    "dry friction": Feature("dry friction of joints", lambda a: a.dry),
    "stops under constraints": Feature("joint limits or dry friction under constraints", lambda a: a.bound and (a.limits or a.dry), ""),
    "constraints": Feature("loops, couplings or constraints", lambda a: a.bound),
    "no formula": Feature(
        "loops, couplings or constraints that are no one formula, or not kept by projection", _no_formula, "single batch"
    ),
    "other ways": Feature(
        "loops= other than projection on the robot's own constraints", lambda a: a.is_set("constraints") or a.is_set("keep"), ""
    ),
    "moving": Feature("constraints that move in time", lambda a: a.robot.constraints is not None and a.robot.constraints.set.moving),
    "drives": Feature("drives", lambda a: a.robot.constraints is not None and a.robot.constraints.set.drives, ""),
    "rolled constraints": Feature("loops, couplings or constraints of rolled kernels", lambda a: a.bound and a.robot.rolled, ""),
    "keep": Feature("lw.Project(onto=...)", lambda a: a.is_set("keep"), "single batch"),
    "tolerance": Feature("tolerance of loops", lambda a: a.is_set("tolerance"), "single batch"),
    "not rigid": Feature("blocks of flexible bodies, or of other producers", _producers),
    "contacts": Feature("contacts of the model", lambda a: len(a.robot.contacts)),
    "compliant contacts": Feature("compliant contact", _compliant, "single rollout"),
    "contact law": Feature("contact=lw.ContactLaw(...)", lambda a: a.is_set("contact"), "single rollout"),
    "impacts": Feature(
        'impacts="poisson" or "one_by_one"', lambda a: a.law.impacts != "together" and f'impacts="{a.law.impacts}"', "single rollout"
    ),
    "friction first": Feature('friction="first" of the contact law', lambda a: a.law.friction != "solved", "single rollout"),
    "smoothing": Feature("smoothing", lambda a: a.law.smoothing, "single rollout"),
    "many points": Feature(f"more than {POINTS} contact points in a kernel", _many_points, ""),
    **{f"{most} blocks": _more_than(most) for most in (LOOP, SLOPES, STEP)},
    "control": Feature("control that is a function of Python", lambda a: any(map(in_python, a.controls))),
    "stiff control": Feature(
        'control that is a function of Python by method "stiff"',
        lambda a: a.settings.method == "stiff" and any(map(in_python, a.controls)),
        "",
    ),
    "held control": Feature(
        "lw.hold of a function of Python", lambda a: any(isinstance(x, Hold) and in_python(x.function) for x in a.controls), "single batch"
    ),
    "any external": Feature("external=", lambda a: a.settings.external is not None, ""),
    "external": Feature("external= that is a function of Python", lambda a: in_python(a.settings.external), "single batch"),
    "other kernels": Feature(
        "kernel of another robot", lambda a: any(map(a.of_another, [*a.controls, a.settings.external])), "single batch"
    ),
    "events": Feature("event that is a function of Python", lambda a: any(in_python(x.function) for x in a.events), "single batch"),
    "resets": _of_event("reset"),
    "resolution": _of_event("resolution"),
    "reset": Feature("reset= that is a function of Python", lambda a: in_python(a.reset), "rollout"),
    "on_step": Feature("on_step=", lambda a: a.is_set("on_step"), "single batch"),
    "dense": Feature("dense output that is asked for, or off", lambda a: a.is_set("dense"), "single batch"),
    "every": Feature("every n-th row", lambda a: a.is_set("every")),
    "statistics": Feature("statistics", lambda a: a.statistics, "batch"),
    "functions of statistics": Feature(
        "statistic that is a function of Python",
        lambda a: not all(isinstance(x, UserKernel) for x in (a.statistics or {}).values()),
        "batch",
    ),
    "given": Feature("given=", lambda a: a.given, "batch rollout"),
    "varying": Feature("constants that vary", lambda a: a.varying is not None, "batch rollout"),
    "varying friction": Feature('"friction" that varies', lambda a: a.varying is not None and "friction" in a.varying.own, "batch rollout"),
    "settled constants": Feature(
        "constants that vary, under constraints or where they move contacts, with joint limits, dry friction, resets or contacts",
        _settled_constants,
        "batch",
    ),
    "eta": Feature('velocities="eta"', lambda a: a.is_set("velocities"), "single batch"),
    "sensitivity": Feature("sensitivity=", lambda a: a.by or a.settings.sensitivity, "single batch"),
    "lengths": Feature('sensitivity to "at"', lambda a: "at" in a.by, ""),
    "plain": Feature("compiled=False", lambda a: not a.robot.compiled),
    "rolled": Feature("rolled kernels", lambda a: a.robot.rolled),
    "plain or rolled": Feature(
        "compiled=False or rolled kernels", lambda a: a.varying is None and (a.robot.rolled or not a.robot.compiled), ""
    ),
    "long": Feature("steps of a long mechanism", lambda a: a.robot.long, ""),
    "nothing moves": Feature("mechanism without joints that move", lambda a: not a.robot.nv),
}
