"""The error that a step may make: absolute, and relative to 1 rad for angles and to the value for lengths and velocities."""

from typing import NamedTuple

import numpy as np

from ...dynamics import Dynamics
from ...lie.group import Additive
from ...lie.scalars import like
from ...model.check import part_rows


class Tolerances:
    """The error that a step may make, relative to 1 rad for angles and to the value for lengths and velocities."""

    def __init__(self, robot: Dynamics, rtol: float, atol: float):
        self.rtol, self.atol = rtol, atol
        self.nv = robot.nv
        self.lengths, self.positions, self.rotations = robot.made.once(lambda: _rows(robot))

    def size(self, q) -> np.ndarray:
        """The magnitude that errors in ξ are relative to, one number per velocity."""
        sizes = like(np.ones(self.nv), q)
        if self.lengths.size:
            sizes[self.lengths[0]] = np.abs(q[self.lengths[1]])
        for rows, position in self.positions:
            sizes[rows] = np.sqrt(q[position] @ q[position])
        return sizes

    def tolerance(self, q, v0, v1, held) -> np.ndarray:
        """The error that a step may make in (ξ, v), and in the accelerations of joints at rest, integrated (`held`)."""
        return self.atol + self.rtol * np.concatenate([self.size(q), np.maximum(np.abs(v0), np.abs(v1)), np.abs(held)])

    def fastest_rotation(self, v):
        """The largest angular speed of a joint whose group is not additive, rad/s."""
        fastest = like(0.0, v)
        for rows in self.rotations:
            fastest = np.maximum(fastest, np.sqrt(v[rows] @ v[rows]))
        return fastest


class Rows(NamedTuple):
    """Which rows of v, and of q, are lengths and angles."""

    lengths: np.ndarray  # lengths that are coordinates (2, n): rows of v and of q
    positions: list[tuple[slice, slice]]  # components of a position: rows of v and q
    rotations: list[slice]  # rows of v of angular velocities in groups that are not additive


def _rows(robot: Dynamics) -> Rows:
    lengths: list[tuple[int, int]] = []
    positions, rotations = list[tuple[slice, slice]](), list[slice]()
    for _, _, joint, q, v in part_rows(robot.model.joints):
        straight = int((joint.group.basis[:, :3] == 0).all(1).sum())
        translations = slice(v.stop - straight, v.stop)
        if isinstance(joint.group, Additive):
            lengths += [(j, q.start + j - v.start) for j in range(translations.start, v.stop)]
        else:
            rotations.append(slice(v.start, translations.start))
            positions += [(translations, slice(q.stop - straight, q.stop))] * bool(straight)
    return Rows(np.array(lengths, int).reshape(-1, 2).T, positions, rotations)
