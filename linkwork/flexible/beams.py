"""Straight beams of finite elements with the second-order displacements of their sections."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..spatial import Pose
from .attachment import Attachment
from .body import FlexibleBody, Outline
from .finite_elements import KEEP, check_interfaces, made, modal_damping, pairs, reduced_shapes, rigid_motions, symmetric
from .samples import Samples

POINTS = 6  # of Gauss's rule in an element: exact for every product of displacements
FREEDOMS = {"x": (3,), "y": (2, 4), "z": (1, 5), "t": (0,)}  # of a node [θx θy θz ux uy uz]: stretch, bending along y and z, torsion


def beam(
    length: float, section, *, elements: int = 20, modes="cantilever", count=None, up_to=None, directions: str = "xyzt",
    interfaces: Mapping[str, float] | Sequence[str] = (), frames: Mapping[str, float] | None = None, root: bool = True,
    shear: bool = True, rotary: bool = True, damping=0.0, keep: str = "second", orthogonalize: bool = False,
) -> FlexibleBody:  # fmt: skip
    """A straight beam along x, its frame "root" at the origin and "tip" at the end.

    section        one of `lw.sections`, a function of x that gives one (a tapered beam), or numbers {EA, GJ, EIy, EIz, rhoA, GAy ...}
    directions     in which it deforms: stretch "x", bending "y" and "z", torsion "t"
    frames         name -> place along the beam in m
    interfaces     the same, or names among frames and "tip": those that the modes must move in every direction
    shear, rotary  shear deformation (Timoshenko's beam; without it Euler's and Bernoulli's) and rotary inertia of the sections

    modes, count, up_to, damping, keep, orthogonalize are as for finite elements, see `linkwork.flexible.reduced`. With root=False the
    joint carries the body's own frame, which is not one of its sections.

    Strains are linear in the nodal displacements; places and turns of sections follow to the second order from R' = R κ~, r' = R (e + γ):

        θ₂ = ½ ∫ θ × θ',   r₂ = ∫ ½ θ × (θ × e) + θ₂ × e + θ × γ       (its x part is the foreshortening of a bent beam)
    """
    _check(length, elements, directions, keep)
    interfaces = (interfaces,) if isinstance(interfaces, str) else interfaces
    ends_at = {"root": 0.0, "tip": float(length)}
    places = {**ends_at, **dict(frames or {}), **(interfaces if isinstance(interfaces, Mapping) else {})}
    for name, x in places.items():
        if not 0 <= x <= length:
            raise ModelError(f'frame "{name}" is at {x} m of a beam {length} m long; it is between 0 and that.')
        if x != ends_at.get(name, x):
            raise ModelError(f'frame "{name}" is at {x} m, but "{name}" is an end of the beam, at {ends_at[name]} m. Give it another name.')
    for name in interfaces:
        if name not in places or name == "root":
            raise ModelError(f'"{name}" is no interface of the beam; there are {", ".join(x for x in places if x != "root")}.')
    _check_numbers(section, directions)
    ends = np.unique(np.concatenate([np.linspace(0, length, elements + 1), list(places.values())]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-9 * length])]
    mesh = BeamElements(ends, section, shear, rotary)
    at = {name: int(np.abs(ends - x).argmin()) for name, x in places.items()}
    moving = {j for direction in directions for j in FREEDOMS[direction]}
    held = [i for i in range(6 * len(ends)) if i % 6 not in moving]
    if "t" in directions and not mesh.heavy[:, 0].any():
        raise ModelError('a beam without rotary inertia has no torsion modes: rotary=True, or leave "t" out of directions.')
    Phi = reduced_shapes(
        mesh.K, mesh.M, rigid_motions(mesh.positions, 6), {name: [i] for name, i in at.items()}, tuple(interfaces), 6, modes=modes,
        count=count, up_to=up_to, root=0 if root else None, held=held, orthogonalize=orthogonalize, name="the beam",
    )  # fmt: skip
    return mesh.body(Phi, at, tuple(interfaces), damping, keep, root)


class BeamElements:
    """Beam elements along x; nodes have [θx θy θz ux uy uz]."""

    def __init__(self, ends: np.ndarray, section, shear: bool = True, rotary: bool = True):
        self.ends, self.h, self.count = ends, np.diff(ends), len(ends) - 1
        self.positions = np.concatenate([ends[:, None], np.zeros((len(ends), 2))], 1)
        x, w = np.polynomial.legendre.leggauss(POINTS)
        self.s, self.w = (1 + x) / 2, w / 2
        k = np.arange(POINTS)
        self.upto = (self.s[:, None] ** (k + 1) / (k + 1)) @ np.linalg.inv(self.s[:, None] ** k)  # ∫ from 0 to s
        middle = (ends[1:] + ends[:-1]) / 2
        data = [section_data(section(float(x)) if isinstance(section, Callable) else section, shear, rotary) for x in middle]  # type: ignore[arg-type]
        some = section(float(middle[0])) if isinstance(section, Callable) else section  # type: ignore[arg-type]
        self.looks = tuple(getattr(some, "looks", ()))
        self.stiff = np.array([[d[name] for name in ("GJ", "EIy", "EIz", "EA")] for d in data])
        self.heavy = np.array([[d["rhoIy"] + d["rhoIz"], d["rhoIy"], d["rhoIz"], *[d["rhoA"]] * 3] for d in data])
        self.shear = np.array([[d["GAy"], d["GAz"]] for d in data])
        soft = 12 * self.stiff[:, [2, 1]] / (np.where(np.isinf(self.shear), 1.0, self.shear) * self.h[:, None] ** 2)
        soft[np.isinf(self.shear)] = 0.0
        self.soft = soft
        self.N = np.stack([self.shapes(e) for e in range(self.count)])  # (e, points, [θ u κ γ], 12)
        self.strained = np.concatenate([self.stiff, np.where(np.isinf(self.shear), 0.0, self.shear)], 1)
        self.K, self.M = self._assembled(self.N[:, :, 6:], self.strained), self._assembled(self.N[:, :, :6], self.heavy)

    def shapes(self, e: int) -> np.ndarray:
        """[θ, u, κ, γ] at points s of an element from its 12 displacements; `soft` is 12 EI / GA h² in both planes: shapes that solve the
        element's own statics, cubic where that is zero."""
        s, h, soft = self.s, self.h[e], self.soft[e]
        N = np.zeros((len(s), 12, 12))
        for t, u, sign, p in ((1, 5, -1, soft[1]), (2, 4, 1, soft[0])):  # w with θy = −w', v with θz = v', each less its shear
            c, o = 1 / (1 + p), 0 * s
            v = c * np.stack([1 - 3 * s**2 + 2 * s**3 + p * (1 - s), h * (s - 2 * s**2 + s**3 + p / 2 * (s - s**2)),
                              3 * s**2 - 2 * s**3 + p * s, h * (s**3 - s**2 - p / 2 * (s - s**2))], -1)  # fmt: skip
            slope = c / h * np.stack([-6 * s + 6 * s**2 - p, h * (1 - 4 * s + 3 * s**2 + p / 2 * (1 - 2 * s)),
                                      6 * s - 6 * s**2 + p, h * (3 * s**2 - 2 * s - p / 2 * (1 - 2 * s))], -1)  # fmt: skip
            turn = c * np.stack([6 * (s**2 - s) / h, 1 - 4 * s + 3 * s**2 + p * (1 - s), 6 * (s - s**2) / h, 3 * s**2 - 2 * s + p * s], -1)
            curve = c / h * np.stack([6 * (2 * s - 1) / h, -4 + 6 * s - p + o, 6 * (1 - 2 * s) / h, 6 * s - 2 + p], -1)
            at, flip = [u, t, 6 + u, 6 + t], np.array([1, sign, 1, sign])
            N[:, u, at], N[:, t, at], N[:, 6 + t, at], N[:, 6 + u, at] = (
                v * flip,
                sign * turn * flip,
                sign * curve * flip,
                (slope - turn) * flip,
            )
        for row, strain in ((0, 6), (3, 9)):
            N[:, row, row], N[:, row, 6 + row], N[:, strain, row], N[:, strain, 6 + row] = 1 - s, s, -1 / h, 1 / h
        return N

    def _blocks(self, N, each) -> np.ndarray:
        return np.einsum("g,e,egpi,ep,egpj->eij", self.w, self.h, N, each, N, optimize=True)

    def _assembled(self, N, each) -> np.ndarray:
        blocks = self._blocks(N, each)
        out = np.zeros((6 * (self.count + 1),) * 2)
        for e, B in enumerate(blocks):
            out[6 * e : 6 * e + 12, 6 * e : 6 * e + 12] += B
        return (out + out.T) / 2

    def body(self, Phi: np.ndarray, frames: Mapping[str, int], interfaces, damping, keep: str, root: bool) -> FlexibleBody:
        """With nodal displacements Phi η; frames: name -> number of a node."""
        n, X = Phi.shape[-1], np.eye(3)
        f = np.einsum("egpi,ein->egpn", self.N, np.stack([Phi[6 * i : 6 * i + 12] for i in range(self.count)]))
        t, u, curve, gamma = f[:, :, :3], f[:, :, 3:6], f[:, :, 6:9], f[:, :, 9:]
        along = lambda d: np.broadcast_to(d[:, None], t.shape)
        Gt_slope = symmetric(pairs(t, curve))
        Gt, Gt_nodes = self._integral(Gt_slope)
        second = lambda d: np.cross(Gt, np.broadcast_to(d[:, None, None], Gt.shape), axis=2) + symmetric(pairs(t, _x(t, along(d))))
        Gr, Gr_nodes = self._integral(second(X[0]) + 2 * symmetric(pairs(t, gamma)))
        r0 = (self.ends[:-1, None] + self.h[:, None] * self.s)[..., None] * X[0]
        mass = self.h[:, None] * self.w
        flat = lambda x: x.reshape(mass.size, *x.shape[2:])
        weights = lambda rho: (mass * rho[:, None]).ravel()
        points = Samples(flat(r0), flat(u), flat(Gr), np.ones(mass.size), weights(self.heavy[:, 3]))
        axis = lambda d: (flat(np.broadcast_to(d, r0.shape)), flat(_x(t, along(d))), flat(second(d)), np.zeros(mass.size))
        both = (*axis(X[1]), weights(self.heavy[:, 2])), (*axis(X[2]), weights(self.heavy[:, 1]))
        turning = Samples(*map(np.concatenate, zip(*both)))
        found = {}
        for name, j in frames.items():
            linear, quadratic = Phi[6 * j : 6 * j + 6], np.concatenate([Gt_nodes[j], Gr_nodes[j]])
            clean = np.where(np.abs(quadratic) < 1e-12 * np.abs(quadratic).max(initial=0.0), 0.0, quadratic)
            found[name] = Attachment(Pose.of(self.positions[j]), linear, clean)
        if not root:
            found.pop("root")
        check_interfaces(found, interfaces, n, "the beam")
        k, m = Phi.T @ self.K @ Phi, Phi.T @ self.M @ Phi
        moved = Phi.reshape(self.count + 1, 6, n)[:, 3:]
        outline = Outline(self.positions, moved, Gr_nodes, self.looks, is_line=True, strains=self._strains(Phi))
        directors = turning if turning.weights.any() else None
        return made(points, directors, found, k, modal_damping(damping, k, m), "root" if root else None, keep, outline)

    def _strains(self, Phi) -> np.ndarray:
        """Φₑ* Kₑ Φₑ of each element by its mass (e, n, n)."""
        own = np.stack([Phi[6 * e : 6 * e + 12] for e in range(self.count)])
        return own.mT @ self._blocks(self.N[:, :, 6:], self.strained) @ own / (self.heavy[:, 3] * self.h)[:, None, None]

    def _integral(self, y):
        """∫ from the root to the points, and to the nodes."""
        steps = np.einsum("g,e,egpik->epik", self.w, self.h, y)
        nodes = np.concatenate([np.zeros((1, *steps.shape[1:])), np.cumsum(steps, 0)])
        inside = self.h[:, None, None, None, None] * np.einsum("gj,ejpik->egpik", self.upto, y)
        return nodes[:-1, None] + inside, nodes


def section_data(section, shear: bool, rotary: bool) -> dict[str, float]:
    """Stiffness and mass per length of a section, or of numbers by name."""
    if isinstance(section, Mapping):
        known = "EA", "GJ", "EIy", "EIz", "rhoA", "GAy", "GAz", "rhoIy", "rhoIz"
        if strangers := [x for x in section if x not in known]:
            raise ModelError(f'a section has an entry "{strangers[0]}"; it takes {", ".join(known)}.')
        if missing := [x for x in ("EIy", "EIz", "rhoA") if x not in section]:
            raise ModelError(f'a section has no "{missing[0]}"; EIy, EIz in N m² and rhoA in kg/m are needed.')
        data = {"GAy": np.inf, "GAz": np.inf, "rhoIy": 0.0, "rhoIz": 0.0, **{x: float(y) for x, y in section.items()}}
        data.setdefault("EA", 1e6 * max(data["EIy"], data["EIz"]))
        data.setdefault("GJ", min(data["EIy"], data["EIz"]))
    elif hasattr(section, "mass_per_length"):
        data = {x: float(getattr(section, x)) for x in ("EA", "GJ", "EIy", "EIz", "GAy", "GAz")}
        _, rhoIy, rhoIz = section.inertia_per_length
        data |= {"rhoA": section.mass_per_length, "rhoIy": rhoIy, "rhoIz": rhoIz}
    else:
        raise ModelError(f"a beam has the section {section!r}; it takes one of lw.sections, a function of x, or numbers by name.")
    if not shear:
        data |= {"GAy": np.inf, "GAz": np.inf}
    if not rotary:
        data |= {"rhoIy": 0.0, "rhoIz": 0.0}
    for name, x in data.items():
        if not (x > 0 or (x == 0 and name.startswith("rhoI"))) or (np.isinf(x) and not name.startswith("GA")):
            raise ModelError(f"a section of a beam has {name} = {x}; it takes a positive finite number.")
    return data


def _check_numbers(section, directions) -> None:
    """A section by its numbers has those of the directions: EA where it stretches, GJ where it twists."""
    for direction, needed in (("x", "EA"), ("t", "GJ")):
        if isinstance(section, Mapping) and direction in directions and needed not in section:
            raise ModelError(
                f'a beam with the directions "{directions}" needs {needed} of its section; give it, or leave "{direction}" out.'
            )


def _check(length, elements, directions: Any, keep: str) -> None:
    if not (isinstance(length, int | float | np.number) and 0 < length < np.inf):
        raise ModelError(f"a beam has length {length!r}; it takes a positive number of metres.")
    if not (isinstance(elements, int | np.integer) and elements > 0):
        raise ModelError(f"a beam has {elements!r} elements; it takes one or more.")
    if not directions or set(directions) - set(FREEDOMS):
        raise ModelError(f'a beam has directions "{directions}"; they are letters of "xyzt": stretch, bending along y and z, torsion.')
    if keep not in KEEP:
        raise ModelError(f"keep is {keep!r}; it is {', '.join(KEEP)}.")


def _x(a, b):
    return np.cross(a, b, axis=2)
