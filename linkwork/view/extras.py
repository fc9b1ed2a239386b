"""Optional libraries for visualisation, imported at first use; if one is missing, the error says how to install it."""

from importlib import import_module
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


def pyplot() -> ModuleType:
    return extra("matplotlib.pyplot", "a picture needs", "plot")
