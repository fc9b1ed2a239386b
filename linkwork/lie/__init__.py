"""Lie groups of rigid motions, over any scalar and any batch shape: one contract, `Group`, one short file per group."""
from linkwork.lie.cylindrical import CYLINDRICAL
from linkwork.lie.group import Group
from linkwork.lie.helical import Helical
from linkwork.lie.real import R
from linkwork.lie.schoenflies import X
from linkwork.lie.se2 import SE2
from linkwork.lie.se3 import SE3
from linkwork.lie.so2 import SO2
from linkwork.lie.so3 import SO3

__all__ = ["CYLINDRICAL", "Group", "Helical", "R", "SE2", "SE3", "SO2", "SO3", "X"]
