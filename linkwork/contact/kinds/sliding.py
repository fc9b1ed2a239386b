"""Contacts that slide in a known direction: one unknown each."""

from dataclasses import dataclass

import numpy as np

from .unilateral import Unilateral


@dataclass(frozen=True, eq=False)
class Sliding(Unilateral):
    """The normal forces of contacts whose slip has a direction e:  λ = (1, −μ e) z,  0 ≤ u_n ⟂ z ≥ 0.

    The forces z act along other rows than those whose velocities count, so that the compliance J_n 𝓜⁻¹ (J_n − μ e·J_t)* is not symmetric.
    """

    @staticmethod
    def along(mu, e):
        """The entries of λ (..., 3) of each z, where e (..., 2) is the direction of the slip and μ (...) the coefficient."""
        return np.concatenate([np.ones_like(mu)[..., None], -mu[..., None] * e], -1)
