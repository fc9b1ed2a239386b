"""The visual and collision shapes of URDF links: geometry, colours, and the files of meshes."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from urllib.parse import unquote

from ..errors import listed
from ..model import Material, Shape
from ..spatial import Pose
from .xml import Element, How, Lenient

Color = tuple[float, float, float, float]
ROUND = "radius", "length"
SOLIDS: dict[str, tuple[str, ...]] = {"box": ("size",), "sphere": ("radius",), "cylinder": ROUND, "capsule": ROUND, "mesh": ()}  # sizes


class Shapes:
    """Reads <visual> and <collision> elements. Mesh files are looked up but not opened."""

    def __init__(self, robot: Element, pose: Callable[[Element], Pose], meshes: "MeshFiles", lenient: Lenient):
        self.pose = pose
        self.meshes = meshes
        self.lenient = lenient
        self.colors: dict[str, Color] = {}
        self.notes: list[str] = []
        for material in robot.all("material"):
            lenient.read(material, self._color)
        self.materials = {x.attributes["reference"]: x for x in robot.all("gazebo") if x.attributes.get("reference")}
        for link in robot.all("link"):  # a material named in one link may be defined in another
            for visual in link.all("visual"):
                for material in visual.all("material"):
                    lenient.read(material, self._color)

    def of(self, link: Element, tag: str) -> tuple[Shape, ...]:
        shapes = tuple(shape for element in link.all(tag) if (shape := self.lenient.read(element, self._shape)))
        told = self.materials.get(link.attributes.get("name", "")) if tag == "collision" else None
        material = None if told is None else self.lenient.read(told, surface)
        return shapes if material is None else tuple(replace(shape, material=material) for shape in shapes)

    def _shape(self, element: Element) -> Shape | None:
        geometry = element.first("geometry")
        solid = geometry.children[0] if geometry is not None and geometry.children else None
        if solid is None or solid.tag not in SOLIDS:
            what = f"<{solid.tag}>" if solid is not None else "no geometry"
            self.notes.append(f"{element.owner}, <{element.tag}>: {what} is left out")
            return None
        mesh = solid.text("filename") if solid.tag == "mesh" else None
        size = _scale(solid) if mesh else tuple(x for key in SOLIDS[solid.tag] for x in solid.numbers(key, 3 if key == "size" else 1))
        material = element.first("material")
        pose, name = self.pose(element), element.attributes.get("name", "")
        color = None if material is None else self._color(material)
        path = None if mesh is None else self.meshes.find(solid, mesh)
        return solid.made(lambda: Shape(solid.tag, size, pose, color, mesh, path, name))

    def _color(self, material: Element) -> Color | None:
        """The colour of a material, or else the first colour given to a material of its name."""
        name, color = material.attributes.get("name", ""), material.first("color")
        if color is None:
            return self.colors.get(name)
        r, g, b, a = color.numbers("rgba", 4)
        self.colors.setdefault(name, (r, g, b, a))
        return r, g, b, a


def surface(gazebo: Element) -> Material | None:
    """The material of a <gazebo reference="link">: mu1, or mu, and kp, kd of a contact that is not rigid; Gazebo takes the smaller mu."""
    names = ("mu", "friction"), ("mu1", "friction"), ("kd", "damping")
    found = {name: value for tag, name in names if (value := said(gazebo, tag)) is not None}
    kp = said(gazebo, "kp")
    if kp and isfinite(kp):
        found["compliance"] = 1 / kp
    return Material(**found, combine="min") if found else None  # type: ignore[arg-type]


def said(element: Element, tag: str) -> float | None:
    """The number between the tags of a child, not negative; None if there is none."""
    child = element.first(tag)
    if child is None:
        return None
    text = child.attributes.get("value", child.content).strip()
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not value >= 0:
        raise child.error(f'<{tag}> of {element.owner} is "{text}"; it takes a number that is not negative.')
    return value


class MeshFiles:
    """Looks up the files of meshes; its notes say which are missing, and which are outside the folder of the model."""

    def __init__(self, how: How):
        self.folder, self.package_root, self.outside = how.folder, how.package_root, how.meshes_outside
        self.missing: dict[str, None] = {}
        self.kept_out: dict[str, None] = {}

    def find(self, element: Element, uri: str) -> str | None:
        """The path of the mesh file of a URI, or None if there is no such file, or none that may be used."""
        found = self._found(element, uri)
        if found is None:
            self.missing[uri] = None
        elif not self.may_use(Path(found)):
            self.kept_out[uri] = None
            return None
        return found

    def may_use(self, path: Path) -> bool:
        roots = (root.resolve() for root in (self.folder, self.package_root) if root is not None)
        return self.outside or any(path.resolve().is_relative_to(root) for root in roots)

    @property
    def notes(self) -> list[str]:
        return mesh_notes(self.missing, self.kept_out)

    def _found(self, element: Element, uri: str) -> str | None:
        scheme, colon, rest = uri.partition("://")
        if not colon:
            return _existing(None if self.folder is None else self.folder / uri)
        if scheme == "file":
            return _existing(Path(unquote(rest)))
        if scheme not in ("package", "model") or self.package_root is None:
            return None
        root = self.package_root.resolve()
        inside = unquote(rest).lstrip("/")
        package, _, within = inside.partition("/")
        places = [inside, within] if package == root.name else [inside]  # the root holds packages, or is this one
        for place in places:
            if "\0" not in place and not (root / place).resolve().is_relative_to(root):
                raise element.error(f'{element.owner} has mesh "{uri}", which leaves the folder {self.package_root}.')
        return next((path for place in places if (path := _existing(root / place))), None)


def mesh_notes(missing: Iterable[str], kept_out: Iterable[str]) -> list[str]:
    """Notes on meshes that are not there, and on those outside the folder of the model."""
    texts = ("meshes that are not there: {}", "meshes outside the folder of the file, which load uses with meshes_outside=True: {}")
    return [text.format(listed(which)) for text, which in zip(texts, (list(missing), list(kept_out))) if which]


def _scale(mesh: Element) -> tuple[float, ...]:
    """The scale of a mesh along x, y, z, or one number for all, as Drake's files have it."""
    alike = len(mesh.attributes.get("scale", "").split()) == 1
    return mesh.numbers("scale", 1) * 3 if alike else mesh.numbers("scale", 3, (1.0, 1.0, 1.0))


def _existing(path: Path | None) -> str | None:
    try:
        return str(path) if path is not None and path.is_file() else None
    except (OSError, ValueError):  # not a possible file name
        return None
