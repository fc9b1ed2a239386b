"""Multibody dynamics: describe a mechanism, get every quantity of its dynamics as a compiled kernel."""

from importlib import import_module

from .contact.solver.complementarity import lcp
from .contact.solver.solve import ConeSolution, solve_contacts
from .dynamics import Dynamics
from .engine.loading.gufunc import get_threads, set_threads
from .errors import (
    EquilibriumError,
    LinkworkError,
    MissingFileError,
    ModelError,
    ModelWarning,
    OptionError,
    ShapeError,
    SimulationError,
    TraceError,
    UnknownNameError,
    deprecated,
)
from .flexible import FlexibleBody
from .formats import load, load_flexible, save
from .joints import (
    Compound,
    Cylindrical,
    Elastic,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    PlanarTranslation,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translation,
    Universal,
)
from .lie.iteration import iterate
from .model import (
    Actuator,
    Body,
    Builder,
    Contact,
    Coupling,
    Fluid,
    Frame,
    Graph,
    Immersed,
    Loop,
    Material,
    Model,
    PlacedJoint,
    Push,
    Shape,
    Spring,
    from_dh,
    mechanisms,
    sections,
)
from .simulate import (
    DOP853,
    RK4,
    RK45,
    Baumgarte,
    ContactLaw,
    Embed,
    Ensemble,
    Euler,
    Event,
    Midpoint,
    Moreau,
    Project,
    Radau,
    Rosenbrock,
    Save,
    Stiff,
    Trajectory,
    contact_kernel,
    gradient,
    hold,
    rollout,
    rollout_gradient,
    simulate,
)
from .spatial import Pose
from .view import Motion, View, movie, plot, plot_phase, plot_tree, record, snapshot, view

LATER = {
    "answers": ("Equilibrium", "Mode", "Modes"),
    "constraints": (),
    "equations": ("Equations", "MaximalCoordinates", "QuasiVelocities", "Screws", "SingleBody", "VirtualWork", "symbolic"),
    "convert": (),
    "operators": ("SKO", "NoRuleError", "Operators", "RankError", "Task"),
}  # modules that are imported when one of their names is asked for

__version__ = "0.1.0"

__all__ = [
    # what a mechanism is
    "Actuator", "Body", "Builder", "Contact", "Coupling", "FlexibleBody", "Fluid", "Frame", "Graph", "Immersed",
    "Loop", "Material", "Model", "Pose", "Push", "Shape", "Spring", "from_dh", "load", "load_flexible", "mechanisms",
    "save", "sections",
    # joints
    "Compound", "Cylindrical", "Elastic", "Fixed", "Free", "Helical", "Joint", "Planar", "PlanarTranslation",
    "Prismatic", "Revolute", "Schoenflies", "Spherical", "Translation", "Universal",
    # how it moves
    "Dynamics", "Equilibrium", "Mode", "Modes", "NoRuleError", "Operators", "RankError", "SKO", "Task", "answers",
    "constraints", "contact_kernel", "iterate",
    # equations in closed form
    "Equations", "MaximalCoordinates", "QuasiVelocities", "Screws", "SingleBody", "VirtualWork", "symbolic",
    # what happens
    "Ensemble", "Event", "Save", "Trajectory", "gradient", "hold", "rollout", "rollout_gradient", "simulate",
    # methods, and how constraints and contacts are kept
    "Baumgarte", "ConeSolution", "ContactLaw", "DOP853", "Embed", "Euler", "Midpoint", "Moreau", "Project", "RK4",
    "RK45", "Radau", "Rosenbrock", "Stiff", "lcp", "solve_contacts",
    # pictures
    "Motion", "View", "movie", "plot", "plot_phase", "plot_tree", "record", "snapshot", "view",
    # errors
    "EquilibriumError", "LinkworkError", "MissingFileError", "ModelError", "ModelWarning", "OptionError",
    "ShapeError", "SimulationError", "TraceError", "UnknownNameError",
    # settings, and other libraries
    "convert", "get_threads", "set_threads",
]


def __getattr__(name: str):
    if name == "Hinge":
        deprecated("linkwork.Hinge", "linkwork.PlacedJoint")
        return PlacedJoint
    if name == "adjoint":
        deprecated("linkwork.adjoint", "linkwork.gradient")
        return gradient
    if name == "ContactSolver":
        deprecated("linkwork.ContactSolver", "linkwork.ContactLaw, with method= as solver=")
        return import_module(".simulate.methods.contact_law", __name__).contact_solver
    for module, names in LATER.items():
        if name == module or name in names:
            found = import_module(f".{module}", __name__)
            return found if name == module else getattr(found, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def __dir__() -> list[str]:
    return __all__
