"""How the mass matrix and its determinant change: along v, and along each velocity, as `integrate` moves (Jain, chapter 18)."""

import numpy as np

from .. import sweeps
from ..lie.scalars import like
from . import long
from .declaration import Honours, quantity

NOTHING = Honours.NOTHING


@quantity(("nv",), NOTHING, of_joints=True, of_tree=True)
def mass_matrix_rate_times(system, q, v, dv):
    """d𝓜/dt dv."""
    s = system.blocks(q)
    return s.tree.join(sweeps.mass_matrix_rate_times(s, system.entry_rates(s, v), s.tree.split(dv), system.still))


@quantity(("nv", "nv"), NOTHING, of_joints=True, product=(mass_matrix_rate_times, "dv"), of_tree=True)
def mass_matrix_rate(system, q, v):
    """d𝓜/dt of the tree while it moves with v."""
    s = system.blocks(q)
    return sweeps.mass_matrix_rate(s, system.entry_rates(s, v))


@quantity(("nv", "nv", "nv"), NOTHING, of_joints=True, rolls=False, long=long.mass_matrix_derivative, of_tree=True)
def mass_matrix_derivative(system, q):
    """∂𝓜/∂q of the tree, the last axis the velocity along which q moves."""
    s = system.blocks(q)
    if system.is_rigid:
        return sweeps.mass_matrix_derivative(s, sweeps.composite_inertia(s))
    return along_each_velocity(s, q, lambda e: sweeps.mass_matrix_rate(s, system.entry_rates(s, e)))


@quantity((), NOTHING, of_joints=True, of_tree=True, divides_by_inertia=True)
def log_determinant(system, q):
    """log det 𝓜 = Σ log det D(k) of the tree                                              Jain (9.53), (18.66)."""
    s = system.blocks(q)
    _, D, _, _ = sweeps.articulated_inertia(s)
    return sweeps.log_determinant(s, D)


@quantity(("nv",), NOTHING, of_joints=True, of_tree=True, divides_by_inertia=True)
def log_determinant_gradient(system, q):
    """∂ log det 𝓜/∂q of the tree along each velocity: twice the Fixman torque                  Jain (18.66) to (18.68)."""
    s = system.blocks(q)
    P, D, G, P_plus = sweeps.articulated_inertia(s)
    if system.is_rigid:
        Upsilon, _, _ = sweeps.compliances(s, D, G, system.still @ system.still.mT)
        return s.tree.join(sweeps.log_determinant_slopes(s, P_plus, Upsilon))

    def rate(e):
        _, D_dot, _, _ = sweeps.articulated_rates(s, system.entry_rates(s, e), P, D, G, P_plus)
        return sweeps.log_determinant_rate(s, D, D_dot)

    return along_each_velocity(s, q, rate)


def along_each_velocity(s, q, rate):
    """Rates along each unit velocity, the last axis saying which."""
    return np.stack([rate(like(e, q)) for e in np.eye(s.tree.nv)], -1)
