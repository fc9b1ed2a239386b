"""A scene in the browser: a mechanism with sliders for its joints, or a motion that plays."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext, redirect_stdout, suppress
from io import StringIO
from threading import Event, Lock

import numpy as np

from ..errors import ShapeError, extra
from ..lie.attitude import quaternion_from_matrix
from ..spatial import Pose
from .camera import FIELD, Camera
from .contacts import contact_segments
from .controls import Player, Sliders
from .drawn import drawn_names, drawn_poses, drawn_surfaces, multipliers
from .extras import check_look
from .guard import free_address, guarded
from .mesh import UNIT
from .motion import Motion
from .paint import Paint
from .picture import AZIMUTH, ELEVATION, FAR, round_length, traced_paths
from .scene import Scene

W_FIRST = [3, 0, 1, 2]
ROOM = 1.5  # margin around the mechanism, which sliders may move


def view(
    motion,
    *,
    port: int = 8080,
    host: str = "127.0.0.1",
    block: bool | None = None,
    trace: Iterable[str] = (),
    shapes: str = "visual",
    exaggeration: float = 1.0,
    color: str | None = None,
    origins: Iterable[str] = (),
) -> "View":
    """Show a model, a robot or a motion in the browser, at the `url` of the result.

    A model or robot has a slider for each joint; a motion plays. If the port is taken, the next free one is used.
    Only pages that the view has served may connect to it, and those of `origins`, such as "https://lab.example.org" of a proxy.
    `shapes` "collision" shows what bodies collide with. `exaggeration` multiplies the modal coordinates of flexible bodies in the drawing,
    and has a slider; `color` "displacement" or "strain" paints them, from zero to the greatest value in the motion.
    With `block` this returns only after Ctrl-C; the default is True in scripts, False in interactive Python.
    """
    block = not hasattr(sys, "ps1") and not sys.flags.interactive if block is None else block
    shown = View(Motion.of(motion), port, host, trace, block, shapes, exaggeration, color, origins)
    if block:
        shown.wait()
    return shown


class View:
    """A scene served to browsers until it is closed. Also a context manager."""

    def __init__(
        self, motion: Motion, port: int, host: str, trace: Iterable[str] = (), verbose: bool = False, shapes: str = "visual",
        exaggeration: float = 1.0, color: str | None = None, origins: Iterable[str] = (),
    ):  # fmt: skip
        check_look(trace)
        viser = extra("viser", "the browser view needs", "view")
        self.motion = motion
        self.exaggeration, self.paint = exaggeration, Paint.of(motion, color)
        self.scene = Scene.of(motion.exaggerated(exaggeration), shapes)
        self.trace = [trace] if isinstance(trace, str) else list(trace)
        self.q = motion.q[0]
        traced_paths(motion.at(motion.t[0]), self.trace)  # refuses names that are none before a server is there
        self.host = host
        self.ended = Event()
        self._lock = Lock()
        address, port = free_address(host, port)
        quiet = nullcontext() if verbose else redirect_stdout(StringIO())
        with quiet, guarded(host, origins):  # viser prints its address always
            self.server = viser.ViserServer(host=address, port=port, label=motion.model.name, verbose=False)
        self._add_scene()
        self.controls = Player(self) if motion.duration > 0 else Sliders(self)
        self._add_checkboxes()
        self.show(self.q)

    @property
    def port(self) -> int:
        return self.server.get_port()

    @property
    def url(self) -> str:
        host = "localhost" if self.host in ("0.0.0.0", "127.0.0.1", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def show(self, q) -> None:
        """Put the mechanism into a configuration."""
        robot = self.motion.robot
        try:
            q = np.asarray(q, float)
        except (TypeError, ValueError):
            raise ShapeError(f"q is no array of numbers; {robot.model.name} has nq = {robot.nq}.") from None
        if q.shape != (robot.nq,) or not np.isfinite(q).all():
            raise ShapeError(f"q has shape {q.shape}; a configuration of {robot.model.name} has {robot.nq} finite numbers.")
        bent = self._drawn(q)
        poses, center = drawn_poses(robot, bent), robot.center_of_mass(bent)
        quaternions = quaternion_from_matrix(poses[:, :3, :3])[:, W_FIRST] if len(poses) else []
        with self._lock, self.server.atomic():
            self.q = q
            for body, quaternion, pose in zip(self._bodies, quaternions, poses):
                body.wxyz, body.position = quaternion, pose[:3, 3]
            self._show_deformed(drawn_surfaces(robot, bent, poses))
            self._center.position = center
            if self._forces.visible:
                self._forces.points = self.forces(poses)

    def exaggerate(self, factor: float) -> None:
        """Draw flexible bodies bent by this many times as much as they are."""
        self.motion.exaggerated(factor)  # refuses what cannot be
        self.exaggeration = float(factor)
        self._add_traces()
        self.show(self.q)

    def show_contacts(self, forces) -> None:
        """Draw forces at the contact points (3 n,), along the axes of `contact_frames`, as things are now; None takes them away."""
        name = "/contacts"
        if forces is None:
            self.server.scene.remove_by_name(name)
            return
        segments = contact_segments(self.motion.robot, self._drawn(self.q), forces, self.scene.size)
        self.server.scene.add_line_segments(name, segments, (200, 64, 51), thickness=0.008 * self.scene.size)

    def show_forces(self, visible: bool = True) -> None:
        """Show or hide the static forces in the joints."""
        self._forces.visible = visible
        self.show(self.q)

    def forces(self, poses) -> np.ndarray:
        """The static force in each joint as a segment (n, 2, 3) from the origin of its body in the direction of the force
        on the body; the total weight is drawn half as long as the mechanism."""
        robot, still = self.motion.robot, np.zeros(self.motion.robot.nv)
        moving = [i for i, placed in enumerate(robot.model.joints) if placed.joint.nv]
        if not moving:
            return np.zeros((0, 2, 3))
        wrenches = robot.joint_wrenches(self.q, still, still, *(robot.bodies[i] for i in moving))
        force = (poses[moving, :3, :3] @ wrenches[:, 3:, None])[..., 0]
        weight = robot.model.mass * float(np.linalg.norm(robot.model.gravity))
        scale = 0.5 * self.scene.size / weight if weight else 0.0
        return np.stack([poses[moving, :3, 3], poses[moving, :3, 3] + scale * force], 1)

    def close(self) -> None:
        """Stop the server. Open pages stay, but no longer move."""
        if not self.ended.is_set():
            self.ended.set()
            with redirect_stdout(StringIO()):
                self.server.stop()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until Ctrl-C, until it is closed, or for this many seconds, then close it."""
        with suppress(KeyboardInterrupt):
            self.ended.wait(seconds)
        self.close()

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<View of {self.motion.model.name}, {'closed' if self.ended.is_set() else 'at ' + self.url}>"

    # --- the contents of the scene

    def _add_scene(self) -> None:
        scene, server = self.scene, self.server
        server.scene.set_up_direction(scene.up)
        server.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        corners = scene.corners(self._few())
        far = np.linalg.norm(np.ptp(corners.reshape(-1, 3), axis=0)) > FAR * scene.size
        self._look(Camera.around(corners[0] if far else corners, scene.up, AZIMUTH, ELEVATION))
        if (floor := scene.ground(corners)) is not None:
            self._floor(floor)
        axes = {"show_axes": False, "axes_length": 0.08 * scene.size, "axes_radius": 0.004 * scene.size}
        names = drawn_names(self.motion.model)
        self._bodies = [server.scene.add_frame(node(i, name), **axes) for i, name in enumerate(names[:-1])]
        self._parts = []
        for n, part in enumerate(scene.parts):
            mesh = scene.meshes[part.mesh]
            name = f"{node(part.body, names[part.body])}/{n}"
            vertices = mesh.vertices @ part.matrix[:3, :3].T + part.matrix[:3, 3]
            faces = mesh.faces if np.linalg.det(part.matrix[:3, :3]) > 0 else mesh.faces[:, ::-1]
            look = {"color": bytes_of(part.color[:3]), "opacity": part.color[3] if part.color[3] < 1 else None}
            shown = server.scene.add_mesh_simple(name, vertices, faces, flat_shading=part.mesh == "box" or part.mesh not in UNIT, **look)
            self._parts.append((part.body - len(self.motion.model.bodies), shown))
        self._surfaces: list = [None] * len(scene.surfaces)
        self._center = server.scene.add_icosphere("/centre of mass", 0.02 * scene.size, (220, 50, 50), visible=False)
        nothing = np.zeros((1, 2, 3))
        self._forces = server.scene.add_line_segments("/forces", nothing, (30, 140, 70), thickness=0.006 * scene.size, visible=False)
        self._add_traces()

    def _drawn(self, q) -> np.ndarray:
        """The configuration that is drawn."""
        return q * multipliers(self.motion.robot, self.exaggeration)[0]

    def _few(self, fps: float = 10.0, most: int = 200) -> Motion:
        """Some states of the motion as they are drawn."""
        return self.motion.exaggerated(self.exaggeration).frames(min(fps, most / max(self.motion.duration, 1e-9)))

    def _add_traces(self) -> None:
        for i, path in enumerate(traced_paths(self._few(60.0, 3000), self.trace) if self.trace else ()):
            segments = np.stack([path[:-1], path[1:]], 1)
            self.server.scene.add_line_segments(f"/trace/{i}", segments, (200, 64, 51), thickness=0.004 * self.scene.size)

    def _show_deformed(self, surfaces) -> None:
        """Put surfaces of flexible bodies where they are, points (p, 3) of each, and paint what is to be painted."""
        for i, (surface, points) in enumerate(zip(self.scene.surfaces, surfaces)):
            name, points = f"/surfaces/{i} {surface.name.replace('/', '_')}", points.astype(np.float32)
            if self.paint is not None:
                trimesh = extra("trimesh", "coloured surfaces are made with", "view")
                colors = np.round(255 * self.paint.surfaces(self.q)[i]).astype(np.uint8)
                self.server.scene.add_mesh_trimesh(name, trimesh.Trimesh(points, surface.faces, vertex_colors=colors, process=False))
            elif self._surfaces[i] is None:
                look = {"color": bytes_of(surface.color[:3]), "flat_shading": True, "side": "double"}
                self._surfaces[i] = self.server.scene.add_mesh_simple(name, points, surface.faces, **look)
            else:
                self._surfaces[i].vertices = points
        if self.paint is not None:
            colors = self.paint.pieces(self.q)
            for piece, part in self._parts:
                if 0 <= piece < len(colors):
                    part.color = bytes_of(colors[piece])

    def _look(self, camera: Camera) -> None:
        start, away = self.server.initial_camera, ROOM * (camera.eye - camera.target)
        distance = float(np.linalg.norm(away))
        start.up, start.fov, start.near, start.far = self.scene.up, float(FIELD), 0.01 * distance, 100 * distance
        start.position, start.look_at = camera.target + away, camera.target

    def _floor(self, height: float) -> None:
        """Add a grid normal to gravity at a height."""
        size, step = self.scene.size, round_length(self.scene.size / 8)
        quaternion = quaternion_from_matrix(Pose.turning_z_to(self.scene.up).rotation)
        place = {"wxyz": quaternion[W_FIRST], "position": height * self.scene.up}
        cells = {"cell_size": step, "section_size": 5 * step, "fade_distance": 20 * size}
        self.server.scene.add_grid("/floor", width=20 * size, height=20 * size, **cells, **place)

    def _add_checkboxes(self) -> None:
        gui = self.server.gui
        with gui.add_folder("Show"):
            frames, center = gui.add_checkbox("frames", False), gui.add_checkbox("centre of mass", False)
            forces = gui.add_checkbox("forces in joints, at rest", False)
            if self.motion.model.flexible_bodies:
                most = max(10.0, 2 * self.exaggeration)
                slider = gui.add_slider("exaggeration", 0.0, most, most / 100, self.exaggeration)
                slider.on_update(lambda _: self.exaggerate(slider.value))
            if self.paint is not None:
                gui.add_markdown(f"Colour: {self.paint.label}")

        @frames.on_update
        def _(_) -> None:
            for body in self._bodies:
                body.show_axes = frames.value

        center.on_update(lambda _: setattr(self._center, "visible", center.value))
        forces.on_update(lambda _: self.show_forces(forces.value))


def bytes_of(color) -> tuple[int, int, int]:
    """Red, green and blue from 0 to 255."""
    red, green, blue = (int(255 * x) for x in color)
    return red, green, blue


def node(i: int, name: str) -> str:
    """The name of a body in the scene, without slashes, which would mean a child."""
    return f"/bodies/{i} {name.replace('/', '_')}"
