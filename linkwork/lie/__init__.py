"""Lie groups of rigid motions, over any scalar and any batch shape: one interface, `Group`, one short file per group."""

from .cylindrical import CYLINDRICAL
from .group import Group
from .helical import Helical
from .real import R
from .schoenflies import X
from .se2 import SE2
from .se3 import SE3
from .so2 import SO2
from .so3 import SO3

__all__ = ["CYLINDRICAL", "Group", "Helical", "R", "SE2", "SE3", "SO2", "SO3", "X"]
