"""Derived systems: other blocks from those of a rigid tree. This is all that a new kind of system is.

    robot = lw.Dynamics(model, system=producer)
"""

from abc import ABC, abstractmethod

from ..sweeps import Blocks, Rates
from .rigid import RigidTree


class Producer(ABC):
    """Makes blocks from blocks, and rates from rates, over any scalar: what it computes with NumPy becomes part of kernels."""

    @abstractmethod
    def blocks(self, nodes, s: Blocks, q) -> Blocks:
        """The blocks at q, from those of `nodes`."""

    def rates(self, nodes, s: Blocks, r: Rates, q, v) -> Rates:
        """The rates at (q, v), from those of a rigid tree with the new blocks s: a = V~ H* v, b = V̄ M V."""
        return r


class Derived(RigidTree):
    """A system whose blocks a producer makes; in all else it is the nodes it was made from."""

    def __init__(self, nodes, producer: Producer):
        self.nodes, self.producer = nodes, producer

    def __getattr__(self, name: str):
        return getattr(self.nodes, name)

    def blocks(self, q) -> Blocks:
        self.q = q
        return self.producer.blocks(self.nodes, self.nodes.blocks(q), q)

    def rates(self, s: Blocks, v, tau=None, external=None) -> Rates:
        return self.producer.rates(self.nodes, s, self.nodes.rates(s, v, tau, external), self.q, v)

    def rates_at_rest(self, s: Blocks) -> Rates:
        return self.producer.rates(self.nodes, s, self.nodes.rates_at_rest(s), self.q, self.nodes.zeros)
