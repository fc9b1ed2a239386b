"""Batches of runs with steps of their own."""
