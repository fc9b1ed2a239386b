"""The key by which this user's compiled code on disk is told from everybody else's.

It is made once, of random bytes, in linkwork in the user's configuration folder; where that cannot be used (no home, a home that
cannot be written to), in the folder of the code itself. Only the user may read it. Several processes may make it at once: the
first to put it in place wins.
"""

import hashlib
import hmac
import os
import stat
import tempfile
from functools import lru_cache
from pathlib import Path

NAME = "kernel-key"
BYTES = 32


def ours(path: Path) -> bool:
    """Is this the user's own, and closed to writing by others?"""
    if not hasattr(os, "getuid"):
        return True
    info = path.lstat()
    return info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not stat.S_ISLNK(info.st_mode)


def content(path: Path) -> bytes | None:
    """The bytes of a file of the user's own; None where it is not, or a pipe, which is not waited for."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        return file.read() if ours(path) and stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None


def signature(beside: Path, *parts: bytes) -> bytes | None:
    """A digest of the parts that only this user can make; None where there is no place for a key. `beside` is the folder of the code."""
    for place in (_configuration(), beside):
        if place is not None and (key := _key(place)) is not None:
            return hmac.digest(key, b"".join(parts), hashlib.sha256)
    return None


def _configuration() -> Path | None:
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        return (base if base.is_absolute() else Path.home() / ".config") / "linkwork"  # a relative one is to be ignored (XDG)
    except RuntimeError:  # there is no home
        return None


@lru_cache(maxsize=16)
def _key(folder: Path) -> bytes | None:
    """The key in a folder, made if there is none; None if that cannot be done."""
    path = folder / NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not ours(folder):
            return None
        return _read(path) or _made(path)
    except OSError:
        return None


def _read(path: Path) -> bytes | None:
    """The key in a file; None if there is no file, or if it is not a key that only this user can read."""
    try:
        is_private = not hasattr(os, "getuid") or not path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        key = content(path)
    except FileNotFoundError:
        return None
    return key if is_private and key is not None and len(key) == BYTES else None


def _made(path: Path) -> bytes | None:
    """A new key put in place, or the one that another process has put there meanwhile."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(os.urandom(BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except OSError:  # there is one: of another process, or a damaged one; or the disk knows no links
            if _read(path) is None:
                os.replace(temporary, path)
        return _read(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
