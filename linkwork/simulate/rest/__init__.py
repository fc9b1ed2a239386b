"""Joints and points at rest: what is caught, what sticks, what is let go."""
