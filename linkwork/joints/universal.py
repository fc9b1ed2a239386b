from .compound import Compound
from .revolute import Revolute


def Universal(*, axes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), names=("1", "2"), **physics) -> Compound:
    """Two revolute joints with crossing axes, inboard first: q = [first angle, second angle] (Jain, Exercise 3.1)."""
    return Compound(row=tuple((name, Revolute(axis=axis, **physics)) for name, axis in zip(names, axes, strict=True)))
