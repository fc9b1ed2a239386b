"""Colours of flexible bodies by how far they are deformed, on one scale for a whole motion."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import OptionError, did_you_mean
from .drawn import Bent, bent
from .motion import Motion

KINDS = {"displacement": ("displacement", "m"), "strain": ("strain energy by mass", "J/kg")}
STOPS = np.array([[0.19, 0.28, 0.62], [0.16, 0.60, 0.68], [0.55, 0.76, 0.35], [0.96, 0.76, 0.22], [0.82, 0.18, 0.15]])  # from none to most


@dataclass(frozen=True, eq=False)
class Paint:
    """How flexible bodies of a motion are coloured, on a scale from zero to the motion's own maximum.

    "displacement" is |r − r₀| of each point as seen from the frame of its body; "strain" the strain energy of each element of a beam, or
    ½ η* K η of another body, divided by its mass.
    """

    motion: Motion
    kind: str

    @staticmethod
    def of(motion: Motion, kind: str | None) -> "Paint | None":
        if kind is None:
            return None
        if kind not in KINDS:
            raise OptionError(f"color is {kind!r}; it is {' or '.join(KINDS)}.{did_you_mean(str(kind), list(KINDS))}")
        if not any(True for _ in bent(motion.model)):
            raise OptionError(f'color is "{kind}", but {motion.model.name} has no flexible body that is drawn bent.')
        return Paint(motion, kind)

    @cached_property
    def most(self) -> float:
        """The greatest value in the rows of the motion."""
        return max(float(x.max(initial=0.0)) for x in self._values(self.motion.q))

    @property
    def label(self) -> str:
        """What the end of the scale stands for."""
        name, unit = KINDS[self.kind]
        return f"{name}, 0 to {self.most:.3g} {unit}"

    def pieces(self, q) -> np.ndarray:
        """Colours (..., pieces, 3) of the pieces of all flexible bodies, in their order."""
        each = [y for x, y in zip(bent(self.motion.model), self._values(q)) if not x.is_surface]
        return self._colors(np.concatenate([np.zeros((*np.shape(q)[:-1], 0)), *each], -1))

    def surfaces(self, q) -> list[np.ndarray]:
        """Colours (..., p, 3) of the points of each body that is drawn as a surface."""
        return [self._colors(y) for x, y in zip(bent(self.motion.model), self._values(q)) if x.is_surface]

    def _colors(self, values) -> np.ndarray:
        return scale(values / self.most if self.most > 0 else 0 * values)

    def _values(self, q) -> list[np.ndarray]:
        return [self._value(x, q[..., x.rows]) for x in bent(self.motion.model)]

    def _value(self, x: Bent, eta) -> np.ndarray:
        """Of each piece, or of each point of a surface (..., pieces)."""
        line = x.outline
        if self.kind == "strain" and line.is_line and line.strains is not None:
            middles = (x.points[1:] + x.points[:-1]) // 2  # the elements in the middle of the pieces
            return np.einsum("pij,...i,...j->...p", line.strains[middles], eta, eta, optimize=True) / 2
        if self.kind == "strain":
            count = len(line.points) if x.is_surface else len(x.lengths)
            return np.repeat(x.body.strain_energy(eta)[..., None] / x.body.mass, count, -1)
        moved = np.linalg.norm(line.places(eta) - line.points, axis=-1)
        moved = moved if x.is_surface else moved[..., x.points]
        return (moved[..., 1:] + moved[..., :-1]) / 2 if line.is_line else moved


def scale(x) -> np.ndarray:
    """Colours (..., 3) of numbers from 0 to 1."""
    at = np.linspace(0, 1, len(STOPS))
    return np.stack([np.interp(x, at, STOPS[:, k]) for k in range(3)], -1)
