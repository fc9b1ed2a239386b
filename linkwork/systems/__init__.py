"""Systems: from a Model to the blocks that sweeps run on. Each producer of blocks is one short file."""

from .derived import Producer
from .lowered import DTYPES, Lowered
from .lowering import lower
from .nodes import BONDS, VARIABLE, Nodes

__all__ = ["BONDS", "DTYPES", "Lowered", "Nodes", "Producer", "VARIABLE", "lower"]
