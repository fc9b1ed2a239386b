"""Flexible bodies: finite elements reduced to a few modes, and frames that bend with them.

`beam`, `of_matrices`, `of_nodes`, `reduced` and `BeamElements` need SciPy, and are imported when they are asked for.
"""

from importlib import import_module

from .attachment import Attachment
from .body import FlexibleBody, Outline
from .faces import outer_faces
from .joints import Deflection, Deformation, Modes

LATER = {
    "beam": "beams",
    "BeamElements": "beams",
    "of_matrices": "finite_elements",
    "of_nodes": "finite_elements",
    "reduced": "finite_elements",
}

__all__ = [
    "Attachment", "BeamElements", "Deflection", "Deformation", "FlexibleBody", "Modes", "Outline", "beam",
    "of_matrices", "of_nodes", "outer_faces", "reduced",
]  # fmt: skip


def __getattr__(name: str):
    if name not in LATER:
        raise AttributeError(f"module {__name__} has no {name}")
    return getattr(import_module(f".{LATER[name]}", __name__), name)
