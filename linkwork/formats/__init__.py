"""Readers and writers of files: a file becomes a Model, and no other package reads model files."""

from .finite_elements import load_flexible
from .load import load, save

__all__ = ["load", "load_flexible", "save"]
