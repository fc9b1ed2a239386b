"""Mechanisms described in the world frame, without body frames, as CAD exports them: JSON or YAML.

Everything is in world axes, in the reference pose, where every joint is at its identity (Müller and Terze, 2.3.3).

    screws: 1                                   the format and its version
    name: stanford_arm
    gravity: [0, 0, -9.81]
    bodies:
      - {name: link1, mass: 9.29, center: [0, 0.02, 0.3], tensor: [0.3, 0.5, 0.3]}
      - {name: foot, mass: 1, collisions: [{kind: sphere, size: [0.02], point: [0, 0, 0.1], material: {friction: 0.8}}]}
    joints:
      - {name: joint1, child: link1, axis: [0, 0, 1], point: [0, 0, 0.4]}
      - {name: joint2, parent: link1, child: link2, axis: [0, 1, 0], point: [0, 0.1, 0.4], pitch: 0.01}
    ground: [{kind: plane, name: floor}]
    contacts: [{name: step, one: foot, material: {restitution: 0.1}}]          # without `other` it is the ground
    excluded: [[foot, shin]]
    actuators: [{name: knee, gears: {knee_joint: 6.3}, stiffness: 40, gain: 40, upper: 1.5}]

`tensor` is about the centre of mass: three moments, six entries xx yy zz xy xz yz, or three rows. A joint without `kind` is
revolute, or helical if it has a pitch; without a parent it is on the world. `rotation` (x y z w) rotates the axes of the
coordinates of joints with several degrees of freedom. `parts` are the joints of a compound, in series. Springs between
points and pushes may follow under `springs` and `pushes`, with the entries of `lw.Spring` and `lw.Push`, and under
`constraints` those of `linkwork.constraints` that are not functions, each with its kind; a sphere has axis [0, 0, 0].

Flexible bodies are under `flexible`, each with the coefficients that `linkwork.flexible.data` names, in its own axes; joints of kind
"modes" (with `flexible` and `root`) and "deflection" (with `flexible` and `frame`) have the name of one.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelError, did_you_mean
from ..flexible import FlexibleBody
from ..flexible.data import from_data
from ..joints import Compound, Joint
from ..model import Actuator, Body, Bond, Contact, Coupling, Frame, Loop, Model, PlacedJoint, Push, Shape, Spring
from ..model.model import GRAVITY
from ..spatial import Pose
from .data import Reader
from .lines import Value
from .screws_entries import ATTACHMENT, CONSTRAINTS, FILE, FLEXIBLE, KINDS, LOOK, NEEDED, PART, PLACE, VERSION

Entries = dict[str, Any]  # by name, with their lines
WHERE: Entries = {"point": (0.0, 0.0, 0.0), "rotation": Pose().quaternion}


def read(file: Value, *, name: str) -> Model:
    """The Model of such a file."""
    return WorldFrame(file.fields(name, FILE), file).model(name)


class WorldFrame:
    """Reads a file in the world frame: what it says is brought into the form of `data`, and checked and read as that is."""

    def __init__(self, entries: Entries, file: Value):
        if "screws" not in entries:
            raise file.error('this is not a mechanism in the world frame: it has no entry "screws": 1.')
        if (version := entries["screws"]).data != VERSION:
            raise version.error(f"this is version {version.kind} of the format; version {VERSION} can be read.")
        forms = {Body: self.body, Shape: self.placed, Frame: self.frame, Bond: self.bond, Actuator: self.actuator}
        self.entries, self.reader = entries, Reader(forms=forms | {PlacedJoint: self.joint, Loop: self.joint})
        self.bodies, self.flexible = set[str](), dict[str, FlexibleBody]()

    def model(self, name: str) -> Model:
        bodies = self.all_of("bodies", Body)
        self.bodies = {body.name for body in bodies}
        self.flexible = dict(map(self.flexible_body, self.items("flexible")))
        excluded = self.read("excluded", FILE["excluded"], ())
        if lost := [pair for pair in excluded if len(pair) not in (1, 2)]:
            wrong = f"an excluded pair is {list(lost[0])}; it takes two bodies, or one for it and the ground."
            raise self.entries["excluded"].error(wrong)
        try:
            return Model(
                self.read("name", str, name.partition(".")[0]),
                bodies,
                self.all_of("joints", PlacedJoint),
                self.all_of("frames", Frame),
                self.all_of("loops", Loop),
                self.all_of("couplings", Coupling),
                self.read("gravity", FILE["gravity"], GRAVITY),
                (*self.all_of("springs", Spring), *self.all_of("pushes", Push)),
                self.all_of("constraints", Bond),
                ground=self.all_of("ground", Shape),
                contacts=self.all_of("contacts", Contact),
                excluded=tuple((*pair, None)[:2] for pair in excluded),
                actuators=self.all_of("actuators", Actuator),
            )
        except ModelError as error:
            raise error if f"{name}, line" in str(error) else ModelError(f"{name}: {error}") from None

    def read(self, key: str, hint, otherwise) -> Any:
        return self.reader.read(self.entries[key], hint, key) if key in self.entries else otherwise

    def items(self, key: str) -> list[Value]:
        return self.entries[key].items(key) if key in self.entries else []

    def all_of(self, key: str, kind: type) -> tuple:
        return tuple(self.reader.read(x, kind, f"a {FILE[key]}") for x in self.items(key))

    # --- the entries of things in the form of `data`

    def pose(self, value: Value, entries: Entries, label: str) -> Pose:
        """The pose that a thing has by its entries, which are taken away."""
        place = {key: self.reader.read(entries.pop(key), PLACE[key], f"the {key} of {label}") for key in PLACE if key in entries}
        if not any((place := WHERE | place)["rotation"]):
            raise value.error(f"the rotation of {label} is zero; it is a quaternion x y z w.")
        return Pose(place["rotation"], place["point"])

    def placed(self, value: Value, entries: Entries, thing: str = "shape") -> Entries:
        return entries | {"pose": self.pose(value, entries, self.label(entries, thing))}

    def frame(self, value: Value, entries: Entries) -> Entries:
        label = self.label(entries, "frame")
        self.known(entries, "body", self.bodies, label, 'is on body "{}", which is not there.')
        return self.placed(value, entries, "frame")

    def body(self, value: Value, entries: Entries) -> Entries:
        """A tensor of three moments, of xx yy zz xy xz yz, or of three rows."""
        if "tensor" not in entries or not isinstance(rows := entries["tensor"].data, list) or any(isinstance(x.data, list) for x in rows):
            return entries
        if len(rows) not in (3, 6):
            raise entries["tensor"].error(f"the tensor of {self.label(entries, 'body')} has {len(rows)} numbers; 3 or 6 are needed.")
        xx, yy, zz, xy, xz, yz = (*rows, 0.0, 0.0, 0.0)[:6]
        return entries | {"tensor": replace(entries["tensor"], data=[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])}

    def actuator(self, value: Value, entries: Entries) -> Entries:
        return entries | self.pairs(entries, "gears")

    def bond(self, value: Value, entries: Entries) -> Entries:
        """A constraint; its points and directions are in the world in the reference pose."""
        label = self.label(entries, "constraint")
        kind = self.known(entries, "kind", CONSTRAINTS, label, f'has kind "{{}}"; there are {", ".join(CONSTRAINTS)}.')
        if kind is None:
            raise value.error(f'{label} has no "kind".')
        if "axis" in entries and not any(self.reader.read(entries["axis"], PLACE["point"], f"the axis of {label}")):
            entries["axis"] = None
        return entries | {"type": CONSTRAINTS[entries.pop("kind").data].__name__} | self.pairs(entries, "terms")

    def joint(self, value: Value, entries: Entries) -> Entries:
        label = self.label(entries, "joint")
        value.fields(label, PART | dict.fromkeys(("name", "parent", "child", "parts")))
        self.known(entries, "parent", self.bodies | {"world"}, label, 'has parent "{}", which is not a body.')
        self.known(entries, "child", self.bodies, label, 'has child "{}", which is not a body.')
        ends = {key: entries.pop(key) for key in ("name", "parent", "child") if key in entries}
        if "parent" in ends and ends["parent"].data == "world" and "world" not in self.bodies:
            ends["parent"] = None
        row, frames = list[tuple](), list[Pose]()
        for i, part in enumerate(entries["parts"].items(f"parts of {label}") if "parts" in entries else (), 1):
            here = f"part {i} of {label}"
            own = dict(part.fields(here, PART | {"name": str}))
            name = self.reader.read(own.pop("name", str(i)), str, f"the name of {here}")
            joint, frame = self.one_joint(part, own, here)
            row.append((name, joint, frames[-1].inverse() @ frame if frames else Pose()))
            frames.append(frame)
        if "parts" in entries and not row:
            raise value.error(f"{label} has no parts; a compound joint has at least one.")
        joint, frame = (Compound(row=tuple(row)), frames[0]) if row else self.one_joint(value, entries, label)
        last = frames[-1] if row else frame if joint.deformation is None else frame @ joint.displaced(np.zeros(joint.nq))
        return ends | {"joint": joint, "at": frame, "on": last}

    def one_joint(self, value: Value, entries: Entries, label: str) -> tuple[Joint, Pose]:
        """A joint and its frame in the world, on the parent and on the child, which coincide in the reference pose."""
        kind = self.known(entries, "kind", KINDS, label, 'has kind "{}", which is not known.')
        kind = kind or ("helical" if "pitch" in entries else "revolute")
        if ("pitch" in entries) != (kind == "helical"):
            raise value.error(f"{label} is {kind}; a pitch is for helical joints, which need one.")
        frame = self.pose(value, entries, label)
        entries = {key: x for key, x in entries.items() if key != "kind"} | {"type": KINDS[kind].__name__}
        if kind in ("modes", "deflection"):
            named = self.known(entries, "flexible", self.flexible, label, 'is of the flexible body "{}", which is not there.')
            if named is None or (kind == "deflection" and "frame" not in entries):
                raise value.error(f"{label} is {kind}; it names a flexible body, and deflection one of its frames.")
            entries |= {"body": self.flexible[named]} | ({"frame_name": entries.pop("frame")} if "frame" in entries else {})
            entries.pop("flexible")
        elif "axis" in entries:
            entries["axis"] = (frame.rotation.T @ self.reader.read(entries["axis"], PLACE["point"], f"the axis of {label}")).tolist()
        return self.reader.read(replace(value, data=entries), Joint, label), frame

    def flexible_body(self, value: Value) -> tuple[str, FlexibleBody]:
        """A flexible body by its name."""
        data = self.typed(value, FLEXIBLE | {"frames": ATTACHMENT, "looks": LOOK}, "flexible body")
        if data["modes"] < 0:
            raise value.error(f'flexible body "{data["name"]}" has {data["modes"]} modes; it takes their number, 0 or more.')
        data["frames"] = [WHERE | x for x in data.get("frames", ())]
        return data["name"], value.made(lambda: from_data(data))

    # --- what all of them need

    def typed(self, value: Value, known: dict[str, Any], thing: str) -> Entries:
        """The entries of a thing, each of its type; where `known` has entries in place of a type, a list of such things."""
        raw = value.fields(f"a {thing}", known)
        label = self.label(raw, thing)
        if lost := [key for key in NEEDED[thing] if key not in raw]:
            raise value.error(f'{label} has no "{lost[0]}".')
        return {
            key: [self.typed(y, known[key], key.rstrip("s")) for y in x.items(f"{key} of {label}")]
            if isinstance(known[key], dict)
            else self.reader.read(x, known[key], f"the {key} of {label}")
            for key, x in raw.items()
        }

    def label(self, entries: Entries, thing: str) -> str:
        """The name of a thing in errors."""
        name = entries["name"].data if "name" in entries else None
        return f'{thing} "{name}"' if isinstance(name, str) and name else f"a {thing}"

    def known(self, entries: Entries, key: str, known: Iterable[str], label: str, said: str) -> str | None:
        """The name in an entry, which is there; an error at its line if it is not. None without the entry, or if it is null."""
        if key not in entries:
            return None
        name = self.reader.read(entries[key], str | None, f"the {key} of {label}")
        if name is not None and name not in known:
            raise entries[key].error(f"{label} {said.format(name)}{did_you_mean(name, known)}")
        return name

    def pairs(self, entries: Entries, key: str) -> Entries:
        """Numbers by the names of joints as pairs."""
        if key not in entries or not isinstance(named := entries[key].data, dict):
            return {}
        return {key: replace(entries[key], data=[replace(x, data=[name, x]) for name, x in named.items()])}
