"""The grid of features and roads: what each feature is asked for with, of which mechanism, and how each road is called.

`python tests/simulate/grid.py` writes the ends of all its motions to grid.npz, from which those of later versions differ by rounding alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import constraints
from linkwork.model import solids
from linkwork.simulate.requests import capabilities
from linkwork.simulate.requests.capabilities import BATCH, GRADIENT, KERNEL, ROLLOUT, RUN, SLOPE, TABLE
from linkwork.simulate.requests.features import FEATURES, Asked
from linkwork.simulate.requests.options import settings_of
from linkwork.simulate.requests.settings import ADAPTIVE, FIXED, Settings

HALF, END, DT = 0.05, 0.1, 0.01  # s: where a run is stopped and resumed, where it ends, and the length of fixed steps
STEPS = round(END / DT)
STORED = Path(__file__).with_name("grid.npz")
PANDA = Path(__file__).parents[1] / "models" / "panda" / "panda.urdf"


# --- mechanisms


def _arm(name="arm", **joint):
    made = lw.Builder(name).body("upper", joint=lw.Revolute(axis=(0, 1, 0), **joint), **solids.rod(1.0, (0.5, 0, 0)))
    return made.body("fore", "upper", at=(0.5, 0, 0), joint=lw.Revolute(axis=(0, 1, 0.2), damping=0.1), **solids.rod(0.5, (0.4, 0, 0)))


def _driven():
    angle = lambda t: 0.3 * np.sin(2 * t)
    drive = constraints.Driven("drive", "upper_joint", angle, lambda t: 0.6 * np.cos(2 * t), lambda t: -1.2 * np.sin(2 * t))
    return replace(_arm("driven").model(), constraints=(drive,))


def _ball(**material):
    made = lw.Builder("ball").body("x", joint=lw.Prismatic(axis=(1, 0, 0))).body("z", "x", joint=lw.Prismatic(axis=(0, 0, 1)))
    made.body("ball", "z", joint=lw.Revolute(axis=(0, 1, 0)), **solids.sphere(0.3, 0.06))
    return made.ground().contact("ball", friction=0.25, restitution=0.5, **material).model()


def _tree(count):
    """Balls beside each other on the ground, as many blocks as there are balls."""
    made = lw.Builder("balls").ground()
    for i in range(count):
        made.body(f"z{i}", at=(float(i), 0, 0), joint=lw.Prismatic(axis=(0, 0, 1)), **solids.sphere(0.3, 0.06)).contact(f"z{i}")
    return made.model()


def _flexible():
    section = {"EA": 1e6, "GJ": 1.0, "EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}
    rod = lw.FlexibleBody.beam(1.0, section, elements=8, directions="z", count=1)
    return lw.Builder("flexible").flexible("rod", rod, joint=lw.Revolute(axis=(0, 1, 0)), root="root").model()


@dataclass(frozen=True, eq=False)
class Case:
    """A robot and a state from which it moves."""

    robot: lw.Dynamics
    q: np.ndarray
    v: np.ndarray

    @property
    def batch(self):
        """Two samples, of which the second is the state."""
        held = self.robot.constraints
        slow = self.v if held is not None and held.set.moving else 0.5 * self.v
        return np.stack([self.q, self.q]), np.stack([slow, self.v])


MODELS: dict[str, Callable[[], lw.Model]] = {
    "pendulum": lambda: lw.load("pendulum"),
    "another": lambda: lw.load("pendulum").with_gravity((0, 0, -3.7)),
    "arm": lambda: _arm().model(),
    "panda": lambda: lw.load(PANDA, mimic="free"),
    "free body": lambda: lw.load("free_body"),
    "four-bar": lambda: lw.load("four_bar"),
    "driven": _driven,
    "ball": _ball,
    "soft ball": lambda: _ball(compliance=1e-3),
    "17 balls": lambda: _tree(17),
    "41 balls": lambda: _tree(41),
    "65 balls": lambda: _tree(65),
    "flexible": _flexible,
    "limits": lambda: _arm("limits", lower=-0.1, upper=0.7).model(),
    "dry and driven": lambda: replace(_arm("dry", friction=0.05).model(), constraints=_driven().constraints),
    "dry": lambda: _arm("dry", friction=0.05).model(),
    "still": lambda: lw.Builder("still").body("base", mass=1.0).model(),
}


@cache
def case(name: str, **options) -> Case:
    """A mechanism of the grid, with options of Dynamics."""
    robot = lw.Dynamics(MODELS[name](), **options)
    rng = np.random.default_rng(3)
    q, v = robot.integrate(robot.neutral(), 0.3 * rng.uniform(0.5, 1.0, robot.nv)), 0.6 * rng.uniform(0.5, 1.0, robot.nv)
    if "ball" in name:
        q, v = robot.neutral(), 0.0 * v
        q[slice(None) if "balls" in name else 1] = 0.08
    if robot.constraints is not None:
        q, v = robot.constraints.put_back(robot.assemble(q, t=0.0) if robot.constraints.set.moving else robot.assemble(q), v, 0.0)
    return Case(robot, q, v)


# --- features


@dataclass(frozen=True)
class Recipe:
    """How a feature is asked for: of a mechanism, with arguments of `simulate`, which are functions of the case, and of rollouts."""

    mechanism: str = "pendulum"
    simulate: Callable[[Case], dict] = lambda case: {}
    rollout: Callable[[Case], dict] | None = None
    vary: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


def kernel(case, function):
    return case.robot.kernel(function)


def push(case):
    bodies = len(case.robot.bodies)
    return lambda q: np.zeros((bodies, 6)) + 0.01 * np.sin(q[0])


def pushed(case, q):
    """The same of one state or many."""
    return np.zeros((*q.shape[:-1], len(case.robot.bodies), 6)) + 0.01 * np.sin(q[..., :1, None])


def damped(t, q, v):
    return -0.1 * v


def level(q):
    return q[0] - 0.31


LAW = lw.ContactLaw
RECIPES: dict[str, Recipe] = {
    **{x: Recipe(simulate=lambda c, x=x: {"method": x}, rollout=lambda c, x=x: {"method": x})
       for x in ("rk45", "dop853", "stiff", "rosenbrock", "radau")},
    **{x: Recipe(simulate=lambda c, x=x: {"method": x, "dt": DT}, rollout=lambda c, x=x: {"method": x}) for x in FIXED if x != "contact"},
    "contact": Recipe("ball", lambda c: {"method": "contact", "dt": DT}, lambda c: {"method": "contact"}),
    "limits": Recipe("limits", lambda c: {"contact": LAW(limits=True, restitution=0.3)}, None),
    "dry friction": Recipe("dry"),
    "stops under constraints": Recipe("dry and driven"),
    "constraints": Recipe("four-bar", rollout=lambda c: {"method": "rk4"}),
    "no formula": Recipe("four-bar", lambda c: {"loops": lw.Embed()}),
    "other ways": Recipe("four-bar", lambda c: {"loops": lw.Baumgarte(10.0)}),
    "moving": Recipe("driven", rollout=lambda c: {"method": "rk4"}),
    "drives": Recipe("driven", rollout=lambda c: {"method": "rk4"}),
    "rolled constraints": Recipe("four-bar", rollout=lambda c: {"method": "rk4"}, options=(("rolled", True),)),
    "keep": Recipe("four-bar", lambda c: {"loops": lw.Project(onto=c.robot.constraints)}),
    "tolerance": Recipe("four-bar", lambda c: {"loops": lw.Project(tolerance=1e-3)}),
    "not rigid": Recipe("flexible", rollout=lambda c: {"method": "rk4"}),
    "contacts": Recipe("ball", rollout=lambda c: {"method": "contact"}),
    "compliant contacts": Recipe("soft ball", lambda c: {"method": "contact", "dt": DT}, lambda c: {"method": "contact"}),
    "contact law": Recipe("ball", lambda c: {"method": "contact", "dt": DT, "contact": LAW(solver="newton", rounds=80, tolerance=1e-10)},
                          lambda c: {"method": "contact", "contact": LAW(solver="newton", rounds=80, tolerance=1e-10)}),
    "impacts": Recipe("ball", lambda c: {"contact": LAW(impacts="poisson")},
                      lambda c: {"method": "contact", "contact": LAW(impacts="poisson")}),
    "friction first": Recipe("ball", lambda c: {"method": "contact", "dt": DT, "contact": LAW(friction="first")},
                             lambda c: {"method": "contact", "contact": LAW(friction="first")}),
    "smoothing": Recipe("ball", lambda c: {"method": "contact", "dt": DT, "contact": LAW(smoothing=0.01, tolerance=1e-14)},
                        lambda c: {"method": "contact", "contact": LAW(smoothing=0.01, tolerance=1e-14)}),
    "64 blocks": Recipe("65 balls", lambda c: {"method": "contact", "dt": DT}, rollout=lambda c: {"method": "contact"}),
    "40 blocks": Recipe("41 balls", lambda c: {"method": "contact", "dt": DT}, rollout=lambda c: {"method": "contact"}),
    "16 blocks": Recipe("17 balls", rollout=lambda c: {"method": "contact"}),
    "control": Recipe(simulate=lambda c: {"control": damped}, rollout=lambda c: {"controls": damped}),
    "held control": Recipe(simulate=lambda c: {"control": lw.hold(damped, rate=50.0)}),
    "any external": Recipe(simulate=lambda c: {"external": kernel(c, push(c))}),
    "external": Recipe(simulate=lambda c: {"external": lambda t, q, v: pushed(c, q)}),
    "other kernels": Recipe(simulate=lambda c: {"control": kernel(case("another"), lambda q: -0.1 * q) if c.robot.nq == 1 else damped}),
    "events": Recipe(simulate=lambda c: {"events": [lw.Event(lambda t, q, v: level(q), "level")]}),
    "resets": Recipe(simulate=lambda c: {"events": [lw.Event(kernel(c, level), "level", reset=lambda t, q, v: (q, -v))]}),
    "resolution": Recipe(simulate=lambda c: {"events": [lw.Event(kernel(c, level), "level", resolution=0.01)]}),
    "reset": Recipe(rollout=lambda c: {"reset": lambda t, Q, V: (Q, V)}),
    "on_step": Recipe(simulate=lambda c: {"on_step": lambda t, q, v: False}),
    "dense": Recipe(simulate=lambda c: {"save": lw.Save(dense=True)}),
    "every": Recipe(simulate=lambda c: {"save": lw.Save(every=2)}),
    "statistics": Recipe(simulate=lambda c: {"save": lw.Save(statistics={"level": kernel(c, level)})}),
    "functions of statistics": Recipe(simulate=lambda c: {"save": lw.Save(statistics={"level": level})}),
    "given": Recipe(simulate=lambda c: {"control": kernel(c, lambda v, gain: -gain * v), "given": {"gain": 0.1}},
                    rollout=lambda c: {"controls": kernel(c, lambda v, gain: -gain * v), "given": {"gain": 0.1}}),
    "varying": Recipe(vary=("mass",), rollout=lambda c: {}),
    "varying friction": Recipe(vary=("friction",), rollout=lambda c: {}),
    "eta": Recipe(simulate=lambda c: {"velocities": "eta"}),
    "sensitivity": Recipe(simulate=lambda c: {"sensitivity": "state"}),
    "plain": Recipe(rollout=lambda c: {}, options=(("compiled", False),)),
    "rolled": Recipe("arm", rollout=lambda c: {}, options=(("rolled", True),)),
    "nothing moves": Recipe("still", rollout=lambda c: {}),
    "a free body": Recipe("free body", rollout=lambda c: {"method": "rk4"}),
    "seven joints": Recipe("panda"),
}  # fmt: skip
RECIPES |= {"long": RECIPES["rolled"], "lengths": Recipe("four-bar", lambda c: {"sensitivity": ("at",)})}
BASES: dict[str, dict] = {
    **{f'method "{x}"': {"method": x, "dt": DT} for x in ("euler", "midpoint", "contact")},
    'method "rosenbrock"': {"method": "rosenbrock"},
    'velocities="eta"': {"velocities": "eta"},
    "contacts event by event": {"method": "rk45"},
    "derivatives under constraints": {"sensitivity": "state"},
    "derivatives without contacts": {"sensitivity": "state"},
    "derivatives with contacts": {"sensitivity": "state", "method": "contact", "dt": DT},
    "rollout without contacts": {"method": "euler"},
    "rollout with contacts": {"method": "contact"},
    "gradient with contacts": {"method": "contact"},
}  # what a call under a condition has besides a feature
MECHANISMS = {
    "contacts event by event": "ball", 'method "contact"': "ball", "derivatives under constraints": "four-bar",
    "derivatives with contacts": "ball", "rollout with contacts": "ball", "gradient with contacts": "ball",
}  # fmt: skip  # of conditions, where a feature has none of its own
ROADS_OF = {"rollout without contacts": ROLLOUT, "rollout with contacts": ROLLOUT, "gradient with contacts": GRADIENT}
ROLLOUTS = ROLLOUT, GRADIENT, KERNEL
TOUCHING = {x for x, recipe in RECIPES.items() if "ball" in recipe.mechanism} | {"drives", "rolled"}  # what has a step with contacts
ROADS_OF |= {name: SLOPE for name in BASES if name.startswith("derivatives")}


# --- calls


@dataclass(frozen=True, eq=False)
class Call:
    """One cell: a road, and what it is asked for."""

    road: str
    case: Case
    how: dict
    vary: tuple[str, ...] = ()

    @staticmethod
    def of(road: str, feature: str, condition: str = "") -> "Call":
        """The call for a feature, with what a condition asks for besides."""
        recipe, base = RECIPES[feature], BASES.get(condition, {})
        own = recipe.mechanism
        if own == "pendulum" or feature in (*ADAPTIVE, *FIXED):
            own = MECHANISMS.get(condition, own)
        at = case(own, **dict(recipe.options))
        how = (recipe.rollout or recipe.simulate)(at) if road in ROLLOUTS else recipe.simulate(at)
        how = (
            ({name: x for name, x in how.items() if name not in ("method", "dt")} if "method" in base else how)
            | base
            | {name: x for name, x in how.items() if name == "sensitivity"}
        )
        if road == SLOPE:
            how = {"sensitivity": "state", **how}
        return Call(road, at, how, recipe.vary)

    @staticmethod
    def possible(road: str, feature: str, condition: str = "") -> bool:
        """Can the feature be asked for on a road, beside what a condition asks for? What contacts ask for takes a ball."""
        recipe, base = RECIPES[feature], BASES.get(condition, {})
        touches = MECHANISMS.get(condition) == "ball"
        if touches and not (recipe.mechanism == "pendulum" or "ball" in recipe.mechanism) and feature not in TABLE[condition]:
            return False
        if ("method" in base and feature in (*ADAPTIVE, *FIXED)) or (condition == "contacts event by event" and "blocks" in feature):
            return False
        if road == KERNEL:
            return feature in TOUCHING
        where = FEATURES[feature].where if feature in FEATURES else ""
        return recipe.rollout is not None if road in ROLLOUTS else road not in (RUN, SLOPE) or "single" in (where or "single")

    @property
    def asked(self) -> Asked:
        """The call as the table sees it."""
        how, beside = dict(self.how), {}
        if self.road in ROLLOUTS:
            law = how.get("contact")
            beside = {"reset": how.get("reset"), "given": how.get("given")}
            settings = Settings(
                how.get("method", "contact" if self.road == KERNEL else "euler"), contact=law, control=how.get("controls"),
                limits=law is not None and law.limits,
            )  # fmt: skip
        else:
            own = {name: how.pop(name) for name in ("control", "external", "events", "on_step") if name in how}
            beside, names = {"given": how.pop("given", None)}, how.pop("sensitivity", ())
            beside["by"] = names = (names,) if isinstance(names, str) else tuple(names)
            fields = settings_of(how, ())
            beside["statistics"] = fields.pop("statistics", None)
            settings = Settings(**(own | fields | {"events": tuple(own.get("events", ())), "sensitivity": names}))
        return Asked.of(self.robot, settings, **beside)

    @property
    def robot(self):
        return self.case.robot.varying(*self.vary) if self.vary else self.case.robot

    @property
    def refused(self) -> list[str]:
        """What the table says against it; of a run with derivatives what it says against the run, too."""
        roads = (RUN, SLOPE) if "sensitivity" in self.how and self.road in (RUN, SLOPE) else (self.road,)
        return [said for road in roads for said in capabilities.refusals(self.asked, road)]

    def __call__(self, until: float = END, **more):
        how, at, robot = self.how | more, self.case, self.robot
        if self.road in (ROLLOUT, GRADIENT):
            how = {"dt": DT, "steps": round(until / DT)} | how
            if self.road == ROLLOUT:
                return lw.rollout(robot, *at.batch, how.pop("controls", None), **how)
            weight = np.zeros((how["steps"] + 1, at.robot.nv))
            weight[-1] = self.weight
            return lw.rollout_gradient(robot, *at.batch, how.pop("controls", None), weights=(None, weight), **how)
        if self.road == KERNEL:
            return lw.contact_kernel(robot, dt=DT, contact=how.get("contact"))
        state = (at.q, at.v) if self.road in (RUN, SLOPE) else at.batch
        return lw.simulate(robot, state, until=until, progress=False, **how)

    @property
    def is_compiled(self) -> bool:
        """Are steps of single runs compiled as those of ensembles are? Not with kernels of another robot."""
        return not FEATURES["other kernels"].asked(self.asked)

    @property
    def weight(self) -> np.ndarray:
        """Of a cost: the derivatives by the velocities at the end."""
        return 1.0 + np.arange(self.case.robot.nv)

    def beside(self, road: str, **more) -> "Call":
        """The same on a neighbouring road."""
        names = {"controls": "control"}
        how = {names.get(name, name): x for name, x in self.how.items() if name not in ("given", "reset", "sensitivity")}
        if isinstance(how.get("save"), lw.Save) and how["save"].statistics:
            del how["save"]
        fixed = {"method": "euler", "dt": DT} if self.road in (ROLLOUT, GRADIENT) else {}
        return Call(road, self.case, fixed | how | more)


def cells() -> list[tuple[str, str]]:
    """Road and feature of every cell that can be asked for."""
    return [(road, x) for x in RECIPES for road in (RUN, BATCH, SLOPE, *ROLLOUTS) if Call.possible(road, x)]


def conditions() -> list[tuple[str, str]]:
    """Condition and feature of every cell that can be asked for."""
    return [(name, x) for name in BASES for x in RECIPES if Call.possible(ROADS_OF.get(name, RUN), x, name)]


def ends(result) -> np.ndarray:
    """The numbers that a motion ends with, or those of a gradient."""
    if isinstance(result, lw.Trajectory):
        slopes = [np.ravel(result.sensitivity[name][-1]) for name in result.settings.sensitivity]
        return np.concatenate([result.q[-1], result.v[-1], *slopes])
    if isinstance(result, lw.Ensemble):
        return np.concatenate([result.end.q.ravel(), result.end.v.ravel()])
    if hasattr(result, "controls"):
        return np.concatenate([result.q.ravel(), result.v.ravel()])
    return np.concatenate([result.q[..., -1, :].ravel(), result.v[..., -1, :].ravel()])


if __name__ == "__main__":
    stored = {}
    for road, feature in cells():
        call = Call.of(road, feature)
        if road != KERNEL and not feature.endswith("blocks") and not call.refused:
            stored[f"{road}: {feature}"] = ends(call())
    np.savez_compressed(STORED, **stored)
