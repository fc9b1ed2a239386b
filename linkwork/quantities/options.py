"""What a user says of a quantity besides its arrays: a body, axes, places of a task. Each becomes numbers here."""

from typing import Any

import numpy as np

from ..errors import OptionError
from ..lie.scalars import numbers
from ..spatial import Pose

AXES = "body", "world"
Place = str | tuple[str, Any]  # "hand", ("hand", pose on it), or ("hand", (x, y, z))


def one_place(model, body: str):
    """(number of the body, pose on it) of a body or frame."""
    return model.place(body)


def place_and_axes(model, body: str, axes: str = "body"):
    if axes not in AXES:
        raise OptionError(f'axes is "{axes}"; it may be "body" or "world".')
    return (*model.place(body), axes)


def task(model, *places):
    """A row of places (number of the body, pose on it, only its point?)."""
    if not places:
        raise OptionError(f'{model.name}: a task takes places, such as "hand", ("hand", pose) or ("hand", (x, y, z)).')
    return (tuple(task_place(model, place) for place in places),)


def task_place(model, place):
    """"hand" is a body or frame, all six directions; ("hand", pose) a frame on it; ("hand", (x, y, z)) the velocity of a point."""
    name, where = (place, None) if isinstance(place, str) else place if _is_pair(place) else (place, None)
    index, pose = model.place(name)
    return index, pose @ Pose.of(where), where is not None and np.shape(where) == (3,)


def some_bodies(model, *bodies: str):
    """Numbers of bodies; all of them if none is named."""
    return (tuple(model.body_index(name) for name in bodies or [body.name for body in model.bodies]),)


def hashable(place):
    """A place of a task as a key: points as tuples of numbers."""
    if not _is_pair(place) or isinstance(place[1], Pose):
        return place
    at = numbers(place[1])
    return place[0], tuple(map(float, at)) if at.shape == (3,) else Pose.of(place[1])


def _is_pair(place) -> bool:
    return isinstance(place, (tuple, list)) and len(place) == 2
