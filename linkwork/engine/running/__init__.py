"""Loops around kernels, Python functions between them, GPUs."""
