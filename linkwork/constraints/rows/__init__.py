"""Rows of constraints: one file a kind, their rank, and the set of all that bind a robot."""
