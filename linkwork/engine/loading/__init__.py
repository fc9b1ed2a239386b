"""Compiled code: by what it is known, on disk and in memory, as functions that NumPy calls."""
