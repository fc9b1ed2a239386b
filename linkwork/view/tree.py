"""A picture of the tree of a mechanism: bodies as dots sized by mass, joints as the lines between them."""

from os import PathLike

from ..errors import LinkworkError
from ..model import Model
from ..model.check import depth_first
from .extras import check_pictures, figure, plain
from .motion import Motion
from .scene import PALETTE

ROW, COLUMN = 0.36, 1.9  # inches
LIMIT = 200  # bodies; a picture with more would not be legible
WORLD = (-1, 0)
LOOP = {
    "arrowstyle": "-",
    "color": (0.8, 0.25, 0.2),
    "linestyle": "--",
    "connectionstyle": "arc3,rad=0.15",
}


def plot_tree(model, *, path: str | PathLike | None = None):
    """Draw the tree of a mechanism, base on the left, tips on the right, welds dotted, loops dashed.

    Returns the figure; with a path it is also written.
    """
    model = Motion.of(model).model
    if len(model.bodies) > LIMIT:
        raise LinkworkError(f"{model.name} has {len(model.bodies)} bodies; a picture of its tree has room for {LIMIT}.")
    check_pictures(path)
    place = _places(model)
    columns, rows = (max((xy[i] for xy in place.values()), default=0) + 2 for i in (0, 1))
    drawing = figure(figsize=(COLUMN * columns + 0.4, max(ROW * rows + 0.5, 1.6)), layout="constrained")
    axes = drawing.add_subplot(xlim=(-1.15, columns - 1), ylim=(rows - 1.2, -0.8))
    axes.set_axis_off()
    axes.scatter(*WORLD, marker="s", s=60, color="0.3", zorder=3)
    _write(axes, "world", WORLD, (0, 7), ha="center", fontsize=8, color="0.3")
    heaviest = max((body.mass for body in model.bodies), default=0.0) or 1.0
    color = {name: PALETTE[i % len(PALETTE)] for i, branch in enumerate(model.branches()) for name in branch}
    for placed, body in zip(model.joints, model.bodies):
        _joint(axes, placed, place[placed.parent], place[body.name])
        size = 20 + 180 * body.mass / heaviest
        axes.scatter(*place[body.name], s=size, color=[color[body.name]], zorder=3)
        _write(axes, body.name, place[body.name], (6, 4), fontsize=7.5)
    for loop in model.loops:
        axes.annotate("", place[loop.parent], place[loop.child], arrowprops=LOOP, zorder=2)
    freedom = sum(placed.joint.nv for placed in model.joints)
    title = f"{plain(model.name)}: {len(model.bodies)} bodies, {freedom} degrees of freedom, {model.mass:.4g} kg"
    axes.set_title(title, fontsize=9, loc="left")
    if path is not None:
        drawing.savefig(path, dpi=150)
    return drawing


def _joint(axes, placed, inboard: tuple[int, int], outboard: tuple[int, int]) -> None:
    """Draw a line with a bend near the inboard body, and the name of the joint unless it is a weld."""
    (a, b), (x, y), moves = inboard, outboard, placed.joint.nv > 0
    bend, style = a + 0.12, {"color": "0.45" if moves else "0.75", "linestyle": "-" if moves else ":"}
    axes.plot([a, bend, bend, x], [b, b, y, y], linewidth=1.2, zorder=1, **style)
    if moves:
        label = f"{placed.name}: {placed.joint.kind}"
        _write(axes, label, outboard, (-8, -3), fontsize=5.5, color="0.35", ha="right", va="top")


def _write(axes, text: str, at: tuple[int, int], points: tuple[int, int], **style) -> None:
    axes.annotate(plain(text), at, points, textcoords="offset points", **style)


def _places(model: Model) -> dict[str | None, tuple[int, int]]:
    """Column and row of each body and the world (None): the column is its depth, and each tip has its own row."""
    place: dict[str | None, tuple[int, int]] = {None: WORLD}
    used: set[str | None] = set()
    row = 0
    for placed in depth_first(model.joints):
        row += placed.parent in used  # the first one goes straight on
        used.add(placed.parent)
        place[placed.child] = place[placed.parent][0] + 1, row
    return place
