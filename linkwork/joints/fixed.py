from dataclasses import dataclass

from ..lie import R
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Fixed(Joint):
    """Welds two bodies together. The trivial group: no coordinates."""

    group = R(0)
