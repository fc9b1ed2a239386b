"""Batches of runs with the same fixed steps, and their gradients."""
