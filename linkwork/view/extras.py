"""Checks of what pictures, films and pages are asked for, and the figures they are drawn into."""

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Real
from os import PathLike
from pathlib import Path

from ..errors import LinkworkError, OptionError, extra

LONGEST = 48  # characters of a name in a picture
PIXELS = 2e8  # of a picture


def check_pictures(*paths: str | PathLike | None) -> None:
    """Raise unless pictures can be written to these paths, by their endings."""
    for path in (file_path(path) for path in paths if path is not None):
        known = figure().canvas.get_supported_filetypes()
        if path.suffix[1:].lower() not in (*known, ""):
            endings = ", ".join(f".{x}" for x in sorted(known))
            raise LinkworkError(f'"{path.name}" has the ending "{path.suffix}"; a picture is {endings}.')


def file_path(path: str | PathLike) -> Path:
    """The path of a file to write; raises unless its folder is there."""
    if not isinstance(path, (str, PathLike)):
        raise OptionError(f"path is {path!r}; it is the name of a file to write.")
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        folder = f'"{path}" is a folder' if path.is_dir() else f'there is no folder "{path.parent}" for {path.name}'
        raise OptionError(f"{folder}; path is the name of a file to write.")
    return path


def check_look(trace=(), size=(1.0, 1.0), azimuth=0.0, elevation=0.0, dpi=1.0, fps=1.0, speed=1.0) -> None:
    """Raise unless these options of pictures, films and pages are what they should be."""
    if not isinstance(trace, Iterable):
        raise OptionError(f"trace is {trace!r}; it is a list of names of bodies or frames.")
    for name, x in {"azimuth": azimuth, "elevation": elevation, "dpi": dpi, "fps": fps, "speed": speed}.items():
        if not is_number(x) or (name in ("dpi", "fps", "speed") and x <= 0):
            raise OptionError(f"{name} is {x!r}; it is a finite number{'' if name in ('azimuth', 'elevation') else ' above zero'}.")
    if not (isinstance(size, Sequence) and len(size) == 2 and all(is_number(x) and x > 0 for x in size)):
        raise OptionError(f"size is {size!r}; it is a width and a height in inches.")
    if not 1 <= (pixels := size[0] * size[1] * dpi**2) <= PIXELS:
        raise OptionError(f"size is {tuple(size)} in and dpi {dpi}: a picture of {pixels:.3g} pixels; it has from 1 to {PIXELS:.0e}.")


def is_number(x) -> bool:
    return isinstance(x, Real) and isfinite(x)


def plain(text: str) -> str:
    """The text as matplotlib takes it for itself, not for mathematics between dollars, in one line and not too long for a picture."""
    text = " ".join(text.split())
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 15]} … {text[-12:]}"
    return text.replace("$", r"\$")


def figure(**options):
    """A figure of matplotlib, to draw into."""
    extra("matplotlib.figure", "a picture needs", "plot")
    from .figure import Drawing

    return Drawing(**options)
