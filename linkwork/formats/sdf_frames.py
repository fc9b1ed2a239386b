"""Poses of the frames of an SDF model: links, joints, frames and nested models, each relative to another.

The pose of a link is relative to its model, of a joint to its child, of a frame to what it is attached to, unless it is
`relative_to` something else. Names inside a nested model are written after its name, as in "arm::hand".
"""

from math import pi

from ..errors import did_you_mean
from ..spatial import Pose
from .xml import Element

MODEL, WORLD = "__model__", "world"
TAGS = ("link", "joint", "frame", "model")
NAMING = {
    "pose": "has a pose relative to",
    "parent": "has parent",
    "child": "has child",
    "frame": "is attached to",
    "xyz": "has an axis expressed in",
    "mimic": "follows",
}


class Frames:
    """The named elements of a model by their full names, and their poses relative to each other."""

    def __init__(self, model: Element, snap: bool):
        self.model, self.snap = model, snap
        self.named: dict[str, dict[str, Element]] = {tag: {} for tag in TAGS}
        self._scope: dict[Element, str] = {model: ""}
        self._collect(model, "")

    def _collect(self, model: Element, scope: str) -> None:
        if "placement_frame" in model.attributes:
            raise model.error(f"{label(model)} has a placement_frame, which is not read; give the pose of the model itself.")
        for tag in TAGS:
            model.add_named(tag, self.named[tag], scope)
            self._scope |= dict.fromkeys(model.all(tag), scope)
        for element in model.all("model"):
            self._collect(element, f"{scope}{element.text('name')}::")

    def name(self, element: Element) -> str:
        """The full name of an element."""
        return self._scope[element] + element.text("name")

    def resolve(self, name: str, by: Element, at: Element) -> str:
        """The full name of what element `by` refers to by a name in `at`, an element inside it."""
        full = (self._scope[by] + name).removesuffix(f"::{MODEL}")
        if name == WORLD:
            return WORLD
        if full == MODEL or any(full in found for found in self.named.values()):
            return full
        known = [x for found in self.named.values() for x in found]
        raise at.error(f'{label(by)} {NAMING[at.tag]} "{name}", which is not there.{did_you_mean(full, known)}')

    def link(self, name: str) -> str:
        """The link to which a frame is fixed: for a joint its child, for a model its first link."""
        passed: list[str] = []
        while name != WORLD and (element := self._element(name)).tag != "link":
            self._check_cycle(name, passed)
            passed.append(name)
            name = self._first_link(name) if element.tag == "model" else self._default_base(name)
        return name

    def _first_link(self, model: str) -> str:
        element, scope = self._element(model), "" if model == MODEL else f"{model}::"
        links = [x for x in self.named["link"] if x.startswith(scope)]
        given = element.attributes.get("canonical_link", "").strip()
        if not links or (given and scope + given not in links):
            raise element.error(f"{label(element)} has no link{' ' * bool(given)}{given}, so that nothing can be attached to it.")
        return scope + given if given else links[0]

    def relative_pose(self, name: str, base: str) -> Pose:
        """The pose of one frame relative to another, along the path between them."""
        ours, theirs = self._chain(name), self._chain(base)
        while len(ours) > 1 and len(theirs) > 1 and ours[-2][0] == theirs[-2][0]:
            ours, theirs = ours[:-1], theirs[:-1]
        return _product(theirs).inverse() @ _product(ours)

    def placed(self, element: Element, on: str) -> Pose:
        """The pose of an element without a name (a visual, an inertia) relative to its link `on`."""
        pose = element.first("pose")
        if pose is None:
            return Pose()
        base = relative_to(pose)
        if not base:
            return self._read(pose)
        return self.relative_pose(self.resolve(base, self.named["link"][on], pose), on) @ self._read(pose)

    # --- the tree of frames

    def _element(self, name: str) -> Element:
        if name == MODEL:
            return self.model
        return next(found[name] for found in self.named.values() if name in found)

    def _chain(self, name: str) -> list[tuple[str, Pose]]:
        """The frames from one to the world, each with its pose relative to the next."""
        way: list[tuple[str, Pose]] = []
        while name != WORLD:
            self._check_cycle(name, [passed for passed, _ in way])
            base, pose = self._base(name)
            way.append((name, pose))
            name = base
        return [*way, (WORLD, Pose())]

    def _check_cycle(self, name: str, passed: list[str]) -> None:
        """Raise an error if the frame has been passed already: the poses form a cycle."""
        if name in passed:
            circle = " on ".join(f'"{x}"' for x in [*passed[passed.index(name) :], name])
            raise self._element(name).error(f"poses form a cycle: {circle}; one of them must be relative to a link or the model.")

    def _base(self, name: str) -> tuple[str, Pose]:
        """The base frame of a frame, and its pose relative to it."""
        element = self._element(name)
        pose = element.first("pose")
        base = "" if pose is None else relative_to(pose)
        if name == MODEL:
            if base:
                raise element.error(f'{label(element)} has a pose relative to "{base}", which is outside it; give its pose in the world.')
            return WORLD, Pose() if pose is None else self._read(pose)
        on = self._default_base(name) if pose is None or not base else self.resolve(base, element, pose)
        return on, Pose() if pose is None else self._read(pose)

    def _default_base(self, name: str) -> str:
        """The base frame of a frame whose pose has no `relative_to`."""
        element = self._element(name)
        if element.tag == "joint":
            child = element.needed("child")
            return self.resolve(child.content.strip(), element, child)
        own = self._scope[element].removesuffix("::") or MODEL
        if element.tag == "frame" and (to := element.attributes.get("attached_to", "").strip()):
            return self.resolve(to, element, element)
        return own

    def _read(self, pose: Element) -> Pose:
        if not pose.content.strip():
            return Pose()
        x = numbers(pose, 6)
        unit = pi / 180 if pose.attributes.get("degrees") == "true" else 1.0
        return Pose.rpy(x[:3], [unit * angle for angle in x[3:]], snap=self.snap)


def _product(way: list[tuple[str, Pose]]) -> Pose:
    """The pose of the first frame of a chain relative to the last."""
    pose = Pose()
    for _, step in way[-2::-1]:
        pose = pose @ step
    return pose


def label(element: Element) -> str:
    return f'{element.tag} "{element.text("name")}"'


def relative_to(pose: Element) -> str:
    return pose.attributes.get("relative_to", "").strip()


def numbers(element: Element, count: int, *, finite: bool = True):
    """The numbers between an element's tags."""
    try:
        values = tuple(map(float, element.content.split()))
    except ValueError:
        values = ()
    if len(values) != count or any(x != x for x in values) or (finite and any(abs(x) == float("inf") for x in values)):
        raise element.error(f'<{element.tag}> of {element.owner} is "{element.content.strip()}"; it takes {count} finite numbers.')
    return values
