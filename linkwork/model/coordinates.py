"""The coordinates of a model: where those of each joint are in q and v, and configurations, neutral or random."""

from operator import index

import numpy as np

from ..errors import OptionError, ShapeError
from . import check
from .model import Model


def joint_rows(model: Model) -> dict[str, tuple[slice, slice]]:
    """Of each joint that moves, and each part of one that has a name: where it is in q, and where in v."""
    rows = dict[str, tuple[slice, slice]]()
    for placed, name, part, q, v in check.part_rows(model.joints):
        if part.nq:
            first = rows.get(placed.name, (q, v))
            rows[placed.name] = slice(first[0].start, q.stop), slice(first[1].start, v.stop)
            if name:
                taken = name in rows or model.has_joint(name) or name.isdigit()
                rows[f"{placed.name}.{name}" if taken else name] = q, v
    return rows


def part_rows(model: Model) -> dict[str, tuple[slice, slice]]:
    """Where parts of joints are, by the name of the joint and their own, "hip.yaw", whatever they are called alone."""
    return {f"{placed.name}.{name}": (q, v) for placed, name, _, q, v in check.part_rows(model.joints) if name}


def entry_names(model: Model) -> tuple[list[str], list[str]]:
    """A name for each entry of q, and of v: its joint or part of a joint, with an index if that has several entries."""
    names: tuple[dict[int, str], dict[int, str]] = {}, {}
    for joint, both in joint_rows(model).items():  # the parts of a joint come after it
        for found, rows in zip(names, both):
            width = rows.stop - rows.start
            found |= {rows.start + i: joint if width == 1 else f"{joint}[{i}]" for i in range(width)}
    return tuple([found[i] for i in sorted(found)] for found in names)  # type: ignore[return-value]


def entry_units(model: Model) -> list[tuple[str, str, str]]:
    """Units of coordinate, velocity and force along each entry of v."""
    return [unit for placed in model.joints for _, part, _ in placed.joint.parts for unit in part.units]


def neutral(model: Model) -> np.ndarray:
    """q with every joint at its identity."""
    parts = [part.group.identity for placed in model.joints for _, part, _ in placed.joint.parts]
    return np.concatenate([np.zeros(0), *parts])


def random_state(model: Model, shape, seed) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) drawn at random: angles and distances within their limits, attitudes uniform, velocities normal."""
    rng, shape = generator(seed), batch_shape(shape)
    q = [random_element(part, shape, rng) for _, _, part, _, _ in check.part_rows(model.joints)]
    nv = sum(placed.joint.nv for placed in model.joints)
    return np.concatenate([np.zeros((*shape, 0)), *q], -1), rng.standard_normal((*shape, nv))


def generator(seed) -> np.random.Generator:
    """NumPy's generator of random numbers for a seed as a user may give it."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise OptionError(f"seed is {seed!r}; it takes a whole number that is not negative, or None: {error}.") from None


def batch_shape(shape) -> tuple[int, ...]:
    """The shape of a batch as a user may say it: 3, or (2, 3)."""
    try:
        shape = (index(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(index, shape))
    except TypeError:
        raise ShapeError(f"the batch of random states has shape {shape!r}; it is a whole number, or several.") from None
    if any(n < 0 for n in shape):
        raise ShapeError(f"the batch of random states has shape {shape}; no axis can be negative.")
    return shape


def random_element(joint, shape, rng):
    """Coordinates of a joint at random: uniform within limits, or a turn or metre each way where there are none."""
    q = rng.uniform(-1, 1, (*shape, joint.nq))
    if joint.group.units:
        for rows in joint.group.units:
            x = rng.standard_normal((*shape, rows.stop - rows.start))
            q[..., rows] = x / np.linalg.norm(x, axis=-1, keepdims=True)
        return q
    reach = joint.spread
    lower, upper = joint.each("lower", -np.inf), joint.each("upper", np.inf)
    lower, upper = np.where(np.isfinite(lower), lower, -reach), np.where(np.isfinite(upper), upper, reach)
    return lower + (upper - lower) * (q + 1) / 2
