"""The interface of a Lie group, and its two kinds: groups that do not commute, and groups whose coordinates add."""

from abc import ABC, abstractmethod

import numpy as np

from . import embedding
from .scalars import dot, like
from .stumpff import stumpff

SIGN = {"left": 1.0, "right": -1.0}


class Group(ABC):
    """A Lie group with coordinates q (..., nq) and algebra elements ξ (..., nv) in a fixed basis.

    Velocities are left-invariant: v is the velocity of the moving body in its own frame, and its twist is basis.T @ v
    (From's selection matrix is basis.T). `units` are the slices of q that hold unit quaternions.
    """

    units: tuple[slice, ...] = ()

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def nq(self) -> int: ...

    @property
    @abstractmethod
    def nv(self) -> int: ...

    @property
    @abstractmethod
    def basis(self) -> np.ndarray:
        """The twists of the algebra's basis, one per row (nv, 6), angular part first."""

    @property
    @abstractmethod
    def identity(self) -> np.ndarray: ...

    @abstractmethod
    def exp(self, xi):
        """The element reached from the identity after unit time at constant body velocity ξ."""

    @abstractmethod
    def log(self, q):
        """The ξ of smallest angle with exp ξ = q."""

    @abstractmethod
    def compose(self, p, q):
        """The product: first q, then p, as maps of points."""

    @abstractmethod
    def inverse(self, q):
        """The inverse element of q."""

    @abstractmethod
    def matrix(self, q):
        """The homogeneous pose (..., 4, 4)."""

    @abstractmethod
    def rate(self, q, v):
        """q̇, the rate of the coordinates at body velocity v."""

    @abstractmethod
    def Ad(self, q):
        """The adjoint (..., nv, nv): q exp(ξ) q⁻¹ = exp(Ad ξ)."""

    @abstractmethod
    def ad(self, xi):
        """The Lie bracket with ξ (..., nv, nv): ad_ξ η = [ξ, η]."""

    def hat(self, xi):
        """ξ as a 4x4 matrix of the algebra."""
        return embedding.hat(self._twist(xi))

    @abstractmethod
    def dexp(self, xi, side="left"):
        """The derivative of exp: dexp ξ̇ is the velocity of exp ξ, in the base frame (left) or in the body's (right)."""

    @abstractmethod
    def dexp_inverse(self, xi, side="left"):
        """The inverse of dexp; it exists for angles below 2π."""

    def S(self, xi):
        """Body velocity from the rate of exponential coordinates: v = S(ξ) ξ̇, S = I - ad/2 + ad²/6 - ... (From, 29)."""
        return self.dexp(xi, side="right")

    def _twist(self, xi):
        """basis.T ξ."""
        return xi @ like(self.basis, xi)

    def __repr__(self):
        return self.name


class Motions(Group):
    """A subgroup of SE(3) that does not commute. Its adjoints are those of SE(3), restricted to its basis."""

    def Ad(self, q):
        return self._restrict(embedding.Ad(self.matrix(q)))

    def ad(self, xi):
        return self._restrict(embedding.ad(self._twist(xi)))

    def dexp(self, xi, side="left"):
        """dexp = Σ adᵏ/(k+1)!, with ad replaced by -ad on the right.

        On se(3) ad⁵ + 2x ad³ + x² ad = 0, x = θ², so that four powers are enough:
            dexp = I + (2c₂ - c₁/2) ad + (5c₃ - c₂)/2 ad² + (c₃ - 2c₄)/2 ad³ + (c₄ - 3c₅)/2 ad⁴
        """
        _, c1, c2, c3, c4, c5, _ = self._stumpff(xi)
        a  = SIGN[side] * self.ad(xi)
        a2 = a @ a
        return (like(np.eye(self.nv), xi) + (2 * c2 - c1 / 2) * a + (5 * c3 - c2) / 2 * a2
                + ((c3 - 2 * c4) / 2 * a + (c4 - 3 * c5) / 2 * a2) @ a2)

    def dexp_inverse(self, xi, side="left"):
        """dexp⁻¹ = Σ Bₖ adᵏ/k! = I - ad/2 + (3c₃ - 8c₄)/(4c₂) ad² + (4c₆ - c₅)/(4c₂) ad⁴, Bₖ the Bernoulli numbers."""
        _, _, c2, c3, c4, c5, c6 = self._stumpff(xi)
        a  = SIGN[side] * self.ad(xi)
        a2 = a @ a
        return (like(np.eye(self.nv), xi) - a / 2 + (3 * c3 - 8 * c4) / (4 * c2) * a2
                + (4 * c6 - c5) / (4 * c2) * a2 @ a2)

    def _restrict(self, A):
        """A 6x6 matrix that maps the algebra to itself, in the basis of the algebra: A basis.T = basis.T restrict(A).

        Each row of a basis has its first nonzero entry, a one, where the other rows are zero: selecting those entries inverts basis.T.
        """
        left_inverse = np.eye(6)[np.argmax(self.basis != 0, axis=1)]
        return like(left_inverse, A) @ A @ like(self.basis.T, A)

    def _stumpff(self, xi):
        omega = self._twist(xi)[..., :3]
        return stumpff(dot(omega, omega)[..., None])


class Additive(Group):
    """A group whose coordinates add, such as angles and lengths along one axis: Ad = I, ad = 0, exp ξ = ξ."""

    def exp(self, xi):
        return xi

    def log(self, q):
        return q

    def compose(self, p, q):
        return p + q

    def inverse(self, q):
        return -q

    def rate(self, q, v):
        return np.zeros_like(q) + v

    def Ad(self, q):
        return np.zeros_like(q[..., None]) + like(np.eye(self.nv), q)

    def ad(self, xi):
        return np.zeros_like(xi[..., None]) + like(np.zeros((self.nv, self.nv)), xi)

    def dexp(self, xi, side="left"):
        return self.Ad(xi)

    def dexp_inverse(self, xi, side="left"):
        return self.Ad(xi)


def twists(*components):
    """Rows of the 6x6 identity: the basis of a group that moves along these components of [ω; v]."""
    return frozen(np.eye(6)[list(components)])


def frozen(values):
    """A read-only array."""
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array
