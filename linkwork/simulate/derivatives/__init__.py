"""Derivatives of runs by their start and by constants."""
