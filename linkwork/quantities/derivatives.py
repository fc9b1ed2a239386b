"""Derivatives of inverse and forward dynamics, those by q along the group, as `integrate` moves: columns match v."""

import numpy as np

from .. import sweeps
from ..lie.scalars import like
from ..sweeps.blocks import at_rest
from . import by_program, long
from .declaration import Honours, few_products, quantity
from .energy import passive_force
from .passive_derivatives import SPRINGS, passive_force_derivatives

TREE = Honours.GRAVITY | Honours.EXTERNAL
SQUARE = "nv", "nv"
BOUND = TREE | Honours.CONSTRAINTS
INVERSE = by_program.jacobian("inverse_dynamics", "q", "v", "vdot")
FORWARD = by_program.jacobian("forward_dynamics", "q", "v", "tau")
UNDER_CONSTRAINTS = "robot.forward_dynamics_derivatives(q, v, tau, passive=True) keeps them"


def rigid_motion(system, who: str, q, v, vdot, external):
    """Blocks and rates, then velocities, accelerations and forces of the nodes."""
    system.check_rigid(who)
    s = system.blocks(q)
    r = system.rates(s, v, external=external)
    _, alpha, f = sweeps.inverse_dynamics(s, r, s.tree.split(vdot))
    return s, sweeps.velocities(s, s.tree.split(v), system.still), alpha, f


def forward_motion(system, who: str, q, v, tau, external):
    """The same of the motion that forces make, and P, D, G of its articulated bodies."""
    system.check_rigid(who)
    s = system.blocks(q)
    r = system.rates(s, v, tau, external)
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    P, D, G, _ = sweeps.articulated_inertia(s)
    _, alpha, z = sweeps.forward_dynamics(s, P, D, G, r)
    return s, V, P, D, G, alpha, sweeps.interbody_forces(s, P, r, alpha, z)


@quantity(("nv",), TREE, of_joints=True, of_tree=True, program=by_program.jvp("inverse_dynamics"))
def inverse_dynamics_rate(system, q, v, vdot, dq, dv, dvdot, external=None):
    """The rate of `inverse_dynamics` while q moves with the velocity dq, v with the rate dv and v̇ with dvdot."""
    s, V, alpha, f = rigid_motion(system, "inverse_dynamics_rate", q, v, vdot, external)
    v, dq, dv, dvdot = (s.tree.split(x) for x in (v, dq, dv, dvdot))
    return s.tree.join(sweeps.inverse_dynamics_rate(s, v, V, alpha, f, dq, dv, dvdot, system.still))


@quantity(("nv",), BOUND, of_joints=True, program=by_program.jvp("forward_dynamics"))
def forward_dynamics_rate(system, q, v, tau, dq, dv, dtau, external=None):
    """The rate of `forward_dynamics` while q moves with the velocity dq, v with the rate dv and τ with dtau: 𝓜⁻¹ (dtau − τ̇), τ̇ the rate of
    inverse dynamics at this v̇."""
    s, V, P, D, G, alpha, f = forward_motion(system, "forward_dynamics_rate", q, v, tau, external)
    v, dq, dv, dtau, still = (s.tree.split(x) for x in (v, dq, dv, dtau, system.zeros))
    tau_dot = sweeps.inverse_dynamics_rate(s, v, V, alpha, f, dq, dv, still, system.still)
    missing = sweeps.each(s.tree, np.subtract, dtau, tau_dot)
    rate, _, _ = sweeps.forward_dynamics(s, P, D, G, at_rest(s, system.still, missing))
    return s.tree.join(rate)


@quantity((("nv",),) * 3, TREE, of_joints=True, of_tree=True, program=by_program.vjp("inverse_dynamics"))
def inverse_dynamics_gradient(system, q, v, vdot, weight, external=None):
    """weight · ∂τ/∂q, weight · ∂τ/∂v and weight · ∂τ/∂v̇ of `inverse_dynamics`."""
    s, V, alpha, f = rigid_motion(system, "inverse_dynamics_gradient", q, v, vdot, external)
    found = sweeps.inverse_dynamics_gradient(s, s.tree.split(v), V, alpha, f, s.tree.split(weight), system.still)
    return tuple(map(s.tree.join, found))


@quantity((("nv",),) * 3, BOUND, of_joints=True, program=by_program.vjp("forward_dynamics"))
def forward_dynamics_gradient(system, q, v, tau, weight, external=None):
    """weight · ∂v̇/∂q, weight · ∂v̇/∂v and weight · ∂v̇/∂τ of `forward_dynamics`: −λ ∂τ and λ = 𝓜⁻¹ weight."""
    s, V, P, D, G, alpha, f = forward_motion(system, "forward_dynamics_gradient", q, v, tau, external)
    multipliers, _, _ = sweeps.forward_dynamics(s, P, D, G, at_rest(s, system.still, s.tree.split(weight)))
    opposite = sweeps.each(s.tree, np.negative, multipliers)
    by_q, by_v, _ = sweeps.inverse_dynamics_gradient(s, s.tree.split(v), V, alpha, f, opposite, system.still)
    return tuple(map(s.tree.join, (by_q, by_v, multipliers)))


@quantity((SQUARE,) * 3, TREE, of_joints=True, rolls=False, long=long.inverse_dynamics_derivatives, of_tree=True, program=INVERSE)
def inverse_dynamics_derivatives(system, q, v, vdot, external=None):
    """∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ = 𝓜 of the tree's inverse dynamics."""
    s, V, alpha, f = rigid_motion(system, "inverse_dynamics_derivatives", q, v, vdot, external)
    by_q, by_v = sweeps.inverse_dynamics_derivatives(s, system.block_rates(s, v), V, alpha, f)
    return by_q, by_v, sweeps.mass_matrix(s, sweeps.composite_inertia(s))


@quantity(
    (SQUARE,) * 3, BOUND, of_joints=True, rolls=False, long=long.forward_dynamics_derivatives, straight_up_to=few_products,
    divides_by_inertia=True, program=FORWARD,
)  # fmt: skip
def forward_dynamics_derivatives(system, q, v, tau, external=None):
    """∂v̇/∂q = −𝓜⁻¹ ∂τ/∂q, ∂v̇/∂v = −𝓜⁻¹ ∂τ/∂v and ∂v̇/∂τ = 𝓜⁻¹, at the v̇ of these forces."""
    return solved(system, "forward_dynamics_derivatives", q, v, tau, external)


@quantity(
    (SQUARE,) * 3, TREE | SPRINGS, of_joints=True, rolls=False, long=long.inverse_dynamics_derivatives_with_passive_forces, of_tree=True,
    program=by_program.with_passive_forces("inverse_dynamics", "q", "v", "vdot"),
)  # fmt: skip
def inverse_dynamics_derivatives_with_passive_forces(system, q, v, vdot, external=None):
    """The same of τ − Q, what motors have to add to the passive forces Q of the model."""
    by_q, by_v, M = inverse_dynamics_derivatives(system, q, v, vdot, external)
    of_q, of_v = passive_force_derivatives(system, q, v)
    return by_q - of_q, by_v - of_v, M


@quantity(
    (SQUARE,) * 3, TREE | Honours.PASSIVE, of_joints=True, rolls=False, long=long.forward_dynamics_derivatives_with_passive_forces,
    straight_up_to=few_products, divides_by_inertia=True, refuses=UNDER_CONSTRAINTS,
    program=by_program.with_passive_forces("forward_dynamics", "q", "v", "tau"),
)  # fmt: skip
def forward_dynamics_derivatives_with_passive_forces(system, q, v, tau, external=None):
    """The same of v̇ under the forces τ + Q, Q the passive forces of the model."""
    passive = passive_force_derivatives(system, q, v)
    return solved(system, "forward_dynamics_derivatives", q, v, tau + passive_force(system, q, v), external, passive)


def solved(system, who: str, q, v, tau, external, passive=(0.0, 0.0)):
    """∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ at the v̇ of forces τ, of which parts change with q and v as `passive` says.

    The factors of 𝓜 that the columns need give v̇ too, in fewer operations than articulated bodies would.
    """
    system.check_rigid(who)
    s = system.blocks(q)
    factors = sweeps.factored(s.tree, sweeps.mass_matrix(s, sweeps.composite_inertia(s)))
    r = system.rates(s, v, external=external)
    bias, _, _ = sweeps.inverse_dynamics(s, r, s.tree.split(system.zeros))
    vdot = sweeps.mass_matrix_solve(s.tree, factors, tau[..., None] - s.tree.join_rows(bias))
    _, alpha, f = sweeps.inverse_dynamics(s, r, s.tree.split_rows(vdot))
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    by_q, by_v = sweeps.inverse_dynamics_derivatives(s, system.block_rates(s, v), V, alpha, f)
    columns = passive[0] - by_q, passive[1] - by_v, like(np.eye(s.tree.nv), q)
    return tuple(sweeps.mass_matrix_solve(s.tree, factors, x)[..., : s.tree.nv] for x in columns)
