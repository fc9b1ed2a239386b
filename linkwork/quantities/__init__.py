"""What can be asked of a system, each quantity with its declaration."""

from . import actuation, base_invariant, derivatives, diagonal, hamilton, inertia_rates, momentum, momentum_derivatives
from .declaration import ARRAYS, QUANTITIES, SIZES, Given, Honours, Quantity, quantity
from .derivatives import (
    forward_dynamics_derivatives,
    forward_dynamics_gradient,
    forward_dynamics_rate,
    inverse_dynamics_derivatives_with_passive_forces,
)
from .energy import kinetic_energy, passive_force, potential_energy
from .inertia import mass_matrix, mass_matrix_inverse, mass_matrix_solve
from .kinematics import ad, coordinate_rates, coordinate_weights, difference, integrate, jacobian, jacobian_derivative, pose, poses, qdot
from .motion import forward_dynamics, gravity_force, hybrid_dynamics, inverse_dynamics, joint_wrenches
from .rebasing import rebase, rebase_force
from .sensors import inertial_unit
from .tasks import task_acceleration, task_compliance, task_inertia
