"""The command line: inspect a mechanism, simulate it, view it, export it."""

from . import export_and_bench, info_and_view, simulate, warm
from .app import app, run

__all__ = ["app", "export_and_bench", "info_and_view", "run", "simulate", "warm"]
