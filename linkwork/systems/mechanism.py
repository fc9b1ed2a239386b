"""A mechanism: a model with all that binds it, lowered. Its equations at some scalars, and with some constants, are a system."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from .lowered import Lowered
from .nodes import Nodes
from .system import System

NONE: Mapping = MappingProxyType({})


class Binding(ABC):
    """What binds a mechanism besides its joints."""

    @abstractmethod
    def system(self, over: Callable[[Nodes], Nodes], some, drive=None) -> System:
        """The system with this binding; `over` gives nodes their scalars, those of `some`, and `drive` is what drives do."""

    @abstractmethod
    def drive(self, t, some) -> list:
        """What drives do at time t."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """`mechanism.at(scalars, constants)` is its system."""

    lowered: Lowered
    nodes: Nodes  # that programs are traced on
    varied: Callable | None = None  # (nodes, some scalar, constants by name) -> nodes that have these constants
    names: tuple[str, ...] = ()  # of constants that may vary
    binding: Binding | None = None

    def tree(self, some, constants: Mapping = NONE) -> Nodes:
        """The nodes of the tree, over the scalars of `some`, with those of the constants that vary."""
        return self._over(self.nodes, some, constants)

    def at(self, some, constants: Mapping = NONE, drive=None, *, friction: bool = True) -> System:
        """The system over the scalars of `some`; without `friction` its joints have no dry friction."""

        def over(nodes):
            nodes = self._over(nodes, some, constants)
            return nodes if friction else nodes.without_friction()

        return self.lowered.system(over(self.nodes)) if self.binding is None else self.binding.system(over, some, drive)

    def drive(self, t, some) -> list:
        """What drives do at time t."""
        return [] if self.binding is None else self.binding.drive(t, some)

    @property
    def unbound(self) -> "Mechanism":
        """The tree alone."""
        return self if self.binding is None else replace(self, binding=None)

    def _over(self, nodes: Nodes, some, constants: Mapping) -> Nodes:
        if self.varied is None:
            return nodes.over(some)
        return self.varied(nodes, some, {name: constants[name] for name in self.names if name in constants})
