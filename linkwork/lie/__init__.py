"""Lie groups of rigid motions, over any scalar and any batch shape: one interface, `Group`."""

from .about_z import CYLINDRICAL, SE2, SO2, Helical, X
from .group import Group
from .real import R
from .se3 import SE3
from .so3 import SO3

__all__ = ["CYLINDRICAL", "Group", "Helical", "R", "SE2", "SE3", "SO2", "SO3", "X"]
