"""The visual and collision shapes of the bodies of an MJCF model."""

from dataclasses import replace

import numpy as np

from ..model import Material, Shape
from .mjcf_source import Compiled, pose_of

KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")  # as in mjtGeom
SIZES = {  # from the half lengths of MuJoCo to full lengths
    "plane": lambda size: (),
    "sphere": lambda size: size[:1],
    "capsule": lambda size: (size[0], 2 * size[1]),
    "ellipsoid": lambda size: size,
    "cylinder": lambda size: (size[0], 2 * size[1]),
    "box": lambda size: 2 * size,
}
HIDDEN = 3  # MuJoCo's viewer shows geom groups below this one
GRAY = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom that was given none


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
    return Shape(kind, tuple(map(float, SIZES[kind](c.m.geom_size[g]))), pose, _color(c, g), name=name)


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
