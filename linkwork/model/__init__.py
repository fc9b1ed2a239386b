"""What a mechanism is."""

from ..errors import deprecated
from . import mechanisms, sections, solids
from .actuators import Actuator
from .builder import Builder, from_dh
from .constraints import Bond, Distance, Driven, Holonomic, KnifeEdge, Linear, Pfaffian, Rolling, Touching, distances
from .contacts import Contact
from .forces import Fluid, Immersed, Push, Spring
from .graph import Graph
from .mechanisms import mechanism
from .model import Model, displacement
from .parts import Body, Coupling, Frame, Loop, Material, PlacedJoint, Shape
from .tree import Tree

__all__ = [
    "Actuator", "Body", "Bond", "Builder", "Contact", "Coupling", "Distance", "Driven", "Fluid", "Frame", "Graph",
    "PlacedJoint", "Holonomic", "Immersed", "KnifeEdge", "Linear", "Loop", "Material", "Model", "Pfaffian", "Push",
    "Rolling", "Shape", "Spring", "Touching", "Tree", "displacement", "from_dh", "mechanism", "mechanisms",
    "sections", "solids", "distances",
]


def __getattr__(name: str):
    if name == "Hinge":
        deprecated("linkwork.model.Hinge", "linkwork.model.PlacedJoint")
        return PlacedJoint
    raise AttributeError(f"module {__name__} has no attribute {name}")
