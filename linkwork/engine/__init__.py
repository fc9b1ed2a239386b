"""From a function written with NumPy to a compiled one. Knows nothing of mechanics."""
