"""The choice of dependent velocities: pivots, loops that share none."""
