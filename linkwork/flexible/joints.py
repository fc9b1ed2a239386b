"""Deformation as joints of a model: modal coordinates, and frames that they move."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ModelError
from ..joints import Joint
from ..lie import R
from ..lie.group import Additive, frozen
from ..spatial import Pose, pose_inverse
from .attachment import Attachment
from .body import FlexibleBody


@dataclass(frozen=True, repr=False)
class Deformation(Additive):
    """The group of modal coordinates, Rⁿ; as a motion, that of the body's own frame on the frame `root` that its joint carries."""

    body: FlexibleBody
    root: str | None

    @property
    def name(self):
        return f"modes {self.body.digest} on {self.root}"

    @property
    def nq(self):
        return self.body.n

    @property
    def nv(self):
        return self.body.n

    @property
    def basis(self):
        """No twist belongs to a coordinate alone: the joint map depends on the deformation."""
        return frozen(np.zeros((self.nv, 6)))

    @property
    def identity(self):
        return frozen(np.zeros(self.nq))

    @cached_property
    def attachment(self) -> Attachment:
        return self.body.attachment(self.root)

    @cached_property
    def own_frame(self) -> Attachment:
        """The frame that displacements are seen from."""
        return self.body.attachment(None)

    def matrix(self, q):
        return pose_inverse(self.attachment.place(q))


@dataclass(frozen=True, kw_only=True)
class Modes(Joint):
    """The deformation of a flexible body: q and v are its modal coordinates and their rates, damped as the body says. The child is the
    frame that displacements are seen from, the parent the frame `root` of the body."""

    body: FlexibleBody
    root: str | None = None

    def __post_init__(self):
        if not isinstance(self.body, FlexibleBody):
            raise ModelError(f"Modes are those of a FlexibleBody; got {self.body!r}.")
        self.body.attachment(self.root)
        object.__setattr__(self, "damping", tuple(self.body.damping.tolist()))
        super().__post_init__()

    @cached_property
    def group(self) -> Deformation:
        return Deformation(self.body, self.root)

    @property
    def deformation(self) -> Deformation:
        return self.group

    @property
    def spread(self) -> np.ndarray:
        """How far coordinates drawn at random go: each deflects the body by about 1 % of its size, and turns no frame by more than 0.1."""
        if self.body.outline is None:
            return np.full(self.nv, 0.01)
        points, shapes = self.body.outline.points, self.body.outline.linear
        size = float(np.ptp(points, 0).max(initial=0.0)) or 1.0
        turns = np.max([np.abs(x.linear[:3]).max(0) for x in self.body.frames.values()], 0, initial=0.0)
        return 1 / (np.abs(shapes).max((0, 1)) / (0.01 * size) + turns / 0.1 + 1e-300)

    @property
    def units(self) -> list[tuple[str, str, str]]:
        """Units of coordinate, velocity and force of each mode: those of mass-orthonormal modes; other modes have a unit of their own."""
        own = ("modal", "modal/s", "J/modal")
        normal = np.allclose(self.body.undeformed[: self.nv, : self.nv], np.eye(self.nv), atol=1e-6)
        return [("m √kg", "m √kg/s", "N/√kg") if normal else own] * self.nv


@dataclass(frozen=True, kw_only=True)
class Deflection(Joint):
    """A frame on a flexible body, which moves with its modal coordinates and has none of its own. The parent is the child of `Modes`."""

    body: FlexibleBody
    frame_name: str

    group = R(0)

    def __post_init__(self):
        self.body.attachment(self.frame_name)
        super().__post_init__()

    @property
    def deformation(self) -> Attachment:
        return self.body.attachment(self.frame_name)

    def displaced(self, q) -> Pose:
        """Without deformation."""
        return self.deformation.pose
