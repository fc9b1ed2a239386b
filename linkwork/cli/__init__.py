"""The command line: look at a mechanism, simulate it, see it, take it elsewhere."""

from . import look, move, take
from .app import app, run

__all__ = ["app", "look", "move", "run", "take"]
