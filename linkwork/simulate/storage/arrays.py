"""Arrays in a ZIP file of .npy members, as np.savez writes them. Nothing is unpickled, and no memory is taken that the file does
not fill: members are not compressed, and no larger than what a header announces."""

import os
import stat
import zipfile
from io import BytesIO
from math import prod

import numpy as np
from numpy.lib import format as npy

MOST = 10_000  # members


def read(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """All arrays by name: numbers in float64, or bytes."""
    with open(path, "rb", opener=_without_waiting) as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise ValueError("it is no regular file")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > MOST or len({x.filename for x in members}) < len(members):
                raise ValueError("it has too many members, or two of one name")
            if any(x.compress_type != zipfile.ZIP_STORED for x in members):
                raise ValueError("a member is compressed")
            if sum(x.file_size for x in members) > info.st_size:
                raise ValueError("its members are larger than the file")
            return {x.filename.removesuffix(".npy"): _array(archive.read(x)) for x in members}


def _without_waiting(path, flags):
    """Open a pipe without waiting for somebody to write to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _array(data: bytes) -> np.ndarray:
    file = BytesIO(data)
    version = npy.read_magic(file)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
    shape, fortran, dtype = read_header(file)
    if dtype not in (np.dtype("<f8"), np.dtype(">f8"), np.dtype("u1")):
        raise ValueError(f"an array of type {dtype}")
    start = file.tell()
    if any(n < 0 for n in shape) or prod(shape) * dtype.itemsize != len(data) - start:
        raise ValueError(f"an array of shape {shape} in {len(data) - start} bytes")
    x = np.frombuffer(data, dtype, offset=start).reshape(shape, order="F" if fortran else "C")
    return x.astype(np.float64 if dtype.kind == "f" else np.uint8)  # a copy, native and aligned
