"""The problem of contact forces and its solvers."""
