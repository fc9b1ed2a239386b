"""A scene in the browser: a mechanism to be moved by hand, or a motion to be played."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext, redirect_stdout, suppress
from io import StringIO
from threading import Event, Lock

import numpy as np

from ..lie.attitude import quaternion_from_matrix
from ..spatial import Pose
from .camera import FIELD, Camera
from .controls import Player, Sliders
from .extras import extra
from .mesh import UNIT
from .motion import Motion
from .picture import AZIMUTH, ELEVATION, FAR, round_length, ways
from .scene import Scene

W_FIRST = [3, 0, 1, 2]
ROOM = 1.5  # around what is looked at, which may be moved by hand


def view(
    motion, *, port: int = 8080, host: str = "127.0.0.1", block: bool | None = None, trace: Iterable[str] = ()
) -> "View":
    """Show a model, a robot or a motion in the browser, at the address the result has as `url`.

    A model or robot has a slider for each joint; a motion plays. If the port is taken, the next free one is used.
    With `block` this returns only after Ctrl-C; by default in scripts, not where Python is used interactively.
    """
    block = not hasattr(sys, "ps1") and not sys.flags.interactive if block is None else block
    shown = View(Motion.of(motion), port, host, trace, verbose=block)
    if block:
        shown.wait()
    return shown


class View:
    """A scene that a browser can look at, until it is closed. Also a context manager."""

    def __init__(self, motion: Motion, port: int, host: str, trace: Iterable[str] = (), verbose: bool = False):
        viser = extra("viser", "the browser view needs", "view")
        self.motion = motion
        self.scene = Scene.of(motion)
        self.q = motion.q[0]
        self.host = host
        self.ended = Event()
        self._lock = Lock()
        with nullcontext() if verbose else redirect_stdout(StringIO()):  # viser says where it is, asked or not
            self.server = viser.ViserServer(host=host, port=port, label=motion.model.name, verbose=False)
        self._furnish(trace)
        self.controls = Player(self) if len(motion.t) > 1 else Sliders(self)
        self._marks()
        self.show(self.q)

    @property
    def port(self) -> int:
        return self.server.get_port()

    @property
    def url(self) -> str:
        return f"http://{'localhost' if self.host in ('0.0.0.0', '127.0.0.1') else self.host}:{self.port}"

    def show(self, q) -> None:
        """Put the mechanism into a configuration."""
        robot = self.motion.robot
        q = np.asarray(q, float)
        poses, center = robot.poses(q), robot.center_of_mass(q)
        turns = quaternion_from_matrix(poses[:, :3, :3])[:, W_FIRST] if len(poses) else []
        with self._lock, self.server.atomic():
            self.q = q
            for body, turn, pose in zip(self._bodies, turns, poses):
                body.wxyz, body.position = turn, pose[:3, 3]
            self._center.position = center
            if self._forces.visible:
                self._forces.points = self.forces(poses)

    def show_forces(self, visible: bool = True) -> None:
        """Draw, or no longer, what the joints carry while the mechanism stands still."""
        self._forces.visible = visible
        self.show(self.q)

    def forces(self, poses) -> np.ndarray:
        """What each joint carries while the mechanism stands still here, as segments (n, 2, 3) from its body's origin in
        the direction of the force on the body; the weight of the whole is as long as half the mechanism."""
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
        """Stop showing. What is open in a browser stays as it is, and moves no more."""
        if not self.ended.is_set():
            self.ended.set()
            with redirect_stdout(StringIO()):
                self.server.stop()

    def wait(self, seconds: float | None = None) -> None:
        """Until somebody presses Ctrl-C or closes it, or so many seconds have passed."""
        with suppress(KeyboardInterrupt):
            self.ended.wait(seconds)
        self.close()

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<View of {self.motion.model.name}, {'closed' if self.ended.is_set() else 'at ' + self.url}>"

    # --- what is in the room

    def _furnish(self, trace: Iterable[str]) -> None:
        scene, server = self.scene, self.server
        server.scene.set_up_direction(scene.up)
        server.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        few = self.motion.frames(min(10.0, 200 / max(self.motion.duration, 1e-9)))
        corners = scene.corners(few.poses)
        far = np.linalg.norm(np.ptp(corners.reshape(-1, 3), axis=0)) > FAR * scene.size
        self._look(Camera.around(corners[0] if far else corners, scene.up, AZIMUTH, ELEVATION))
        if (floor := scene.ground(corners)) is not None:
            self._floor(floor)
        axes = {"show_axes": False, "axes_length": 0.08 * scene.size, "axes_radius": 0.004 * scene.size}
        names = self.motion.robot.bodies
        self._bodies = [server.scene.add_frame(node(i, name), **axes) for i, name in enumerate(names)]
        for n, part in enumerate(scene.parts):
            mesh = scene.meshes[part.mesh]
            name = f"{node(part.body, names[part.body])}/{n}"
            vertices = mesh.vertices @ part.matrix[:3, :3].T + part.matrix[:3, 3]
            faces = mesh.faces if np.linalg.det(part.matrix[:3, :3]) > 0 else mesh.faces[:, ::-1]
            server.scene.add_mesh_simple(
                name,
                vertices,
                faces,
                color=tuple(int(255 * x) for x in part.color[:3]),
                opacity=part.color[3] if part.color[3] < 1 else None,
                flat_shading=part.mesh == "box" or part.mesh not in UNIT,
            )
        self._center = server.scene.add_icosphere("/centre of mass", 0.02 * scene.size, (220, 50, 50), visible=False)
        nothing = np.zeros((1, 2, 3))
        self._forces = server.scene.add_line_segments("/forces", nothing, (30, 140, 70), thickness=0.006 * scene.size, visible=False)
        for i, way in enumerate(ways(few.frames(min(60.0, 3000 / max(self.motion.duration, 1e-9))), trace)):
            segments = np.stack([way[:-1], way[1:]], 1)
            server.scene.add_line_segments(f"/trace/{i}", segments, (200, 64, 51), thickness=0.004 * scene.size)

    def _look(self, camera: Camera) -> None:
        start, away = self.server.initial_camera, ROOM * (camera.eye - camera.target)
        distance = float(np.linalg.norm(away))
        start.up, start.fov, start.near, start.far = self.scene.up, float(FIELD), 0.01 * distance, 100 * distance
        start.position, start.look_at = camera.target + away, camera.target

    def _floor(self, height: float) -> None:
        """A grid across gravity at a height."""
        size, step = self.scene.size, round_length(self.scene.size / 8)
        turn = quaternion_from_matrix(Pose.turning_z_to(self.scene.up).rotation)
        self.server.scene.add_grid(
            "/floor",
            width=20 * size,
            height=20 * size,
            cell_size=step,
            section_size=5 * step,
            fade_distance=20 * size,
            wxyz=turn[W_FIRST],
            position=height * self.scene.up,
        )

    def _marks(self) -> None:
        gui = self.server.gui
        with gui.add_folder("Show"):
            frames, center = gui.add_checkbox("frames", False), gui.add_checkbox("centre of mass", False)
            forces = gui.add_checkbox("forces in joints, at rest", False)

        @frames.on_update
        def _(_) -> None:
            for body in self._bodies:
                body.show_axes = frames.value

        @center.on_update
        def _(_) -> None:
            self._center.visible = center.value

        @forces.on_update
        def _(_) -> None:
            self.show_forces(forces.value)


def node(i: int, name: str) -> str:
    """A body's name in the scene, where a slash would mean a child."""
    return f"/bodies/{i} {name.replace('/', '_')}"
