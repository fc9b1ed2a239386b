"""Traces: scalars, arrays of them, operations, loops, programs; rolled ones too."""
