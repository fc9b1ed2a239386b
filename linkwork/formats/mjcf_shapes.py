"""The shapes of the bodies of an MJCF model, what may touch what, and its motors and servos."""

from dataclasses import replace
from math import inf

import numpy as np

from ..model import Actuator, Contact, Material, Shape
from ..model.model import unused
from .mjcf_source import Compiled, pose_of

KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")  # as in mjtGeom
ROUND = 1, 2
SIZES: dict[str, tuple[int, ...]] = {  # by those of MuJoCo, which are half lengths
    "plane": (), "sphere": (1,), "capsule": ROUND, "ellipsoid": (1, 1, 1), "cylinder": ROUND, "box": (2, 2, 2),
}  # fmt: skip
HIDDEN = 3  # MuJoCo's viewer shows geom groups below this one
GRAY = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom that was given none
JOINT, TENDON = (0, 1), 3  # mjtTrn: of a joint (in its own axes or its parent's), of a tendon
WRAP_JOINT = 1  # mjtWrap: a fixed tendon, a sum of joint coordinates


def shapes(c: Compiled, body: int) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """The visible geoms of a body, and those that collide; a geom may be both."""
    visuals = tuple(shape for g, shape in _geoms(c, body) if c.m.geom_group[g] < HIDDEN)
    return visuals, tuple(shape for _, shape in colliding(c, body))


def colliding(c: Compiled, body: int) -> list[tuple[int, Shape]]:
    """The geoms of a body that may touch, with their numbers: by their bits, or because a <pair> names them."""
    paired = {*map(int, c.m.pair_geom1), *map(int, c.m.pair_geom2)}
    found = []
    for g, shape in _geoms(c, body):
        group, mask = int(c.m.geom_contype[g]), int(c.m.geom_conaffinity[g])
        if group | mask or g in paired:
            friction = 0.0 if c.m.geom_condim[g] == 1 else float(c.m.geom_friction[g, 0])
            material = Material(friction, priority=int(c.m.geom_priority[g]))
            found.append((g, replace(shape, material=material, group=group, mask=mask)))
    return found


def _geoms(c: Compiled, body: int) -> list[tuple[int, Shape]]:
    first = c.m.body_geomadr[body]
    return [(g, shape) for g in range(first, first + c.m.body_geomnum[body]) if (shape := _shape(c, g))]


def _shape(c: Compiled, g: int) -> Shape | None:
    name, kind = c.m.geom(g).name, KINDS[c.m.geom_type[g]]
    pose = c.place(c.m.geom_pos[g], c.m.geom_quat[g], f'geom "{name}"' if name else "a geom")
    mesh = c.meshes.get(g)
    if kind == "mesh":  # MuJoCo has moved its vertices to the principal axes of the mesh
        i = c.m.geom_dataid[g]
        moved = pose_of(c.m.mesh_pos[i], c.m.mesh_quat[i])
        mesh, pose = c.opened[c.m.mesh(i).name], pose @ moved.inverse()
    if (mesh and mesh.skewed) or (not mesh and kind not in SIZES) or g in c.unfitted:
        return None
    if mesh:
        return Shape("mesh", mesh.scale, pose @ mesh.pose, _color(c, g), mesh.file, mesh.path, name)
    size = tuple(float(factor * x) for factor, x in zip(SIZES[kind], c.m.geom_size[g]))
    return Shape(kind, size, pose, _color(c, g), name=name)


def _color(c: Compiled, g: int) -> tuple[float, float, float, float]:
    """The colour of a geom, or else that of its material."""
    own, material = c.m.geom_rgba[g], c.m.geom_matid[g]
    rgba = c.m.mat_rgba[material] if material >= 0 and np.array_equal(own, np.array(GRAY, np.float32)) else own
    r, g_, b, a = (round(float(x), 6) for x in rgba)  # float32 in MuJoCo
    return r, g_, b, a


def missing_meshes(c: Compiled) -> tuple[list[str], list[str]]:
    """Files of meshes that are not there, and of those that are outside the folder of the model."""
    meshes = (*c.meshes.values(), *c.opened.values())
    lost = [mesh for mesh in meshes if mesh.file and not mesh.path]
    return tuple(list(dict.fromkeys(x.file for x in lost if x.kept_out is kept_out)) for kept_out in (False, True))  # type: ignore[return-value]


def excluded(c: Compiled) -> tuple[tuple[str | None, str | None], ...]:
    """Pairs of bodies of <exclude>."""
    both = [(int(x) >> 16, int(x) & 0xFFFF) for x in c.m.exclude_signature]
    return tuple((c.body(a), c.body(b)) for a, b in both)


def contacts(c: Compiled) -> tuple[Contact, ...]:
    """The explicit pairs of the file; they are not active until contacts are asked for."""
    out: list[Contact] = []
    for i in range(c.m.npair):
        geoms = int(c.m.pair_geom1[i]), int(c.m.pair_geom2[i])
        sides = [side(c, g) for g in geoms]
        if None in sides or sides[0][0] == sides[1][0]:  # type: ignore[index]
            continue
        (one, first), (other, second) = sides  # type: ignore[misc]
        name = unused(c.m.pair(i).name or f"pair{i + 1}", {x.name for x in out})
        friction = 0.0 if c.m.pair_dim[i] == 1 else float(c.m.pair_friction[i, 0])
        out.append(Contact(name, one, other, first, second, Material(friction), active=False))
    return tuple(out)


def side(c: Compiled, g: int) -> tuple[str | None, int] | None:
    """The body of a geom and its number among the collision shapes there; None for one that has no shape."""
    here = colliding(c, int(c.m.geom_bodyid[g]))
    numbers = [n for n, (geom, _) in enumerate(here) if geom == g]
    return (c.body(int(c.m.geom_bodyid[g])), numbers[0]) if numbers else None


def actuators(c: Compiled) -> tuple[tuple[Actuator, ...], list[str]]:
    """Motors and servos on joints and fixed tendons; and the names of actuators that are something else."""
    made: list[Actuator] = []
    lost: list[str] = []
    for i in range(c.m.nactuator):
        name = c.m.actuator(i).name or f"actuator{i + 1}"
        terms = gears(c, i)
        is_affine = c.m.actuator_gaintype[i] == 0 and c.m.actuator_biastype[i] in (0, 1) and c.m.actuator_dyntype[i] == 0
        if not terms or not is_affine or c.m.actuator_ctrlnum[i] != 1:
            lost.append(name)
            continue
        offset, by_length, by_rate = map(float, c.m.actuator_biasprm[i, :3] if c.m.actuator_biastype[i] else np.zeros(3))
        u = int(c.m.actuator_ctrladr[i])  # the ranges are those of controls, of which an actuator may have several
        reach = map(float, c.m.actuator_ctrlrange[u] if c.m.actuator_ctrllimited[u] else (-inf, inf))
        force = map(float, c.m.actuator_forcerange[i] if c.m.actuator_forcelimited[i] else (-inf, inf))
        gain = float(c.m.actuator_gainprm[i, 0])
        unique = unused(name, {x.name for x in made})
        made.append(Actuator(unique, terms, gain, offset, 0.0 - by_length, 0.0 - by_rate, *reach, *force))
    return tuple(made), lost


def gears(c: Compiled, i: int) -> tuple[tuple[str, float], ...]:
    """(joint, ratio) of all joints that an actuator moves; nothing if that is no sum of coordinates."""
    gear, what = float(c.m.actuator_gear[i, 0]), int(c.m.actuator_trnid[i, 0])
    if c.m.actuator_trntype[i] in JOINT:
        return ((c.joints[what], gear),) if c.m.jnt_type[what] in (2, 3) else ()  # slide, hinge
    if c.m.actuator_trntype[i] != TENDON:
        return ()
    wraps = range(c.m.tendon_adr[what], c.m.tendon_adr[what] + c.m.tendon_num[what])
    if any(c.m.wrap_type[w] != WRAP_JOINT for w in wraps):
        return ()
    return tuple((c.joints[int(c.m.wrap_objid[w])], gear * float(c.m.wrap_prm[w])) for w in wraps)
