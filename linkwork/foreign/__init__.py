"""Arrays of other libraries: torch tensors and CuPy arrays in, the same kind out; functions for JAX."""

from .arrays import ForeignRun, is_foreign, kernel_on_foreign, run_kernel, wants_gradient, without_gradient

__all__ = ["ForeignRun", "is_foreign", "kernel_on_foreign", "run_kernel", "wants_gradient", "without_gradient"]
