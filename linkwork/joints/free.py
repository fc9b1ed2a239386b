from dataclasses import dataclass

from ..lie import SE3
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Free(Joint):
    """Six degrees of freedom. SE(3): q = [quaternion x y z w, position], v = [omega, velocity] in the moving axes."""

    group = SE3
