"""Kinematics by screws: poses as products of exponentials of joint screws in the world frame (Müller and Terze, 2.3, 3)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.tracing.array import Traced
from ..errors import ModelError, old_name
from ..lie import SE3, Group
from ..lie.embedding import Ad
from ..lie.scalars import like
from ..model import Model
from ..model.world_frame import in_world_frame, reference_poses
from ..spatial import inertia, phi
from .choices import Choice, as_choice
from .given import as_model


def screw(direction, point=(0.0, 0.0, 0.0), pitch: float = 0.0) -> np.ndarray:
    """Y = [ω; p × ω + h ω], ω of unit length (Müller and Terze, Remark 3); an infinite pitch is a translation along ω."""
    w, p = np.asarray(direction, float), np.asarray(point, float)
    if w.shape != (3,) or p.shape != (3,) or not np.linalg.norm(w) > 0:
        raise ModelError(f"a screw has direction {direction} and point {point}; each must be three numbers, the direction not all zero.")
    w = w / np.linalg.norm(w)
    return np.concatenate([0 * w, w] if np.isinf(pitch) else [w, np.cross(p, w) + pitch * w])


def exponential(Y, x):
    """e^{Y^ x} as a matrix (..., 4, 4); x (...)."""
    return SE3.matrix(SE3.exp(x[..., None] * like(Y, x)))


@dataclass(frozen=True)
class ScrewJoint:
    """One joint: its frame in the world at the reference pose, its coordinates, and their place in x and v."""

    name: str
    frame: np.ndarray  # of the joint's group, in the world, at the reference pose
    group: Group
    choice: Choice
    columns: slice  # in x
    rows: slice  # in v
    before: int | None  # the index of the joint that carries it

    @property
    def Y(self) -> np.ndarray:
        """The screws in the world at the reference pose (n, 6)."""
        return self.group.basis @ Ad(self.frame).T


class Screws:
    """A mechanism given by its joint screws Y, the reference poses m of its bodies and their inertias, in the world frame.

        C(k) = e^{Y₁ q₁} ... e^{Y_n q_n} m(k)                                     Müller and Terze (11)

    Joints with several degrees of freedom have coordinates of the "second kind" (a product of exponentials, the default),
    the "first kind" (one exponential) or "euler parameters" (the q of the library), for all joints or by name.
    """

    def __init__(self, model: Model, kinds: str | dict[str, str] = "second kind"):
        if as_model("Screws", model).flexible_bodies:
            raise ModelError(f"Screws is for rigid trees; {model.name} has flexible bodies. Use Dynamics(model), or bodies without modes.")
        self.model = model
        world, self._on = in_world_frame(model), dict[str | None, int | None]()
        self._on[None] = None
        self.joints: list[ScrewJoint] = []
        nx = nv = 0
        for placed in world.joints:
            before, frame = self._on[placed.parent], placed.at
            for part, joint, at in placed.joint.parts:
                frame = frame @ at
                if not joint.nv:
                    continue
                kind = kinds if isinstance(kinds, str) else kinds.get(placed.name, "second kind")
                choice = as_choice(kind)
                columns, rows = slice(nx, nx + choice.nx(joint.group)), slice(nv, nv + joint.nv)
                name = f"{placed.name}.{part}" if part else placed.name
                matrix = (frame @ joint.frame).matrix
                self.joints.append(ScrewJoint(name, matrix, joint.group, choice, columns, rows, before))
                before, nx, nv = len(self.joints) - 1, columns.stop, rows.stop
            self._on[placed.child] = before
        self.nx, self.nv = nx, nv

    motions = old_name("Screws.motions", "Screws.joints", "joints")

    @cached_property
    def Y(self) -> np.ndarray:
        """The joint screws in the world at the reference pose, one row per velocity (nv, 6) (Müller and Terze, 10)."""
        return np.concatenate([np.zeros((0, 6)), *(joint.Y for joint in self.joints)])

    @cached_property
    def reference(self) -> np.ndarray:
        """The reference poses m of the bodies in the world (nb, 4, 4); body frames are arbitrary."""
        return np.stack([pose.matrix for pose in reference_poses(self.model).values()])

    @cached_property
    def inertias(self) -> np.ndarray:
        """The inertias of the bodies in the world frame at the reference pose (nb, 6, 6)."""
        bodies = in_world_frame(self.model).bodies
        return np.stack([inertia(*map(np.asarray, (body.mass, body.center, body.tensor))) for body in bodies])

    def q(self, x):
        """The q of the library at coordinates x."""
        x = _array(x)
        parts = [joint.choice.q(joint.group, x[..., joint.columns]) for joint in self.joints]
        return np.concatenate([x[..., :0], *parts], -1)

    def displacements(self, x):
        """The displacement of the bodies after each joint, in the world: the product of exponentials up to it (..., n, 4, 4).

        The factor of a joint is Π e^{Y_a x_a} or e^{Σ Y_a x_a} (Müller and Terze, 6 and 8), or that of its Euler parameters.
        """
        out: list = []
        for joint in self.joints:
            moved = self._moved(joint, x[..., joint.columns])
            out.append(moved if joint.before is None else out[joint.before] @ moved)
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
        """K of a body in its own frame, which maps ẋ or, for Euler parameters, v to its twist (..., 6, nv).

            K_a = Ad⁻¹(m) Ad⁻¹(A) Y_a,   A the exponentials from joint a on                 Müller and Terze (21)
        """
        x = _array(x)
        moved, index = self.displacements(x), self.model.body_index(body)
        k = self._on[body]
        out = np.zeros_like(x, shape=(*x.shape[:-1], 6, self.nv))
        end = like(self.reference[index], x) if k is None else moved[k] @ like(self.reference[index], x)
        back = phi(end).mT  # twists in the world to twists of the body: Ad⁻¹
        while k is not None:
            joint = self.joints[k]
            S = joint.choice.S(joint.group, x[..., joint.columns])
            out[..., joint.rows] = back @ (Ad(moved[k] @ like(joint.frame, x)) @ (like(joint.group.basis.T, x) @ S))
            k = joint.before
        return out

    def mass_matrix(self, x):
        """Σ K* M K with the inertias M in the world frame, so that no body frame is needed (Müller and Terze, 43)."""
        x = _array(x)
        total = np.zeros_like(x, shape=(*x.shape[:-1], self.nv, self.nv))
        for body, M, m in zip(self.model.bodies, self.inertias, self.reference):
            K = like(Ad(m), x) @ self.jacobian(x, body.name)  # of the frame that coincides with the world at the reference pose
            total = total + K.mT @ (like(M, x) @ K)
        return total

    def _moved(self, joint: ScrewJoint, x):
        """The displacement of one joint in the world frame."""
        group, choice = joint.group, joint.choice
        if choice == as_choice("second kind"):
            product = like(np.eye(4), x)
            for a, Y in enumerate(joint.Y):
                product = product @ exponential(Y, x[..., a])
            return product
        if choice == as_choice("first kind"):
            return SE3.matrix(SE3.exp(x @ like(joint.Y, x)))
        frame = like(joint.frame, x)
        return frame @ group.matrix(choice.q(group, x)) @ like(np.linalg.inv(joint.frame), x)


def _array(x):
    return x if isinstance(x, Traced) else np.asarray(x)
