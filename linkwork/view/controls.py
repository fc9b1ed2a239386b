"""The controls in the browser: a slider for each joint, or play, pause and speed for a motion."""

import time
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConstraintError
from ..joints import Joint
from ..model import Model
from .labels import Label, joints_of, labels

if TYPE_CHECKING:
    from .browser import View

PERIOD = 1 / 40  # seconds between two states that are shown
SPEEDS = {"0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "5×": 5.0}
MOST = 150  # sliders


class Sliders:
    """A slider for each velocity: q is the neutral configuration moved by the values of the sliders, on the group.

    With loops, the joint that is moved is held, and the others are assembled to it; if they cannot be, nothing moves.
    """

    def __init__(self, shown: "View"):
        self.shown = shown
        robot, gui = shown.motion.robot, shown.server.gui
        self.x = robot.difference(robot.neutral(), shown.q)
        self.names, spans = labels(robot.model, "v"), ranges(robot.model, shown.scene.size)
        with gui.add_folder("Joints"):
            gui.add_button("neutral").on_click(self._reset)
            self.sliders = [self._slider(*which) for which in list(zip(self.names, spans, self.x))[:MOST]]
        self.set, self.putting = [slider.value for slider in self.sliders], False

    def _slider(self, name: Label, span: tuple[float, float], x: float):
        step, digits = _step(span[1] - span[0])
        low, high = (float(np.round(inward(bound / step) * step, digits)) for inward, bound in zip((np.ceil, np.floor), span))
        start, hint = float(np.clip(x, low, high)), f"{low:.4g} to {high:.4g} {name.unit.removesuffix('/s')}"
        made = self.shown.server.gui.add_slider(str(name), low, high, step, start, hint=hint)
        made.on_update(self._moved)
        return made

    def _moved(self, _) -> None:
        moved = [i for i, slider in enumerate(self.sliders) if slider.value != self.set[i]]
        if self.putting or not moved:
            return
        robot, x = self.shown.motion.robot, self.x.copy()
        x[moved] = [self.sliders[i].value for i in moved]
        q = robot.integrate(robot.neutral(), x)
        if robot.constraints is not None:
            try:
                q = robot.assemble(q, hold=[self.names[moved[0]].joint])
            except ConstraintError:
                q = self.shown.q
            x = robot.difference(robot.neutral(), q)
        self.x = x
        self._put(x)
        self.shown.show(q)

    def _put(self, x) -> None:
        """Set every slider to its value in x."""
        self.set = [float(np.clip(value, slider.min, slider.max)) for slider, value in zip(self.sliders, x)]
        self.putting = True
        for slider, value in zip(self.sliders, self.set):
            slider.value = value
        self.putting = False

    def _reset(self, _) -> None:
        self.x = np.zeros_like(self.x)
        self._put(self.x)
        self.shown.show(self.shown.motion.robot.neutral())


def _step(span: float) -> tuple[float, int]:
    """A power of ten that divides a span into 300 to 3000 steps, and its number of decimals."""
    power = int(np.floor(np.log10(span / 300)))
    return float(10.0**power), max(-power, 0)


def ranges(model: Model, size: float) -> list[tuple[float, float]]:
    """The range of each slider: the limits of the joint, or ±180°, the size of the mechanism, or a tenth of it for a mode, each way."""
    return [span for placed in model.joints for _, joint in joints_of(placed) for span in _range(joint, size)]


def _range(joint: Joint, size: float) -> list[tuple[float, float]]:
    twists = joint.group.basis != 0
    reach = np.where(twists[:, :3].any(1), np.pi, np.where(twists.any(1), size, 10 * joint.spread))  # modes deflect 1 % at `spread`
    if joint.group.units:  # limits bound coordinates, which these are not
        return [(-float(r), float(r)) for r in reach]
    lower, upper = joint.each("lower", -np.inf), joint.each("upper", np.inf)
    lower = np.where(np.isfinite(lower), lower, np.minimum(-reach, upper - reach))
    upper = np.where(np.isfinite(upper), upper, np.maximum(reach, lower + reach))
    return [(float(a), float(max(b, a + 1e-3))) for a, b in zip(lower, upper)]


class Player:
    """Plays a motion in a separate thread."""

    def __init__(self, shown: "View"):
        self.shown = shown
        motion, gui = shown.motion, shown.server.gui
        self.t, self.end = float(motion.t[0]), float(motion.t[-1])
        self.start = self.t
        self.playing = True
        with gui.add_folder("Time"):
            self.button = gui.add_button("pause")
            self.slider = gui.add_slider("t [s]", self.start, self.end, (self.end - self.start) / 1000, self.start)
            self.speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1×")
        self.button.on_click(self._toggle)
        self.slider.on_update(self._sought)
        Thread(target=self._run, daemon=True, name="linkwork player").start()

    def _toggle(self, _) -> None:
        self.playing = not self.playing
        self.button.label = "pause" if self.playing else "play"

    def _sought(self, event) -> None:
        if event.client is not None:  # moved by the user, not by this thread
            self.t = float(self.slider.value)
            self._show()

    def _show(self) -> None:
        self.shown.show(self.shown.motion.at(self.t).q[0])

    def _run(self) -> None:
        before = time.perf_counter()
        while not self.shown.ended.wait(PERIOD):
            now = time.perf_counter()
            if self.playing:
                self.t += (now - before) * SPEEDS[self.speed.value]
                self.t = self.start if self.t > self.end else self.t
                self._show()
                self.slider.value = self.t
            before = now
