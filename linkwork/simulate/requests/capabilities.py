"""What is refused on each road, why, and what to do instead: the table from which checks, messages and docs/simulation.md are made.

A road is a way to make a motion: a single run, an ensemble, a rollout, a gradient. Under some conditions (a method, a kind of velocities)
less is possible than on the road as such; they have columns of their own. What the table does not name goes.
"""

from collections.abc import Iterator, Mapping

from ...errors import SimulationError
from .features import FEATURES, LOOP, POINTS, SLOPES, STEP, Asked
from .settings import ADAPTIVE, FIXED, PAIRS

RUN, BATCH, GPU = "single run", "ensemble", "ensemble on a GPU"
ROLLOUT, SLOPE, GRADIENT, KERNEL = "rollout", "sensitivity", "rollout_gradient", "contact_kernel"
ROADS = {
    RUN: "simulate",
    BATCH: "an ensemble (a batch of states)",
    GPU: "an ensemble on a GPU",
    ROLLOUT: "a rollout",
    SLOPE: "a run with derivatives",
    GRADIENT: "rollout_gradient",
    KERNEL: "contact_kernel",
}
CONDITIONS = {
    **{f'method "{x}"': f'method "{x}"' for x in ("rosenbrock", "euler", "midpoint", "contact")},
    'velocities="eta"': 'velocities="eta"',
    "contacts event by event": "a run with contacts event by event",
    "derivatives under constraints": "a run with derivatives under loops, couplings or constraints",
    "derivatives with contacts": 'a run with derivatives by method "contact"',
    "derivatives without contacts": "a run with derivatives",
    "derivatives of compiled steps": "a run whose steps may be compiled ones",
    "rollout without contacts": 'a rollout by "euler" or "rk4"',
    "rollout with contacts": 'a rollout by method "contact"',
    "gradient with contacts": 'rollout_gradient by method "contact"',
    "rollout on a GPU": "a rollout on a GPU",
}
Column = Mapping[str, tuple[str, str]]  # by feature: why it is refused, and what to do instead

STATES = "Simulate the states one by one"
KERNELS = "Make it a robot.kernel"
STRAIGHT = "Use Dynamics(model, rolled=False), which compiles straight code"
WITHOUT = "take a model without: dataclasses.replace(model, contacts=())"
TOUCHING = f'Use method="contact" with dt=..., or, for few contacts, "rk45", "dop853", "rk4", "stiff" or "radau"; or {WITHOUT}'
NAMED = 'Name what touches, as in model.with_contacts(["left foot", "right foot"])'
ADAPTIVE_ONLY = f"a batch of states is simulated with {', '.join(ADAPTIVE)}"
UNROLLED = "it is made of straight-line kernels"
ON_HOST = "radau", "contacts", "keep", "tolerance", "eta", "plain", "rolled", "no formula"  # steps of ensembles that are not compiled
SETTLED = *ON_HOST, "limits", "dry friction", "varying friction", "resets", "resolution", "events"  # and those that the host settles
BATCHES: Column = {
    **{x: (f"{ADAPTIVE_ONLY}", "For fixed steps use lw.rollout") for x in FIXED},
    "on_step": ("on_step is for one state", "Use save=lw.Save(statistics=...)"),
    "sensitivity": ("sensitivity is for one state", f"{STATES}, or use lw.rollout_gradient"),
    "dense": ("dense is for one state", "Take rows at multiples of dt: save=lw.Save(dt=...)"),
    "every": ("every is for one state", "Take rows at multiples of dt: save=lw.Save(dt=...)"),
    "nothing moves": ("in a batch there is nothing to simulate", "Take a single run"),
    "functions of statistics": ("its steps are compiled", f"{KERNELS} of (t, q, v, ...)"),
    "settled constants": ("what happens between steps knows one model alone", STATES),
}
COMPILED = "one kernel makes all steps"
TABLE: dict[str, Column] = {
    RUN: {
        "friction first": ("friction of joints is solved with the contacts in simulate", 'Leave friction="first" to lw.rollout'),
        "smoothing": ("smoothing is for rollouts and lw.contact_kernel; simulate solves the contacts themselves", "Leave it away"),
    },
    BATCH: {**BATCHES, "stiff control": ("its steps need the derivatives of the control", f"{KERNELS} of (t, q, v, ...)")},
    GPU: {
        **BATCHES,
        **{x: (COMPILED, "Move the states to the CPU") for x in ON_HOST},
        "rolled": (UNROLLED, STRAIGHT),
        "control": (COMPILED, f"{KERNELS} of (t, q, v, ...)"),
        "external": (COMPILED, f"{KERNELS} of (t, q, v, ...) -> (nb, 6)"),
        "held control": (COMPILED, "Hold a robot.kernel of (t, q, v, ...)"),
    },
    ROLLOUT: {x: ("its steps have a fixed length", 'Use method="euler", "rk4" or "contact"; or lw.simulate') for x in (*PAIRS, "radau")}
    | {"midpoint": ("its steps are not compiled into the loop", "Use lw.simulate")},
    SLOPE: {
        "any external": ("external= has no derivative here", "Say its force as a control, robot.joint_forces(q, external)"),
        "eta": ('velocities="eta" has none', 'Take velocities="v"'),
        "midpoint": ('method "midpoint" has none', 'Take another, e.g. "rk4"'),
        "rosenbrock": ('method "rosenbrock" has none', 'Take another, e.g. "radau"'),
    },
    GRADIENT: {
        "control": ("controls is a function of the whole batch, which has no derivative here", KERNELS),
        "reset": ("reset is a function of the whole batch, which has no derivative here", KERNELS),
        "plain or rolled": (UNROLLED, STRAIGHT),
    },
    KERNEL: {
        "rolled": ("there is no rolled kernel of a step with contacts", "Use lw.simulate"),
        "impacts": ('a step has all impacts "together"', "Use lw.simulate event by event"),
        "drives": ("they move in time, of which a kernel of one step knows nothing", "Use lw.rollout, whose steps know their time"),
        f"{STEP} blocks": (f"a kernel of a step takes {STEP} at most", NAMED),
    },
    'method "rosenbrock"': {
        name: ("its steps are made by compiled code alone", 'Use method="stiff"')
        for name in ("control", "external", "other kernels", "plain", "long", "stops under constraints", "no formula", "contacts")
    },
    'method "euler"': {
        "contacts": ("it would leave them out", TOUCHING),
    },
    'method "midpoint"': {
        "not rigid": ("it integrates trees of rigid bodies", "Use stiff where modes are fast, or rk45, dop853, rk4"),
        "constraints": (
            "it integrates trees", 'Use rk45, dop853, rk4 or stiff; for long runs method="rk4" with loops=lw.Embed()',
        ),
        "contacts": ("it would leave them out", TOUCHING),
    },
    'method "contact"': {
        "eta": ('it is in velocities "v"', "Leave it away"),
        "impacts": ('it has all impacts "together"', 'Use a run event by event, e.g. method="rk45"'),
        "many points": (
            f"a kernel, which has code for each, takes {POINTS} at most",
            'Name what may touch, e.g. lw.load(..., contacts=["left foot", "right foot"]), or take contacts="ground"; '
            "Dynamics(model, compiled=False) takes any number, slowly",
        ),
    },
    'velocities="eta"': {
        **{
            x: ("these velocities are integrated by explicit methods of higher order", "Use rk45, dop853, rk4")
            for x in ("stiff", "rosenbrock", "radau", "euler", "midpoint")
        },
        "constraints": ("it integrates trees", 'Use velocities="v"'),
        "limits": ("stops are in joint velocities", 'Use velocities="v"'),
        "dry friction": ("stops are in joint velocities", 'Use velocities="v"'),
    },
    "contacts event by event": {
        "compliant contacts": ("event by event contacts are rigid", 'Make it rigid, or use method="contact" with dt=...'),
        "eta": ("stops are in joint velocities", 'Leave that away, or use method="contact" with dt=...'),
    },
    "derivatives under constraints": {
        "moving": ("a return to moving constraints has no derivative here", "Take rollout_gradient"),
        "contact": ("runs with loops and contacts have none", 'Take lw.rollout_gradient(..., method="contact")'),
        "other ways": ("derivatives are put back as the run is", 'Take loops=lw.Project()'),
        **{x: (f'under constraints method "{x}" has none', 'Take "rk45", "dop853" or "rk4"') for x in ("stiff", "radau", "euler")},
        "resets": ("under constraints events may not reset the state", "Simulate the parts before and after one by one"),
        "lengths": ("lengths, which close the loops, have no derivative here", "Take other constants"),
    },
    "derivatives with contacts": {
        "resets": ("with contacts, events may not reset the state", "Simulate the parts before and after one by one"),
        "plain": ("they are kernels", "Use lw.Dynamics(model)"),
        "rolled": ("they are kernels of straight code", STRAIGHT),
        f"{SLOPES} blocks": (f"derivatives of runs take {SLOPES} at most", NAMED),
    },
    "derivatives without contacts": {
        "contacts": ("runs event by event have none", 'Take method="contact" with dt=...'),
        "limits": ("impacts at limits have none", "Say them as events with a reset"),
        "dry friction": ("joints that stick have none", "Say impacts as events with a reset"),
    },
    "derivatives of compiled steps": {"stiff": ('steps of "stiff" may be compiled ones', 'Simulate with method="radau"')},
    "rollout without contacts": {
        "contact law": ('contact= is for method "contact"', 'Use method="contact", or leave it away'),
        "contacts": ("it would leave them out", f'Use method="contact", or {WITHOUT}'),
        "rolled constraints": ("kernels that loop over the joints know none yet", f"{STRAIGHT}, or use lw.simulate"),
    },
    "rollout with contacts": {
        "plain": ("its steps are kernels", "Use lw.simulate"),
        "rolled": ("there is no rolled kernel of a step with contacts", "Use lw.simulate"),
        "impacts": ('a rollout has all impacts "together"', "Use lw.simulate event by event"),
        f"{LOOP} blocks": (f"a rollout takes at most {LOOP}, because every step has all of them", f"{NAMED}, or use lw.simulate"),
    },
    "gradient with contacts": {f"{SLOPES} blocks": (f"gradients take {SLOPES} at most", NAMED)},
    "rollout on a GPU": {"plain or rolled": ("it runs on the CPU only", STRAIGHT)},
}  # fmt: skip


def road_of(asked: Asked, *, batch: bool, on_gpu: bool) -> str:
    """The road of a call of `simulate`."""
    if on_gpu:
        return GPU
    if not (batch or asked.varying is not None or asked.given or asked.statistics):
        return RUN
    return BATCH


def is_settled(asked: Asked) -> bool:
    """Are there steps of an ensemble that the host settles, as single runs do?"""
    return any(FEATURES[x].asked(asked) for x in SETTLED)


def columns(asked: Asked, road: str, on_gpu: bool = False) -> Iterator[str]:
    """The columns of the table that a call on a road has to pass, the road itself first."""
    yield road
    touches = asked.settings.method == "contact"
    if road in (RUN, BATCH, GPU):
        yield from (x for x in (f'method "{asked.settings.method}"',) if x in TABLE)
        if asked.is_set("velocities"):
            yield 'velocities="eta"'
        if not touches and len(asked.robot.contacts):
            yield "contacts event by event"
        if road != RUN:
            yield RUN
    if road == SLOPE:
        if asked.bound:
            yield "derivatives under constraints"
        yield "derivatives with contacts" if touches else "derivatives without contacts"
        if not asked.settings.sensitivity:
            yield "derivatives of compiled steps"
    if road in (ROLLOUT, GRADIENT):
        yield "rollout with contacts" if touches else "rollout without contacts"
        if on_gpu:
            yield "rollout on a GPU"
        if road == GRADIENT:
            yield ROLLOUT
            if touches:
                yield "gradient with contacts"


def refusals(asked: Asked, road: str, on_gpu: bool = False) -> Iterator[str]:
    """What the table says against a call on a road."""
    for column in columns(asked, road, on_gpu):
        who = (ROADS | CONDITIONS)[column]
        for name, (reason, remedy) in TABLE[column].items():
            if what := FEATURES[name].asked(asked):
                said = what if isinstance(what, str) else FEATURES[name].title
                yield f"{asked.robot.model.name}: {who} takes no {said}: {reason}. {remedy}."


def refuse(asked: Asked, road: str, on_gpu: bool = False) -> None:
    """Raise SimulationError where the table refuses what a call asks for."""
    for said in refusals(asked, road, on_gpu):
        raise SimulationError(said)
