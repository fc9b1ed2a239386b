"""A file becomes a Model, and nothing else knows about files."""

from .load import load, save

__all__ = ["load", "save"]
