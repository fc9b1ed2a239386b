"""A beam as rigid pieces: one, or several with springs between them that bend, twist and stretch as its section does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ModelError, OptionError
from ..flexible import FlexibleBody
from ..joints import Compound, Joint, Prismatic, Revolute
from .sections import Section
from .solids import Solid, together

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
FREEDOMS: dict[str, tuple[type[Joint], tuple[float, float, float], str]] = {
    "axial": (Prismatic, X, "EA"),
    "shear_y": (Prismatic, Y, "GAy"),
    "shear_z": (Prismatic, Z, "GAz"),
    "twist": (Revolute, X, "GJ"),
    "bend_y": (Revolute, Y, "EIy"),
    "bend_z": (Revolute, Z, "EIz"),
}  # what a segment may do: the joint, its axis, the stiffness of the section that resists
USUAL = "axial", "twist", "bend_y", "bend_z"
WAYS = {"x": 1, "t": 1, "y": 2, "z": 2}  # that an end can move: along, about; across and turning with each plane of bending
FLEXIBILITY = "rigid", "lumped", "modal"


@dataclass(frozen=True)
class Beam:
    """A straight beam along x from the origin, of one section, or of sections by the distance from its root: section(x)."""

    name: str
    length: float
    section: Section | Callable[[float], Section]
    segments: int = 10
    freedoms: tuple[str, ...] = USUAL
    damping: float = 0.0

    def __post_init__(self):
        what = f'beam "{self.name}"'
        if not (isinstance(self.length, (int, float)) and 0 < self.length < float("inf")):
            raise ModelError(f"{what} has length {self.length!r}; it takes a finite positive number.")
        if not isinstance(self.segments, int) or isinstance(self.segments, bool) or self.segments < 1:
            raise ModelError(f"{what} has {self.segments!r} segments; it takes a whole number from 1.")
        if not (isinstance(self.damping, (int, float)) and 0 <= self.damping < float("inf")):
            raise ModelError(f"{what} has damping {self.damping!r} s; it takes a finite number of seconds, not negative.")
        if not isinstance(self.section, Section) and not callable(self.section):
            raise ModelError(f"{what} has section {self.section!r}; it takes one of lw.sections, or a function section(x) of the distance.")
        given = (self.freedoms,) if isinstance(self.freedoms, str) else tuple(self.freedoms)
        if not given or len(set(given)) < len(given) or not set(given) <= set(FREEDOMS):
            raise OptionError(f"{what} has freedoms {given}; it takes some of {', '.join(FREEDOMS)}, each once.")
        object.__setattr__(self, "freedoms", given)

    def at(self, x: float) -> Section:
        """The section at a distance from the root."""
        found = self.section if isinstance(self.section, Section) else self.section(x)
        if not isinstance(found, Section):
            raise ModelError(f'beam "{self.name}" has section {found!r} at x = {x:g} m; it takes one of lw.sections.')
        return found

    def whole(self, color=None) -> Solid:
        """The beam as one rigid body; of a tapered one as many prisms as it has segments."""
        if isinstance(self.section, Section):
            return self.section.piece(self.length, color=color)
        h = self.length / self.segments
        return together(*(self.at((i + 0.5) * h).piece(h, i * h, color) for i in range(self.segments)))

    def modal(self, modes: int | None) -> FlexibleBody:
        """The beam as finite elements, as many as it has segments, with its tip as an interface (Craig and Bampton): one static shape for
        each way that the tip can move, exact under any load there, and the lowest modes with the tip held, two by default. With shear in
        both planes or none."""
        directions = "".join(letter for letter, freedom in zip("xtyz", ("axial", "twist", "bend_z", "bend_y")) if freedom in self.freedoms)
        ways = sum(WAYS[direction] for direction in directions)
        modes = ways + min(2, ways * (self.segments - 1)) if modes is None else modes
        if not isinstance(modes, int) or isinstance(modes, bool) or modes < ways:
            raise ModelError(
                f'beam "{self.name}" has modes = {modes!r}; its tip can move in {ways} ways with freedoms {", ".join(self.freedoms)}, each '
                f"of which takes a mode: give {ways} or more, or fewer freedoms. Builder.flexible with FlexibleBody.beam(count=...) takes "
                "the lowest modes whatever their direction."
            )
        if modes > ways * self.segments:
            raise ModelError(
                f'beam "{self.name}" has modes = {modes}; with {self.segments} segments there are {ways * self.segments}. '
                "Give more segments, or fewer modes."
            )
        shear = "shear_y" in self.freedoms or "shear_z" in self.freedoms
        shapes: dict[str, Any] = {"modes": "craig-bampton", "interfaces": ["tip"], "count": modes - ways}
        section = self.at if callable(self.section) else self.section
        body = FlexibleBody.beam(self.length, section, elements=self.segments, directions=directions, shear=shear, **shapes)
        return replace(body, damping=self.damping * np.diag(body.stiffness))

    def pieces(self, color=None) -> Iterator[tuple[float, Joint | None, Solid]]:
        """(where on the piece before, joint, solid) of each piece.

        Segments of length h have their flexibility in their middle, stiffness / h, so that pieces go from middle to middle:
        the first and the last are half as long, the last with its origin at its end. Deflections and frequencies are those of
        the beam but for terms in h².
        """
        h = self.length / self.segments
        yield 0.0, None, self.at(h / 4).piece(h / 2, color=color)
        for i in range(1, self.segments + 1):
            length, start = (h, 0.0) if i < self.segments else (h / 2, -h / 2)
            middle = (i - 0.5) * h
            joint = self.joint(f"{self.name}{i}", self.at(middle), h)
            yield (h / 2 if i == 1 else h), joint, self.at(middle + length / 2).piece(length, start, color)

    def joint(self, name: str, section: Section, h: float) -> Joint:
        """What a segment does, as a joint with springs; `damping` seconds times the stiffness is their damping."""
        parts = []
        for freedom in (x for x in FREEDOMS if x in self.freedoms):
            kind, axis, stiffness = FREEDOMS[freedom]
            k = getattr(section, stiffness) / h
            parts.append((f"{name}_{freedom}", kind(axis=axis, stiffness=k, damping=self.damping * k)))
        return parts[0][1] if len(parts) == 1 else Compound(row=tuple(parts))
