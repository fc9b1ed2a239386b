"""Arrays of other libraries: torch tensors and CuPy arrays in, the same kind out; functions for JAX."""

from .arrays import ForeignRun, is_foreign

__all__ = ["ForeignRun", "is_foreign"]
