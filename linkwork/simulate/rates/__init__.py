"""Rates of motion and the forces in them: controls, kernels, constraints."""
