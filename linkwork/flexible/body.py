"""FlexibleBody: a body that deforms in a few modes, with every coefficient of its dynamics made once.

What is evaluated, and traced, depends on the number of modes alone, not on the finite elements that they came from.
"""

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ModelError, ModelWarning, UnknownNameError, did_you_mean
from ..lie.scalars import like
from ..lie.so3 import tilde as skew
from ..spatial import Pose, bar, hat, inertia_parameters
from .attachment import Attachment
from .samples import Fields, Terms

HIGHEST = 1e7  # Hz: no structure that anyone models swings faster; units are wrong
LOWEST = 1e-3  # Hz: hardly any swings more slowly; moduli in GPa make it 3e-5 of what it is
UNITS = "Lengths are in m, masses in kg, stiffness in N/m, moduli in Pa."
SLACK = 1e-8  # relative, of symmetry and of eigenvalues that may not be negative


@dataclass(frozen=True, eq=False)
class Outline:
    """What a picture needs: points (p, 3) with their Π (p, 3, n) and G (p, 3, n, n) or None; of a beam in order along it, with the look of
    its section: solids (kind, sizes, place y z); of another body the triangles (m, 3) between points, if they are known.
    `strains` (p − 1, n, n) of a beam: ½ η* S η is the strain energy between two points, divided by the mass there."""

    points: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray | None = None
    looks: tuple = ()
    is_line: bool = False
    faces: np.ndarray | None = None
    strains: np.ndarray | None = None

    def places(self, eta) -> np.ndarray:
        """r₀ + Π η + ½ η* G η of the points (..., p, 3)."""
        eta = np.asarray(eta, float)
        second = 0.0 if self.quadratic is None else np.einsum("pxij,...i,...j->...px", self.quadratic, eta, eta, optimize=True) / 2
        return self.points + np.einsum("pxi,...i->...px", self.linear, eta) + second


@dataclass(frozen=True, eq=False, repr=False)
class FlexibleBody:
    """A body with modal coordinates η: displacements r = r₀ + Π η + ½ η* G η of its mass, stiffness K (n, n), damping (n,).

    Elastic forces K η are forces of the body, part of every equation of motion; damping is a passive force, as that of joints is.

    Made by `FlexibleBody.beam`, `.of_nodes` and `.of_matrices`; `Builder.flexible` puts it on a joint. `frames` bend with it; `root` is
    the frame that stands on the joint, None for the frame that the displacements are seen from. The velocity of its node is X = [η̇; V].
    """

    fields: Fields | None
    terms: Terms | None
    stiffness: np.ndarray
    damping: np.ndarray
    frames: Mapping[str, Attachment] = field(default_factory=dict)
    root: str | None = None
    outline: Outline | None = None  # for pictures
    stiffens: bool = True  # are second-order displacements, hence stiffening by axial load, part of it?

    def __post_init__(self):
        check(self)

    # --- made from something else

    @staticmethod
    def beam(length: float, section, **options) -> "FlexibleBody":
        """A straight beam along x from the origin. Options: elements, modes, count or up_to, directions, interfaces, frames, root, shear,
        rotary, damping, keep, orthogonalize. `help(lw.flexible.beam)` describes them."""
        from .beams import beam

        return beam(length, section, **options)

    @staticmethod
    def of_matrices(mass, stiffness, positions, **options) -> "FlexibleBody":
        """From the mass and stiffness matrices of finite elements and the positions of the nodes. Options: rotations ("first" or "last" of
        six freedoms), modes, count or up_to, root, interfaces, frames, held, orthogonalize, quadratic, damping, keep, faces.
        `help(lw.flexible.of_matrices)` and `help(lw.flexible.reduced)` describe them."""
        from .finite_elements import of_matrices

        return of_matrices(mass, stiffness, positions, **options)

    @staticmethod
    def of_nodes(positions, inertias, stiffness, **options) -> "FlexibleBody":
        """From rigid nodes and the stiffness between them. Options: those of `of_matrices` but rotations, which come first here.
        `help(lw.flexible.of_nodes)` and `help(lw.flexible.reduced)` describe them."""
        from .finite_elements import of_nodes

        return of_nodes(positions, inertias, stiffness, **options)

    # --- what it is

    @property
    def n(self) -> int:
        """Modal coordinates."""
        return len(self.stiffness)

    @cached_property
    def undeformed(self) -> np.ndarray:
        """M(0), (n + 6, n + 6): modes first."""
        return self.inertia(np.zeros(self.n))

    @cached_property
    def rigid(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre and tensor about the centre, without deformation."""
        mass, center, tensor = inertia_parameters(self.undeformed[self.n :, self.n :])
        return float(mass), center, (tensor + tensor.T) / 2

    @property
    def mass(self) -> float:
        return self.rigid[0]

    @cached_property
    def frequencies(self) -> np.ndarray:
        """In Hz, of the body whose own frame is held: for cantilever modes the clamped body's."""
        from scipy.linalg import eigh

        squares = eigh(self.stiffness, self.undeformed[: self.n, : self.n], eigvals_only=True) if self.n else np.zeros(0)
        return np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)

    def attachment(self, name: str | None) -> Attachment:
        """A frame by name; None is the frame that displacements are seen from."""
        if name is None:
            return Attachment(Pose(), np.zeros((6, self.n)), np.zeros((6, self.n, self.n)))
        if name not in self.frames:
            raise UnknownNameError(f'the flexible body has no frame "{name}".{did_you_mean(name, list(self.frames))}')
        return self.frames[name]

    @cached_property
    def digest(self) -> str:
        """A name for everything that decides its dynamics."""
        made = hashlib.sha256(repr([self.root, *((name, x.pose) for name, x in self.frames.items())]).encode())
        arrays = [*(self.fields or ()), *(self.terms or ()), self.stiffness, self.damping]
        for x in [*arrays, *(y for a in self.frames.values() for y in (a.linear, a.quadratic))]:
            made.update(repr(x.shape).encode() + np.ascontiguousarray(x, float).tobytes())
        return made.hexdigest()

    def __eq__(self, other) -> bool:
        return isinstance(other, FlexibleBody) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        shown = ", ".join(f"{x:.6g}" for x in self.frequencies[:6]) + (" ..." if self.n > 6 else "")
        stiffens = "" if self.stiffens else ", no stiffening by load"
        return f"<FlexibleBody {self.mass:.6g} kg, {self.n} modes ({shown} Hz), frames {', '.join(self.frames) or 'none'}{stiffens}>"

    # --- its dynamics, over any scalar: η (..., n), X = [η̇; V] (..., n + 6, 1)

    def inertia(self, eta):
        """M(η) (..., n + 6, n + 6), velocities [η̇; V]                                        Jain (13.25) to (13.27).

        M = Σ U* U + C0 + C1 η + ½ η* C2 η,   U = [Π + G η, −r~, moves]
        """
        total: Any = 0.0
        if self.fields is not None:
            U, _ = self._map(eta)
            total = U.mT @ U
        return total if self.terms is None else total + self._terms(eta)[0]

    def gyroscopic(self, eta, X):
        """N (..., n + 6, n + 6) with N X the velocity-dependent force of the node and N + N* = Ṁ, in its own axes.

        N = U* (U̇ + ω~ U) + ½ (Ṁ_C + Y* E − E* Y) − ĥ,   Yᵢ = X* ∂M_C/∂ηᵢ,   E = [I, 0],   ĥ of the terms' momentum
        """
        n, total = self.n, 0.0
        etad, w = X[..., :n, :], skew(X[..., n : n + 3, 0])
        if self.fields is not None:
            U, U_rate = self._map(eta)[0], self._map_rate(eta, etad)
            turned = (w[..., None, :, :] @ U.reshape(*U.shape[:-2], -1, 3, n + 6)).reshape(U.shape)
            total = U.mT @ (U_rate + turned)
        if self.terms is not None:
            M, slope = self._terms(eta)
            rate = (slope * etad[..., None]).sum(-3)
            Y = (slope @ X[..., None, :, :])[..., 0]
            E = like(np.eye(n, n + 6), X)
            gyro = np.zeros_like(M + X[..., None, 0])
            gyro[..., n:, n:] = -hat((M @ X)[..., n:, 0])
            total = total + (rate + Y.mT @ E - E.mT @ Y) / 2 + gyro
        return total

    def bias(self, eta, X):
        """b (..., n + 6, 1): the velocity-dependent force, and the elastic one K η          Jain (13.37), (13.41).

        b = U* (G η̇ η̇ + 2 ω × ṙ + ω × (moves v + ω × r)) + Ṁ_C X + [−½ X* ∂M_C X; V̄ (M_C X)_V] + [K η; 0]
        """
        n = self.n
        etad, w = X[..., :n, :], skew(X[..., n : n + 3, 0])
        elastic = self.elastic(eta)
        total = np.concatenate([elastic, np.zeros_like(elastic + X[..., n : n + 1, :], shape=(*elastic.shape[:-2], 6, 1))], -2)
        if self.fields is not None:
            U, J = self._map(eta)
            bend = (self._along(etad) @ etad[..., None, :, :])[..., 0]
            rate = (J @ etad[..., None, :, :])[..., 0]
            c = bend + (rate + (U @ X).reshape(rate.shape)) @ w.mT
            total = total + U.mT @ c.reshape(*c.shape[:-2], -1, 1)
        if self.terms is not None:
            M, slope = self._terms(eta)
            y = (slope @ X[..., None, :, :])[..., 0]
            h = (M @ X)[..., n:, :]
            total = total + y.mT @ etad + np.concatenate([y @ X / -2, bar(X[..., n:, 0]) @ h], -2)
        return total

    def elastic(self, eta):
        """K η, a column."""
        return like(self.stiffness, eta) @ eta[..., None]

    def strain_energy(self, eta):
        """½ η* K η (...)."""
        eta = eta[..., None]
        return 0.5 * (eta.mT @ (like(self.stiffness, eta) @ eta))[..., 0, 0]

    def moment(self, eta):
        """[m c; m] (..., 4, 1) in the body's own frame: what its pose takes to the moment of mass in the world."""
        n = self.n
        m0, m1, m2 = (like(x, eta) for x in self._moments)
        along = (m2.reshape(3 * n, n) @ eta[..., None]).reshape(*eta.shape[:-1], 3, n)
        first = m0[:, None] + (m1 + along / 2) @ eta[..., None]
        return np.concatenate([first, np.zeros_like(first[..., :1, :]) + like(self.mass, eta)], -2)

    @cached_property
    def _moments(self):
        """Σ w moves r: (3,), (3, n), (3, n, n)."""
        n = self.n
        out: tuple = np.zeros(3), np.zeros((3, n)), np.zeros((3, n, n))
        if self.fields is not None:
            out = tuple(np.tensordot(self.fields.moves, x, 1) for x in self.fields[:3])
        if self.terms is not None:  # the rows of translation against those of rotation: M = [... , m r~; ...]
            place = lambda C: np.stack([C[..., n + 2, n + 4], C[..., n, n + 5], C[..., n + 1, n + 3]], -1)
            C0, C1, C2 = self.terms
            out = out[0] + place(C0), out[1] + place(C1).T, out[2] + np.moveaxis(place(C2), -1, 0)
        return out

    def _map(self, eta):
        """U (..., 3e, n + 6) and Π + G η (..., e, 3, n)."""
        assert self.fields is not None
        e, n, batch = len(self.fields.r0), self.n, eta.shape[:-1]
        r0, r1, moves = (like(x, eta) for x in (self.fields.r0, self.fields.r1, self.fields.moves))
        J = r1 + self._along(eta[..., None])
        r = r0 + ((r1 + J) / 2 @ eta[..., None, :, None])[..., 0]
        whole = np.zeros_like(J, shape=(*batch, e, 3, 3)) + moves[:, None, None] * like(np.eye(3), eta)
        return np.concatenate([J, -skew(r), whole], -1).reshape(*batch, 3 * e, n + 6), J

    def _map_rate(self, eta, etad):
        """U̇ (..., 3e, n + 6)."""
        assert self.fields is not None
        e, n, bend = len(self.fields.r0), self.n, self._along(etad)
        J = like(self.fields.r1, eta) + self._along(eta[..., None])
        turned = -skew((J @ etad[..., None, :, :])[..., 0])
        batch = turned.shape[:-3]
        bend = np.zeros_like(turned, shape=(*batch, e, 3, n)) + bend
        return np.concatenate([bend, turned, np.zeros_like(turned)], -1).reshape(*batch, 3 * e, n + 6)

    def _along(self, x):
        """G x (..., e, 3, n) of a column."""
        assert self.fields is not None
        e, n = len(self.fields.r0), self.n
        return (like(self.fields.r2.reshape(3 * e * n, n), x) @ x).reshape(*x.shape[:-2], e, 3, n)

    def _terms(self, eta):
        """The polynomial part of M, and its derivatives by η (..., n, n + 6, n + 6)."""
        n, (C0, C1, C2) = self.n, (like(x, eta) for x in self.terms)  # type: ignore[union-attr]
        slope = C1 + (eta[..., None, :] @ C2.reshape(n, n * (n + 6) ** 2)).reshape(*eta.shape[:-1], n, n + 6, n + 6)
        return C0 + ((C1 + slope) / 2 * eta[..., None, None]).sum(-3), slope


def check(body: FlexibleBody) -> None:
    """Matrices that a real body has, or an error."""
    n = body.n
    for name, shape in (("stiffness", (n, n)), ("damping", (n,))):
        x = getattr(body, name)
        if x.shape != shape or not np.isfinite(x).all():
            raise ModelError(f"the modal {name} has shape {x.shape}; {n} modes take finite numbers {shape}.")
    check_symmetric("the modal stiffness matrix", body.stiffness)
    if not n:
        return
    least = np.linalg.eigvalsh(body.undeformed[:n, :n])
    if not least[0] > 1e-12 * least[-1]:
        raise ModelError(
            f"the modal mass matrix is singular: its eigenvalues go from {least[0]:.3g} to {least[-1]:.3g}. The mode shapes are linearly "
            "dependent, or some move no mass: leave out those that others make, and give every node that moves a mass."
        )
    if body.frequencies[0] > HIGHEST:
        raise ModelError(
            f"the first frequency is {body.frequencies[0]:.3g} Hz, which no structure has: check the units. {UNITS}"
        )
    if body.frequencies[0] < LOWEST:
        message = (
            f"a flexible body has the first frequency {body.frequencies[0]:.3g} Hz, less than structures have: check the units. {UNITS} "
            "A modulus given in GPa makes frequencies 3e-5 of what they are."
        )
        warnings.warn(message, ModelWarning, stacklevel=8)  # the line that called FlexibleBody.beam, .of_nodes or .of_matrices


def check_symmetric(what: str, x) -> None:
    """Symmetric, and no eigenvalue below zero where that is cheap to see."""
    size = abs(x).max() if x.shape[0] else 0.0
    off = abs(x - x.T)
    if off.max() > SLACK * size if x.shape[0] else False:
        i, j = np.unravel_index(int(off.argmax()), x.shape)
        raise ModelError(
            f"{what} is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by {off.max():.3g}, its largest entry being {size:.3g}. "
            "Assemble it whole: some programs write one triangle only, x + x.T - diag(x) is the matrix then."
        )
    if not hasattr(x, "tocsr") and 0 < x.shape[0] <= 2000:
        values = np.linalg.eigvalsh(x)
        if values[0] < -SLACK * max(values[-1], 0.0) or values[-1] < 0:
            raise ModelError(
                f"{what} is indefinite: its eigenvalues go from {values[0]:.3g} to {values[-1]:.3g}, and none may be negative. "
                "Check signs and boundary conditions."
            )
