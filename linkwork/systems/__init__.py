"""Systems: from a Model to the blocks that sweeps run on. Each producer of blocks is one short file."""

from .derived import Producer
from .lowered import DTYPES, Lowered
from .lowering import lower
from .mechanism import Binding, Mechanism
from .nodes import BONDS, VARIABLE, Nodes
from .system import System

__all__ = ["BONDS", "Binding", "DTYPES", "Lowered", "Mechanism", "Nodes", "Producer", "System", "VARIABLE", "lower"]
