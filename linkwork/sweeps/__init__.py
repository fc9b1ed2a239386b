"""Algorithms. Each is one sweep or two over a tree, written as the book writes it; none knows a joint, a base or a size."""
