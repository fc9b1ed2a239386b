"""What may touch what: materials of shapes, the ground, and pairs of shapes between which there is contact."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import ModelError, did_you_mean, listed
from .parts import Material, Shape

if TYPE_CHECKING:
    from .model import Model

GROUND = "ground"
OFF = "contacts are off"
WAYS = '"ground" (every collision shape with the ground), "all" (and with each other, by the rules of the file), or a list of pairs'


@dataclass(frozen=True)
class Contact:
    """A pair of shapes that may touch: number `shape` of the collision shapes of `one`, and number `other_shape` of those of `other`.

    None is the world, whose shapes are `Model.ground`. Without a material it has that of the two shapes combined.
    """

    name: str
    one: str | None
    other: str | None
    shape: int = 0
    other_shape: int = 0
    material: Material | None = None
    active: bool = True

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(name for name in (self.one, self.other) if name is not None)


def check_contacts(model: "Model") -> None:
    """Contacts have two bodies that are there, with the shapes that they name."""
    for contact in model.contacts:
        for body, number in sides(contact):
            shape_of(model, contact.name, body, number)
        if contact.one == contact.other:
            raise ModelError(f'{model.name}: contact "{contact.name}" is of "{contact.one}" with itself; it takes two bodies.')


def sides(contact: Contact) -> tuple[tuple[str | None, int], tuple[str | None, int]]:
    return (contact.one, contact.shape), (contact.other, contact.other_shape)


def shapes_of(model: "Model", body: str | None) -> tuple[Shape, ...]:
    """The collision shapes of a body, or of the world (None)."""
    return model.ground if body is None else model.body(body).collisions


def shape_of(model: "Model", contact: str, body: str | None, number: int) -> Shape:
    """One of the shapes of a contact, checked."""
    shapes, where = shapes_of(model, body), f'"{body}"' if body is not None else "the ground"
    if isinstance(number, bool) or not 0 <= number < len(shapes):
        remedy = "give it collisions=" if body is not None else "add one with Builder.ground() or model.with_ground()"
        raise ModelError(f'{model.name}: contact "{contact}" is of shape {number} of {where}, which has {len(shapes)}; {remedy}.')
    return shapes[number]


def material_of(model: "Model", contact: Contact) -> Material:
    """The material of a contact: its own, or that of its two shapes."""
    if contact.material is not None:
        return contact.material
    one, other = (shape_of(model, contact.name, *side).material for side in sides(contact))
    return combined(one, other)


def combined(one: Material | None, other: Material | None) -> Material:
    """The material of a pair: the larger friction and restitution (the smaller friction where one says so), springs in a row."""
    if one is None or other is None:
        return one or other or Material()
    if one.priority != other.priority:
        return max(one, other, key=lambda x: x.priority)
    least = "min" in (one.combine, other.combine)
    return Material(
        friction=(min if least else max)(one.friction, other.friction),
        restitution=max(one.restitution, other.restitution),
        compliance=one.compliance + other.compliance,
        damping=max(one.damping, other.damping),
        combine="min" if least else "max",
        priority=one.priority,
    )


# --- which pairs there are


def with_contacts(model: "Model", which, material: Material | None) -> "Model":
    """The model with contacts between the shapes that `which` says, besides those it has."""
    if isinstance(which, str) and which == GROUND:
        fixed = [name for name, first in welds(model).items() if name and first is None]
        floors = [name for name in fixed if any(shape.kind == "plane" for shape in model.body(name).collisions)]
        model = model if model.ground or floors else model.with_ground()
        model = awake(model, lambda x: None in (x.one, x.other))
        made, left = every_pair(model, [(body.name, floor) for body in model.bodies for floor in (None, *floors)])
    elif isinstance(which, str) and which == "all":
        model = awake(model, lambda x: True)
        names = [body.name for body in model.bodies]
        each = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]] + [(a, None) for a in names]
        made, left = every_pair(model, each)
    else:
        pairs = pairs_said(model, which)
        model = model if model.ground or not any(None in pair or GROUND in pair for pair in pairs) else model.with_ground()
        found = [[_found(model, name) for name in pair] for pair in pairs]
        made, left = [x for (one, first), (other, second) in found for x in between(model, one, other, first, second)], []
    contacts = {key(x): x for x in model.contacts}
    for x in made:
        known = contacts.get(key(x), x)
        contacts[key(x)] = replace(known, active=True, material=known.material if material is None else material)
    if isinstance(which, str) and not contacts:
        meshes = f" besides meshes, of {listed(left)}," if left else ""
        raise ModelError(
            f'{model.name} has no collision shapes{meshes} that could touch, so that contacts="{which}" makes no contact. Give bodies '
            "shapes (Builder.body(..., collisions=...)), or leave contacts= away."
        )
    note = f"mesh shapes are left out of contacts: {listed(left)}; use primitive shapes, or see linkwork.contact.geometry.meshes"
    notes = [x for x in model.notes if not x.startswith(OFF)] + [note] * bool(left)
    return replace(model, contacts=tuple(contacts.values()), notes=tuple(notes))


def contacts_off(model: "Model") -> list[str]:
    """A sentence that says what could touch in a model without an active contact, and how to let it; none where nothing could."""
    kinds = Counter(shape.kind for body in model.bodies for shape in body.collisions)
    if not kinds or any(x.active for x in model.contacts):
        return []
    carriers = [body.name for body in model.bodies if body.collisions]
    parts = [f"collision shapes ({', '.join(f'{n} {kind}' for kind, n in kinds.items())}) of {listed(carriers, 4)}"]
    parts += [f"{len(model.ground)} shapes of the ground"] * bool(model.ground)
    parts += [f"the pairs {listed([x.name for x in model.contacts], 4)}"] * bool(model.contacts)
    ways = 'Let them touch with load(..., contacts="ground"), contacts="all" or contacts=[names], on the command line with --contacts'
    ways = ways if set(kinds) - {"mesh"} else "Give bodies primitive shapes, or see linkwork.contact.geometry.meshes"
    return [f"{OFF}: {model.name} has {', '.join(parts)}. {ways}."]


def awake(model: "Model", which) -> "Model":
    """The model with those contacts active that its file declares."""
    return replace(model, contacts=tuple(replace(x, active=x.active or which(x)) for x in model.contacts))


def key(contact: Contact) -> frozenset:
    """The two shapes of a contact."""
    return frozenset(sides(contact))


def every_pair(model: "Model", bodies: Iterable[tuple[str, str | None]]) -> tuple[list[Contact], list[str]]:
    """Contacts of all shapes of pairs of bodies that the rules allow, and the bodies whose meshes are left out.

    Bodies that are fixed to each other, or that one joint connects, do not collide; nor do those that the file excludes, nor shapes
    whose groups and masks have no bit in common: (group & other mask) | (other group & mask).
    """
    fixed, excluded = welds(model), {frozenset(x) for x in model.excluded}
    above = {fixed[placed.child]: fixed.get(placed.parent) for placed in model.joints if placed.joint.nv}
    made, left = [], dict[str, None]()
    for one, other in bodies:
        a, b = fixed[one], fixed[other]
        connected = a == b or (other is not None and (above.get(a) == b or above.get(b) == a) and None not in (a, b))
        if connected or frozenset((one, other)) in excluded:
            continue
        for contact in between(model, one, other):
            shapes = one_shape, other_shape = [shape_of(model, contact.name, *side) for side in sides(contact)]
            if not (one_shape.group & other_shape.mask) | (other_shape.group & one_shape.mask):
                continue
            if any(shape.kind == "mesh" for shape in shapes):
                left |= {name: None for (name, _), shape in zip(sides(contact), shapes) if shape.kind == "mesh" and name}
            elif not all(shape.kind == "plane" for shape in shapes):
                made.append(contact)
    return made, list(left)


def welds(model: "Model") -> dict[str | None, str | None]:
    """The first of the bodies that each body is fixed to, or None for those fixed to the world."""
    first: dict[str | None, str | None] = {None: None}
    for placed in model.joints:
        first[placed.child] = placed.child if placed.joint.nv else first[placed.parent]
    return first


def between(model: "Model", one: str | None, other: str | None, numbers_one=None, numbers_other=None) -> Iterator[Contact]:
    """Contacts of all shapes of two bodies, or of some of them."""
    for i, x in enumerate(shapes_of(model, one)):
        for j, y in enumerate(shapes_of(model, other)):
            if (numbers_one is None or i in numbers_one) and (numbers_other is None or j in numbers_other):
                yield Contact(f"{label(one, i, x)}/{label(other, j, y)}", one, other, i, j)


def label(body: str | None, number: int, shape: Shape) -> str:
    """What to call a shape: its body and its own name or number."""
    return f"{GROUND if body is None else body}.{shape.name or number}"


def pairs_said(model: "Model", which) -> list[tuple]:
    """Pairs of names: ("foot", "ground"), ("hand", "cup"), or "foot" for it and the ground."""
    if isinstance(which, (str, bytes)) or not isinstance(which, Iterable):
        raise ModelError(f"{model.name}: contacts is {which!r}; it may be {WAYS}.")
    pairs = [(x, GROUND) if isinstance(x, str) else tuple(x) if isinstance(x, (tuple, list)) else (x,) for x in which]
    for pair in pairs:
        if len(pair) != 2:
            takes = 'pairs of names, ("foot", "ground"), or a name for it and the ground'
            raise ModelError(f"{model.name}: contacts has {pair!r}; it takes {takes}.")
    return pairs


def _found(model: "Model", name) -> tuple[str | None, tuple[int, ...] | None]:
    """The body of a name and its shapes (None: all): of a body, of the ground, or of a shape."""
    if name is None or name == GROUND:
        return None, None
    bodies = [body.name for body in model.bodies]
    if name in bodies:
        if not model.body(name).collisions:
            raise ModelError(f'{model.name}: body "{name}" has no collision shapes for a contact; give it collisions=.')
        return name, None
    places: list = [*bodies, None]
    named = [(body, i) for body in places for i, x in enumerate(shapes_of(model, body)) if x.name and x.name == name]
    if len(named) != 1:
        said = f"{len(named)} shapes of the name" if named else "no body and no collision shape"
        known = [*bodies, *(x.name for body in places for x in shapes_of(model, body) if x.name)]
        remedy = " Give each its own name, or name the body." if named else did_you_mean(str(name), known)
        raise ModelError(f'{model.name} has {said} "{name}" for a contact.{remedy}')
    return named[0][0], (named[0][1],)
