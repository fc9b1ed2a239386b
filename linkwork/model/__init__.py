"""What a mechanism is."""

from . import solids
from .builder import Builder, from_dh
from .forces import Push, Spring
from .graph import Graph
from .mechanisms import mechanism
from .model import Model, displacement
from .nodes import Nodes, lower
from .parts import Body, Coupling, Frame, Hinge, Loop, Shape
from .tree import Tree

__all__ = [
    "Body",
    "Builder",
    "Coupling",
    "Frame",
    "Graph",
    "Hinge",
    "Loop",
    "Model",
    "Nodes",
    "Push",
    "Shape",
    "Spring",
    "Tree",
    "displacement",
    "from_dh",
    "lower",
    "mechanism",
    "solids",
]
