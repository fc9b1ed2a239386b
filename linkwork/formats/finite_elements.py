"""Finite-element models from files: matrices in Matrix Market and NumPy formats, nodes from meshes."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingFileError, ModelError, extra
from ..flexible import FlexibleBody, outer_faces


def load_flexible(mass: str | PathLike, stiffness: str | PathLike, nodes: str | PathLike, **options) -> FlexibleBody:
    """A flexible body from files: its mass and stiffness matrices (Matrix Market .mtx, .mtx.gz, NumPy .npy, SciPy sparse .npz) and its
    nodes, positions (N, 3) as .npy, .txt or .csv, or any mesh that meshio reads, whose surface is drawn. Options are those of
    `FlexibleBody.of_matrices`."""
    points, faces = positions(nodes)
    return FlexibleBody.of_matrices(matrix(mass), matrix(stiffness), points, **{"faces": faces, **options})


def matrix(path: str | PathLike) -> Any:
    """A matrix of a file, sparse if the file is. Matrix Market files of one triangle that say so are read whole."""
    path, ending = _found(path)
    import scipy.io
    import scipy.sparse

    try:
        if ending in (".mtx", ".gz"):
            return scipy.io.mmread(path)
        if ending == ".npy":
            return np.load(path, allow_pickle=False)
        if ending == ".npz":
            return scipy.sparse.load_npz(path)
    except Exception as error:  # each format has its own errors
        raise ModelError(f"{path} cannot be read as a matrix: {error}") from None
    raise ModelError(f"{path} is no matrix file that is known; there are .mtx, .mtx.gz, .npy and .npz.")


def positions(path: str | PathLike) -> tuple[np.ndarray, np.ndarray | None]:
    """Positions (N, 3) of nodes, and the surface of their mesh as triangles (m, 3), if there is one."""
    path, ending = _found(path)
    try:
        if ending == ".npy":
            return np.load(path, allow_pickle=False), None
        if ending in (".txt", ".csv"):
            return np.loadtxt(path, delimiter="," if ending == ".csv" else None, ndmin=2), None
    except Exception as error:
        raise ModelError(f"{path} cannot be read as positions: {error}") from None
    meshio = extra("meshio", f"{path} is a mesh, which needs", "flexible", " Files .npy, .txt and .csv do not.")
    try:
        mesh = meshio.read(path)
        points, faces = np.asarray(mesh.points, float), outer_faces(mesh.cells_dict)
    except (Exception, SystemExit) as error:  # meshio exits where it knows no format
        raise ModelError(f"{path} cannot be read as a mesh: {error}") from None
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1]))), faces if len(faces) else None


def _found(path: str | PathLike) -> tuple[Path, str]:
    path = Path(path)
    if not path.exists():
        raise MissingFileError(f"there is no file {path}.")
    return path, path.suffix.lower()
