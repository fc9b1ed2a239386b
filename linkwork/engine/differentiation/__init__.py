"""Derivatives of programs."""
