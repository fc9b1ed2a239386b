"""Triangle meshes: the three unit solids of which shapes are made, and meshes from files."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..errors import extra

AROUND, ALONG = 20, 10  # facets of the round solids


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles with corners counter-clockwise seen from outside, and the normals of the corners."""

    vertices: np.ndarray  # (n, 3)
    normals: np.ndarray  # (n, 3)
    faces: np.ndarray  # (m, 3)


@cache
def box() -> Mesh:
    """A cube with edges of one metre."""
    vertices: list[np.ndarray] = []
    normals: list[np.ndarray] = []
    faces: list[np.ndarray] = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            n, u, w = (np.roll(np.eye(3)[0], axis + i) for i in range(3))
            corners = [sign * n / 2 + (a * u + b * w) / 2 for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            faces += [np.add(len(vertices), tri if sign > 0 else tri[::-1]) for tri in ((0, 1, 2), (0, 2, 3))]
            vertices += corners
            normals += [sign * n] * 4
    return Mesh(np.array(vertices), np.array(normals), np.array(faces))


@cache
def sphere() -> Mesh:
    """A ball of one metre radius."""
    latitude, longitude = np.linspace(0, np.pi, ALONG + 1), np.linspace(0, 2 * np.pi, AROUND + 1)
    a, b = np.meshgrid(latitude, longitude, indexing="ij")
    vertices = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], -1).reshape(-1, 3)
    faces = _grid(ALONG, AROUND)
    p, q, r = (vertices[faces[:, i]] for i in range(3))
    slivers = np.linalg.norm(np.cross(q - p, r - p), axis=1) <= 1e-9  # at the poles
    return Mesh(vertices, vertices, faces[~slivers])


@cache
def cylinder() -> Mesh:
    """One metre radius and length, about z, centred."""
    height, longitude = np.linspace(0.5, -0.5, 5), np.linspace(0, 2 * np.pi, AROUND + 1)
    z, b = np.meshgrid(height, longitude, indexing="ij")
    side = np.stack([np.cos(b), np.sin(b), z], -1).reshape(-1, 3)
    outward = side * (1, 1, 0)
    vertices, normals, faces = [side], [outward], [_grid(len(height) - 1, AROUND)]
    for end in (0.5, -0.5):
        rim = np.stack([np.cos(longitude), np.sin(longitude), np.full_like(longitude, end)], -1)
        start = sum(map(len, vertices))
        fan = [(start, start + i + 1, start + i + 2) for i in range(AROUND)]
        vertices.append(np.vstack([[0, 0, end], rim]))
        normals.append(np.tile([0, 0, 2 * end], (AROUND + 2, 1)))
        faces.append(np.array(fan)[:, :: 1 if end > 0 else -1])
    return Mesh(np.concatenate(vertices), np.concatenate(normals), np.concatenate(faces))


UNIT = {"box": box, "sphere": sphere, "cylinder": cylinder}


def read(path: str) -> Mesh | None:
    """The triangles of a file in metres, or None if it cannot be read or has none."""
    trimesh = extra("trimesh", "meshes are read with", "view")
    try:
        found = trimesh.load_mesh(path, process=True)
    except Exception:  # every format has its own errors; a mesh that cannot be read is not drawn
        return None
    found = found.to_geometry() if isinstance(found, trimesh.Scene) else found
    if not isinstance(found, trimesh.Trimesh) or not len(found.faces):
        return None
    return Mesh(np.array(found.vertices, float), np.array(found.vertex_normals, float), np.array(found.faces))


def _grid(rows: int, columns: int) -> np.ndarray:
    """The triangles of a grid of (rows + 1)(columns + 1) corners, row by row."""
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    a = (i * (columns + 1) + j).ravel()
    b = a + columns + 1
    return np.concatenate([np.stack([a, b, b + 1], -1), np.stack([a, b + 1, a + 1], -1)])
