"""The times at which a motion is stored to be played: often enough that straight lines between the poses follow it."""

import warnings

import numpy as np

from ..lie.attitude import quaternion_from_matrix
from .drawn import drawn_poses
from .motion import Motion

TURN = 0.25  # radians that a body turns at most from one stored pose to the next
SHIFT = 2e-3  # of the mechanism's size: how far from its place a body may be drawn
ROUNDS = 12  # halvings


def followed(motion: Motion, fps: float, size: float, most: int) -> Motion:
    """The motion at `fps` times a second at least, and at more where it is fast; at most `most`, with a warning where more were needed."""
    shown = motion.frames(fps)
    if len(shown.t) < 2:
        return shown
    parts = np.maximum(np.nan_to_num(_turns(shown)) / TURN, 1.0)
    if (needed := parts.sum()) > most:
        parts = np.maximum(parts * most / needed, 1.0)
    shown = motion.at(_divided(shown.t, np.ceil(parts).astype(int)))
    for _ in range(ROUNDS):
        if len(shown.t) >= most or not (wrong := _misplaced(motion, shown, size)).any():
            break
        shown = motion.at(np.sort(np.concatenate([shown.t, _middles(shown.t)[wrong]])))
    needed = max(needed, len(shown.t))
    if needed <= most:
        return shown
    part = motion.duration * most / needed
    said = f"{motion.model.name} moves too fast for {most} stored poses in {motion.duration:.4g} s, so that the page shows it roughly."
    warnings.warn(f"{said} Record at most {part:.2g} s of it: run.at(times).", stacklevel=3)
    return motion.at(shown.t[np.linspace(0, len(shown.t) - 1, most).astype(int)])


def _divided(t, parts) -> np.ndarray:
    """The times with others between them: each interval in so many parts."""
    steps = np.repeat(np.diff(t) / parts, parts)
    before = np.arange(len(steps)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(np.repeat(t[:-1], parts) + before * steps, t[-1])


def _turns(shown: Motion) -> np.ndarray:
    """By how much the fastest body turns from each time to the next, from the angular velocities at both."""
    robot, fastest = shown.robot, np.abs(shown.v).max(-1, initial=0.0)
    h = 1e-6 / np.where(fastest > 0, fastest, 1.0)
    after = drawn_poses(robot, robot.integrate(shown.q, h[:, None] * shown.v))[..., :3, :3]
    change = np.linalg.norm(after - shown.poses[..., :3, :3], axis=(-2, -1)) / np.sqrt(2)  # the angle, where it is small
    spin = change.max(-1, initial=0.0) / h
    return np.diff(shown.t) * np.maximum(spin[:-1], spin[1:])


def _misplaced(motion: Motion, shown: Motion, size: float) -> np.ndarray:
    """Between which times the player would draw a body elsewhere than it is, or turned otherwise."""
    there = motion.at(_middles(shown.t)).poses
    p, q = shown.poses[..., :3, 3], quaternion_from_matrix(shown.poses[..., :3, :3])
    shift = np.linalg.norm((p[1:] + p[:-1]) / 2 - there[..., :3, 3], axis=-1)
    sign = np.where(np.sum(q[1:] * q[:-1], -1, keepdims=True) < 0, -1.0, 1.0)
    drawn = q[:-1] + sign * q[1:]
    drawn /= np.maximum(np.linalg.norm(drawn, axis=-1, keepdims=True), 1e-12)
    same = np.abs(np.sum(drawn * quaternion_from_matrix(there[..., :3, :3]), -1))
    return ((shift > SHIFT * size) | (same < np.cos(TURN / 8))).any(-1)


def _middles(t) -> np.ndarray:
    return (t[1:] + t[:-1]) / 2
