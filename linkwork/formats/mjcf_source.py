"""Compiles MJCF text with MuJoCo, without the files that the dynamics does not need."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, extra, listed
from ..model.model import unused
from ..spatial import Pose
from .shapes import MeshFiles
from .xml import How, decoded

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ENTITY = re.compile(r"<!ENTITY", re.IGNORECASE)
OTHER_FILE = re.compile(r"""(<(?:include|model)\b[^>]*?\bfile\s*=\s*["'])([^"']+)(["'])""")
UNNAMED = "MuJoCo Model"  # MuJoCo's name for a model without one
MOST_FILES = 200  # included by one, which is as deep as they can be in each other
PRIMITIVE = (0, 2, 3, 4, 5, 6)  # mjtGeom: all except hfield, mesh, sdf


@dataclass(frozen=True)
class Mesh:
    """A mesh of the file: its name, its path if it exists, and the scale and pose of its vertices in a geom.

    MuJoCo subtracts refpos, rotates by the inverse of refquat, and then scales, S R* (x - p). This is a scale and then a
    pose, R* (K x - K p), only if K = R S R* is diagonal; otherwise `skewed` is True.
    """

    file: str
    path: str | None
    scale: tuple[float, ...]
    pose: Pose
    skewed: bool
    kept_out: bool  # is its file outside the folder of the model, and not used?

    @staticmethod
    def of(asset, folders: list[Path], strip: bool, may_use: Callable[[Path], bool]) -> "Mesh":
        """The mesh of an MjsMesh, looked up in the folders; with `strip`, by the last part of its path only."""
        file = Path(asset.file).name if strip else asset.file
        paths = (folder / asset.compiler.meshdir / file for folder in folders if file)
        path = next((str(path) for path in paths if path.is_file()), None)
        kept_out = path is not None and not may_use(Path(path))
        ref = pose_of(asset.refpos, asset.refquat).snapped()
        K = ref.rotation * asset.scale @ ref.rotation.T
        scale, skew = np.diag(K), np.abs(K - np.diag(np.diag(K))).max()
        pose = (Pose.of(K @ ref.translation) @ Pose(ref.quaternion)).inverse()
        return Mesh(asset.file, None if kept_out else path, tuple(map(float, scale)), pose, bool(skew > 1e-9 * np.abs(K).max()), kept_out)


@dataclass(frozen=True)
class Compiled:
    """The model compiled by MuJoCo (m), the names of its bodies and joints, and the meshes of its geoms."""

    m: Any
    source: str  # the name of the text in errors
    name: str
    bodies: list[str]
    joints: list[str]
    disabled: frozenset[str]
    meshes: dict[int, Mesh]  # by geom: meshes that were replaced by spheres for MuJoCo
    opened: dict[str, Mesh]  # by name: meshes that MuJoCo had to read
    unfitted: frozenset[int]  # geoms whose size comes from a missing mesh
    snap: bool
    snapped: list[str] = field(default_factory=list)

    def place(self, pos, quat, what: str) -> Pose:
        """A pose from MuJoCo's position and quaternion w x y z; `what` names its owner in a note if it is snapped.

        MuJoCo normalizes quaternions: a correction of that rounding error alone is not noted.
        """
        exact = pose_of(pos, quat)
        pose = exact.snapped() if self.snap else exact
        if np.abs(pose.rotation - exact.rotation).max() > 1e-15:
            self.snapped.append(what)
        return pose

    def body(self, i: int) -> str | None:
        """The name of a body; None for the world."""
        return self.bodies[i] if i else None

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"snapped to quarter turns: {listed(self.snapped)}",) if self.snapped else ()

    def is_disabled(self, what: str) -> bool:
        """Do the flags of the file disable this: "gravity", "spring", "damper", "limit" ...?"""
        return what in self.disabled


def compile_text(text: str, how: How) -> Compiled:
    """The text compiled by MuJoCo. Files are looked up in its folder; without a folder, a file that is needed is an error."""
    mujoco = extra("mujoco", "MJCF is read with", "mjcf")
    name, folders = how.name, [] if how.folder is None else [how.folder.resolve()]
    text, included = with_files(text, name, folders)
    try:
        spec = mujoco.MjSpec.from_string(text, include=included)
        spec.compiler.fusestatic = False  # every body of the file is a body
        spec.compiler.discardvisual = False
        replaced, opened, unfitted = without_meshes(mujoco, spec, folders, name, MeshFiles(how).may_use)
        m = spec.compile()
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{name}: {sentence(error)}") from error
    flags = [(key, int(bit)) for key, bit in mujoco.mjtDisableBit.__members__.items() if key.startswith("mjDSBL_")]
    return Compiled(
        m=m,
        source=name,
        name=Path(name).stem if spec.modelname == UNNAMED else spec.modelname,
        bodies=names_of(m.nbody, m.body, lambda i: f"body{i}"),
        joints=joint_names(m),
        disabled=frozenset(key[7:].lower() for key, bit in flags if m.opt.disableflags & bit),
        meshes={geom.id: mesh for geom, mesh in replaced},
        opened=opened,
        unfitted=frozenset(geom.id for geom in unfitted),
        snap=how.snap,
    )


def with_files(text: str, name: str, folders: list[Path]) -> tuple[str, dict[str, bytes]]:
    """The text, and the files it includes or attaches by unique names, looked up in the folder or next to each other."""
    keys: dict[Path, str] = {}
    texts: dict[str, bytes] = {}

    def read(text: str, source: str, near: list[Path]) -> str:
        if ENTITY.search(bare := COMMENT.sub("", text)):
            raise ModelError(f"{source} declares an entity; entities are not read. Write out what it stands for.")
        files = {written: found(written, source, near) for _, written, _ in OTHER_FILE.findall(bare)}
        return OTHER_FILE.sub(lambda match: match[1] + files.get(match[2], match[2]) + match[3], text)

    def found(written: str, source: str, near: list[Path]) -> str:
        places = [place / written for place in (*folders[:1], *near) if (place / written).is_file()]
        if not places:
            where = f"not in {folders[0]}" if folders else "not found, since this text has no folder: load it from its file"
            raise ModelError(f'{source} needs the file "{written}", which is {where}.')
        path = places[0].resolve()
        if path not in keys:
            if len(keys) == MOST_FILES:
                raise ModelError(f"{name} includes more than {MOST_FILES} files.")
            taken = set(keys.values())
            keys[path] = path.name if path.name not in taken else f"{len(keys)}_{path.name}"
            folders.append(path.parent)
            inner = read(decoded(path.read_bytes(), path.name), path.name, [path.parent])
            texts[keys[path]] = inner.encode()
        return keys[path]

    return read(text, name, []), texts


def without_meshes(mujoco, spec, folders: list[Path], name: str, may_use: Callable[[Path], bool]):
    """Remove the meshes that MuJoCo does not need; their geoms become spheres at the same place.

    Returns those geoms with their meshes, the meshes that MuJoCo will open, by name, and the geoms that cannot be
    fitted to a mesh because it is missing.
    """
    assets = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes}
    meshes = {key: Mesh.of(mesh, folders, spec.strippath, may_use) for key, mesh in assets.items()}
    replaced, opened, unfitted = [], {}, []
    for geom in spec.geoms:
        mesh, primitive = meshes.get(geom.meshname), geom.type in PRIMITIVE
        if mesh is None and primitive:
            continue
        if mesh and (mesh.path or not mesh.file) and (primitive or not mesh.file or gives_mass(geom)):
            opened[geom.meshname] = mesh
            continue
        if mesh and gives_mass(geom):
            where = f"not in {folders[0]}" if folders else "not found, since this text has no folder"
            where = f"outside {folders[0]}: load it with meshes_outside=True" if mesh.kept_out else where
            raise ModelError(
                f'{name}: body "{geom.parent.name}" takes its mass from mesh "{geom.meshname}", but the file '
                f'"{mesh.file}" is {where}. Put it there, or give the body an <inertial>.'
            )
        if mesh and primitive:
            unfitted.append(geom)
        elif mesh:
            replaced.append((geom, mesh))
        geom.type, geom.meshname, geom.hfieldname = mujoco.mjtGeom.mjGEOM_SPHERE, "", ""
        geom.size, geom.mass = (1.0, 0.0, 0.0), 0.0
    for site in spec.sites:
        if site.meshname:
            site.type, site.meshname, site.size = mujoco.mjtGeom.mjGEOM_SPHERE, "", (1.0, 0.0, 0.0)
    spec.strippath = False
    for key, asset in assets.items():
        if key not in opened:
            spec.delete(asset)
        elif asset.file:
            asset.file = meshes[key].path
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for asset in (*spec.textures, *spec.hfields, *spec.skins):
        spec.delete(asset)
    return replaced, opened, unfitted


def gives_mass(geom) -> bool:
    """Does this geom contribute to the mass of its body?"""
    rules = geom.compiler
    first, last = rules.inertiagrouprange
    weightless = geom.mass == 0 or (np.isnan(geom.mass) and geom.density == 0)
    from_geoms = rules.inertiafromgeom == 1 or (rules.inertiafromgeom == 2 and not geom.parent.explicitinertial)
    return bool(from_geoms and geom.parent.name != "world" and first <= geom.group <= last and not weightless)


def joint_names(m) -> list[str]:
    """The name of each joint; one without a name is named after its body: <body>_joint1."""

    def after_body(j):
        body = m.jnt_bodyid[j]
        return f"{m.body(body).name or f'body{body}'}_joint{j - m.body_jntadr[body] + 1}"

    return names_of(m.njnt, m.joint, after_body)


def names_of(count: int, thing, otherwise) -> list[str]:
    """The name of each thing; one without a name gets an unused one, from `otherwise`."""
    names = [thing(i).name for i in range(count)]
    taken = set(names)
    for i, name in enumerate(names):
        if not name:
            names[i] = unused(otherwise(i), taken)
            taken.add(names[i])
    return names


def pose_of(pos, quat) -> Pose:
    w, x, y, z = map(float, quat)
    a, b, c = map(float, pos)
    return Pose((x, y, z, w), (a, b, c))


def sentence(error) -> str:
    """MuJoCo's message in one line."""
    return "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
