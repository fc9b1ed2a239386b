"""States on the constraints: assembled, projected, returned to after a step."""
