"""A Lie algebra given by its structure constants, which are all that the dynamics of one body ask of a group (From, part one)."""

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
}  # From, Table 1: where one rigid body may live


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
            raise ModelError(f"{self.name} has structure constants with c[k, i, j] ≠ -c[k, j, i]: no bracket is like that.")
        if np.abs(jacobi(c)).max(initial=0.0) > SLACK * scale**2:
            raise ModelError(f"{self.name} has structure constants that break Jacobi's identity: no bracket is like that.")
        c.flags.writeable = False
        object.__setattr__(self, "constants", c)

    @staticmethod
    def of(group: Group) -> "Algebra":
        """The algebra of a group of motions: c[:, i, j] = ad(eᵢ) eⱼ."""
        return Algebra(np.moveaxis(group.ad(np.eye(group.nv)), 0, 1), group.name)

    @staticmethod
    def of_matrices(basis, name: str = "algebra") -> "Algebra":
        """The algebra that square matrices E (m, n, n) span: EᵢEⱼ - EⱼEᵢ in that basis, in which it must lie."""
        E = np.asarray(basis, float)
        brackets = E[:, None] @ E - E @ E[:, None]
        m = len(E)
        c, *_ = np.linalg.lstsq(E.reshape(m, -1).T, brackets.reshape(m * m, -1).T, rcond=None)
        if np.abs(np.tensordot(c.T, E, 1) - brackets.reshape(m * m, *E.shape[1:])).max() > SLACK * np.abs(E).max() ** 2:
            raise ModelError(f"{name}: the brackets of these {m} matrices do not lie in their span; add those that are missing.")
        return Algebra(c.reshape(m, m, m), name)

    @property
    def n(self) -> int:
        return len(self.constants)

    def ad(self, v):
        """ad_v, with ad_v w = [v, w]."""
        return np.einsum("kij,...i->...kj", like(self.constants, v), v)

    def swapped(self, p):
        """ãd_p, with ãd_p v = -ad*_v p: skew, p in the entries of a matrix, v as the vector (From, 73, 78, 83, 91).

            (ãd_p)ᵢⱼ = Σₖ c[k, i, j] pₖ
        """
        return np.einsum("kij,...k->...ij", like(self.constants, p), p)

    def S(self, phi, terms: int = 24):
        """v = S(φ) φ̇ by its series I - ad/2 + ad²/6 - ..., good for |ad φ| up to three or so (From, 29)."""
        minus = -self.ad(phi)
        total, power = np.zeros_like(minus) + like(np.eye(self.n), phi), like(np.eye(self.n), phi)
        for k in range(1, terms):
            power = power @ minus
            total = total + power / factorial(k + 1)
        return total

    def S_derivatives(self):
        """∂S_kl/∂φ_m at φ = 0, as an array [k, l, m], from S itself by a step in the imaginary direction."""
        steps = self.S(1j * STEP * np.eye(self.n))
        return np.moveaxis(np.imag(steps) / STEP, 0, -1)

    def coriolis(self, M, v):
        """C(v) = ãd_{Mv}: M v̇ + C(v) v = τ (From, 108), the second form of his general theorem."""
        return self.swapped((M @ v[..., None])[..., 0])

    def coriolis_from_definition(self, M, v):
        """C_ij = Σₖ (∂S_ki/∂φ_j - ∂S_kj/∂φ_i) (Mv)_k at φ = 0 (From, 51, 57, 105)."""
        dS = self.S_derivatives()
        return np.einsum("kij,...k->...ij", like(dS - dS.mT, v), (M @ v[..., None])[..., 0])

    def coriolis_of_earlier_literature(self, M, v):
        """-ad*_{Mv}, which was published and is wrong (From, 33, 37): kept so that tests can tell it from the right one.

        It takes the momentum Mv for a velocity: on SO(3) the sign is wrong, on SE(3) more than that.
        """
        return -self.ad((M @ v[..., None])[..., 0]).mT

    def force(self, M, v, vdot):
        """τ = M v̇ - ad*_v M v: Newton and Euler (From, 107), the first form of his general theorem."""
        return (M @ vdot[..., None] - self.ad(v).mT @ (M @ v[..., None]))[..., 0]


def jacobi(c):
    """[eᵢ, [eⱼ, eₗ]] and its cyclic sums, zero for an algebra."""
    nested = np.einsum("kim,mjl->kijl", c, c)
    return nested + np.moveaxis(nested, (1, 2, 3), (2, 3, 1)) + np.moveaxis(nested, (1, 2, 3), (3, 1, 2))
