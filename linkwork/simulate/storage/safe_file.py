"""Files that are whole or as they were: written beside the old one, which they replace when all of it is on the disk."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ...errors import SimulationError

PART = ".part"
STALE = 3600.0  # seconds after which a part that nobody finished is removed


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` at the end; if anything fails, `path` stays as it was."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise SimulationError(f"{path} is no regular file, so that a run cannot be saved there.")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(part, path.stat().st_mode & 0o777)
        os.replace(part, path)
        _sync_folder(path.parent)
    except OSError as error:
        _remove(part)
        raise SimulationError(f"{path} cannot be written ({error.strerror or error}); what was there before is unchanged.") from error
    except BaseException:
        _remove(part)
        raise
    _remove_stale(path)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove(part: Path) -> None:
    with suppress(OSError):
        part.unlink()


def _remove_stale(path: Path) -> None:
    """Remove the parts of earlier processes that were killed while they wrote this file."""
    with suppress(OSError):
        for part in path.parent.iterdir():
            if part.name.startswith(f".{path.name}.") and part.name.endswith(PART) and time.time() - part.stat().st_mtime > STALE:
                _remove(part)
