"""Multibody dynamics: describe a mechanism, get every quantity of its dynamics as a compiled kernel."""

__version__ = "0.1.0"
