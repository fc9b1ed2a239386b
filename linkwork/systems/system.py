"""The interface of a system: the equations of a mechanism over some scalars.

A system stores nothing between calls. What it knows at a configuration is part of the blocks, and what it knows at velocities and forces is
part of the rates: `blocks.own` and `rates.own`, which are the system's alone. Where constraints have no answer, results are not numbers.
"""

from abc import ABC, abstractmethod
from typing import Any

from ..sweeps.blocks import BlockRates, Blocks, Rates


class System(ABC):
    """Blocks and rates at a state, for every sweep, and the way back from velocities of the blocks to those of the tree."""

    tree: Any  # of the blocks

    @abstractmethod
    def blocks(self, q) -> Blocks:
        """The blocks at a configuration."""

    @abstractmethod
    def rates(self, s: Blocks, v, tau=None, external=None) -> Rates:
        """What velocities v and forces of the tree add, at the configuration of the blocks."""

    @abstractmethod
    def whole(self, s: Blocks, r: Rates, vdot) -> Any:
        """The accelerations (..., nv) of the tree from those of the blocks."""

    @abstractmethod
    def response(self, s: Blocks, vdot) -> Any:
        """Columns of accelerations (..., nv, m) that forces alone make, of the tree, from those of the blocks."""

    @property
    @abstractmethod
    def kinematic(self) -> Any:
        """The nodes that say where bodies are, and what their joints do by themselves."""

    # --- what not every quantity asks for

    def entry_rates(self, s: Blocks, v) -> BlockRates:
        """Rates of the entries of the blocks along v."""
        raise NotImplementedError

    def place(self, k: int, B) -> tuple[int, Any]:
        """Directions B on node k, in the height of its block."""
        return k, B
