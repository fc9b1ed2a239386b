"""The visual and collision shapes of URDF links: geometry, colours, and the files of meshes."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from ..model import Shape
from ..spatial import Pose
from .xml import Element

Color = tuple[float, float, float, float]


class Shapes:
    """Reads <visual> and <collision> elements. Mesh files are looked up but not opened."""

    def __init__(self, robot: Element, pose: Callable[[Element], Pose], folder: Path | None, package_root: Path | None):
        self.pose = pose
        self.folder = folder
        self.package_root = package_root
        self.colors: dict[str, Color] = {}
        self.notes: list[str] = []
        for material in robot.all("material"):
            self._color(material)
        for link in robot.all("link"):  # a material named in one link may be defined in another
            for visual in link.all("visual"):
                for material in visual.all("material"):
                    self._color(material)

    def of(self, link: Element, tag: str) -> tuple[Shape, ...]:
        return tuple(shape for element in link.all(tag) if (shape := self._shape(element)))

    def _shape(self, element: Element) -> Shape | None:
        geometry = element.first("geometry")
        solid = geometry.children[0] if geometry is not None and geometry.children else None
        if solid is None or solid.tag not in SIZES:
            what = f"<{solid.tag}>" if solid is not None else "no geometry"
            self.notes.append(f"{element.owner}, <{element.tag}>: {what} is left out")
            return None
        mesh = solid.text("filename") if solid.tag == "mesh" else None
        material = element.first("material")
        return Shape(
            solid.tag,
            SIZES[solid.tag](solid),
            self.pose(element),
            None if material is None else self._color(material),
            mesh,
            None if mesh is None else mesh_file(solid, mesh, self.folder, self.package_root),
            element.attributes.get("name", ""),
        )

    def _color(self, material: Element) -> Color | None:
        """The colour of a material, or else the first colour given to a material of its name."""
        name, color = material.attributes.get("name", ""), material.first("color")
        if color is None:
            return self.colors.get(name)
        r, g, b, a = color.numbers("rgba", 4)
        self.colors.setdefault(name, (r, g, b, a))
        return r, g, b, a


def mesh_file(element: Element, uri: str, folder: Path | None, package_root: Path | None) -> str | None:
    """The path of the mesh file of a URI, or None if there is no such file."""
    scheme, colon, rest = uri.partition("://")
    if not colon:
        return _existing(None if folder is None else folder / uri)
    if scheme == "file":
        return _existing(Path(unquote(rest)))
    if scheme not in ("package", "model") or package_root is None:
        return None
    root = package_root.resolve()
    inside = unquote(rest).lstrip("/")
    package, _, within = inside.partition("/")
    places = [inside, within] if package == root.name else [inside]  # the root holds packages, or is this one
    for place in places:
        if not (root / place).resolve().is_relative_to(root):
            raise element.error(f'{element.owner} has mesh "{uri}", which leaves the folder {package_root}.')
    return next((path for place in places if (path := _existing(root / place))), None)


def _existing(path: Path | None) -> str | None:
    try:
        return str(path) if path is not None and path.is_file() else None
    except (OSError, ValueError):  # not a possible file name
        return None


SIZES: dict[str, Callable[[Element], tuple[float, ...]]] = {
    "box": lambda e: e.numbers("size", 3),
    "sphere": lambda e: (e.number("radius"),),
    "cylinder": lambda e: (e.number("radius"), e.number("length")),
    "capsule": lambda e: (e.number("radius"), e.number("length")),
    "mesh": lambda e: e.numbers("scale", 3, (1.0, 1.0, 1.0)),
}
