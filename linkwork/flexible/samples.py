"""Where the mass of a flexible body is, and the few numbers that its kinetic energy needs of that.

r(η) = r₀ + Π η + ½ η* G η              of points of mass, and of directors: axes of a node or section (rotary inertia)
T    = ½ Σ w |moves v + ω × r + ṙ|²     moves is 1 for a point, 0 for a director
"""

from typing import Any, NamedTuple

import numpy as np

from ..lie.so3 import tilde

ROUNDING = 1e-12  # relative: what is smaller is rounding and becomes an exact zero, which costs nothing in a kernel
DEPENDENT = 1e-9  # relative: a field that has less left beside the others is made of them


class Samples(NamedTuple):
    """Points and directors: r0 (s, 3), r1 (s, 3, n), r2 (s, 3, n, n), moves (s,); weights (s,), or a matrix (s, s), maybe sparse."""

    r0: np.ndarray
    r1: np.ndarray
    r2: np.ndarray
    moves: np.ndarray
    weights: Any

    def weighed(self, f: np.ndarray) -> np.ndarray:
        """Weights times a field (s, ...)."""
        if np.ndim(self.weights) == 1 and not hasattr(self.weights, "tocsr"):
            return (self.weights * f.T).T
        return np.asarray(self.weights @ f.reshape(len(f), -1)).reshape(f.shape)


class Fields(NamedTuple):
    """The same as components in an orthonormal basis, of weight one: r0 (e, 3), r1 (e, 3, n), r2 (e, 3, n, n), moves (e,)."""

    r0: np.ndarray
    r1: np.ndarray
    r2: np.ndarray
    moves: np.ndarray


class Terms(NamedTuple):
    """Coefficients of M = C0 + Σ C1ᵢ ηᵢ + ½ Σ C2ᵢⱼ ηᵢ ηⱼ: (h, h), (n, h, h), (n, n, h, h), h = n + 6."""

    C0: np.ndarray
    C1: np.ndarray
    C2: np.ndarray


def condensed(samples: Samples, exact: bool) -> Fields:
    """Few equivalent samples: components of the fields in a basis that spans moves, r0 and r1.

    r2 keeps its components along moves and r0: all of it that the second degree of energy in (η, η̇) feels, and the energy stays a
    sum of squares. `exact` spans r2 as well, and leaves nothing out.
    """
    s, n = len(samples.r0), samples.r1.shape[-1]
    parts = samples.moves[:, None], samples.r0, samples.r1.reshape(s, 3 * n), samples.r2.reshape(s, 3 * n * n)
    fields = np.concatenate(parts, 1)
    length = np.sqrt(np.maximum(np.sum(fields * samples.weighed(fields), 0), 0.0))
    basis, rigid = np.zeros((s, 0)), 0
    for i, f in enumerate(fields.T[: None if exact else 4 + 3 * n]):
        g = f / (length[i] or 1.0)
        for _ in range(2):
            g = g - basis @ (basis.T @ samples.weighed(g))
        rest = np.sqrt(max(float(g @ samples.weighed(g)), 0.0))
        if rest > DEPENDENT:
            basis = np.column_stack([basis, g / rest])
        rigid = basis.shape[1] if i < 4 else rigid
    found = basis.T @ samples.weighed(fields)
    found[np.abs(found) < ROUNDING * length] = 0.0
    if not exact:
        found[rigid:, 4 + 3 * n :] = 0.0
    moves, r0, r1, r2 = np.split(found, [1, 4, 4 + 3 * n], 1)
    e = len(found)
    return Fields(r0, r1.reshape(e, 3, n), r2.reshape(e, 3, n, n), moves[:, 0])


def polynomial(samples: Samples) -> Terms:
    """The inertia of samples to the second degree in (η, η̇)."""
    n, s = samples.r1.shape[-1], len(samples.r0)
    S0, S1, S2 = (-tilde(np.moveaxis(x, 1, -1)) for x in samples[:3])
    U0 = np.concatenate([samples.r1, S0, samples.moves[:, None, None] * np.eye(3)], -1)
    U1 = np.concatenate([np.moveaxis(samples.r2, -1, 1), S1, np.zeros((s, n, 3, 3))], -1)
    U2 = np.concatenate([np.zeros((s, n, n, 3, n)), S2, np.zeros((s, n, n, 3, 3))], -1)
    W0, W1 = samples.weighed(U0), samples.weighed(U1)
    C0 = np.einsum("sxi,sxj->ij", U0, W0)
    C1 = 2 * np.einsum("skxi,sxj->kij", U1, W0, optimize=True)
    C2 = 2 * (np.einsum("sklxi,sxj->klij", U2, W0, optimize=True) + np.einsum("skxi,slxj->klij", U1, W1, optimize=True))
    modal = np.arange(n + 6) < n
    for degree, x in enumerate((C0, C1, C2)):
        x[:] = (x + x.mT) / 2
        x[..., degree + modal + modal[:, None] > 2] = 0.0
    return cleaned(Terms(C0, C1, C2), np.diagonal(C0))


def cleaned(terms: Terms, sizes: np.ndarray) -> Terms:
    """Terms without rounding, beside the inertia `sizes` of each velocity."""
    size = np.sqrt(np.abs(sizes)) + 1e-150
    return Terms(*(np.where(np.abs(x) < ROUNDING * size * size[:, None], 0.0, x) for x in terms))
