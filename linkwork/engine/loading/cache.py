"""Compiled code on disk, found by what it was made from.

A file is trusted only if it belongs to this user, nobody else may write to it or to its folder, and it is signed with the user's
own key (signing.py); any other file is ignored. Several processes may read and write at once: files are renamed into place when
complete.
"""

import hashlib
import hmac
import json
import os
import tempfile
from functools import cache
from pathlib import Path

from .signing import content, ours, signature

MAGIC = b"linkwork kernel 2\n"
NO_KERNELS = {"formats", "convert", "view", "cli"}  # folders that only read, write and show


def folder() -> Path | None:
    """Where code is kept: LINKWORK_CACHE_DIR, or linkwork in the user's cache folder; None where that cannot be used."""
    named = os.environ.get("LINKWORK_CACHE_DIR")
    if named == "":
        return None
    try:
        base = os.environ.get("XDG_CACHE_HOME")
        path = Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "linkwork"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path if ours(path) and os.access(path, os.W_OK | os.X_OK) else None
    except (OSError, RuntimeError):
        return None


@cache
def source_digest() -> str:
    """A digest of this package's source, without the folders that no kernel depends on: a change of source makes new kernels."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in NO_KERNELS):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def is_ours(x) -> bool:
    """Is this function or class part of the package, so that the digest of its source tells when it changes?"""
    return (x.__module__ or "").partition(".")[0] == __name__.partition(".")[0]


def key(*parts) -> str:
    """A name for what is made from these parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def get(name: str) -> tuple[dict, bytes] | None:
    """The header and code kept under a name."""
    place = folder()
    if place is None:
        return None
    path = place / f"{name}.o"
    try:
        data = content(path)
        if data is None:
            return None
        said, rest = data[len(MAGIC) : len(MAGIC) + 32], data[len(MAGIC) + 32 :]
        signed = signature(place, name.encode(), rest) if data.startswith(MAGIC) else None
        if signed is None or not hmac.compare_digest(signed, said):
            return None
        size = int.from_bytes(rest[:4], "little")
        return json.loads(rest[4 : 4 + size]), rest[4 + size :]
    except (OSError, ValueError):
        return None


def put(name: str, header: dict, code: bytes) -> None:
    """Keep code under a name; does nothing where the folder cannot be written to, or nothing can be signed."""
    place = folder()
    if place is None:
        return
    head = json.dumps(header).encode()
    rest = len(head).to_bytes(4, "little") + head + code
    signed, temporary = signature(place, name.encode(), rest), None
    if signed is None:
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=place, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + signed + rest)
        os.replace(temporary, place / f"{name}.o")
    except OSError:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def contents() -> list[dict]:
    """What is kept: name, size in bytes and header of each kernel."""
    place = folder()
    found = []
    for path in sorted(place.glob("*.o")) if place else ():
        entry = get(path.stem)
        try:
            size = path.stat().st_size
        except OSError:  # another process has just removed it
            continue
        found.append({"key": path.stem, "bytes": size, **(entry[0] if entry else {"name": "(not readable)"})})
    return found


def clear() -> int:
    """Remove everything; returns the number of files removed."""
    place = folder()
    count = 0
    for path in [*place.glob("*.o"), *place.glob("*.tmp")] if place else ():
        path.unlink(missing_ok=True)
        count += 1
    return count
