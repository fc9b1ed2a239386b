"""What binds a robot besides its joints, in words: by what, and which quantities keep that or leave it out."""

from collections.abc import Collection

from ..errors import listed
from ..model import Model
from .declaration import QUANTITIES


def bonds(model: Model) -> list[str]:
    """The names of the active loops and couplings of a model, and of its constraints."""
    loops, couplings = ([x.name for x in each if x.active] for each in (model.loops, model.couplings))
    return [*loops, *couplings, *(x.name for x in model.constraints)]


def binding_notes(model: Model, methods: Collection[str]) -> list[str]:
    """What binds the tree, and which of some methods leave that out."""
    names = bonds(model)
    if not names:
        return []
    here = [x for x in QUANTITIES.values() if x.name in methods]
    return [
        f"bound by {listed(names)}: print(robot.constraint_report(q))",
        f"kept by {', '.join([*(x.name for x in here if x.constrained), 'motor_forces', 'equilibrium', 'modes', 'simulate'])}",
        f"of the tree alone, whatever binds it: {', '.join(x.name for x in here if x.of_tree)}",
    ]
