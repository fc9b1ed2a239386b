"""A mechanism in a few lines: bodies added one on another."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import ModelError, OptionError, did_you_mean, renamed_keyword
from ..flexible import Deflection, FlexibleBody, Modes
from ..joints import Fixed, Joint, Revolute
from ..lie.scalars import numbers
from ..spatial import Pose
from .beams import FLEXIBILITY, USUAL, Beam
from .constraints import ALONG_Z, Bond, Distance, Driven, KnifeEdge, Linear, Rolling, Touching
from .forces import ORIGIN
from .model import GRAVITY, Model, ground_shape
from .parts import Body, Coupling, Frame, Loop, Material, PlacedJoint, Shape, check_tensors


class Builder:
    """Collects bodies, joints, frames and loops, and makes the Model.

        arm = lw.Builder("arm")
        arm.body("upper", mass=2.0, center=(0, 0, 0.2), tensor=(0.02, 0.02, 0.001), joint=lw.Revolute(axis=(0, 1, 0)))
        arm.body("fore", parent="upper", at=(0, 0, 0.4), mass=1.0, center=(0, 0, 0.15), joint=lw.Revolute(axis=(0, 1, 0)))
        arm.frame("tool", body="fore", at=(0, 0, 0.3))
        model = arm.model()
    """

    def __init__(self, name: str, gravity=GRAVITY):
        self.name = name
        self.gravity = gravity
        kinds = "bodies", "joints", "frames", "loops", "couplings", "constraints", "ground"
        self._parts: dict[str, list] = {kind: [] for kind in kinds}  # of the model
        self._rotors: list[str] = []  # which may have a moment about their axis alone
        self._contacts: list[tuple[list[tuple], Material | None]] = []

    @renamed_keyword("Builder.body", "on", "parent")
    def body(
        self,
        name: str,
        parent: str | None = None,
        at=None,
        joint: Joint | None = None,
        *,
        mass: float = 0.0,
        center=(0.0, 0.0, 0.0),
        tensor=(0.0, 0.0, 0.0),
        joint_name: str | None = None,
        joint_on=None,
        visuals: tuple[Shape, ...] = (),
        collisions: tuple[Shape, ...] = (),
    ) -> "Builder":
        """Add a body on its parent (None: the world), its joint `at` a pose of the parent; without a joint it is welded.

        `tensor` is the inertia about the centre of mass, its diagonal or all of it; `joint_on` the joint's pose in the
        new body's own frame, its origin by default. The joint is called `<name>_joint` unless named.
        """
        self._parts["bodies"].append(Body(name, mass, center, tensor, tuple(visuals), tuple(collisions)))
        placed = PlacedJoint(joint_name or f"{name}_joint", parent, name, joint or Fixed(), Pose.of(at), Pose.of(joint_on))
        self._parts["joints"].append(placed)
        return self

    def flexible(
        self,
        name: str,
        body: FlexibleBody,
        parent: str | None = None,
        at=None,
        joint: Joint | None = None,
        *,
        joint_name: str | None = None,
        joint_on=None,
        root: str | None = "",
        visuals: tuple[Shape, ...] = (),
    ) -> "Builder":
        """Add a flexible body on its parent, as `body` adds a rigid one. Its joint carries the frame `root` of it, by default that which
        the FlexibleBody names; `joint_on` is the joint's pose in that frame.

        `name` is the frame on the joint, "name.tip" the frame `tip` of the body and so on: other bodies, loops, springs and payloads
        attach to these as to any body. Modal coordinates stand after the joint's in q and v, as those of the joint `<name>_modes`; its
        child "name.floating" is the frame that displacements are seen from. A body without modes becomes a rigid one.
        """
        if not isinstance(body, FlexibleBody):
            raise ModelError(f'flexible body "{name}" is {body!r}; it takes a FlexibleBody, such as lw.FlexibleBody.beam(...).')
        root = body.root if root == "" else root
        others = [x for x in body.frames if x != root]
        if not body.n:
            at_root = body.attachment(root).pose
            mass, center, tensor = body.rigid
            R, p = at_root.rotation, np.array(at_root.translation)
            center, tensor = R.T @ (center - p), R.T @ tensor @ R
            named = {"joint_name": joint_name, "joint_on": joint_on, "visuals": visuals}
            self.body(name, parent, at, joint, mass=mass, center=center, tensor=tensor, **named)
            for x in others:
                self.body(f"{name}.{x}", name, at_root.inverse() @ body.attachment(x).pose)
            return self
        self.body(name, parent, at, joint, joint_name=joint_name, joint_on=joint_on, visuals=visuals)
        self.body(f"{name}.floating", name, None, Modes(body=body, root=root), joint_name=f"{name}_modes")
        for x in others:
            self.body(f"{name}.{x}", f"{name}.floating", None, Deflection(body=body, frame_name=x))
        return self

    @renamed_keyword("Builder.frame", "on", "body")
    def frame(self, name: str, body: str, at=None) -> "Builder":
        """Name a frame `at` a pose of a body: a tool, a foot."""
        self._parts["frames"].append(Frame(name, body, Pose.of(at)))
        return self

    def loop(self, name: str, parent: str | None, child: str, joint: Joint, *, at=None, on=None) -> "Builder":
        """Close a loop: from pose `at` of the parent to pose `on` of the child only what the joint allows remains."""
        self._parts["loops"].append(Loop(name, parent, child, joint, Pose.of(at), Pose.of(on)))
        return self

    def couple(self, joint: str, of: str | None, coefficients=(0.0, 1.0), name: str | None = None) -> "Builder":
        """Bind one joint's coordinate to another's: q(joint) = c0 + c1 q(of) + ..."""
        c = numbers(coefficients)
        if c.ndim != 1 or not np.isfinite(c).all():
            raise ModelError(f'the coupling of joint "{joint}" has coefficients {coefficients}; it takes finite numbers c0, c1 ...')
        self._parts["couplings"].append(Coupling(name or f"{joint}_coupling", joint, of, tuple(c.tolist())))
        return self

    def distance(self, name: str, parent: str | None, child: str, length: float, *, at=ORIGIN, on=ORIGIN) -> "Builder":
        """Keep point `at` of the parent (None: the world) and point `on` of the child so far apart."""
        return self.constrain(Distance(name, parent, child, length, at, on))

    def relate(self, name: str, terms: Mapping[str, float], constant: float = 0.0) -> "Builder":
        """Bind several joints' coordinates, a differential say: Σ coefficient q(joint) = constant, terms {joint: coefficient}."""
        return self.constrain(Linear(name, terms, constant))  # type: ignore[arg-type]

    def drive(self, joint: str, function, rate=None, acceleration=None, name: str | None = None) -> "Builder":
        """Move a joint as a function of time says; its derivatives may be given too."""
        return self.constrain(Driven(name or f"{joint}_drive", joint, function, rate, acceleration))

    def skate(self, name: str, body: str, direction, *, at=ORIGIN) -> "Builder":
        """Let a point of a body not slip along a direction of the body: a knife edge, or a wheel."""
        return self.constrain(KnifeEdge(name, body, direction, at))

    def roll(self, name: str, body: str, radius: float, axis=ALONG_Z, *, center=ORIGIN, normal=ALONG_Z, height=0.0) -> "Builder":
        """Let a disk about an axis of a body, or a ball (axis None), roll on a plane without slipping or leaving it."""
        disk = body, radius, axis, center, normal, height
        return self.constrain(Rolling(name, *disk), Touching(f"{name}_touch", *disk))

    def constrain(self, *constraints: Bond) -> "Builder":
        """Add constraints of any kind; see `linkwork.constraints`."""
        self._parts["constraints"] += constraints
        return self

    def ground(
        self, height: float = 0.0, normal=ALONG_Z, *, material: Material | None = None, shape: Shape | None = None, name: str = "ground"
    ) -> "Builder":
        """Put a plane into the world, at a height along its normal, or another shape; `contact` says what may touch it."""
        self._parts["ground"].append(ground_shape(height, normal, material, shape, name))
        return self

    def contact(self, one: str, other: str = "ground", *, material: Material | None = None, **properties: float) -> "Builder":
        """Let two bodies touch, or a body and the ground: all their collision shapes, or the one shape of a name.

            arm.contact("foot", friction=0.8)                                # with the ground
            arm.contact("hand", "cup", material=lw.Material(friction=0.5, restitution=0.2))

        A body without collision shapes collides with those that are seen. Without a material, or friction, restitution, compliance
        and damping, contacts have that of their shapes.
        """
        if properties and material is not None:
            raise ModelError(f'contact of "{one}" has a material and {", ".join(properties)}; give one of the two.')
        unknown = [x for x in properties if x not in ("friction", "restitution", "compliance", "damping")]
        if unknown:
            raise TypeError(f"Builder.contact() got an unexpected keyword argument {unknown[0]!r}")
        made = Material(**properties) if properties else material  # type: ignore[arg-type]
        self._contacts.append(([(one, other)], made))
        return self

    def motor(self, joint: str, ratio: float, *, at=None, axis=None, **rotor) -> "Builder":
        """Give a joint of the builder a motor: a rotor on the body that carries it, turning `ratio` times as fast.

        `rotor` is mass, center and tensor as in `body`, about the frame `at` a pose of that body, turning about `axis`;
        by default both are the joint's. The rotor is called `<joint>_rotor`, the coupling `<joint>_gear`.
        """
        placed = next((placed for placed in self._parts["joints"] if placed.name == joint), None)
        if placed is None:
            near = did_you_mean(joint, [placed.name for placed in self._parts["joints"]])
            raise ModelError(f'{self.name} has no joint "{joint}" for a motor.{near}')
        name = f"{joint}_rotor"
        turning = Revolute(axis=placed.joint.axis if axis is None else axis)
        self.body(name, placed.parent, placed.at if at is None else at, turning, **rotor)
        self._rotors.append(name)
        return self.couple(f"{name}_joint", joint, (0.0, float(ratio)), f"{joint}_gear")

    def beam(
        self,
        name: str,
        length: float,
        section,
        parent: str | None = None,
        at=None,
        joint: Joint | None = None,
        *,
        flexibility: str = "lumped",
        segments: int = 10,
        freedoms=USUAL,
        modes: int | None = None,
        damping: float = 0.0,
        joint_name: str | None = None,
        color=None,
    ) -> "Builder":
        """Add a straight beam along x of the pose `at`, of one of `lw.sections` or of sections by the distance from its root.

            b.beam("boom", 2.0, lw.sections.tube(0.02, 0.002, lw.sections.STEEL), segments=20)
            b.body("load", "boom_tip", mass=1.0)

        `flexibility` "rigid" makes one body, "lumped" rigid pieces with springs between them that resist what `freedoms` name: axial,
        twist, bend_y, bend_z, and shear_y, shear_z; "modal" is a FlexibleBody (see `flexible`) of so many elements as `segments`, in so
        many `modes`: one static shape for each way that the tip can move, six with the usual freedoms, so that loads there twist and
        stretch it too, and the lowest modes with the tip held, two by default. `damping` seconds times the stiffness is the damping of
        the springs. The body `name` is at the root, `<name>_tip` at the end, where others attach; pieces between and the joints are
        `<name>1`, `<name>2` ...
        """
        if flexibility not in FLEXIBILITY:
            raise OptionError(f'beam "{name}" has flexibility "{flexibility}"; it may be {", ".join(FLEXIBILITY)}.')
        beam = Beam(name, length, section, segments, freedoms, damping)
        if flexibility == "modal":
            self.flexible(name, beam.modal(modes), parent, at, joint, joint_name=joint_name)
            return self.body(f"{name}_tip", f"{name}.tip")
        if flexibility == "rigid":
            self.body(name, parent, at, joint, joint_name=joint_name, **beam.whole(color))
            return self.body(f"{name}_tip", name, (length, 0.0, 0.0))
        (_, _, root), *pieces = beam.pieces(color)
        self.body(name, parent, at, joint, joint_name=joint_name, **root)
        before = name
        for i, (x, bends, solid) in enumerate(pieces, 1):
            own, on = (f"{name}{i}", None) if i < segments else (f"{name}_tip", (-length / segments / 2, 0.0, 0.0))
            self.body(own, before, (x, 0.0, 0.0), bends, joint_name=f"{name}{i}", joint_on=on, **solid)
            before = own
        return self

    def model(self, *, strict: bool | None = False) -> Model:
        """The Model. Tensors that no rigid body can have are used, with a warning; with `strict` they are an error, as in `load`; with
        None nothing is said, as for published numbers."""
        check_tensors(self.name, [x for x in self._parts["bodies"] if x.name not in self._rotors], strict=strict)
        touching = [name for pairs, _ in self._contacts for pair in pairs for name in pair]  # a list: a wrong name may be anything
        bodies = [replace(x, collisions=x.visuals) if x.name in touching and not x.collisions else x for x in self._parts["bodies"]]
        made = Model(self.name, gravity=self.gravity, **self._parts | {"bodies": bodies})  # type: ignore[arg-type]
        for pairs, material in self._contacts:
            made = made.with_contacts(pairs, material=material)
        return made


def from_dh(table, *, name: str = "arm", modified: bool = False, bodies=None, joints=None, gravity=GRAVITY, strict=False) -> Model:
    """A serial arm from Denavit-Hartenberg rows (theta, d, a, alpha): offset, length along z, along x, twist about x.

    Standard: link i's frame is Rz(θ) Tz(d) Tx(a) Rx(α) on the one before. Modified: Rx(α) Tx(a) Rz(θ) Tz(d).
    `bodies` gives (mass, centre, tensor about the centre) of each link in its own frame, or a solid; `joints` a
    Joint for each row, revolute by default, so that θ is its coordinate plus the offset; a Prismatic one adds to d.
    Links are called link1, link2 ..., joints joint1, joint2 ...; `strict` is that of `Builder.model`.
    """
    table = np.atleast_2d(numbers(table))
    if table.shape[1] != 4 or not np.isfinite(table).all():
        raise ModelError(
            f"{name} has a Denavit-Hartenberg table of shape {table.shape}; "
            "it takes rows (theta, d, a, alpha) of finite numbers."
        )
    n = len(table)
    joints = [Revolute()] * n if joints is None else list(joints)
    bodies = [{}] * n if bodies is None else list(bodies)
    if len(joints) != n or len(bodies) != n:
        raise ModelError(
            f"{name} has {n} Denavit-Hartenberg rows, but {len(joints)} joints and {len(bodies)} bodies; "
            "give one for each row."
        )
    arm = Builder(name, gravity)
    previous = None
    for i, ((theta, d, a, alpha), joint, body) in enumerate(zip(table, joints, bodies), 1):
        screw_z = Pose.rpy((0, 0, d), (0, 0, theta))
        screw_x = Pose.rpy((a, 0, 0), (alpha, 0, 0))
        at, on = (screw_x @ screw_z, Pose()) if modified else (screw_z, screw_x.inverse())
        inertia = body if isinstance(body, dict) else dict(zip(("mass", "center", "tensor"), body))
        arm.body(f"link{i}", previous, at, joint, joint_name=f"joint{i}", joint_on=on, **inertia)
        previous = f"link{i}"
    return arm.model(strict=strict)
