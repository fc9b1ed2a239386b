"""Derived systems: other blocks from those of a rigid tree. This is all that a new kind of system is.

    robot = lw.Dynamics(model, system=producer)
"""

from abc import ABC, abstractmethod
from copy import copy

from ..errors import ModelError
from ..sweeps import BlockRates, Blocks, Rates
from ..sweeps.blocks import shapes
from .rigid import RigidTree


class Producer(ABC):
    """Makes blocks from blocks, and rates from rates, over any scalar: what it computes with NumPy becomes part of kernels."""

    @property
    def title(self) -> str:
        """The name of the producer in messages."""
        return f"the producer {type(self).__name__}"

    @abstractmethod
    def blocks(self, nodes, s: Blocks, q) -> Blocks:
        """The blocks at q, from those of `nodes`."""

    def rates(self, nodes, s: Blocks, r: Rates, q, v) -> Rates:
        """The rates at (q, v), from those of a rigid tree with the new blocks s: a = V~ H* v, b = V̄ M V."""
        return r

    def block_rates(self, nodes, s: Blocks, d: BlockRates, q, v) -> BlockRates:
        """How the blocks change, for the Coriolis matrix, from how those of a rigid tree with the blocks s do: to be given where
        A, H or M change with the configuration in another way."""
        return d

    def weighed(self, nodes):
        """[m c; m] of each node and last of the world, for potential energy: to be given where gravity pulls other masses."""
        return nodes.weighed


class Derived(RigidTree):
    """A system whose blocks a producer makes; in all else it is the rigid nodes it was made from."""

    def __init__(self, nodes, producer: Producer):
        self.nodes, self.producer = nodes, producer

    def __getattr__(self, name: str):
        if name == "nodes":
            raise AttributeError(name)  # not made yet, as when it is copied
        return getattr(self.nodes, name)

    def without_friction(self) -> "Derived":
        """The system of joints without dry friction."""
        made = copy(self)
        made.nodes = self.nodes.without_friction()
        return made

    def blocks(self, q) -> Blocks:
        s = self.producer.blocks(self.nodes, self.nodes.blocks(q), q)
        self._check(isinstance(s, Blocks), "returns its blocks as Blocks: s._replace(M=...)")
        for k, name, came, fitting in shapes(s, self.nodes.still.shape[-2]):
            self._check(came[-2:] == fitting, f"gives node {k} a block {name} of shape {came[-2:]}; it takes {fitting}")
        return s._replace(q=q)

    def _check(self, good: bool, said: str) -> None:
        if not good:
            raise ModelError(f"{self.producer.title} {said}.")

    def rates(self, s: Blocks, v, tau=None, external=None) -> Rates:
        return self._checked(s, self.producer.rates(self.nodes, s, self.nodes.rates(s, v, tau, external), s.q, v))

    def _checked(self, s: Blocks, r: Rates) -> Rates:
        for k in s.tree.base_to_tips():
            for name, x in (("a", r.a[k]), ("b", r.b[k])):
                shape = x.shape[-2:]
                self._check(shape == (s.M[k].shape[-1], 1), f"gives node {k} a rate {name} of shape {shape}; it is a column")
        return r

    def block_rates(self, s: Blocks, v) -> BlockRates:
        return self.producer.block_rates(self.nodes, s, self.nodes.block_rates(s, v), s.q, v)

    def entry_rates(self, s: Blocks, v) -> BlockRates:
        """Those of a rigid tree with these blocks, and what the producer adds to rates."""
        own = self.nodes.entry_rates(s, v)
        if type(self.producer).block_rates is Producer.block_rates:
            return own
        rigid, made = self.nodes.block_rates(s, v), self.block_rates(s, v)
        return BlockRates(*({k: x[k] + z[k] - y[k] for k in s.tree.base_to_tips()} for x, y, z in zip(own, rigid, made)))

    @property
    def weighed(self):
        return self.producer.weighed(self.nodes)

    is_rigid = False

    def check_rigid(self, who: str):
        instead = "robot.forward_dynamics, robot.derivative(name, ..., by=...) and robot.linearize do"
        self._check(False, f"changes the inertia of the bodies in a way that {who} does not know; {instead}")

    def inertia_of(self, bodies):
        said = "makes blocks that cannot be shared out among bodies fixed together. Name the body on the joint that moves"
        self._check(False, said)

    def rates_at_rest(self, s: Blocks) -> Rates:
        return self._checked(s, self.producer.rates(self.nodes, s, self.nodes.rates_at_rest(s), s.q, self.nodes.zeros))
