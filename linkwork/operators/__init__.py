"""Spatial operators: the same mathematics as the sweeps, as algebra. And SKO, the model they are operators of."""

from .algebra import Operators
from .geared import geared, velocities_of_all, with_elastic_gears
from .operator import Operator
from .partition import Part, Partition, aggregable, induced_edges, partition, path_induced
from .rigid import about_a_fixed_point, operators, prescribed, rigid, shifted, with_inertial_rates
from .rules import NoRuleError
from .sko import SKO, Changes
from .tasks import RankError, Task
