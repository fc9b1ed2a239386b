"""What can be asked of a system, each quantity with its declaration."""

from .declaration import QUANTITIES, SIZES, Given, Honours, Quantity, quantity
from .energy import center_of_mass, centroidal_momentum, kinetic_energy, passive_force, potential_energy
from .inertia import (
    coriolis_matrix,
    coriolis_matrix_times,
    explicit_mass_matrix_inverse,
    mass_matrix,
    mass_matrix_inverse,
    mass_matrix_solve,
    mass_matrix_times,
)
from .kinematics import difference, integrate, jacobian, pose, poses, qdot
from .motion import bias, forward_dynamics, gravity_force, hybrid_dynamics, inverse_dynamics, joint_wrenches
from .tasks import joint_response, task_acceleration, task_compliance, task_inertia, task_jacobian

__all__ = [
    "Given",
    "Honours",
    "QUANTITIES",
    "Quantity",
    "SIZES",
    "bias",
    "center_of_mass",
    "centroidal_momentum",
    "coriolis_matrix",
    "coriolis_matrix_times",
    "difference",
    "explicit_mass_matrix_inverse",
    "forward_dynamics",
    "gravity_force",
    "hybrid_dynamics",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "joint_response",
    "joint_wrenches",
    "kinetic_energy",
    "mass_matrix",
    "mass_matrix_inverse",
    "mass_matrix_solve",
    "mass_matrix_times",
    "passive_force",
    "pose",
    "poses",
    "potential_energy",
    "qdot",
    "quantity",
    "task_acceleration",
    "task_compliance",
    "task_inertia",
    "task_jacobian",
]
