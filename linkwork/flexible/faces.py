"""Surfaces of finite-element meshes, for pictures."""

import numpy as np

from ..errors import ModelError

SIDES = {  # corners of the faces of an element, counter-clockwise seen from outside, in the order of VTK and meshio
    "triangle": [[0, 1, 2]],
    "quad": [[0, 1, 2, 3]],
    "tetra": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
    "hexahedron": [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]],
    "wedge": [[0, 2, 1], [3, 4, 5], [0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]],
}


def outer_faces(elements) -> np.ndarray:
    """The surface of elements as triangles (m, 3) of nodes: the faces that belong to one element only.

    Elements are kind -> nodes (n, corners), as in `meshio.Mesh.cells_dict`: "triangle", "quad", "tetra", "hexahedron", "wedge", or one of
    these with nodes on edges ("tetra10"), of which the corners count. Other kinds (lines, points) have no surface.
    """
    out = [np.zeros((0, 3), int)]
    solid: dict[tuple, list[int]] = {}
    for kind, nodes in elements.items():
        sides = SIDES.get(kind.rstrip("0123456789"), [])
        for side in sides:
            found = np.asarray(nodes, int)[:, side]
            if len(sides) == 1:
                out.append(split(found))
            else:
                for face in found.tolist():
                    key = tuple(sorted(face))
                    solid[key] = [] if key in solid else face
    for corners in (3, 4):
        if left := [face for face in solid.values() if len(face) == corners]:
            out.append(split(np.array(left)))
    return np.concatenate(out)


def split(faces) -> np.ndarray:
    """Triangles of triangles or quadrilaterals."""
    return faces if faces.shape[1] == 3 else np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])


def triangles(faces, count: int) -> np.ndarray:
    """Faces as they are given, checked, as triangles of nodes."""
    given = np.asarray(faces)
    if given.ndim != 2 or given.shape[1] not in (3, 4) or given.dtype.kind not in "iu":
        raise ModelError(
            f"faces have shape {given.shape} and type {given.dtype}; they are whole numbers of nodes, triangles (m, 3) or "
            "quadrilaterals (m, 4)."
        )
    if given.size and not (given.min() >= 0 and given.max() < count):
        raise ModelError(f"faces name nodes {given.min()} to {given.max()}; there are nodes 0 to {count - 1}.")
    return split(given.astype(int))
