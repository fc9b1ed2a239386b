"""Motion: what is shown, the states of a mechanism over time, or one state of a mechanism at rest; and the times at which it is stored
to be played, often enough that straight lines between the poses follow it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..dynamics import Dynamics
from ..errors import LinkworkError, OptionError, ShapeError
from ..lie.attitude import quaternion_from_matrix
from ..model import Model
from ..simulate import ContactRollout, Ensemble, Rollout
from .drawn import drawn_poses, drawn_surfaces, multipliers

TURN = 0.25  # radians that a body turns at most from one stored pose to the next
SHIFT = 2e-3  # of the mechanism's size: how far from its place a body may be drawn
ROUNDS = 12  # halvings


class Moving(Protocol):
    """Anything with states over time: t (n,), q (n, nq), v (n, nv)."""

    @property
    def robot(self) -> Dynamics: ...
    @property
    def t(self) -> np.ndarray: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def v(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Motion:
    """States of a robot over time: t (n,), q (n, nq), v (n, nv), and tau (n, nv) if it is known.

        lw.plot(lw.Motion(robot, t, q, v), "q")                states from elsewhere

    The dynamics of a Motion run in plain NumPy, so that a picture does not wait for the compilation of kernels.
    """

    robot: Dynamics
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray | None = None
    between: Callable | None = None  # (q, v) at other times, if that is known better than from the rows

    def __post_init__(self):
        model = self.robot if isinstance(self.robot, Model) else getattr(self.robot, "model", None)
        if not isinstance(model, Model):
            raise LinkworkError(f"a Motion is that of a robot, such as lw.Dynamics(model); got a {type(self.robot).__name__}.")
        object.__setattr__(self, "robot", Dynamics(model, compiled=False))
        name, n = self.robot.model.name, len(np.atleast_1d(self.t))
        sizes = {"t": (n,), "q": (n, self.robot.nq), "v": (n, self.robot.nv), "tau": (n, self.robot.nv)}
        for what, size in sizes.items():
            if (x := getattr(self, what)) is None and what == "tau":
                continue
            if x is None:
                raise ShapeError(f"{what} is None; a motion of {name} needs it, of shape {size}: zeros where nothing depends on it.")
            try:
                x = np.asarray(x, float)
            except (TypeError, ValueError):
                raise ShapeError(f"{what} of a Motion of {name} is no array of numbers; over {n} times it has shape {size}.") from None
            if x.shape != size or n == 0:
                raise ShapeError(f"{what} has shape {x.shape}; over {n} times of {name} it has shape {size}.")
            object.__setattr__(self, what, x)
        if not np.isfinite(self.t).all():
            raise ShapeError(f"t of a Motion of {name} has entries that are not finite.")
        if (np.diff(self.t) < 0).any():
            at = int(np.argmax(np.diff(self.t) < 0))
            raise ShapeError(f"t goes back from {self.t[at]} to {self.t[at + 1]}; the times of a motion may not decrease.")

    @staticmethod
    def of(x: "Model | Dynamics | Moving") -> "Motion":
        """A motion from anything that can be shown; a model or a robot is at rest in its neutral configuration."""
        match x:
            case Motion():
                return x
            case Model() | Dynamics():
                robot = Dynamics(x, compiled=False) if isinstance(x, Model) else x
                return Motion(robot, np.zeros(1), robot.neutral()[None], np.zeros((1, robot.nv)))
            case Ensemble():
                raise LinkworkError(
                    f"an Ensemble has the motions of {len(x)} samples: show one of them, lw.Motion(ensemble.robot, *ensemble.rows(0))."
                )
            case Rollout() | ContactRollout():
                raise LinkworkError("a Rollout has the motions of a batch: show one of them, lw.Motion(robot, run.t, run.q[0], run.v[0]).")
        try:
            dense = getattr(x, "dense", None)
            return Motion(x.robot, x.t, x.q, x.v, getattr(x, "tau", None), x if dense is not None and dense.parts else None)  # type: ignore[arg-type]
        except AttributeError:
            accepted = "a Model, a Dynamics, a trajectory, or a Motion(robot, t, q, v)"
            raise LinkworkError(f"a {type(x).__name__} cannot be shown; pass {accepted}.") from None

    @property
    def model(self) -> Model:
        return self.robot.model

    @cached_property
    def poses(self) -> np.ndarray:
        """World from body (n, nb, 4, 4), then from pieces of flexible bodies, and last of the world if something stands in it."""
        return drawn_poses(self.robot, self.q)

    @cached_property
    def surfaces(self) -> list[np.ndarray]:
        """Points in the world (n, p, 3) of each flexible body that is drawn as a surface."""
        return drawn_surfaces(self.robot, self.q, self.poses)

    def exaggerated(self, factor: float) -> "Motion":
        """The motion with every modal coordinate, and its rate, multiplied by a factor: to look at, for it obeys no equation of motion."""
        if factor == 1:
            return self
        if not self.model.flexible_bodies:
            raise OptionError(f"exaggeration is {factor}, but {self.model.name} has no flexible body that could be drawn more bent.")
        if not (np.isfinite(factor) and factor >= 0):
            raise OptionError(f"exaggeration is {factor}; it is a finite number that is not negative, 1 to draw things as they are.")
        by_q, by_v = multipliers(self.robot, factor)
        known = self.between
        between = None if known is None else lambda times: tuple(x * by for x, by in zip(known(times), (by_q, by_v)))
        return replace(self, q=self.q * by_q, v=self.v * by_v, between=between)

    @property
    def duration(self) -> float:
        return float(self.t[-1] - self.t[0])

    def at(self, times) -> "Motion":
        """The states at other times. Between two samples, with Δ the difference from one to the other on the group,

            x(s) = s (1 − s)² h v₀ + s² (3 − 2s) Δ − s² (1 − s) h v₁

        is the displacement from the first after a fraction s of the step h; v is x′/h. Accurate enough for pictures. A
        trajectory knows its motion between rows, and is asked.
        """
        with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite stay what they are
            return self._at(np.clip(np.atleast_1d(np.asarray(times, float)), self.t[0], self.t[-1]))

    def _at(self, times) -> "Motion":
        i = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, max(len(self.t) - 2, 0))
        j = np.minimum(i + 1, len(self.t) - 1)
        h = (self.t[j] - self.t[i])[:, None]
        s = np.divide(times[:, None] - self.t[i, None], h, out=np.ones_like(h), where=h > 0)
        delta = self.robot.difference(self.q[i], self.q[j])
        x = s * (1 - s) ** 2 * h * self.v[i] + s**2 * (3 - 2 * s) * delta - s**2 * (1 - s) * h * self.v[j]
        rate = (1 - s) * (1 - 3 * s) * self.v[i] - s * (2 - 3 * s) * self.v[j]
        v = np.divide(6 * s * (1 - s) * delta, h, out=np.zeros_like(delta), where=h > 0) + rate
        tau = None if self.tau is None else (1 - s) * self.tau[i] + s * self.tau[j]
        q, v = (self.robot.integrate(self.q[i], x), v) if self.between is None else self.between(times)
        return Motion(self.robot, times, q, v, tau, self.between)

    def refined(self, n: int) -> "Motion":
        """The motion with additional rows, equally spaced in time, so that there are at least n; its own rows are kept."""
        if len(self.t) >= n or not self.duration:
            return self
        more = self.at(np.linspace(self.t[0], self.t[-1], n))
        order = np.argsort(np.concatenate([self.t, more.t]), kind="stable")
        names = ("t", "q", "v") + ("tau",) * (self.tau is not None)
        rows: dict[str, Any] = {x: np.concatenate([getattr(self, x), getattr(more, x)])[order] for x in names}
        return replace(self, **rows)

    def drawable(self) -> "Motion":
        """This motion, if it can be drawn: it has a body, and all its states are numbers."""
        if not self.model.bodies:
            raise LinkworkError(f"{self.model.name} has no body that could be drawn.")
        if not (fine := np.isfinite(self.q).all(-1) & np.isfinite(self.v).all(-1)).all():
            row = int(np.argmin(fine))
            raise LinkworkError(
                f"{self.model.name} has a state that is not finite at t = {self.t[row]:g} s (row {row}), where it cannot be drawn. Show "
                f"what is before: run[:{row}], or a Motion of these rows."
            )
        return self

    def frames(self, fps: float, speed: float = 1.0) -> "Motion":
        """The motion at equally spaced times, `fps` per second of display; the last is its end."""
        n = round(self.duration * fps / speed) + 1
        return self.at(np.linspace(self.t[0], self.t[-1], max(n, 1 if self.duration == 0 else 2)))


# --- the times at which a motion is stored


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
