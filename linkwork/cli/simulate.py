"""The command simulate: integrate the motion of a mechanism."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

import linkwork as lw

from ..errors import LinkworkError, listed
from ..model.contacts import contacts_off
from ..view.extras import check_pictures
from ..view.picture import MOVIES
from .app import Options, Source, Trace, app, loaded, out, print_warning, print_written, reads_model


@app.command()
@reads_model
def simulate(
    options: Options,
    model: Source,
    until: Annotated[float, typer.Option(help="The end time in seconds.")] = 5.0,
    method: Annotated[str, typer.Option(help="rk45, dop853, stiff, rosenbrock; with --dt also rk4, euler, midpoint, contact.")] = "rk45",
    dt: Annotated[float | None, typer.Option(help="Step of a fixed-step method, or spacing of stored samples.")] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance of an adaptive method.")] = 1e-8,
    start: Annotated[str, typer.Option(help="The initial state: neutral, random or random:SEED.")] = "neutral",
    coordinates: Annotated[list[str] | None, typer.Option("--set", metavar="JOINT=Q", help="Coordinates of a joint.")] = None,
    speeds: Annotated[list[str] | None, typer.Option("--speed", metavar="JOINT=V", help="Velocities of a joint.")] = None,
    limits: Annotated[bool, typer.Option("--limits", help="Joints strike their limits.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Plot q, v and energy: .png, .pdf, .svg.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the run: .npz.")] = None,
    html: Annotated[Path | None, typer.Option(help="A page that plays the run, with no server.")] = None,
    movie: Annotated[Path | None, typer.Option(help="A movie of the run: .gif, .mp4.")] = None,
    trace: Trace = None,
) -> None:
    """Simulate a mechanism under gravity and the springs, damping and friction of its joints.

    [bold]linkwork simulate double_pendulum --set joint1=2 --until 10 --plot run.png[/]

    [bold]linkwork simulate panda.urdf --start random:1 --save run.npz --html run.html[/]

    [bold]linkwork simulate go2.xml --contacts ground --limits --method contact --dt 0.002 --html run.html[/]

    [bold]linkwork simulate strandbeest --speed crank_joint=-3 --until 2 --trace foot --movie leg.gif[/]

    [bold]linkwork simulate chain:20 --set joint1=1.5 --method midpoint --dt 0.001 --movie run.gif[/]
    """
    for path in (plot, save, html, movie):
        if path is not None and not path.parent.is_dir():  # checked before a long run
            raise LinkworkError(f'there is no folder "{path.parent}" for {path.name}.')
    check_pictures(plot)
    for path, endings in ((save, (".npz",)), (html, (".html", ".htm")), (movie, MOVIES)):
        if path is not None and path.suffix.lower() not in endings:
            raise LinkworkError(f'"{path.name}" has the ending "{path.suffix}"; it may be {", ".join(endings)}.')
    robot = lw.Dynamics(loaded(model, options))
    for sentence in contacts_off(robot.model):
        print_warning(sentence)
    loose = [x.name for x in robot.model.loops if not x.active] + [x.name for x in robot.model.couplings if not x.active]
    if loose:
        print_warning(f"these loops and couplings are not active and left open: {listed(loose)}.")
    q, v = state(robot, start, coordinates or [], speeds or [])
    if robot.constraints is not None:
        placed, moving = ([pair.rpartition("=")[0] for pair in pairs or ()] for pairs in (coordinates, speeds))
        q = robot.assemble(q, hold=placed)
        q, v = robot.constraints.project(q, v, hold=moving)
    before = perf_counter()
    run = lw.simulate(robot, (q, v), until=until, method=method, dt=dt, rtol=rtol, atol=1e-3 * rtol, limits=limits)
    report(run, perf_counter() - before)
    writers: list[tuple[Path | None, Callable]] = [
        (save, lambda path: run.save(path)),
        (plot, lambda path: lw.plot(run, "q", "v", "energy", path=path)),
        (html, lambda path: lw.record(run, path, trace=trace or ())),
        (movie, lambda path: lw.movie(run, path, trace=trace or ())),
    ]
    for path, write in writers:
        if path is not None:
            write(path)
            print_written(path)
    if run.status == "failed":
        raise typer.Exit(1)


def report(run: lw.Trajectory, seconds: float) -> None:
    """Print the end time, the cost, the status and the error of the energy."""
    name, E = escape(run.robot.model.name), run.energy
    out.print(f"[bold]{name}[/] to t = {run.t[-1]:.6g} s in {seconds:.2f} s: {run.steps} steps, {len(run)} rows")
    if run.status != "finished":
        print_warning(f"{run.status}: {run.message}")
    if not np.abs(run.v).max(initial=0.0) > 1e-9:
        print_warning("nothing moved: the run started in equilibrium. Try --set JOINT=Q or --start random.")
    off = np.abs(E - E[0]).max()
    acting = np.abs(run.robot.passive_force(run.q, run.v)).max(initial=0.0) > 0
    why = "; damping, friction or springs act" if acting else ""
    out.print(f"energy: {E[0]:.6g} J at first, {E[-1]:.6g} J at the end, off by up to {off:.2g} J{why}", soft_wrap=True)


def state(robot: lw.Dynamics, start: str, coordinates: list[str], speeds: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The initial state: neutral or random, with the given coordinates and velocities of some joints."""
    kind, _, seed = start.partition(":")
    if kind not in ("neutral", "random") or (seed and not seed.isdecimal()):
        raise LinkworkError(f'--start is "{start}"; it must be neutral, random or random:SEED, the seed a whole number.')
    q, v = robot.neutral(), np.zeros(robot.nv)
    if kind == "random":
        q, v = robot.random_state(seed=int(seed or 0))
    for option, pairs, x, rows in (("--set", coordinates, q, robot.q_index), ("--speed", speeds, v, robot.v_index)):
        for pair in pairs:
            name, _, numbers = pair.rpartition("=")
            entries = rows(name)
            try:
                x[entries] = np.array(numbers.split(","), float).reshape(entries.stop - entries.start)
            except ValueError:
                takes = "one number" if len(x[entries]) == 1 else f"{len(x[entries])} numbers separated by commas"
                raise LinkworkError(f'{option} {pair}: joint "{name}" takes {takes}.') from None
    return q, v
