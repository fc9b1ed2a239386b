"""Velocities in which the mass matrix is the identity, η, or block diagonal, ξ, and the dynamics in them (Jain, chapter 19).

Each takes a form: "eta" or "xi". In the second, `eta` is ξ = F* v and `zeta` is ε = F⁻¹ τ. See `sweeps.diagonal`.
"""

from typing import Any, NamedTuple

import numpy as np

from .. import sweeps
from ..errors import OptionError
from ..lie.scalars import like
from ..spatial import solve
from ..sweeps import diagonal, each
from .declaration import Honours, quantity

NOTHING = Honours.NOTHING
FORMS = "eta", "xi"
OF_TREE: dict[str, Any] = {"of_joints": True, "of_tree": True, "divides_by_inertia": True}
INSTEAD = "robot.forward_dynamics(q, v, tau) keeps them; convert its results with diagonal_velocity"


def diagonal_form(model, form: str = "eta"):
    if form not in FORMS:
        raise OptionError(f'the form of diagonal velocities is "{form}"; it may be "eta", normalized, or "xi".')
    return (form,)


class Factors(NamedTuple):
    """The blocks of a system, and of the factors of its mass matrix; W is None where it is not asked for."""

    s: Any
    P: Any
    D: Any
    G: Any
    P_plus: Any
    W: Any


def factors(system, q, form: str) -> Factors:
    s = system.blocks(q)
    P, D, G, P_plus = sweeps.articulated_inertia(s)
    return Factors(s, P, D, G, P_plus, diagonal.roots(s, D) if form == "eta" else None)


def identity(s, q):
    """The columns of the identity, row by row."""
    return s.tree.split_rows(like(np.eye(s.tree.nv), q))


@quantity(("nv",), NOTHING, options=diagonal_form, **OF_TREE)
def diagonal_velocity(system, q, v, form="eta"):
    """η = m* v, m m* = 𝓜: velocities with the kinetic energy ½ |η|²; or ξ = F* v, F D F* = 𝓜             Jain (19.15), Table 19.1."""
    s, _, _, G, _, W = factors(system, q, form)
    xi = diagonal.innovation_velocities(s, G, s.tree.split(v), system.still)
    return s.tree.join(xi if W is None else diagonal.normalized_velocities(s, W, xi))


@quantity(("nv",), NOTHING, options=diagonal_form, **OF_TREE)
def velocity_of_diagonal(system, q, eta, form="eta"):
    """v of η, or of ξ: the inverse of `diagonal_velocity`                                               Jain, Table 19.1."""
    f = factors(system, q, form)
    return f.s.tree.join(velocities(system, f, f.s.tree.split(eta)))


def velocities(system, f: Factors, eta):
    """v of η, or of ξ where there is no W; slots."""
    xi = eta if f.W is None else diagonal.innovation_velocities_of(f.s, f.W, eta)
    return diagonal.joint_velocities(f.s, f.G, xi, system.still)


@quantity(("nv",), NOTHING, options=diagonal_form, **OF_TREE)
def diagonal_force(system, q, tau, form="eta"):
    """ζ = m⁻¹ τ, or ε = F⁻¹ τ: the forces that go with η and ξ                                 Jain (19.15), Table 19.2, corrected."""
    s, _, _, G, _, W = factors(system, q, form)
    return s.tree.join(forces(s, G, W, s.tree.split(tau)))


def forces(s, G, W, tau):
    """m⁻¹ τ, or F⁻¹ τ where there is no W; slots of columns."""
    eps = diagonal.innovation_forces(s, G, tau)
    return eps if W is None else diagonal.normalized_forces(s, W, eps)


@quantity(("nv",), NOTHING, options=diagonal_form, **OF_TREE)
def force_of_diagonal(system, q, zeta, form="eta"):
    """τ = m ζ, or F ε: the inverse of `diagonal_force`                                         Jain, Table 19.2, corrected."""
    s, _, _, G, _, W = factors(system, q, form)
    return s.tree.join(joint_forces(s, G, W, s.tree.split(zeta)))


def joint_forces(s, G, W, zeta):
    """m ζ, or F ζ where there is no W; slots of columns."""
    return diagonal.joint_forces(s, G, zeta if W is None else diagonal.times(s, W, zeta))


@quantity(("nv", "nv"), NOTHING, options=diagonal_form, product=(force_of_diagonal, "zeta"), **OF_TREE)
def mass_matrix_root(system, q, form="eta"):
    """m = F W with m m* = 𝓜, or F with F D F* = 𝓜; of a chain upper triangular                          Jain, Lemma 19.6."""
    s, _, _, G, _, W = factors(system, q, form)
    return s.tree.join_rows(joint_forces(s, G, W, identity(s, q)))[..., : s.tree.nv]


@quantity(("nv", "nv"), NOTHING, options=diagonal_form, product=(diagonal_force, "tau"), **OF_TREE)
def mass_matrix_root_inverse(system, q, form="eta"):
    """l = m⁻¹ with l* l = 𝓜⁻¹, or F⁻¹                                                                   Jain, Lemma 19.6."""
    s, _, _, G, _, W = factors(system, q, form)
    return s.tree.join_rows(forces(s, G, W, identity(s, q)))[..., : s.tree.nv]


@quantity(("nv",), NOTHING, **OF_TREE)
def diagonal_mass_times(system, q, eta):
    """D ξ, given as `eta`."""
    s, _, D, _, _, _ = factors(system, q, "xi")
    return s.tree.join(diagonal.times(s, D, s.tree.split(eta)))


@quantity(("nv", "nv"), NOTHING, product=(diagonal_mass_times, "eta"), **OF_TREE)
def diagonal_mass(system, q):
    """D with F D F* = 𝓜, the mass matrix of ξ: a block for each joint; that of η is the identity               Jain (19.37)."""
    s, _, D, _, _, _ = factors(system, q, "xi")
    return s.tree.join_rows(diagonal.times(s, D, identity(s, q)))[..., : s.tree.nv]


@quantity(("nv",), NOTHING, options=diagonal_form, **OF_TREE)
def mass_matrix_root_rate_times(system, q, v, zeta, form="eta"):
    """ṁ ζ, or Ḟ ζ."""
    f = factors(system, q, form)
    return f.s.tree.join(root_rate(system, f, v, f.s.tree.split(zeta)))


@quantity(("nv", "nv"), NOTHING, options=diagonal_form, product=(mass_matrix_root_rate_times, "zeta"), **OF_TREE)
def mass_matrix_root_rate(system, q, v, form="eta"):
    """ṁ, or Ḟ, while the tree moves with v                                                              Jain, Lemma 19.7."""
    f = factors(system, q, form)
    return f.s.tree.join_rows(root_rate(system, f, v, identity(f.s, q)))[..., : f.s.tree.nv]


def root_rate(system, f: Factors, v, zeta):
    """ṁ ζ, or Ḟ ζ where there is no W; slots of columns."""
    s, P, D, G, P_plus, W = f
    d = system.entry_rates(s, v)
    _, D_dot, G_dot, _ = sweeps.articulated_rates(s, d, P, D, G, P_plus)
    if W is None:
        return diagonal.joint_force_rates(s, d, G, G_dot, zeta, each(s.tree, np.zeros_like, zeta))
    eps_dot = diagonal.times(s, W, diagonal.times(s, diagonal.root_rates(s, W, D_dot), zeta))
    return diagonal.joint_force_rates(s, d, G, G_dot, diagonal.times(s, W, zeta), eps_dot)


@quantity(("nv",), NOTHING, options=diagonal_form, **OF_TREE)
def diagonal_coriolis(system, q, eta, form="eta"):
    """C(q,η) of η̇ + C = ζ, with η · C = 0, or of D ξ̇ + C = ε, in O(N)       Jain, Lemmas 19.9 and 19.11, Algorithms 19.1 and 19.2."""
    f = factors(system, q, form)
    found = diagonal_rates(system, f, eta, np.zeros_like(eta), None, only_velocities=True)
    return f.s.tree.join(each(f.s.tree, np.negative, found))


@quantity(("nv",), Honours.GRAVITY | Honours.EXTERNAL, options=diagonal_form, of_joints=True, divides_by_inertia=True, refuses=INSTEAD)
def diagonal_dynamics(system, q, eta, tau, form="eta", external=None):
    """η̇, or ξ̇, of forces τ, gravity and wrenches on bodies                                         Jain (19.40) to (19.42)."""
    f = factors(system, q, form)
    return f.s.tree.join(diagonal_rates(system, f, eta, tau, external))


def diagonal_rates(system, f: Factors, eta, tau, external, only_velocities=False):
    """η̇, or ξ̇ where there is no W; slots. With `only_velocities` without what acts at rest, gravity among it, and D ξ̇ in place of ξ̇."""
    s, P, D, G, P_plus, W = f
    own = s.tree.split(eta)
    rate = velocities(system, f, own)
    v = s.tree.join(rate)
    r, d = system.rates(s, v, tau, external), system.entry_rates(s, v)
    if only_velocities:
        r = diagonal.without_rest(s, r, system.rates_at_rest(s), system.still)
    _, D_dot, G_dot, _ = sweeps.articulated_rates(s, d, P, D, G, P_plus)
    _, eps, _ = sweeps.innovations(s, P, D, G, r)
    moved = diagonal.innovation_rates(s, d, D, G, G_dot, eps, rate, r.base, system.still)
    if W is not None:
        return diagonal.normalized_rates(s, W, diagonal.root_rates(s, W, D_dot), moved, own)
    return moved if only_velocities else each(s.tree, solve, D, moved)
