"""The curvature of the mass matrix as a metric: where it is zero, coordinates exist in which it is constant (Jain, section 19.1)."""

import numpy as np

from ..lie.scalars import like
from ..spatial import solve, tilde
from ..sweeps.jacobian import brackets
from .boltzmann_hamel import structure
from .coriolis import christoffel_symbols, mass_matrix, of_brackets
from .kinematic_derivatives import jacobian_derivatives, node_inertias, node_jacobians


def riemann_symbols(nodes, q):
    """R_hijk of the first kind (..., nv, nv, nv, nv), zero everywhere if and only if 𝓜 is constant in some coordinates.

        R_hijk = ∂_j Γ_hik − ∂_k Γ_hij − Γ_ahj 𝓜⁻¹_ab Γ_bik + Γ_ahk 𝓜⁻¹_ab Γ_bij − c_sjk Γ_his              Jain (19.10)

    ∂_j is the derivative along the velocity e_j, c the structure constants of the joints: zero where each has one velocity, so that these
    are the symbols of the book. R_hijk = −R_ihjk = −R_hikj = R_jkhi; nv² (nv² − 1) / 12 of them are independent.
    """
    G, c = christoffel_symbols(nodes, q), like(structure(nodes), q)
    n = G.shape[-1]
    flat = G.reshape(*G.shape[:-2], n * n)  # [a, (b c)]
    product = (flat.mT @ solve(mass_matrix(nodes, q), flat)).reshape(*G.shape[:-3], *(n,) * 4)  # Γ_ahj 𝓜⁻¹_ab Γ_bik at [h, j, i, k]
    dG = np.swapaxes(christoffel_derivatives(nodes, q), -1, -2)  # ∂_j Γ_hik at [h, i, j, k]
    half = dG - np.swapaxes(product, -3, -2)
    bent = (G.reshape(*G.shape[:-3], n * n, n) @ c.reshape(n, n * n)).reshape(*G.shape[:-3], *(n,) * 4)
    return half - np.swapaxes(half, -1, -2) - bent


def christoffel_derivatives(nodes, q):
    """∂_d Γ_abc (..., nv, nv, nv, nv), the last axis d: the product rule on the brackets of `christoffel_symbols`."""
    K = node_jacobians(nodes, q)
    dK, M, n = jacobian_derivatives(nodes, K), node_inertias(nodes), K.shape[-1]
    flat = lambda X: X.reshape(*X.shape[: K.ndim - 1], n ** (X.ndim - K.ndim + 1))
    moved = (tilde(K.mT) @ flat(dK)[..., None, :, :]).reshape(*K.shape[:-2], n, 6, n, n)  # [y, :, z, d] = [K_y, ∂_d K_z]
    moved = np.moveaxis(moved, -4, -3)  # [:, y, z, d]
    dB = moved - np.swapaxes(moved, -3, -2)
    by_first = np.moveaxis((flat(dK).mT @ (M @ flat(brackets(K)))).reshape(*K.shape[:-2], n, n, n, n), -3, -1)
    by_others = (K.mT @ (M @ flat(dB))).reshape(*K.shape[:-2], n, n, n, n)
    F = (by_first + by_others).sum(-5)
    return np.moveaxis(of_brackets(nodes, np.moveaxis(F, -1, -4)), -4, -1)
