"""A Lie algebra given by its structure constants, on which alone the dynamics of one body depend (From, part one)."""

from dataclasses import dataclass
from math import factorial

import numpy as np

from ..errors import ModelError
from ..lie import SE2, SE3, SO2, SO3, Group, Helical, R, X
from ..lie.scalars import like

SLACK = 1e-9
STEP = 1e-30

TABLE: dict[str, Group] = {
    "SE(3)": SE3,
    "X(z)": X,
    "R^3": R(3),
    "SE(2)": SE2,
    "SO(3)": SO3,
    "R^2": R(2),
    "R": R(1),
    "H": Helical(0.1),
    "SO(2)": SO2,
}  # From, Table 1: configuration spaces of one rigid body


@dataclass(frozen=True, eq=False)
class Algebra:
    """[eᵢ, eⱼ] = Σₖ c[k, i, j] eₖ for a basis e of the algebra."""

    constants: np.ndarray
    name: str = "algebra"

    def __post_init__(self):
        c = np.array(self.constants, float)
        if c.ndim != 3 or len(set(c.shape)) != 1:
            raise ModelError(f"{self.name} has structure constants of shape {c.shape}; they are c[k, i, j], three equal axes.")
        scale = np.abs(c).max(initial=0.0)
        if np.abs(c + c.mT).max(initial=0.0) > SLACK * scale:
            raise ModelError(f"{self.name} has structure constants with c[k, i, j] ≠ -c[k, j, i]: a Lie bracket is antisymmetric.")
        if np.abs(jacobi(c)).max(initial=0.0) > SLACK * scale**2:
            raise ModelError(f"{self.name} has structure constants that violate the Jacobi identity, which every Lie bracket satisfies.")
        c.flags.writeable = False
        object.__setattr__(self, "constants", c)

    @staticmethod
    def of(group: Group) -> "Algebra":
        """The algebra of a group of motions: c[:, i, j] = ad(eᵢ) eⱼ."""
        return Algebra(np.moveaxis(group.ad(np.eye(group.nv)), 0, 1), group.name)

    @staticmethod
    def of_matrices(basis, name: str = "algebra") -> "Algebra":
        """The algebra spanned by square matrices E (m, n, n); the brackets EᵢEⱼ - EⱼEᵢ must lie in their span."""
        E = np.asarray(basis, float)
        brackets = E[:, None] @ E - E @ E[:, None]
        m = len(E)
        c, *_ = np.linalg.lstsq(E.reshape(m, -1).T, brackets.reshape(m * m, -1).T, rcond=None)
        if np.abs(np.tensordot(c.T, E, 1) - brackets.reshape(m * m, *E.shape[1:])).max() > SLACK * np.abs(E).max() ** 2:
            raise ModelError(f"{name}: the brackets of these {m} matrices do not lie in their span; add the missing matrices.")
        return Algebra(c.reshape(m, m, m), name)

    @property
    def n(self) -> int:
        return len(self.constants)

    def ad(self, v):
        """ad_v, with ad_v w = [v, w]."""
        return np.einsum("kij,...i->...kj", like(self.constants, v), v)

    def swapped(self, p):
        """The matrix ãd_p with ãd_p v = -ad*_v p, which is skew (From, 73, 78, 83, 91).

            (ãd_p)ᵢⱼ = Σₖ c[k, i, j] pₖ
        """
        return np.einsum("kij,...k->...ij", like(self.constants, p), p)

    def S(self, xi, terms: int = 24):
        """S of v = S(ξ) ξ̇ by its series I - ad/2 + ad²/6 - ..., accurate for |ad ξ| up to about three (From, 29)."""
        minus = -self.ad(xi)
        total, power = np.zeros_like(minus) + like(np.eye(self.n), xi), like(np.eye(self.n), xi)
        for k in range(1, terms):
            power = power @ minus
            total = total + power / factorial(k + 1)
        return total

    def S_derivatives(self):
        """∂S_kl/∂ξ_m at ξ = 0, as an array [k, l, m], by a complex step in S."""
        steps = self.S(1j * STEP * np.eye(self.n))
        return np.moveaxis(np.imag(steps) / STEP, 0, -1)

    def coriolis(self, M, v):
        """C(v) = ãd_{Mv}: M v̇ + C(v) v = τ (From, 108), the second form of the general theorem."""
        return self.swapped((M @ v[..., None])[..., 0])

    def coriolis_from_definition(self, M, v):
        """C_ij = Σₖ (∂S_ki/∂ξ_j - ∂S_kj/∂ξ_i) (Mv)_k at ξ = 0 (From, 51, 57, 105)."""
        dS = self.S_derivatives()
        return np.einsum("kij,...k->...ij", like(dS - dS.mT, v), (M @ v[..., None])[..., 0])

    def coriolis_of_earlier_literature(self, M, v):
        """-ad*_{Mv}, which was published and is wrong (From, 33, 37): here so that tests can compare it with the correct one.

        It treats the momentum Mv as a velocity: on SO(3) the sign is wrong, on SE(3) the entries too.
        """
        return -self.ad((M @ v[..., None])[..., 0]).mT

    def force(self, M, v, vdot):
        """τ = M v̇ - ad*_v M v: the Newton-Euler equations (From, 107), the first form of the general theorem."""
        return (M @ vdot[..., None] - self.ad(v).mT @ (M @ v[..., None]))[..., 0]


def jacobi(c):
    """[eᵢ, [eⱼ, eₗ]] summed over cyclic permutations, which is zero for a Lie algebra."""
    nested = np.einsum("kim,mjl->kijl", c, c)
    return nested + np.moveaxis(nested, (1, 2, 3), (2, 3, 1)) + np.moveaxis(nested, (1, 2, 3), (3, 1, 2))
