"""Runs as files, arrays and dense output."""
