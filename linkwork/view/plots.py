"""Plots of a motion over time, and of velocity against coordinate."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike

import numpy as np

from ..errors import LinkworkError, OptionError, UnknownNameError, did_you_mean, extra, listed
from .extras import check_pictures, figure, plain
from .labels import Label, labels
from .motion import Motion

WIDTH, HEIGHT = 8.0, 2.4  # inches, of one panel
COLUMN, COLUMNS = 14, 3  # names in a column of a legend, and columns
MANY = 10  # lines; with more, colours are taken from a colour map instead of repeating
SMOOTH = 600  # least number of points of a curve
XYZ = "xyz"


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines over time in one diagram: the quantity, its unit, the times, and each line with its name."""

    what: str
    unit: str
    t: np.ndarray
    lines: Sequence[tuple[str, np.ndarray]]

    @property
    def title(self) -> str:
        return f"{self.what} [{self.unit}]" if self.unit else self.what


def plot(
    motion,
    *what: str,
    joints: Iterable[str] | None = None,
    path: str | PathLike | None = None,
    title: str | None = None,
):
    """Plot a motion over time: "q", "v", "tau", "energy", "drift", "momentum", "com", or against each other: "phase".

    By default q and energy. `joints` selects joints by name. Quantities in radians and in metres have separate diagrams.
    Returns the figure; with a path it is also written, in the format of its ending.
    """
    check_pictures(path)
    motion, chosen = Motion.of(motion), what or ("q", "energy")
    for name in chosen:
        if name not in (*PANELS, "phase"):
            raise UnknownNameError(f'there is no plot "{name}".{did_you_mean(name, [*PANELS, "phase"])}')
    pick = _picked(motion, joints)
    panels = [panel for name in chosen if name != "phase" for panel in PANELS[name](motion, pick)]
    phases = list(_phases(motion, pick)) if "phase" in chosen else []
    rows = len(panels) + len(phases)
    if not rows:
        raise LinkworkError(f"{motion.model.name} has no joint that moves: there is no {listed(chosen)} to plot.")
    drawing = figure(figsize=(WIDTH, HEIGHT * rows + 0.6 + 1.2 * len(phases)), layout="constrained")
    grid = drawing.add_gridspec(rows, 1, height_ratios=[1] * len(panels) + [1.5] * len(phases))
    first = None
    for row, panel in enumerate(panels):
        axes = first = drawing.add_subplot(grid[row], sharex=first)
        _draw(axes, [(name, panel.t, y) for name, y in panel.lines], "", panel.title)
        last = row == len(panels) - 1
        axes.tick_params(labelbottom=last)
        axes.set_xlabel("t [s]" if last else "")
    for row, (x_title, y_title, lines) in enumerate(phases, len(panels)):
        _draw(drawing.add_subplot(grid[row]), lines, x_title, y_title)
    drawing.suptitle(plain(motion.model.name) if title is None else title)
    if path is not None:
        drawing.savefig(path, dpi=150)
    return drawing


def plot_phase(motion, *joints: str, path: str | PathLike | None = None, title: str | None = None):
    """Plot velocity against coordinate for the named joints, or for all whose velocities are the rates of their coordinates."""
    return plot(motion, "phase", joints=joints or None, path=path, title=title)


def _draw(axes, lines: Sequence[tuple[str, np.ndarray, np.ndarray]], x_title: str, y_title: str) -> None:
    colormap = extra("matplotlib", "a picture needs", "plot").colormaps["turbo"]
    for i, (name, x, y) in enumerate(lines):
        color = colormap(0.05 + 0.9 * i / (len(lines) - 1)) if len(lines) > MANY else f"C{i}"
        axes.plot(x, y, label=plain(name), color=color, linewidth=1.2, marker="o" if len(y) == 1 else None)
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    axes.grid(alpha=0.3)
    shown, columns = axes.get_legend_handles_labels()[0], min(-(-len(lines) // COLUMN), COLUMNS)
    if len(shown) > COLUMN * COLUMNS:  # some of many, evenly
        shown = [shown[i] for i in np.linspace(0, len(shown) - 1, COLUMN * COLUMNS).round().astype(int)]
    place = {"loc": "upper left", "bbox_to_anchor": (1.005, 1.02), "borderaxespad": 0.0}
    part = f"{len(shown)} of {len(lines)}" if len(shown) < len(lines) else None
    axes.legend(handles=shown, title=part, fontsize="x-small", title_fontsize="x-small", ncols=columns, **place)


def _picked(motion: Motion, joints: Iterable[str] | None) -> Callable[[Label], bool]:
    """The condition that selects the labels of these joints; an unknown joint is an error, a compound stands for its parts."""
    if joints is None:
        return lambda label: True
    if not isinstance(joints, Iterable):
        raise OptionError(f"joints is {joints!r}; it is a list of names of joints.")
    names = [joints] if isinstance(joints, str) else list(joints)
    rows = {i for name in names for i in range(*motion.robot.v_index(name).indices(motion.robot.nv))}
    known = {label.joint for i, label in enumerate(labels(motion.model, "v")) if i in rows}
    return lambda label: label.joint in known


# --- the panels


def _state(what: str, motion: Motion, pick) -> list[Panel]:
    """Panels of q, v or tau, one for each unit, in the order of first use."""
    shown = motion if what == "tau" else motion.refined(SMOOTH)
    values = getattr(shown, what)
    if values is None:
        raise LinkworkError(f"this motion of {motion.model.name} has no tau, so that forces cannot be plotted.")
    found: dict[str, list[tuple[str, np.ndarray]]] = {}
    for i, label in enumerate(labels(motion.model, what)):
        if pick(label):
            found.setdefault(label.unit, []).append((str(label), values[:, i]))
    return [Panel(what, unit, shown.t, lines) for unit, lines in found.items()]


def _energies(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    return motion.robot.kinetic_energy(motion.q, motion.v), motion.robot.potential_energy(motion.q)


def _energy(motion: Motion, pick) -> list[Panel]:
    kinetic, potential = _energies(motion)
    return [Panel("energy", "J", motion.t, [("kinetic", kinetic), ("potential", potential), ("total", kinetic + potential)])]


def _drift(motion: Motion, pick) -> list[Panel]:
    """The change of the total energy since the start, relative to the largest kinetic energy."""
    kinetic, potential = _energies(motion)
    total = kinetic + potential
    scale = kinetic.max() or 1.0
    return [Panel("energy drift", "", motion.t, [("(E − E₀) / max T", (total - total[0]) / scale)])]


def _momentum(motion: Motion, pick) -> list[Panel]:
    h = motion.robot.centroidal_momentum(motion.q, motion.v)
    return [
        Panel("angular momentum", "N m s", motion.t, [(a, h[:, i]) for i, a in enumerate(XYZ)]),
        Panel("momentum", "N s", motion.t, [(a, h[:, 3 + i]) for i, a in enumerate(XYZ)]),
    ]


def _com(motion: Motion, pick) -> list[Panel]:
    shown = motion.refined(SMOOTH)
    center = shown.robot.center_of_mass(shown.q)
    return [Panel("centre of mass", "m", shown.t, [(a, center[:, i]) for i, a in enumerate(XYZ)])]


def _phases(motion: Motion, pick):
    """(title of x, title of y, lines) for each unit: joints whose velocity is the rate of their coordinate."""
    found: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
    shown = motion.refined(SMOOTH)
    coordinates, velocities = ([(i, x) for i, x in enumerate(labels(motion.model, what)) if x.rate] for what in ("q", "v"))
    for (i, _), (j, label) in zip(coordinates, velocities):
        if pick(label):
            found.setdefault(label.unit, []).append((str(label), shown.q[:, i], shown.v[:, j]))
    if not found:
        raise LinkworkError(f"none of the joints of {motion.model.name} to plot has velocities that are the rates of its coordinates.")
    return [(f"q [{unit.removesuffix('/s')}]", f"v [{unit}]", lines) for unit, lines in found.items()]


PANELS: dict[str, Callable[[Motion, Callable], list[Panel]]] = {
    **{what: partial(_state, what) for what in ("q", "v", "tau")},
    "energy": _energy,
    "drift": _drift,
    "momentum": _momentum,
    "com": _com,
}
