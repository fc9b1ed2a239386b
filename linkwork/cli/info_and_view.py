"""The commands info and view: describe a mechanism, and show it in the browser."""

import os
import sys
import webbrowser
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

import linkwork as lw

from ..errors import listed
from ..model import text
from ..model.contacts import OFF
from ..model.mechanisms import NAMES, SIZED
from ..model.parts import complaints
from ..view.extras import check_pictures
from .app import Options, Trace, app, loaded, out, print_written, read, reads_model

FEW = 8  # notes
LARGE = 200  # velocities; above, the mass matrix is not checked, because it would take too long


@app.command()
@reads_model
def info(
    options: Options,
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help="A file or a built-in name.")] = None,
    notes: Annotated[bool, typer.Option("--notes", help="Print all notes of the reader, not only the first.")] = False,
    tree: Annotated[Path | None, typer.Option(help="Draw the tree as a picture.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the mechanism as a picture.")] = None,
) -> None:
    """Print the tree of a mechanism with joints, coordinates and masses, and the problems found in it.

    Without a MODEL, list the built-in mechanisms.

    [bold]linkwork info humanoid --tree tree.png --picture humanoid.png[/]
    """
    if model is None:
        for name in NAMES:
            summary = text.headline(lw.load(name)).partition(": ")[2]
            out.print(f"[bold]{name:20}[/]{escape(summary)}")
        out.print(f"{', '.join(SIZED)} take a size: {next(iter(SIZED))}:100")
        return
    found, warnings = read(model, options)
    for line in [*str(found).splitlines(), *facts(found)]:
        out.print(escape(line), soft_wrap=True)
    for problem in problems(found, warnings):
        out.print(f"[yellow]problem:[/] {escape(problem)}", soft_wrap=True)
    said = [note for note in found.notes if not note.startswith(OFF)]  # which the tree ends with
    for note in said[: None if notes else FEW]:
        out.print(f"[dim]note:[/] {escape(note)}", soft_wrap=True)
    if not notes and len(said) > FEW:
        out.print(f"[dim]... and {len(said) - FEW} more notes: --notes shows them all[/]")
    check_pictures(tree, picture)
    if tree is not None:
        lw.plot_tree(found, path=tree)
        print_written(tree)
    if picture is not None:
        lw.snapshot(found, path=picture)
        print_written(picture)


def facts(model: lw.Model) -> list[str]:
    """Gravity, frames, loops, couplings and constraints, one per line."""
    lines = [f"gravity: {model.gravity} m/s²"]
    lines += [f"frames: {listed([frame.name for frame in model.frames])}"] * bool(model.frames)
    lines += [f"loop {x.name}: {x.joint.kind} between {x.parent or 'world'} and {x.child}{_unless_active(x)}" for x in model.loops]
    lines += [f"coupling {x.name}: {x.joint} follows {x.of or 'a constant'}{_unless_active(x)}" for x in model.couplings]
    lines += [f"constraint {x.name}: {type(x).__name__} of {listed([*x.bodies, *x.joints]) or 'all'}" for x in model.constraints]
    return [*lines, *touching(model)]


def touching(model: lw.Model) -> list[str]:
    """Collision shapes, ground, contacts and actuators, one line for each kind."""
    kinds = Counter(shape.kind for body in model.bodies for shape in body.collisions)
    lines = [f"collision shapes: {', '.join(f'{n} {kind}' for kind, n in kinds.items())}"] * bool(kinds)
    lines += [f"ground: {', '.join(shape.kind + (f' {shape.name}' if shape.name else '') for shape in model.ground)}"] * bool(model.ground)
    active = [x for x in model.contacts if x.active]
    lines += [f"contacts: {listed([x.name for x in active])}"] * bool(active)
    lines += [f"actuators: {listed([f'{x.name} ({x.kind})' for x in model.actuators])}"] * bool(model.actuators)
    return lines


def _unless_active(x) -> str:
    return "" if x.active else ", not active: its joints are independent"


def problems(model: lw.Model, warnings: list[str]) -> list[str]:
    """Probable mistakes in the model, without repetitions."""
    found = complaints(model.bodies)
    found += [warning for warning in warnings if not any(complaint in warning for complaint in found)]
    if joint := idle(lw.Dynamics(model, compiled=False)):
        why = f'some motion of joint "{joint}" moves no mass'
        found.append(f"the mass matrix is singular: {why}, so that its acceleration is not determined.")
    shapes = [shape for body in model.bodies for shape in body.visuals]
    lost = dict.fromkeys(shape.mesh.rpartition("/")[2] for shape in shapes if shape.mesh and not shape.path)
    if lost:
        which = f'the mesh "{next(iter(lost))}" is' if len(lost) == 1 else f"{len(lost)} meshes ({listed(lost, 3)}) are"
        found.append(f"{which} missing, or outside the file's folder; bodies are drawn without.")
    return found


def idle(robot: lw.Dynamics) -> str | None:
    """The joint with the largest part in a motion without inertia, or None if there is no such motion."""
    if not 0 < robot.nv <= LARGE:
        return None
    M = robot.mass_matrix(robot.random_state(seed=0)[0])
    weight = np.sqrt(np.diag(M))
    if weight.all():
        values, vectors = np.linalg.eigh(M / weight / weight[:, None])
        if values[0] > 1e-12:
            return None
        weight = 1 - np.abs(vectors[:, 0])
    row = int(np.argmin(weight))
    return next(name for name in reversed(robot.joints) if row in range(robot.nv)[robot.v_index(name)])


@app.command()
@reads_model
def view(
    options: Options,
    source: Annotated[str, typer.Argument(metavar="MODEL|RUN", help="A model, or a run saved by simulate --save.")],
    port: Annotated[int, typer.Option(help="The port; if it is taken, the next free one.")] = 8080,
    host: Annotated[str, typer.Option(help="The address; 0.0.0.0 admits other computers.")] = "127.0.0.1",
    trace: Trace = None,
    origins: Annotated[list[str] | None, typer.Option(help="A page of a proxy that may connect; may be repeated.")] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser if there is a screen.")] = True,
    seconds: Annotated[float | None, typer.Option("--for", help="Close after this many seconds.")] = None,
) -> None:
    """Show a mechanism in the browser and move its joints, or play a run.

    [bold]linkwork view panda.urdf[/]

    [bold]linkwork view run.npz --trace end[/]
    """
    shown: Any = lw.Trajectory.load(source) if source.endswith(".npz") else loaded(source, options)
    with lw.view(shown, port=port, host=host, block=False, trace=trace or (), origins=origins or ()) as scene:
        out.print(f"{escape(scene.motion.model.name)} is at [bold]{scene.url}[/]; Ctrl-C ends it.")
        screen = sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)
        if browser and screen:
            webbrowser.open(scene.url)
        scene.wait(seconds)
