"""Pictures and movies of a mechanism: PNG, GIF, MP4 and other formats of matplotlib."""

import shutil
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import LinkworkError, OptionError, extra, writing
from .camera import Camera, direction
from .contacts import at_times, contact_segments
from .extras import check_look, check_pictures, figure, file_path
from .motion import Motion
from .paint import Paint, scale
from .raster import Raster
from .scene import Scene

MOST = 100_000  # pictures of a film
MOVIES = ".gif", ".mp4", ".webm", ".mkv", ".mov"
AZIMUTH, ELEVATION = -65.0, 18.0
TRACE = (0.80, 0.25, 0.20)
SHADOW = (0.88, 0.88, 0.88, 1.0)
NEARER = 1e-3  # relative reduction of the depth of later states, so that they cover earlier ones at the same place
FAR = 4.0  # the camera follows a mechanism that travels more than this many times its size


def snapshot(
    motion,
    t: float | Sequence[float] | None = None,
    path: str | PathLike | None = None,
    *,
    trace: Iterable[str] = (),
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
    size: tuple[float, float] = (6.4, 4.8),
    dpi: int = 150,
    shapes: str = "visual",
    contacts=None,
    exaggeration: float = 1.0,
    color: str | None = None,
):
    """Draw a mechanism at time t, by default at the end. With several times, earlier states are drawn paler.

    `trace` names bodies or frames whose path up to then is drawn. Angles of view are in degrees, the size in inches.
    `shapes` "collision" shows what bodies collide with; `contacts` are forces at the contact points, drawn as arrows: `run.contact`,
    or (rows, 3 n) for each row of the motion, along the axes of `contact_frames`.
    `exaggeration` multiplies the modal coordinates of flexible bodies in the drawing: what they carry moves along, and loops through
    them do not close. `color` "displacement" or "strain" paints them, from zero to the greatest value in the motion.
    Returns the figure; with a path it is also written.
    """
    check_pictures(path)
    check_look(trace, size, azimuth, elevation, dpi)
    paint = Paint.of(Motion.of(motion), color)
    motion = Motion.of(motion).exaggerated(exaggeration)
    if t is not None:
        _check_times(motion, t)
    shown = motion.at(motion.t[-1] if t is None else t)
    paths = traced_paths(motion, trace, until=shown.t.max())
    artist = Artist(motion, shown, shapes, azimuth, elevation, size, paths, contacts, paint)
    drawing = figure(figsize=size, dpi=dpi)
    artist.draw(drawing, range(len(shown.t)))
    if path is not None:
        drawing.savefig(path)
    return drawing


def _check_times(motion: Motion, t) -> None:
    """Times are within the motion, but for rounding."""
    if isinstance(t, (str, PathLike)):
        raise OptionError(f"t is {str(t)!r}; it takes times in seconds. A file to write is snapshot(motion, path={str(t)!r}).")
    times, slack = np.atleast_1d(np.asarray(t, float)), 1e-9 * (1 + motion.duration)
    if times.ndim > 1 or not len(times):
        raise OptionError(f"t is {t!r}; it is a time in seconds, or a list of them.")
    wrong = ~((times >= motion.t[0] - slack) & (times <= motion.t[-1] + slack))
    if wrong.any():
        raise OptionError(
            f"t has {times[wrong][0]:g} s, but the motion of {motion.model.name} goes from {motion.t[0]:g} to {motion.t[-1]:g} s. A "
            "configuration q is drawn as snapshot(lw.Motion(robot, [0.0], [q], [np.zeros(robot.nv)]))."
        )


def movie(
    motion,
    path: str | PathLike,
    *,
    fps: int = 25,
    speed: float = 1.0,
    trace: Iterable[str] = (),
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
    size: tuple[float, float] = (4.8, 3.6),
    dpi: int = 100,
    shapes: str = "visual",
    contacts=None,
    exaggeration: float = 1.0,
    color: str | None = None,
) -> Path:
    """Write a movie of a motion: a GIF, or with ffmpeg an MP4 or WebM, by the ending of the path; the rest as in `snapshot`."""
    path = file_path(path)
    check_look(trace, size, azimuth, elevation, dpi, fps, speed)
    drawing = figure(figsize=size, dpi=dpi)
    paint = Paint.of(Motion.of(motion), color)
    motion = Motion.of(motion).exaggerated(exaggeration)
    if (count := motion.duration * fps / speed) > MOST:
        raise OptionError(f"a film of {motion.duration:g} s has {count:.3g} pictures; {MOST} is the most: a smaller fps or a larger speed.")
    shown = motion.frames(fps, speed)
    writer = _writer(path, fps)
    artist = Artist(motion, shown, shapes, azimuth, elevation, size, traced_paths(shown, trace), contacts, paint)
    with writing(path), writer.saving(drawing, str(path), dpi):
        for i in range(len(shown.t)):
            drawing.clear()
            artist.draw(drawing, [i], upto=i + 1)
            writer.grab_frame()
    return path


def _writer(path: Path, fps: int):
    from matplotlib import animation, rcParams

    if path.suffix.lower() == ".gif":
        return animation.PillowWriter(fps=fps)
    if path.suffix.lower() not in MOVIES:
        raise LinkworkError(f'"{path.name}" has the ending "{path.suffix}"; a movie is {", ".join(MOVIES)}.')
    if not shutil.which(rcParams["animation.ffmpeg_path"]):
        brought = extra("imageio_ffmpeg", f"a movie as {path.suffix} needs ffmpeg on the path, or", "film")
        rcParams["animation.ffmpeg_path"] = brought.get_ffmpeg_exe()
    return animation.FFMpegWriter(fps=fps)


def traced_paths(motion: Motion, names: Iterable[str], until: float = np.inf) -> np.ndarray:
    """The paths of bodies or frames (number of names, n, 3), up to a time."""
    q = motion.q[motion.t <= until] if np.isfinite(until) else motion.q
    names = [names] if isinstance(names, str) else list(names)
    points = [motion.robot.pose(q, name)[..., :3, 3] for name in names]
    return np.stack(points) if points else np.zeros((0, len(q), 3))


class Artist:
    """Draws states of a motion with one camera, which follows the mechanism if it travels far."""

    def __init__(self, motion: Motion, shown: Motion, shapes, azimuth, elevation, size, traces, contacts=None, paint: Paint | None = None):
        """`shown` are the states of the motion that are drawn, `contacts` forces at its contact points."""
        self.scene = scene = Scene.of(motion, shapes)
        self.shown, self.traces, self.paint, self.arrows = shown, traces, paint, None
        if contacts is not None:
            self.arrows = contact_segments(shown.robot, shown.q, at_times(motion, contacts, shown.t), scene.size)
        if paint is not None:
            q = paint.motion.at(shown.t).q
            self.pieces, self.painted = paint.pieces(q), paint.surfaces(q)
        corners = scene.corners(shown)
        self.floor = scene.ground(corners)
        middle = (corners.min(-2) + corners.max(-2)) / 2
        every = np.concatenate([corners.reshape(-1, 3), traces.reshape(-1, 3)])
        follows = np.linalg.norm(np.ptp(every, axis=0)) > FAR * scene.size
        self.shift = middle - middle[0] if follows else np.zeros_like(middle)
        around = (corners - self.shift[:, None]).reshape(-1, 3) if follows else every
        self.aspect = size[0] / size[1]
        self.camera = Camera.around(around, scene.up, azimuth, elevation, self.aspect)
        self.reach = float(np.linalg.norm(np.ptp(around, axis=0)))

    def draw(self, figure, frames: Sequence[int], upto: int | None = None) -> None:
        """Draw these states, the last in full colour, and traces up to row `upto`."""
        from matplotlib.collections import LineCollection

        wide, high = max(self.aspect, 1.0), max(1 / self.aspect, 1.0)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(-wide, wide), ylim=(-high, high))
        axes.set_axis_off()
        width, height = (int(x) for x in figure.get_size_inches() * figure.dpi)
        shift = self.shift[frames[-1]]
        below, above = Raster(width, height), Raster(width, height)
        pixels = lambda flat: (flat / (wide, high) + 1) / 2 * (width, height)
        if self.floor is not None and self.camera.axes[2] @ self.scene.up > 0:
            lines, shades = self._grid(shift)
            axes.add_collection(LineCollection(lines, colors=shades, linewidths=0.8, zorder=1))
            corners, _, _ = self._triangles(frames[-1])
            flat, depth = self.camera.seen(self._flat(corners) - shift)
            below.add(pixels(flat), depth, np.broadcast_to(SHADOW, (*depth.shape, 4)))
        for n, i in enumerate(frames):
            flat, depth, color = self._lit(i, shift, pixels, pale=0.75 * (1 - (n + 1) / len(frames)))
            above.add(flat, depth * (1 - NEARER * n), color)
        for path in self.traces:
            axes.plot(*self.camera.seen(path[:upto] - shift)[0].T, color=TRACE, linewidth=1.2, zorder=3)
        if self.arrows is not None:
            self._draw_arrows(axes, self.arrows[frames[-1]] - shift)
        if self.paint is not None:
            self._draw_scale(figure, self.paint.label)
        for raster, order in ((below, 2), (above, 4)):
            axes.imshow(raster.image(), origin="lower", extent=(-wide, wide, -high, high), aspect="auto", zorder=order)

    def _draw_arrows(self, axes, segments) -> None:
        """Arrows for segments (n, 2, 3) that are not too short to be seen."""
        long = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=-1) > 1e-3 * self.scene.size
        for start, end in self.camera.seen(segments[long])[0]:
            look = {"arrowstyle": "-|>", "color": TRACE, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", end, start, arrowprops=look, zorder=5)

    def _draw_scale(self, figure, label: str) -> None:
        """The colours and what they stand for, in the lower left corner."""
        axes = figure.add_axes((0.03, 0.03, 0.25, 0.02), zorder=6)
        axes.imshow(scale(np.linspace(0, 1, 64))[None], aspect="auto")
        axes.set_axis_off()
        figure.text(0.03, 0.06, label, fontsize=min(9.0, 1.6 * figure.get_size_inches()[0]), zorder=6)

    def _lit(self, i: int, shift, pixels, pale: float):
        """The triangles that face the camera in pixels, their depths, and the shaded colours of their corners."""
        light = self.scene.up + 0.5 * self.camera.axes[0] + 0.6 * self.camera.axes[2]
        corners, normals, color = self._triangles(i)
        corners = corners - shift
        outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        front = ((self.camera.eye - corners[:, 0]) * outward).sum(1) > 0
        flat, depth = self.camera.seen(corners[front])
        shade = 0.55 + 0.45 * np.clip(normals[front] @ (light / np.linalg.norm(light)), 0, 1)
        rgb = color[front, :, :3] * shade[..., None]
        return pixels(flat), depth, np.concatenate([rgb + pale * (1 - rgb), color[front, :, 3:]], -1)

    def _triangles(self, i: int):
        """Every triangle of the scene in the world (m, 3, 3), the normals of its corners, and their colours (m, 3, 4)."""
        corners, normals, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3, 3))], [np.zeros((0, 3, 4))]
        first = len(self.scene.model.bodies)
        for part in self.scene.parts:
            found = self.scene.meshes[part.mesh]
            matrix = self.shown.poses[i, part.body] @ part.matrix
            A = matrix[:3, :3]
            normal = found.normals @ (A / (A * A).sum(0)).T  # a stretched solid: A = R S, so R S⁻¹ = A S⁻²
            corners.append((found.vertices @ A.T + matrix[:3, 3])[found.faces])
            normals.append((normal / np.linalg.norm(normal, axis=1, keepdims=True))[found.faces])
            color, piece = part.color, part.body - first
            if self.paint is not None and 0 <= piece < self.pieces.shape[1]:
                color = (*self.pieces[i, piece], 1.0)
            colors.append(np.tile(color, (len(found.faces), 3, 1)))
        for j, surface in enumerate(self.scene.surfaces):
            points, faces = self.shown.surfaces[j][i], np.concatenate([surface.faces, surface.faces[:, ::-1]])  # seen from both sides
            normal = np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]])
            normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
            tint = np.tile(surface.color, (len(points), 1))
            if self.paint is not None:
                tint[:, :3] = self.painted[j][i]
            corners.append(points[faces])
            normals.append(np.repeat(normal[:, None], 3, 1))
            colors.append(tint[faces])
        return np.concatenate(corners), np.concatenate(normals), np.concatenate(colors)

    def _flat(self, points):
        """Points projected onto the floor."""
        return points - (points @ self.scene.up - self.floor)[..., None] * self.scene.up

    def _grid(self, shift):
        """The grid lines of the floor, each one cell long, and their colours, which fade out."""
        n, step = 10, round_length(self.reach / 8)
        center = self.camera.target + shift
        x, y = direction(self.scene.up, 0, 0), direction(self.scene.up, 90, 0)
        i, j, k = np.meshgrid(np.arange(-n, n + 1), np.arange(-n, n), (0, 1), indexing="ij")
        lines, shades = [], []
        for a, b in ((x, y), (y, x)):
            along, across = np.round(center @ b / step) + j + k, np.round(center @ a / step) + i
            lines.append(step * (across[..., None] * a + along[..., None] * b) + self.floor * self.scene.up)
            shades.append(np.clip(1 - np.hypot(i, j + 0.5) / n, 0, 1)[..., 0])
        flat, depth = self.camera.seen(np.reshape(lines, (-1, 2, 3)) - shift)
        near = depth.min(1) > 0.1 * np.linalg.norm(self.camera.eye - self.camera.target)
        return flat[near], np.insert(np.full((near.sum(), 3), 0.5), 3, 0.6 * np.ravel(shades)[near], axis=1)


def round_length(x: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 ... that is not below x."""
    power = 10.0 ** np.floor(np.log10(x)) if x > 0 else 1.0
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= x * (1 - 1e-9)))
