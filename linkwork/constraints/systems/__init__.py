"""Constraints as systems, which sweeps and kernels take, and the quantities of them."""
