"""Accelerations, multipliers and forces under constraints, by numbers at one state."""
