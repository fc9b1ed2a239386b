"""Model: what a machine is. Frozen, checked once when made, in canonical order."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ModelError, UnknownNameError, did_you_mean, listed, old_name, renamed_keyword
from ..flexible import FlexibleBody, Modes
from ..joints import Fixed, Free
from ..lie.scalars import numbers
from ..spatial import Pose
from . import text
from .actuators import Actuator, check_actuators, with_actuators
from .check import base_to_tips, check_names, joint_names
from .constraints import Bond
from .contacts import GROUND, Contact, check_contacts, with_contacts
from .forces import Fluid, Force, Immersed
from .parts import Body, Coupling, Frame, Loop, Material, PlacedJoint, Shape
from .rebasing import rebased

GRAVITY = (0.0, 0.0, -9.81)
PARTS = "bodies", "joints", "frames", "loops", "couplings", "forces", "constraints", "ground", "contacts", "excluded", "actuators", "notes"
UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Model:
    """Bodies on joints, each body on one joint, a joint standing on another body or on the world (None).

    Joint i carries body i. Joints keep the order they come in, which decides that of q and v; only one that comes before the
    joint of its parent is put after it.
    """

    name: str
    bodies: tuple[Body, ...] = ()
    joints: tuple[PlacedJoint, ...] = ()
    frames: tuple[Frame, ...] = ()
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    gravity: tuple[float, float, float] = GRAVITY
    forces: tuple[Force, ...] = ()
    constraints: tuple[Bond, ...] = ()
    ground: tuple[Shape, ...] = ()  # shapes that stand in the world: a floor, walls, steps
    contacts: tuple[Contact, ...] = ()  # pairs of shapes that may touch
    excluded: tuple[tuple[str | None, str | None], ...] = ()  # bodies that do not collide with each other
    actuators: tuple[Actuator, ...] = ()  # motors and servos; they act where `robot.actuators` is used as a controller
    fluid: Fluid | None = None  # that bodies are in: see `in_fluid`
    notes: tuple[str, ...] = field(default=(), compare=False)
    order: tuple[str, ...] = field(default=(), compare=False)  # of joints, before the model had another root: see `rebased`

    def __post_init__(self):
        gravity = numbers(self.gravity)
        if gravity.shape != (3,) or not np.isfinite(gravity).all():
            raise ModelError(
                f"{self.name} has gravity {self.gravity}; "
                "it takes three finite numbers, the physical acceleration in m/s²."
            )
        object.__setattr__(self, "gravity", tuple(map(float, gravity)))
        for what in PARTS:
            object.__setattr__(self, what, tuple(getattr(self, what)))
        if strangers := [x for x in self.constraints if not isinstance(x, Bond)]:
            raise ModelError(f"{self.name}: {strangers[0]!r} is no constraint of a model; see linkwork.constraints for those there are.")
        check_names(self)
        order = base_to_tips(self)
        bodies = {body.name: body for body in self.bodies}
        object.__setattr__(self, "joints", order)
        object.__setattr__(self, "bodies", tuple(bodies[placed.child] for placed in order))
        if self.contacts or self.ground:
            check_contacts(self)
        if self.actuators:
            check_actuators(self)

    # --- looking things up

    @cached_property
    def _body(self) -> dict[str, int]:
        return {body.name: i for i, body in enumerate(self.bodies)}

    @cached_property
    def _joint(self) -> dict[str, int]:
        return {placed.name: i for i, placed in enumerate(self.joints)}

    @cached_property
    def _frame(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def body(self, name: str) -> Body:
        return self.bodies[self.body_index(name)]

    def body_index(self, name: str) -> int:
        return self._looked_up("body", name, self._body)

    def joint(self, name: str) -> PlacedJoint:
        return self.joints[self._looked_up("joint", name, self._joint)]

    def has_joint(self, name: str) -> bool:
        return name in self._joint

    hinges = old_name("Model.hinges", "Model.joints", "joints")
    hinge = old_name("Model.hinge", "Model.joint", "joint")

    def place(self, name: str) -> tuple[int, Pose]:
        """Where a body or frame of this name is: the index of the body, and the pose on it."""
        if isinstance(name, str) and name in self._frame:
            return self._body[self._frame[name].body], self._frame[name].pose
        return self._looked_up("body or frame", name, self._body, self._frame), Pose()

    def _looked_up(self, what: str, name: str, known: Mapping[str, int], others: Iterable[str] = ()) -> int:
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError(f'{self.name} has no {what} "{name}".{did_you_mean(name, [*known, *others])}')
        return known[name]

    # --- its shape (Jain, chapter 8)

    @cached_property
    def parent(self) -> tuple[int, ...]:
        """The number of each body's parent body; -1 is the world."""
        return tuple(-1 if placed.parent is None else self._body[placed.parent] for placed in self.joints)

    def children(self, name: str | None) -> tuple[str, ...]:
        """The bodies that stand on this one, or on the world (None)."""
        if name is not None:
            self.body_index(name)
        return tuple(placed.child for placed in self.joints if placed.parent == name)

    def path(self, name: str) -> tuple[str, ...]:
        """The bodies from this one to its root."""
        out = []
        k = self.body_index(name)
        while k >= 0:
            out.append(self.bodies[k].name)
            k = self.parent[k]
        return tuple(out)

    def subtree(self, name: str) -> tuple[str, ...]:
        """This body and every one it carries, base to tips."""
        inside = {self.body_index(name)}
        for k, p in enumerate(self.parent):
            if p in inside:
                inside.add(k)
        return tuple(self.bodies[k].name for k in sorted(inside))

    def common_ancestor(self, one: str, other: str) -> str | None:
        """The body nearest to both that carries both, or None where only the world does."""
        above = set(self.path(other))
        return next((body for body in self.path(one) if body in above), None)

    def branches(self) -> tuple[tuple[str, ...], ...]:
        """The serial pieces of the tree, base to tips: each ends at a tip or where the tree forks."""
        out: list[list[str]] = []
        piece: dict[int, int] = {}
        degree = Counter(self.parent)
        for k, p in enumerate(self.parent):
            if p >= 0 and degree[p] == 1:
                piece[k] = piece[p]
                out[piece[k]].append(self.bodies[k].name)
            else:
                piece[k] = len(out)
                out.append([self.bodies[k].name])
        return tuple(map(tuple, out))

    @property
    def mass(self) -> float:
        return sum(body.mass for body in self.bodies) + sum(x.mass for x in self.flexible_bodies.values())

    @cached_property
    def flexible_bodies(self) -> "dict[str, FlexibleBody]":
        """Those that deform, by the name of the joint that has their modal coordinates."""
        return {x.name: part.body for x in self.joints for _, part, _ in x.joint.parts if isinstance(part, Modes)}

    # --- other models from this one

    @cached_property
    def size(self) -> float:
        """A length of the mechanism, in metres: the longest way between two of its joints; where there is none that of a body, the
        farthest of its centre of mass and its radius of gyration, and 1 where nothing has a length."""
        ways = [x.translation for parts in (self.joints, self.loops) for part in parts for x in (part.at, part.on)]
        ways += [x.pose.translation for body in self.flexible_bodies.values() for x in body.frames.values()]
        bodies = [body for body in self.bodies if body.mass > 0]
        spread = [np.linalg.norm(x.center) + np.sqrt(max(np.trace(x.tensor), 0.0) / x.mass) for x in bodies]
        return float(max(map(np.linalg.norm, ways), default=0.0)) or float(max(spread, default=0.0)) or 1.0

    def with_gravity(self, gravity) -> "Model":
        return replace(self, gravity=gravity)

    def with_frame(self, name: str, body: str, pose=None) -> "Model":
        """This model with a named frame (a tool) on a body or on another frame."""
        index, at = self.place(body)
        return replace(self, frames=(*self.frames, Frame(name, self.bodies[index].name, at @ Pose.of(pose))))

    def with_forces(self, *forces: Force) -> "Model":
        """This model with springs between points, or pushes, besides those it has; see `lw.VirtualWork`."""
        return replace(self, forces=(*self.forces, *forces))

    def with_constraints(self, *constraints: Bond) -> "Model":
        """This model with distances, relations, given motion, rolling ... besides those it has; see `linkwork.constraints`."""
        return replace(self, constraints=(*self.constraints, *constraints))

    def in_fluid(self, *immersed: Immersed, density: float = 1000.0, current=(0.0, 0.0, 0.0)) -> "Model":
        """This model under water, or in another fluid that flows with a constant velocity: what it is to each body.

            model.in_fluid(lw.Immersed("hull", volume=0.2, added_mass=(1, 5, 5, 20, 90, 90), quadratic_drag=...), current=(0.3, 0, 0))
        """
        return replace(self, fluid=Fluid(density, current, tuple(immersed)))

    def with_ground(
        self, height: float = 0.0, normal=UP, *, material: Material | None = None, shape: Shape | None = None, name: str = "ground"
    ) -> "Model":
        """This model with a plane to stand on, at a height along its normal, or with another shape in the world; contacts with it are
        made by `with_contacts`."""
        return replace(self, ground=(*self.ground, ground_shape(height, normal, material, shape, name)))

    def with_contacts(self, which="ground", *, material: Material | None = None) -> "Model":
        """This model with contacts between shapes, besides those it has.

            model.with_contacts("ground")                                    # every collision shape with the ground; z = 0 if there is none
            model.with_contacts("all")                                       # and with each other, by the rules of the file
            model.with_contacts(["FL_foot", ("hand", "cup")])                # bodies or shapes by name: with the ground, with each other

        The ground is the plane z = 0 if there is none.
        "all" leaves out bodies that are fixed to each other or connected by one joint, those that the file excludes, and shapes
        whose groups do not meet. Meshes are left out by "ground" and "all", with a note. Contacts have this material, or that of their
        shapes.
        """
        return with_contacts(self, which, material)

    def with_actuators(
        self, kind: str = "motor", joints: Iterable[str] | None = None, *, stiffness: float = 0.0, damping: float = 0.0
    ) -> "Model":
        """This model with a motor, or a servo, at each joint with one velocity, or at those named, besides the actuators it has.

            model.with_actuators("motor")                                    # forces within the effort of each joint
            model.with_actuators("position", stiffness=40.0, damping=1.0)    # force = stiffness (u − q) − damping v
            model.with_actuators("velocity", ["wheel"], damping=2.0)         # force = damping (u − v)
        """
        return with_actuators(self, kind, joints, stiffness, damping)

    def with_payload(self, body: str, payload: "Body | float | Mapping", pose=None) -> "Model":
        """This model with another body welded to a body or frame: a Body, a solid, or a mass in kg, which is a point there; a
        payload without a name is called `payload`."""
        index, at = self.place(body)
        payload = as_payload(payload, {body.name for body in self.bodies} | set(self._frame))
        placed = PlacedJoint(f"{payload.name}_weld", self.bodies[index].name, payload.name, Fixed(), at @ Pose.of(pose))
        return replace(self, bodies=(*self.bodies, payload), joints=(*self.joints, placed))

    def with_model(self, body: str | None, other: "Model", pose=None, prefix: str = "") -> "Model":
        """This model with another one standing on a body, a frame or the world (None), its names after the prefix."""
        base, at = None, Pose.of(pose)
        if body is not None:
            index, on = self.place(body)
            base, at = self.bodies[index].name, on @ at
        moved = renamed(other, prefix)
        fitting(self, "carry another model")
        fitting(other, "stand on another model")

        def standing(x):
            return replace(x, parent=base, at=at @ x.at) if x.parent is None else x

        both: dict[str, Any] = {
            part: (*getattr(self, part), *getattr(moved, part)) for part in ("bodies", "frames", "couplings", "forces", "actuators")
        }
        return replace(
            self,
            **both,
            **standing_ground(self, moved, base, at),
            joints=(*self.joints, *map(standing, moved.joints)),
            loops=(*self.loops, *map(standing, moved.loops)),
            constraints=(*self.constraints, *(x.standing(base, at) for x in moved.constraints)),
            fluid=common_fluid(self, moved),
            notes=tuple(dict.fromkeys((*self.notes, *moved.notes))),  # what holds of both is told once
        )

    def locked(self, joints: Mapping[str, object]) -> "Model":
        """A smaller model: the named joints held at coordinates (a number, or one for each), their bodies welded."""
        held = dict(joints)
        gone = {name for joint in held for name in joint_names(self.joint(joint))}
        fitting(self, "have joints locked")
        bound = [("coupling", x.name, (x.joint, x.of or "")) for x in self.couplings if x.active]
        for kind, name, used in [*bound, *(("constraint", x.name, x.joints) for x in self.constraints)]:
            if gone.intersection(used):
                raise ModelError(f'{kind} "{name}" binds a joint that is to be locked; remove the {kind} from the model first.')
        return replace(
            self,
            joints=tuple(welded(h, held[h.name]) if h.name in held else h for h in self.joints),
            couplings=tuple(c for c in self.couplings if c.joint not in gone and c.of not in gone),
            actuators=tuple(x for x in self.actuators if not gone.intersection(x.joints)),
        )

    def floating(self, name: str | None = None) -> "Model":
        """This model with its one root free to move instead of standing on the world; its joint is called `floating_base`,
        or `floating_base_` where the model has one of that name, unless named."""
        roots = [placed for placed in self.joints if placed.parent is None]
        if len(roots) != 1 or roots[0].joint.nv:
            raise ModelError(f"{self.name} cannot be set floating: it needs one root that is welded to the world.")
        fitting(self, "be set floating")
        taken = {used for placed in self.joints if placed is not roots[0] for used in joint_names(placed)}
        base = PlacedJoint(unused("floating_base", taken) if name is None else name, None, roots[0].child, Free())
        return replace(self, joints=tuple(base if placed is roots[0] else placed for placed in self.joints))

    def rebased(self, body: str, at=None) -> "Model":
        """The same mechanism with another body as its root: joints between the two are turned round, all else is kept.

            model.rebased("hand").rebased("torso")        # the model of before
            lw.Dynamics(model).rebase(q, v, "hand")       # (q, v) of the new model in the same state

        Where the old root is free the new one is, and the dynamics are the same. Where it is welded to the world the new one is,
        `at` a pose of the world or where the old one stood: the same mechanism held elsewhere.
        """
        self.body_index(body)
        fitting(self, "have another root")
        return rebased(self, body, at)

    def renumbered(self, order) -> "Model":
        """The same mechanism with its bodies in another order (names); a body that comes before its parent is put after it."""
        fitting(self, "be renumbered")
        rank = {name: i for i, name in enumerate(order)}
        for name in rank:
            self.body_index(name)
        if missing := [body.name for body in self.bodies if body.name not in rank]:
            raise ModelError(f"the new order of {self.name} leaves out {listed(missing)}; it takes every body once.")
        return replace(self, joints=tuple(sorted(self.joints, key=lambda placed: rank[placed.child])))

    def __str__(self) -> str:
        return text.tree(self)

    def __repr__(self) -> str:
        return f"<Model {text.headline(self)}>"

    def _repr_html_(self) -> str:
        return text.html(self)


Model.__init__ = renamed_keyword("Model", "hinges", "joints", [x.name for x in fields(Model)])(Model.__init__)  # type: ignore[method-assign]


def as_payload(payload, taken) -> Body:
    """The body that a payload is: a Body itself, a solid (a dict of mass, center, tensor) or a mass."""
    if isinstance(payload, Body):
        return payload
    name = unused("payload", taken)
    if isinstance(payload, Mapping):
        known = [x.name for x in fields(Body)]
        for key in payload:
            if key not in known:
                raise ModelError(f'a payload has an entry "{key}", which a Body has not.{did_you_mean(key, known)}')
        return Body(**{"name": name, **payload})
    if isinstance(payload, (int, float, np.number)) and not isinstance(payload, bool):
        return Body(name, float(payload))
    raise ModelError(f"a payload is {payload!r}; it takes a Body, a solid such as lw.mechanisms.solids.box(...), or a mass in kg.")


def unused(name: str, taken) -> str:
    """The name, with underscores after it until nothing else has it."""
    while name in taken:
        name += "_"
    return name


def displacement(joint, q) -> Pose:
    """The pose that a joint's coordinates give its outboard frame on the inboard one."""
    pose, start = Pose(), 0
    for _, part, at in joint.parts:
        turn = part.frame
        moved = part.displaced(q[start : start + part.nq])
        pose, start = pose @ at @ turn @ moved @ turn.inverse(), start + part.nq
    return pose


def welded(placed: PlacedJoint, q) -> PlacedJoint:
    """The joint held at these coordinates."""
    nq = placed.joint.nq
    if any(part.deformation is not None for _, part, _ in placed.joint.parts):
        raise ModelError(
            f'joint "{placed.name}" has the modes of a flexible body, which cannot be locked: its mass would be lost. '
            "Give the builder a FlexibleBody without these modes; one without any is rigid."
        )
    turns = any(part.group.units for _, part, _ in placed.joint.parts)
    held = numbers(q)
    if held.shape not in {(nq,), (nq,) if turns else ()} or not np.isfinite(held).all():
        takes = f"{nq} coordinates, a unit quaternion among them" if turns else f"one number or {nq}"
        raise ModelError(f'joint "{placed.name}" cannot be locked at {q}; it takes {takes}, finite.')
    return replace(placed, joint=Fixed(), at=placed.at @ displacement(placed.joint, np.broadcast_to(held, (nq,))))


NAMING = {"name", "parent", "child", "body", "one", "other"}  # fields of parts that name something of the model
NAMING_JOINTS = {"joint", "of"}  # and those that name a joint, or a part of one
BY_JOINT = {"gears", "terms"}  # fields that are pairs of a joint and a number
NAMED = "bodies", "joints", "frames", "loops", "couplings", "forces", "constraints", "contacts", "actuators"


def renamed(model: Model, prefix: str) -> Model:
    """The model with a prefix before the name of everything in it."""

    def n(name):
        return prefix + name if isinstance(name, str) else name

    whole = {placed.name for placed in model.joints}
    parts = {name: f"{placed.name}.{name}" for placed in model.joints for name, _, _ in placed.joint.parts if name and name not in whole}

    def joint(name):
        return n(parts.get(name, name))

    def part(x):
        own = {name for name, _ in x.POINTS} if isinstance(x, Bond) else set()
        new = {each.name: n(getattr(x, each.name)) for each in fields(x) if each.name in NAMING | own}
        new |= {each.name: joint(getattr(x, each.name)) for each in fields(x) if each.name in NAMING_JOINTS}
        by_joint = [each.name for each in fields(x) if each.name in BY_JOINT]
        return replace(x, **new, **{name: tuple((joint(one), value) for one, value in getattr(x, name)) for name in by_joint})

    return replace(
        model,
        **{kind: tuple(map(part, getattr(model, kind))) for kind in NAMED},  # type: ignore[arg-type]
        excluded=tuple((n(a), n(b)) for a, b in model.excluded),
        fluid=model.fluid and replace(model.fluid, immersed=tuple(map(part, model.fluid.immersed))),
        order=(),
    )


def common_fluid(model: Model, other: Model) -> Fluid | None:
    """The fluid that two models are in together."""
    if model.fluid is None or other.fluid is None:
        return model.fluid or other.fluid
    if replace(model.fluid, immersed=()) != replace(other.fluid, immersed=()):
        raise ModelError(f"{model.name} and {other.name} are in fluids of other densities or currents; give both the same.")
    return replace(model.fluid, immersed=(*model.fluid.immersed, *other.fluid.immersed))


def ground_shape(height, normal, material, shape, name: str) -> Shape:
    """A plane at a height along its normal, or another shape, as part of the ground."""
    if shape is not None:
        if not isinstance(shape, Shape):
            raise ModelError(f'the shape of ground "{name}" is {shape!r}; it takes a Shape, as in Shape("box", (1.0, 1.0, 0.2)).')
        named = shape if name == GROUND else replace(shape, name=name)
        return named if material is None else replace(named, material=material)
    n, at = numbers(normal), numbers(height)
    if n.shape != (3,) or not np.isfinite(n).all() or not n.any() or at.ndim or not np.isfinite(at):
        raise ModelError(f"a ground has normal {normal} and height {height}; it takes a direction and a finite number.")
    pose = Pose.of(float(at) * n / np.linalg.norm(n)) @ Pose.turning_z_to(n)
    return Shape("plane", (), pose, name=name, material=material)


def standing_ground(model: Model, moved: Model, base: str | None, at: Pose) -> dict:
    """Ground, contacts and exclusions of a model and of another that stands on it. What was fixed in the world of the other is so in
    that of the first, moved, and belongs to it only where the other stands on the world."""
    if base is not None and (moved.ground or any(None in (x.one, x.other) for x in moved.contacts)):
        raise ModelError(
            f'{moved.name} has a ground, which cannot stand on body "{base}"; take it off: '
            "dataclasses.replace(other, ground=(), contacts=())."
        )
    start = len(model.ground)
    shifted = [
        replace(x, shape=x.shape + start * (x.one is None), other_shape=x.other_shape + start * (x.other is None)) for x in moved.contacts
    ]
    return {
        "ground": (*model.ground, *(replace(x, pose=at @ x.pose) for x in moved.ground)),
        "contacts": (*model.contacts, *shifted),
        "excluded": (*model.excluded, *moved.excluded),
    }


def fitting(model: Model, what: str) -> None:
    """No constraint of a model is a function of all its coordinates, which are to become others."""
    for x in model.constraints:
        if x.WHOLE:
            raise ModelError(
                f'{model.name} cannot {what}: its constraint "{x.name}" is a function of all its coordinates. '
                "Remove it, and give the new model one that fits."
            )
