"""Loops of a URDF, which has no element for them: a YAML file that names the frames that coincide.

    closed_loop: [[one, other], ...]     links or joints (a joint stands for the frame that it moves)
    type: ["6d", "3d", ...]              the frames coincide, or only their origins
    name_mot: [...]                      joints that have a motor: stored as a note
    joint_name: [...]                    joints whose type differs from that in the URDF,
    joint_type: ["SPHERICAL", ...]       and their type: SPHERICAL, or UJOINT_XY, a rotation about x, then about y, or any other two axes
"""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import permutations

from ..errors import ModelError, did_you_mean, listed
from ..joints import Fixed, Joint, Spherical, Universal
from ..model import Loop, Model
from ..spatial import Pose
from .xml import Lenient

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
CLOSED: dict[str, Callable[[], Joint]] = {"6d": Fixed, "3d": Spherical}
KINDS: dict[str, Callable[[], Joint]] = {
    "SPHERICAL": Spherical,
    **{f"UJOINT_{a}{b}": partial(Universal, axes=(AXES[a], AXES[b]), names=(a.lower(), b.lower())) for a, b in permutations("XYZ", 2)},
}
PAIR = re.compile(r"^([A-Za-z_]\w*)\s*:(.*)$")


def with_loops(model: Model, text: str, name: str, *, lenient: bool = False) -> Model:
    """The model with the loops that the text describes; with `lenient`, what names something that is not there is left out, with a note."""
    data = parsed(text, name)
    for key in data:
        if key not in KEYS:
            raise ModelError(f'{name} has a key "{key}", which is not known.{did_you_mean(key, KEYS)}')
    for key in ("type", "name_mot", "joint_name", "joint_type"):
        for x in data.get(key, []):
            if not isinstance(x, str):
                raise ModelError(f'{name}: an entry of "{key}" is {x!r}; a name is needed.')
    pairs, kinds = data.get("closed_loop", []), data.get("type", [])
    if len(pairs) != len(kinds):
        raise ModelError(f"{name} has {len(pairs)} closed loops, but {len(kinds)} types; each loop needs one.")
    if len(data.get("joint_name", [])) != len(data.get("joint_type", [])):
        raise ModelError(f"{name} names {len(data.get('joint_name', []))} joints, but {len(data.get('joint_type', []))} types for them.")
    optional = Lenient(lenient)
    types = zip(data.get("joint_name", []), data.get("joint_type", []))
    new = {joint: KINDS[kind]() for joint, kind in types if optional.read(kind, lambda x, joint=joint: _new_type(model, joint, x, name))}
    model = replace(model, joints=tuple(replace(x, joint=new.get(x.name, x.joint)) for x in model.joints))
    loops = []
    for i, ends in enumerate(zip(pairs, kinds), 1):
        loops += optional.read(ends, lambda x, i=i: [_loop(model, i, x[0], x[1], name)], [])
    motors = [x for x in data.get("name_mot", []) if optional.read(x, lambda x: _known_joint(model, x, name))]
    notes = [f"motors, by {name}: {listed(motors, 100)}"] * bool(motors) + optional.notes
    return replace(model, loops=(*model.loops, *loops), notes=(*model.notes, *notes))


def _known_joint(model: Model, joint: str, name: str) -> bool:
    if not model.has_joint(joint):
        near = did_you_mean(joint, [placed.name for placed in model.joints])
        raise ModelError(f'{name} names the joint "{joint}", which {model.name} has not.{near}')
    return True


def _new_type(model: Model, joint: str, kind: str, name: str) -> bool:
    if kind not in KINDS:
        raise ModelError(f'{name} gives joint "{joint}" the type "{kind}", which is not known.{did_you_mean(kind, KINDS)}')
    return _known_joint(model, joint, name)


def _loop(model: Model, i: int, pair, kind, name: str) -> Loop:
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
        raise ModelError(f"{name}: closed loop {i} is {pair!r}; it takes two names of links or joints.")
    if kind not in CLOSED:
        raise ModelError(f'{name}: closed loop {i} has type "{kind}"; it takes "6d" or "3d".')
    (parent, at), (child, on) = (_end(model, end, name) for end in pair)
    return Loop(f"{pair[0]}_{pair[1]}", parent, child, CLOSED[kind](), at, on)


def _end(model: Model, end: str, name: str) -> tuple[str, Pose]:
    joints = {placed.name: placed for placed in model.joints}
    if end in joints:
        return joints[end].child, joints[end].on
    known = [*(body.name for body in model.bodies), *(frame.name for frame in model.frames), *joints]
    if end not in known:
        raise ModelError(f'{name} closes a loop at "{end}", which is not a link or joint of {model.name}.{did_you_mean(str(end), known)}')
    body, pose = model.place(end)
    return model.bodies[body].name, pose


def parsed(text: str, name: str) -> dict[str, list]:
    """The keys and lists of such a file; its YAML has lists in brackets only."""
    lines = [line.split("#", 1)[0].rstrip() for line in text.splitlines()]
    out: dict[str, list] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not line.strip() or line.strip() == "---":
            continue
        match = PAIR.match(line)
        if match is None:
            raise ModelError(f'{name}, line {number}: "{line.strip()}" is not "key: [values]".')
        start, value = number, match[2].strip()
        while value.count("[") > value.count("]") or not value:
            if number == len(lines):
                raise ModelError(f'{name}, line {start}: the list of "{match[1]}" has no end.')
            value += " " + lines[number].strip()
            number += 1
        out[match[1]] = _list(value.strip(), name, start)
    return out


def _list(value: str, name: str, line: int) -> list:
    quoted = re.sub(r"(?<=[\[,])\s*([^\s\[\],'\"][^\[\],'\"]*?)\s*(?=[\],])", r" '\1'", value)
    try:
        found = ast.literal_eval(quoted)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        found = None
    if not isinstance(found, list):
        raise ModelError(f"{name}, line {line}: {value[:60]} is not a list in brackets.")
    return found
