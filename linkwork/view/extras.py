"""Optional libraries for visualisation, imported at first use; if one is missing, the error says how to install it."""

from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType

from ..errors import LinkworkError


class MissingExtraError(LinkworkError, ImportError):
    """A function needs a library that is not installed."""


def extra(module: str, need: str, name: str) -> ModuleType:
    """The module, or an error that says what needs it and which extra installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(f'{need} {library}, which is missing: pip install "linkwork[{name}]".') from error


def check_pictures(*paths: str | PathLike | None) -> None:
    """Raise unless pictures can be written to these paths, by their endings."""
    for path in (Path(path) for path in paths if path is not None):
        known = figure().canvas.get_supported_filetypes()
        if path.suffix[1:].lower() not in (*known, ""):
            endings = ", ".join(f".{x}" for x in sorted(known))
            raise LinkworkError(f'"{path.name}" has the ending "{path.suffix}"; a picture is {endings}.')


def plain(text: str) -> str:
    """The text as matplotlib takes it for itself, not for mathematics between dollars."""
    return text.replace("$", r"\$")


def figure(**options):
    """A figure of matplotlib, to draw into."""
    extra("matplotlib.figure", "a picture needs", "plot")
    from .figure import Drawing

    return Drawing(**options)
