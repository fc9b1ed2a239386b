"""Motion in the form that integrators and controllers use: rates in local coordinates, whole steps, their linearization."""
