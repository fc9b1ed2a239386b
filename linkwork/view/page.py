"""An HTML page that plays a motion without a server or a network: one file with the scene, the poses and a player."""

import re
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from json import dumps
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import writing
from ..lie.attitude import quaternion_from_matrix
from . import mesh
from .camera import FIELD, Camera, direction
from .drawn import bent
from .extras import check_look, file_path
from .motion import Motion, followed
from .paint import STOPS, Paint
from .picture import AZIMUTH, ELEVATION, FAR, round_length, traced_paths
from .scene import Scene

MOST = 20_000  # frames; a page with more would be slow to open


def record(
    motion,
    path: str | PathLike,
    *,
    fps: float = 60,
    title: str | None = None,
    trace: Iterable[str] = (),
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
    shapes: str = "visual",
    exaggeration: float = 1.0,
    color: str | None = None,
) -> Path:
    """Write a motion as one HTML page that plays in any browser, without a server.

    `trace` names bodies or frames whose path is drawn; `fps` is the least number of stored poses per second: where the motion is
    fast there are more, so that the page can draw straight lines between them. `shapes` "collision" shows what bodies collide with.
    `exaggeration` multiplies the modal coordinates of flexible bodies in the drawing: what they carry moves along, and loops through
    them do not close. `color` "displacement" or "strain" paints them, from zero to the greatest value in the motion.
    With an exaggeration the page has a slider of it, down to zero.
    """
    path = file_path(path)
    check_look(trace, azimuth=azimuth, elevation=elevation, fps=fps)
    true = Motion.of(motion)
    paint, motion = Paint.of(true, color), true.exaggerated(exaggeration)
    scene = Scene.of(motion, shapes)
    shown = followed(motion, min(fps, (MOST - 1) / max(motion.duration, 1e-9)), scene.size, MOST)
    page = files(__package__)
    whole = content(scene, shown, trace, azimuth, elevation) | deformed(true.at(shown.t), exaggeration, trace, scene, paint)
    parts = {
        "title": escape(motion.model.name if title is None else str(title)),
        "data": dumps(whole).replace("<", "\\u003c"),
        "script": "\n".join(page.joinpath(x).read_text(encoding="utf-8") for x in ("page.js", "page_bent.js")),
    }
    text = page.joinpath("page.html").read_text(encoding="utf-8")
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)  # in one pass: parts are data, whatever they hold
    with writing(path):
        path.write_text(text, encoding="utf-8")
    return path


def content(scene: Scene, shown: Motion, trace: Iterable[str], azimuth: float, elevation: float) -> dict:
    """The data of the player for JSON; long arrays are base64 of little-endian binary."""
    corners = scene.corners(shown)
    extent = float(np.linalg.norm(np.ptp(corners.reshape(-1, 3), axis=0)))
    follow = extent > FAR * scene.size
    camera = Camera.around(corners[0] if follow else corners, scene.up, azimuth, elevation)
    meshes = {"sphere": mesh.sphere(), **scene.meshes}
    names = {name: name if name in mesh.UNIT else f"mesh{i}" for i, name in enumerate(meshes)}
    return {
        "n": len(shown.t),
        "times": packed(shown.t - shown.t[0], "<f8"),
        "start": float(shown.t[0]),
        "size": scene.size,
        "up": scene.up.tolist(),
        "across": direction(scene.up, 0.0, 0.0).tolist(),
        "ground": scene.ground(corners),
        "step": round_length(min(extent, FAR * scene.size) / 8),
        "azimuth": float(np.radians(azimuth)),
        "elevation": float(np.radians(elevation)),
        "distance": float(np.linalg.norm(camera.eye - camera.target)),
        "field": float(FIELD),
        "target": camera.target.tolist(),
        "follow": bool(follow),
        "bodies": shown.poses.shape[1],
        "parts": [
            {
                "body": part.body,
                "mesh": names[part.mesh],
                "matrix": [round(float(x), 7) for x in part.matrix.T.ravel()],
                "color": [round(float(x), 4) for x in part.color],
            }
            for part in scene.parts
        ],
        "meshes": {
            names[name]: {"vertices": packed(x.vertices), "normals": packed(x.normals), "faces": packed(x.faces, "<u4")}
            for name, x in meshes.items()
        },
        **moving(shown, trace),
    }


def moving(shown: Motion, trace: Iterable[str]) -> dict:
    """Poses, centre of mass and traces of a motion."""
    R, p = shown.poses[..., :3, :3], shown.poses[..., :3, 3]
    return {
        "poses": packed(np.concatenate([quaternion_from_matrix(R), p], -1)),
        "center": packed(shown.robot.center_of_mass(shown.q)),
        "traces": [packed(path) for path in traced_paths(shown, trace)],
    }


def deformed(true: Motion, exaggeration: float, trace: Iterable[str], scene: Scene, paint: Paint | None) -> dict:
    """What the player needs of flexible bodies: the motion at other exaggerations, surfaces as points and shapes, colours by time."""
    trace = [trace] if isinstance(trace, str) else list(trace)
    factors = sorted({0.0, 1.0, *(exaggeration * np.array([0.25, 0.5, 1.0])).tolist()}) if exaggeration != 1 else []
    surfaces = []
    for i, (x, look) in enumerate(zip((x for x in bent(true.model) if x.is_surface), scene.surfaces)):
        line = x.outline
        surfaces.append(
            {
                "body": x.on,
                "color": [round(float(c), 4) for c in look.color],
                "faces": packed(look.faces, "<u4"),
                "points": packed(line.points),
                "shapes": packed(line.linear),
                "bends": None if line.quadratic is None else packed(line.quadratic),
                "modes": line.linear.shape[-1],
                "eta": packed(true.q[:, x.rows]),
                "tints": None if paint is None else packed(255 * paint.surfaces(true.q)[i], "u1"),
            }
        )
    return {
        "exaggeration": exaggeration,
        "levels": [{"factor": x, **moving(true.exaggerated(x), trace)} for x in factors],
        "surfaces": surfaces,
        "pieces": None if paint is None else {"first": len(true.model.bodies), "tints": packed(255 * paint.pieces(true.q), "u1")},
        "scale": None if paint is None else {"label": paint.label, "colors": (255 * STOPS).round().astype(int).tolist()},
    }


def packed(x, dtype: str = "<f4") -> str:
    return b64encode(np.ascontiguousarray(x, dtype).tobytes()).decode("ascii")
