"""What can be asked of a system, each quantity with its declaration."""

from .declaration import ARRAYS, QUANTITIES, SIZES, Given, Honours, Quantity, quantity
from .derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives, inverse_dynamics_rate
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
from .kinematics import (
    body_accelerations,
    body_velocities,
    coordinate_rates,
    difference,
    integrate,
    jacobian,
    joint_forces,
    pose,
    poses,
    qdot,
)
from .motion import bias, forward_dynamics, gravity_force, hybrid_dynamics, inverse_dynamics, joint_wrenches
from .tasks import joint_response, task_acceleration, task_compliance, task_inertia, task_jacobian

__all__ = [
    "ARRAYS",
    "Given",
    "Honours",
    "QUANTITIES",
    "Quantity",
    "SIZES",
    "bias",
    "body_accelerations",
    "body_velocities",
    "center_of_mass",
    "centroidal_momentum",
    "coordinate_rates",
    "coriolis_matrix",
    "coriolis_matrix_times",
    "difference",
    "explicit_mass_matrix_inverse",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "gravity_force",
    "hybrid_dynamics",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_rate",
    "jacobian",
    "joint_forces",
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
