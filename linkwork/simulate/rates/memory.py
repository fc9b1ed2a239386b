"""What a run remembers of an earlier part of it, so that it goes on with the same bits: numbers and lists, also in files."""

import numpy as np


def remembered(memory, shapes: dict[str, tuple], optional=()) -> dict[str, np.ndarray] | None:
    """The arrays of a memory by name, which may come from a file; None if there is none or it does not fit."""
    try:
        found = {name: np.array(x, float) for name, x in (memory or {}).items()}
    except (TypeError, ValueError, AttributeError):
        return None
    if not set(shapes) - set(optional) <= set(found) <= set(shapes):
        return None
    return found if all(x.shape == shapes[name] for name, x in found.items()) else None
