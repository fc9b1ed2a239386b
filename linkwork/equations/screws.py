"""Kinematics by screws: poses as products of exponentials of joint screws, all in one world frame (Müller and Terze, 2.3, 3)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.array import Traced
from ..errors import ModelError
from ..lie import SE3, Group
from ..lie.embedding import Ad
from ..lie.scalars import like
from ..model import Model
from ..model.world_frame import in_world_frame, reference_poses
from ..spatial import inertia, phi
from .choices import Choice, chosen


def screw(direction, point=(0.0, 0.0, 0.0), pitch: float = 0.0) -> np.ndarray:
    """Y = [ω; p × ω + h ω], ω of unit length (Müller and Terze, Remark 3); an infinite pitch slides along ω."""
    w, p = np.asarray(direction, float), np.asarray(point, float)
    if w.shape != (3,) or p.shape != (3,) or not np.linalg.norm(w) > 0:
        raise ModelError(f"a screw has direction {direction} and point {point}; three numbers each, a direction not all zero.")
    w = w / np.linalg.norm(w)
    return np.concatenate([0 * w, w] if np.isinf(pitch) else [w, np.cross(p, w) + pitch * w])


def exponential(Y, x):
    """e^{Y^ x} as a matrix (..., 4, 4); x (...)."""
    return SE3.matrix(SE3.exp(x[..., None] * like(Y, x)))


@dataclass(frozen=True)
class Motion:
    """One joint: its screws in the world (n, 6) at the reference pose, where its coordinates are, and how they count."""

    name: str
    frame: np.ndarray  # of the joint's group, in the world, at the reference pose
    group: Group
    choice: Choice
    columns: slice  # in x
    rows: slice  # in v
    before: int | None  # the motion it stands on

    @property
    def Y(self) -> np.ndarray:
        return self.group.basis @ Ad(self.frame).T


class Screws:
    """A mechanism by its joint screws Y, its bodies' reference poses m and their inertias, all in the world frame.

        C(k) = e^{Y₁ q₁} ... e^{Y_n q_n} m(k)                                     Müller and Terze (11)

    Joints of several freedoms count their coordinates as chosen: "second kind" (a product of exponentials, the default),
    "first kind" (one exponential) or "euler parameters" (the library's q), for all joints or by name.
    """

    def __init__(self, model: Model, kinds: str | dict[str, str] = "second kind"):
        self.model = model
        world, self._on = in_world_frame(model), dict[str | None, int | None]()
        self._on[None] = None
        self.motions: list[Motion] = []
        nx = nv = 0
        for placed in world.joints:
            before, frame = self._on[placed.parent], placed.at
            for part, joint, at in placed.joint.parts:
                frame = frame @ at
                if not joint.nv:
                    continue
                kind = kinds if isinstance(kinds, str) else kinds.get(placed.name, "second kind")
                choice = chosen(kind)
                columns, rows = slice(nx, nx + choice.nx(joint.group)), slice(nv, nv + joint.nv)
                name = f"{placed.name}.{part}" if part else placed.name
                matrix = (frame @ joint.frame).matrix
                self.motions.append(Motion(name, matrix, joint.group, choice, columns, rows, before))
                before, nx, nv = len(self.motions) - 1, columns.stop, rows.stop
            self._on[placed.child] = before
        self.nx, self.nv = nx, nv

    @cached_property
    def Y(self) -> np.ndarray:
        """The joint screws in the world at the reference pose, one row per velocity (nv, 6) (Müller and Terze, 10)."""
        return np.concatenate([np.zeros((0, 6)), *(motion.Y for motion in self.motions)])

    @cached_property
    def reference(self) -> np.ndarray:
        """The reference poses m of the bodies (nb, 4, 4); frames are arbitrary, and need not be at the world's."""
        return np.stack([pose.matrix for pose in reference_poses(self.model).values()])

    @cached_property
    def inertias(self) -> np.ndarray:
        """The inertias of the bodies in the world frame at the reference pose (nb, 6, 6)."""
        bodies = in_world_frame(self.model).bodies
        return np.stack([inertia(*map(np.asarray, (body.mass, body.center, body.tensor))) for body in bodies])

    def q(self, x):
        """The library's q at coordinates x."""
        x = _array(x)
        parts = [motion.choice.q(motion.group, x[..., motion.columns]) for motion in self.motions]
        return np.concatenate([x[..., :0], *parts], -1)

    def displacements(self, x):
        """How far each joint has moved what it carries, in the world: the product of exponentials up to it (..., n, 4, 4).

        A joint's own part is Π e^{Y_a x_a} or e^{Σ Y_a x_a} (Müller and Terze, 6 and 8), or what its Euler parameters say.
        """
        out: list = []
        for motion in self.motions:
            moved = self._moved(motion, x[..., motion.columns])
            out.append(moved if motion.before is None else out[motion.before] @ moved)
        return out

    def poses(self, x):
        """World from body for every body (..., nb, 4, 4)."""
        x = _array(x)
        moved, still = self.displacements(x), np.zeros_like(x, shape=(*x.shape[:-1], 4, 4)) + like(np.eye(4), x)
        rows = []
        for body, m in zip(self.model.bodies, self.reference):
            k = self._on[body.name]
            rows.append((still if k is None else moved[k]) @ like(m, x))
        return np.stack(rows, -3)

    def jacobian(self, x, body: str):
        """K of a body in its own frame, twist from ẋ or, for Euler parameters, from v (..., 6, nv).

            K_a = Ad⁻¹(m) Ad⁻¹(A) Y_a,   A the exponentials from joint a on                 Müller and Terze (21)
        """
        x = _array(x)
        moved, index = self.displacements(x), self.model.body_index(body)
        k = self._on[body]
        out = np.zeros_like(x, shape=(*x.shape[:-1], 6, self.nv))
        end = like(self.reference[index], x) if k is None else moved[k] @ like(self.reference[index], x)
        back = phi(end).mT  # twists in the world to twists of the body: Ad⁻¹
        while k is not None:
            motion = self.motions[k]
            S = motion.choice.S(motion.group, x[..., motion.columns])
            out[..., motion.rows] = back @ (Ad(moved[k] @ like(motion.frame, x)) @ (like(motion.group.basis.T, x) @ S))
            k = motion.before
        return out

    def mass_matrix(self, x):
        """Σ K* J K with the inertias in the world frame, so that no body frame is needed (Müller and Terze, 43)."""
        x = _array(x)
        total = np.zeros_like(x, shape=(*x.shape[:-1], self.nv, self.nv))
        for body, J, m in zip(self.model.bodies, self.inertias, self.reference):
            K = like(Ad(m), x) @ self.jacobian(x, body.name)  # of the frame that is the world's at the reference pose
            total = total + K.mT @ (like(J, x) @ K)
        return total

    def _moved(self, motion: Motion, x):
        group, choice = motion.group, motion.choice
        if choice == chosen("second kind"):
            product = like(np.eye(4), x)
            for a, Y in enumerate(motion.Y):
                product = product @ exponential(Y, x[..., a])
            return product
        if choice == chosen("first kind"):
            return SE3.matrix(SE3.exp(x @ like(motion.Y, x)))
        frame = like(motion.frame, x)
        return frame @ group.matrix(choice.q(group, x)) @ like(np.linalg.inv(motion.frame), x)


def _array(x):
    return x if isinstance(x, Traced) else np.asarray(x)
