"""Algorithms. Each is one sweep or two over a tree of blocks, written as the book writes it; none knows a joint, a base or a size."""

from .articulated_inertia import articulated_inertia, log_determinant
from .articulated_rates import (
    articulated_rates,
    compliance_rates,
    composite_rates,
    log_determinant_rate,
    log_determinant_slopes,
    transition_rates,
)
from .blocks import BlockRates, Blocks, Rates, at_rest
from .composite_inertia import composite_inertia
from .coriolis_matrix import coriolis_matrix, coriolis_matrix_times
from .dual import base_invariant_dynamics, dual_articulated_inertia, dual_innovations
from .forward_dynamics import accelerations, forward_dynamics, innovations, interbody_forces
from .gather_scatter import gather, scatter
from .inverse_dynamics import inverse_dynamics
from .inverse_dynamics_derivatives import inverse_dynamics_derivatives, inverse_dynamics_gradient, inverse_dynamics_rate
from .jacobian import jacobian, jacobian_derivative
from .kinematics import poses, velocities
from .mass_matrix import mass_matrix
from .mass_matrix_inverse import mass_matrix_inverse
from .mass_matrix_rate import mass_matrix_derivative, mass_matrix_rate, mass_matrix_rate_times
from .mass_matrix_solve import factored, inwards, mass_matrix_solve, outwards, rows_compliance, velocity_tree
from .momentum import kinetic_energy, kinetic_energy_gradient, momentum, momentum_derivatives, momentum_rate
from .neighbours import each
from .operational_space import compliance, compliances, joint_compliance, responses, transitions
