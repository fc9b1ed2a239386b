"""The same mechanism with other body frames: chosen by hand, or all at the world's, so that there are none to speak of.

A Model in the world frame holds its inertias and joint axes as CAD exports them, in one frame and in the reference pose
q = neutral (Müller and Terze, 2.3.3): every body's frame is at the world's there, and a joint stands `at` and `on` the same
place. Joint-space dynamics notice no change of body frames.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..spatial import Pose
from .model import Model, displacement
from .parts import Body


def with_body_frames(model: Model, frames: Mapping[str, object]) -> Model:
    """The model with new frames on some bodies: each a pose (as `Pose.of` takes it) on the frame the body had."""
    moved: dict[str | None, Pose] = {None: Pose()} | {body.name: Pose() for body in model.bodies}
    for name, frame in frames.items():
        model.body_index(name)
        moved[name] = Pose.of(frame).inverse()

    def hung(x):
        return replace(x, at=moved[x.parent] @ x.at, on=moved[x.child] @ x.on)

    def in_fluid(x):  # on a named frame nothing changes
        return replace(x, at=moved[x.body] @ x.at) if x.body in moved else x

    return replace(
        model,
        bodies=tuple(_seen_from(body, moved[body.name]) for body in model.bodies),
        joints=tuple(map(hung, model.joints)),
        loops=tuple(map(hung, model.loops)),
        forces=tuple(x.seen_from(moved) for x in model.forces),
        constraints=tuple(x.seen_from(moved) for x in model.constraints),
        fluid=model.fluid and replace(model.fluid, immersed=tuple(map(in_fluid, model.fluid.immersed))),
        frames=tuple(replace(frame, pose=moved[frame.body] @ frame.pose) for frame in model.frames),
    )


def in_world_frame(model: Model) -> Model:
    """The model with every body's frame at the world's in the reference pose: no body frames, as in CAD."""
    return with_body_frames(model, {name: pose.inverse() for name, pose in reference_poses(model).items()})


def reference_poses(model: Model) -> dict[str, Pose]:
    """Where each body is in the world with every joint at its identity."""
    at: dict[str | None, Pose] = {None: Pose()}
    for placed in model.joints:
        neutral = np.concatenate([np.zeros(0), *(part.group.identity for _, part, _ in placed.joint.parts)])
        at[placed.child] = at[placed.parent] @ placed.at @ displacement(placed.joint, neutral) @ placed.on.inverse()
    return {body.name: at[body.name] for body in model.bodies}


def _seen_from(body: Body, frame: Pose) -> Body:
    """The body with everything on it given in another frame: `frame` is its old frame in the new one."""
    R, tensor = frame.rotation, np.asarray(body.tensor)
    return replace(
        body,
        center=tuple(R @ body.center + frame.translation),
        tensor=tuple(map(tuple, R @ tensor @ R.T)),
        visuals=tuple(replace(shape, pose=frame @ shape.pose) for shape in body.visuals),
        collisions=tuple(replace(shape, pose=frame @ shape.pose) for shape in body.collisions),
    )
