"""What a user says of a quantity besides its arrays: a body, axes, places of a task. Each becomes numbers here."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import OptionError
from ..lie.scalars import numbers
from ..spatial import Pose

Place = str | tuple[str, Any] | tuple[str, Any, str]  # "hand", ("hand", pose on it), or ("hand", (x, y, z)); axes may follow


def ones_and_zeros(number: int, one: str, zero: str) -> Callable:
    """A check of inputs: each entry of `prescribed`, the input of this number, is 1 or 0, which stand for that; NaN passes."""

    def check(*inputs) -> None:
        prescribed = inputs[number]
        wrong = (prescribed != 0) & (prescribed != 1) & (prescribed == prescribed)
        if wrong.any():
            came = float(np.asarray(prescribed)[wrong].flat[0])
            raise OptionError(f"prescribed has {came:g}; each entry is 1, where {one}, or 0, where it {zero}.")

    return check


def checked_axes(axes: str) -> str:
    if axes not in ("body", "world"):
        raise OptionError(f'axes is "{axes}"; it may be "body" or "world".')
    return axes


def one_place(model, body: str):
    """(number of the body, pose on it) of a body or frame."""
    return model.place(body)


def place_and_axes(model, body: str, axes: str = "body"):
    return (*model.place(body), checked_axes(axes))


def two_places(model, body: str, relative_to: str | None = None):
    """(number, pose) of a body or frame, and of the one it is seen from: None for the world."""
    return (*model.place(body), None if relative_to is None else model.place(relative_to))


def two_places_and_axes(model, body: str, relative_to: str | None = None, axes: str = "body"):
    return (*two_places(model, body, relative_to), checked_axes(axes))


def task(model, *places):
    """A row of places (number of the body, pose on it, only its point?)."""
    if not places:
        raise OptionError(f'{model.name}: a task takes places, such as "hand", ("hand", pose) or ("hand", (x, y, z)).')
    return (tuple(task_place(model, place) for place in places),)


def task_place(model, place):
    """"hand" is a body or frame, all six directions; ("hand", pose) a frame on it; ("hand", (x, y, z)) the velocity of a point. In
    its own axes, or ("hand", pose, "world") in the world's."""
    name, where, axes = whole_place(place)
    index, pose = model.place(name)
    return index, pose @ Pose.of(where), where is not None and np.shape(where) == (3,), axes


def whole_place(place, axes: str = "body"):
    """(name, pose or point or None, axes) of a place as a user says it; `axes` where it does not say."""
    if isinstance(place, (tuple, list)) and len(place) in (2, 3):
        name, where, axes = (*place, axes)[:3]
    else:
        name, where = place, None
    return name, where, checked_axes(axes)


class Weld(NamedTuple):
    """A body that is fixed to its parent, and all that hangs on it."""

    body: int
    members: tuple[int, ...]  # bodies fixed to it, itself among them
    children: tuple[int, ...]  # bodies on joints of these that move


def some_bodies(model, *bodies: str):
    """Numbers of bodies, those that are fixed to their parents as `Weld`; all of them if none is named."""
    number = {body.name: i for i, body in enumerate(model.bodies)}
    joint = {placed.child: placed for placed in model.joints}

    def one(name: str):
        i = model.body_index(name)
        return i if joint[name].joint.nv else Weld(i, *hanging(name))

    def hanging(name: str):
        members, children = [name], list[str]()
        for each in members:  # grows
            for placed in model.joints:
                if placed.parent == each:
                    (children if placed.joint.nv else members).append(placed.child)
        return tuple(number[x] for x in members), tuple(number[x] for x in children)

    return (tuple(map(one, bodies or number)),)


def hashable(place, axes: str = "body"):
    """A place of a task as a key: points as tuples of numbers, axes only where they are not the body's."""
    name, where, axes = whole_place(place, axes)
    if where is not None and not isinstance(where, Pose):
        where = tuple(map(float, at)) if (at := numbers(where)).shape == (3,) else Pose.of(where)
    if axes == "world":
        return name, where, axes
    return name if where is None else (name, where)
