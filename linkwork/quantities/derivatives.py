"""Derivatives of inverse and forward dynamics, those by q along the group, as `integrate` moves: columns match v."""

import numpy as np

from .. import sweeps
from ..lie.scalars import like
from . import long
from .declaration import Honours, quantity

TREE = Honours.GRAVITY | Honours.EXTERNAL
SQUARE = "nv", "nv"


def rigid_motion(system, who: str, q, v, vdot, external):
    """Blocks and rates, then velocities, accelerations and forces of the nodes."""
    system.check_rigid(who)
    s = system.blocks(q)
    r = system.rates(s, v, external=external)
    _, alpha, f = sweeps.inverse_dynamics(s, r, s.tree.split(vdot))
    return s, sweeps.velocities(s, s.tree.split(v), system.still), alpha, f


@quantity(("nv",), TREE, of_joints=True, of_tree=True)
def inverse_dynamics_rate(system, q, v, vdot, dq, dv, dvdot, external=None):
    """The rate of `inverse_dynamics` while q moves with the velocity dq, v with the rate dv and v̇ with dvdot."""
    s, V, alpha, f = rigid_motion(system, "inverse_dynamics_rate", q, v, vdot, external)
    v, dq, dv, dvdot = (s.tree.split(x) for x in (v, dq, dv, dvdot))
    return s.tree.join(sweeps.inverse_dynamics_rate(s, v, V, alpha, f, dq, dv, dvdot, system.still))


@quantity((SQUARE,) * 3, TREE, of_joints=True, rolls=False, long=long.inverse_dynamics_derivatives, of_tree=True)
def inverse_dynamics_derivatives(system, q, v, vdot, external=None):
    """∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ = 𝓜 of the tree's inverse dynamics."""
    s, V, alpha, f = rigid_motion(system, "inverse_dynamics_derivatives", q, v, vdot, external)
    by_q, by_v = sweeps.inverse_dynamics_derivatives(s, system.block_rates(s, v), V, alpha, f)
    return by_q, by_v, sweeps.mass_matrix(s, sweeps.composite_inertia(s))


@quantity(
    (SQUARE,) * 3, TREE, of_joints=True, rolls=False, long=long.forward_dynamics_derivatives,
    refuses="robot.inverse_dynamics_derivatives(q, v, vdot) are those of the tree; derivatives under constraints are not there yet",
)  # fmt: skip
def forward_dynamics_derivatives(system, q, v, tau, external=None):
    """∂v̇/∂q = −𝓜⁻¹ ∂τ/∂q, ∂v̇/∂v = −𝓜⁻¹ ∂τ/∂v and ∂v̇/∂τ = 𝓜⁻¹, at the v̇ of these forces."""
    system.check_rigid("forward_dynamics_derivatives")
    s = system.blocks(q)
    r = system.rates(s, v, tau, external)
    P, D, G, _ = sweeps.articulated_inertia(s)
    _, alpha, z = sweeps.forward_dynamics(s, P, D, G, r)
    f = sweeps.interbody_forces(s, P, r, alpha, z)
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    by_q, by_v = sweeps.inverse_dynamics_derivatives(s, system.block_rates(s, v), V, alpha, f)
    factors = sweeps.factored(s.tree, sweeps.mass_matrix(s, sweeps.composite_inertia(s)))
    columns = -by_q, -by_v, like(np.eye(s.tree.nv), q)
    return tuple(sweeps.mass_matrix_solve(s.tree, factors, x)[..., : s.tree.nv] for x in columns)
