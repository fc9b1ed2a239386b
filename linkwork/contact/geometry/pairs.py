"""The pairs of a model that may touch, sorted by the kinds of their shapes, and how many points each has."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import ModelError
from ...lie.scalars import like
from ...model import Contact, Model, Shape
from ...model.contacts import material_of, shape_of, sides
from ...spatial import Pose
from . import boxes, convex, planes, spheres
from .box_box import box_box

ORDER = "sphere", "capsule", "ellipsoid", "cylinder", "box", "plane"  # the first shape of a pair is not after the second here
PAIRS: dict[tuple[str, str], tuple[Callable, int]] = {  # function of the placed shapes, number of points
    ("sphere", "plane"): (planes.sphere_plane, 1),
    ("capsule", "plane"): (planes.capsule_plane, 2),
    ("ellipsoid", "plane"): (planes.ellipsoid_plane, 1),
    ("cylinder", "plane"): (planes.cylinder_plane, 8),
    ("box", "plane"): (planes.box_plane, 8),
    ("sphere", "sphere"): (spheres.sphere_sphere, 1),
    ("sphere", "capsule"): (spheres.sphere_capsule, 1),
    ("capsule", "capsule"): (spheres.capsule_capsule, 3),
    ("sphere", "box"): (boxes.sphere_box, 1),
    ("sphere", "cylinder"): (boxes.sphere_cylinder, 1),
    ("capsule", "box"): (boxes.capsule_box, 4),
    ("box", "box"): (box_box, 5),
    ("sphere", "ellipsoid"): (convex.of_kinds("sphere", "ellipsoid"), 1),
    ("capsule", "ellipsoid"): (convex.of_kinds("capsule", "ellipsoid"), 1),
    ("ellipsoid", "ellipsoid"): (convex.of_kinds("ellipsoid", "ellipsoid"), 1),
    ("ellipsoid", "cylinder"): (convex.of_kinds("ellipsoid", "cylinder"), 1),
    ("ellipsoid", "box"): (convex.of_kinds("ellipsoid", "box"), 1),
    ("capsule", "cylinder"): (convex.capsule_cylinder, 3),
    ("cylinder", "cylinder"): (convex.cylinder_cylinder, 13),
    ("cylinder", "box"): (convex.cylinder_box, 15),
}


@dataclass(frozen=True)
class Side:
    """A shape of a pair: the number of its body (-1: the world), its pose there and its size."""

    body: int
    pose: Pose
    size: tuple[float, ...]


@dataclass(frozen=True)
class Group:
    """Pairs of one kind: those of their numbers among all pairs."""

    kinds: tuple[str, str]
    numbers: tuple[int, ...]
    first: tuple[Side, ...]
    second: tuple[Side, ...]

    @property
    def points(self) -> int:
        return PAIRS[self.kinds][1]

    @property
    def function(self) -> Callable:
        return PAIRS[self.kinds][0]


@dataclass(frozen=True)
class Pairs:
    """The active contacts of a model, in groups of one kind; points come in the order of the contacts."""

    groups: tuple[Group, ...]

    @cached_property
    def order(self) -> np.ndarray:
        """Which of the points of the groups, one group after another, is each point."""
        keys = [(pair, i) for group in self.groups for pair in group.numbers for i in range(group.points)]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), int)

    @cached_property
    def bodies(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the bodies of each point (n,), the first shape's and the second's; -1 is the world."""
        found = [[(one.body, other.body)] * group.points for group in self.groups for one, other in zip(group.first, group.second)]
        both = np.array([x for points in found for x in points], int).reshape(-1, 2)[self.order]
        return both[:, 0], both[:, 1]


def pairs_of(model: Model) -> Pairs:
    """The pairs of the active contacts of a model, checked; a model without any raises."""
    groups: dict[tuple[str, str], list] = {}
    for number, contact in enumerate(active(model)):
        one, other, kinds = in_order(model, contact)
        groups.setdefault(kinds, []).append((number, one, other))
    if not groups:
        raise ModelError(
            f'{model.name} has no contacts. Make some with model.with_contacts("ground"), load(..., contacts="ground") or Builder.contact.'
        )
    return Pairs(tuple(Group(kinds, *map(tuple, zip(*found))) for kinds, found in groups.items()))


def refuse_contacts(model: Model, who: str, instead: str = "") -> None:
    """Raises where a model has contacts, which `who` would leave out; `instead` is what knows them."""
    if active(model):
        known = f"Use {instead}, or take" if instead else "Take"
        raise ModelError(
            f"{model.name} has contacts, which {who} leaves out. {known} a model without: dataclasses.replace(model, contacts=())."
        )


def active(model: Model) -> tuple[Contact, ...]:
    return tuple(x for x in model.contacts if x.active)


def in_order(model: Model, contact: Contact) -> tuple[Side, Side, tuple[str, str]]:
    """The two sides of a contact, in the order of their kinds, the shorter of two capsules first; else as it was said."""
    both = [(body, shape_of(model, contact.name, body, number)) for body, number in sides(contact)]
    for body, shape in both:
        if shape.kind not in ORDER:
            where = "the ground" if body is None else f'"{body}"'
            raise ModelError(
                f'{model.name}: contact "{contact.name}" is of a {shape.kind} of {where}, for which kernels have no gap. Give it shapes '
                f"of the kinds {', '.join(ORDER)}; linkwork.contact.geometry.meshes has distances of convex meshes on the CPU."
            )
    both = sorted(both, key=lambda x: (ORDER.index(x[1].kind), x[1].size[1:] if x[1].kind == "capsule" else ()))
    one, other = (shape.kind for _, shape in both)
    if (one, other) not in PAIRS:
        what = f'{model.name}: contact "{contact.name}" is of a {one} and a {other}'
        raise ModelError(f"{what}, which have no gap. Use another shape for one of the two.")
    first, second = (side(model, body, shape) for body, shape in both)
    return first, second, (one, other)


def side(model: Model, body: str | None, shape: Shape) -> Side:
    return Side(-1 if body is None else model.body_index(body), shape.pose, tuple(map(float, shape.size)))


@dataclass(frozen=True)
class ContactTable:
    """What is known of each contact point before anything moves; print it.

    Point i belongs to contact `pair[i]` of `names`; its normal points from body `second[i]` to body `first[i]` (numbers, -1 the world).
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    pair: np.ndarray
    first: np.ndarray
    second: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray
    compliance: np.ndarray
    damping: np.ndarray

    def __len__(self) -> int:
        return len(self.pair)

    @property
    def count(self) -> int:
        """The number n of points."""
        return len(self.pair)

    @staticmethod
    def of(model: Model) -> "ContactTable":
        contacts = active(model)
        kinds = [in_order(model, x)[2] for x in contacts]
        counts = [PAIRS[x][1] for x in kinds]
        pair = np.repeat(np.arange(len(contacts)), counts)
        labels = [x.name if n == 1 else f"{x.name}.{i}" for x, n in zip(contacts, counts) for i in range(n)]
        materials = [material_of(model, x) for x in contacts]
        first, second = pairs_of(model).bodies if contacts else (np.zeros(0, int), np.zeros(0, int))
        properties = "friction", "restitution", "compliance", "damping"
        numbers = (np.array([getattr(m, what) for m in materials], float)[pair] for what in properties)
        return ContactTable(tuple(x.name for x in contacts), tuple(labels), pair, first, second, *numbers)

    def normal_forces(self, forces):
        """The normal force of each point (..., n), of forces (..., 3 n) in the axes of the contact frames."""
        return forces[..., ::3]

    def on_bodies(self, forces, frames, count: int):
        """The force of all contacts on each body (..., count, 3), in world axes, of forces (..., 3 n) along the axes of `frames`; the
        robot has `count` bodies."""
        f = (frames @ forces.reshape(*forces.shape[:-1], len(self), 3)[..., None])[..., 0]
        signs = np.zeros((count, len(self)))
        for way, numbers in ((1.0, self.first), (-1.0, self.second)):
            there = np.flatnonzero(numbers >= 0)
            signs[numbers[there], there] += way
        return like(signs, f) @ f

    def flags(self, forces, bodies, threshold: float = 0.0):
        """Whether something presses on each of these bodies (numbers) with more than a threshold, in N: 1 or 0 (..., len(bodies))."""
        named = [body for body in bodies if isinstance(body, str)]
        if named:
            raise ModelError(f'bodies of contact flags are numbers, not names such as "{named[0]}": robot.bodies.index("{named[0]}").')
        normal = self.normal_forces(forces)
        each = [np.flatnonzero((self.first == body) | (self.second == body)) for body in bodies]
        sums = [normal[..., rows] @ like(np.ones(len(rows)), normal) if len(rows) else np.zeros_like(normal[..., 0]) for rows in each]
        return np.where(np.stack(sums, -1) > threshold, 1.0, 0.0)

    def __str__(self) -> str:
        if not self.names:
            return "no contacts"
        counts = np.bincount(self.pair, minlength=len(self.names))
        starts = np.cumsum(counts) - counts
        width = max(map(len, self.names))
        head = f"{len(self.names)} contacts, {len(self)} points\n{'contact'.ljust(width)}  points  friction  restitution  compliance"
        rows = [
            f"{name.ljust(width)}  {n:6d}  {self.friction[i]:8.4g}  {self.restitution[i]:11.4g}  {self.compliance[i]:10.4g}"
            for name, n, i in zip(self.names, counts, starts)
        ]
        return "\n".join([head, *rows])
