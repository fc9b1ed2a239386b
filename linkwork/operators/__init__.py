"""Spatial operators: the same mathematics as the sweeps, as algebra. And SKO, the model they are operators of."""

from .algebra import Operators
from .operator import Operator
from .rigid import about_a_fixed_point, operators, prescribed, rigid, shifted, with_inertial_rates
from .rules import NoRuleError
from .sko import SKO

__all__ = [
    "NoRuleError",
    "Operator",
    "Operators",
    "SKO",
    "about_a_fixed_point",
    "operators",
    "prescribed",
    "rigid",
    "shifted",
    "with_inertial_rates",
]
