"""Readers and writers of files: a file becomes a Model, and no other package reads model files."""

from .load import load, save

__all__ = ["load", "save"]
