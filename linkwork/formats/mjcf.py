"""MJCF: MuJoCo compiles the text, and a Model is made from the compiled model.

The q of a hinge or slide joint is the qpos of MuJoCo; its `ref` is included in the pose of the joint. Free and ball
joints differ in the order of their numbers; `linkwork.convert` converts whole states.
"""

import warnings

import numpy as np

from ..errors import ModelError, ModelWarning, listed
from ..joints import Compound, Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ..model import Body, Frame, Model, PlacedJoint
from ..model.gears import with_gears
from ..model.model import unused
from ..spatial import Pose
from .mjcf_constraints import couplings, loops, omitted
from .mjcf_shapes import actuators, contacts, excluded, missing_meshes, shapes
from .mjcf_source import Compiled, compile_text
from .shapes import mesh_notes
from .xml import How

MJ_JOINT = 0  # mjTRN_JOINT: an actuator on one joint
JOINTS: tuple[type[Joint], ...] = (Free, Spherical, Prismatic, Revolute)  # in the order of mjtJoint


def read(source: str, how: How) -> Model:
    """The model of an MJCF text.

    Files that the text names are looked up in the folder. Meshes, textures and height fields need not exist, unless
    a mesh gives a body its mass. What a Model cannot represent is in its notes, and one warning names the part of it that would
    change the motion.
    """
    c = compile_text(source, how)
    bodies = tuple(_body(c, i) for i in range(1, c.m.nbody))
    frames, lost = _frames(c)
    motors, unknown = actuators(c)
    notes, changes = omitted(c, unknown)
    model = Model(
        name=c.name,
        bodies=bodies,
        joints=_placed_joints(c),
        frames=frames,
        loops=loops(c),
        couplings=couplings(c),
        ground=shapes(c, 0)[1],  # the geoms of the world that collide
        contacts=contacts(c),
        excluded=excluded(c),
        actuators=motors,
        gravity=(0.0, 0.0, 0.0) if c.is_disabled("gravity") else tuple(c.m.opt.gravity),
        notes=(*c.notes, *lost, *mesh_notes(*missing_meshes(c)), *notes),
    )
    if changes:
        text = "; ".join(changes)
        warnings.warn(f"{how.name}: the model leaves out what changes its motion: {text}.", ModelWarning, stacklevel=3)
    drives = [(int(c.m.actuator_trnid[i, 0]), c.m.actuator_gear[i, 0]) for i in np.flatnonzero(c.m.actuator_trntype == MJ_JOINT)]
    return with_gears(model, {c.joints[j]: float(gear) for j, gear in drives if gear not in (0.0, 1.0)})


def _body(c: Compiled, i: int) -> Body:
    """The body with its tensor b + R (moments - b) R*, b the middle moment: without rounding if two moments are equal."""
    inertial = c.place(c.m.body_ipos[i], c.m.body_iquat[i], f'body "{c.bodies[i]}", inertial')
    moments = c.m.body_inertia[i]
    middle = np.sort(moments)[1]
    tensor = middle * np.eye(3) + inertial.rotation * (moments - middle) @ inertial.rotation.T
    visuals, collisions = shapes(c, i)
    return Body(c.bodies[i], float(c.m.body_mass[i]), inertial.translation, tensor, visuals, collisions)


def _placed_joints(c: Compiled) -> tuple[PlacedJoint, ...]:
    """One placed joint for each body except the world: its joint, a compound of its joints, or a weld."""
    taken = set(c.joints)
    out = []
    for i in range(1, c.m.nbody):
        body = c.bodies[i]
        at, row, on = _joints(c, i)
        if len(row) == 1:
            [(name, joint, place)] = row
            at = at @ place
        else:
            name, joint = (f"{body}_joints", Compound(row=row)) if row else (f"{body}_weld", Fixed())
            taken.add(name := unused(name, taken))
        out.append(PlacedJoint(name, c.body(int(c.m.body_parentid[i])), body, joint, at, on))
    return tuple(out)


def _joints(c: Compiled, i: int) -> tuple[Pose, tuple[tuple[str, Joint, Pose], ...], Pose]:
    """The pose of a body's first joint on its parent, the joints with their poses on the one before, and the pose of the
    last on the body.

    Each joint moves the body about its anchor, after the joints before it, by its coordinate less its reference:
        parent from body = at Π [ T(anchor) motion(q - ref) T(-anchor) ]
    """
    at = c.place(c.m.body_pos[i], c.m.body_quat[i], f'body "{c.bodies[i]}"')
    row, before = [], np.zeros(3)
    for j in range(c.m.body_jntadr[i], c.m.body_jntadr[i] + c.m.body_jntnum[i]):
        joint, anchor = _joint(c, j), c.m.jnt_pos[j]
        if isinstance(joint, Free):
            at = Pose()  # its qpos is the pose of the body in the world
        row.append((c.joints[j], joint, Pose.of(anchor - before) @ _from_reference(c, j, joint)))
        before = anchor
    return at, tuple(row), Pose.of(before)


def _from_reference(c: Compiled, j: int, joint: Joint) -> Pose:
    """motion(-ref), so that motion(-ref) motion(q) = motion(q - ref)."""
    ref, axis = float(c.m.qpos0[c.m.jnt_qposadr[j]]), c.m.jnt_axis[j]
    if isinstance(joint, Revolute):
        return c.place(np.zeros(3), (np.cos(ref / 2), *(-np.sin(ref / 2) * axis)), f'joint "{c.joints[j]}", ref')
    return Pose.of(-ref * axis) if isinstance(joint, Prismatic) else Pose()


def _joint(c: Compiled, j: int) -> Joint:
    kind, dof = JOINTS[c.m.jnt_type[j]], c.m.jnt_dofadr[j]  # all velocities of a joint have the same numbers
    physics: dict = {"armature": float(c.m.dof_armature[dof])}
    if not c.is_disabled("damper"):
        physics["damping"] = float(c.m.dof_damping[dof])
    if not c.is_disabled("frictionloss"):
        physics["friction"] = float(c.m.dof_frictionloss[dof])
    if c.m.jnt_stiffness[j] and kind is not Free and not c.is_disabled("spring"):
        physics["stiffness"] = float(c.m.jnt_stiffness[j])
        physics["rest"] = _rest(c, j, kind)
    if kind in (Prismatic, Revolute):
        physics["axis"] = tuple(c.m.jnt_axis[j])
        if c.m.jnt_limited[j] and not c.is_disabled("limit"):
            physics["lower"], physics["upper"] = map(float, c.m.jnt_range[j])
        elif kind is Revolute:
            physics["lower"], physics["upper"] = -np.inf, np.inf  # its coordinate counts turns
        if c.m.jnt_actfrclimited[j]:
            physics["effort"] = float(np.abs(c.m.jnt_actfrcrange[j]).max())
    try:
        return kind(**physics)
    except ModelError as error:
        raise ModelError(f'{c.source}: joint "{c.joints[j]}": {error}') from error


def _rest(c: Compiled, j: int, kind: type[Joint]) -> tuple[float, ...] | float:
    """The coordinates where the force of the joint's spring is zero."""
    start = c.m.jnt_qposadr[j]
    if kind is Spherical:
        w, x, y, z = map(float, c.m.qpos_spring[start : start + 4])
        return x, y, z, w
    return float(c.m.qpos_spring[start])


def _frames(c: Compiled) -> tuple[tuple[Frame, ...], tuple[str, ...]]:
    """The sites that have a name, and a note on those fixed to the world, which are left out."""
    taken = set(c.bodies)
    frames, lost = [], []
    for s in range(c.m.nsite):
        name, body = c.m.site(s).name, int(c.m.site_bodyid[s])
        if name and body:
            taken.add(unique := unused(name if name not in taken else f"{name}_site", taken))
            frames.append(Frame(unique, c.bodies[body], c.place(c.m.site_pos[s], c.m.site_quat[s], f'site "{name}"')))
        elif name:
            lost.append(f'"{name}"')
    return tuple(frames), (f"sites of the world are left out: {listed(lost)}",) if lost else ()
