"""The command warm: kernels are compiled and kept on disk, so that no program has to wait for them."""

import inspect
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

import linkwork as lw

from ..engine import cache
from ..errors import LinkworkError
from ..quantities import ARRAYS, QUANTITIES
from ..quantities.declaration import declared_as
from .app import Floating, Source, app, loaded, out, read

USUAL = "forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", "gravity_force", "poses"
DERIVATIVES = "forward_dynamics_derivatives", "inverse_dynamics_derivatives"
RUN = "simulate"


@app.command()
def warm(
    model: Source,
    quantity: Annotated[
        list[str] | None, typer.Option("--quantity", "-q", help="forward_dynamics ..., pose:BODY, jacobian:BODY:world; may be repeated.")
    ] = None,
    derivatives: Annotated[bool, typer.Option("--derivatives", help="Derivatives of forward and inverse dynamics too.")] = False,
    simulate: Annotated[bool, typer.Option("--simulate", help="What lw.simulate needs, with its usual method, too.")] = False,
    floating: Floating = False,
    single: Annotated[bool, typer.Option("--float32", help="For float32 too.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes that compile at the same time; 0 is one for each processor.", min=0)] = 0,
) -> None:
    """Compile the kernels of a mechanism and keep them on disk, so that programs that load it need not wait.

    [bold]linkwork warm panda.urdf --derivatives[/]

    [bold]linkwork warm panda.urdf -q forward_dynamics -q jacobian:panda_hand:world --float32[/]
    """
    if cache.folder() is None:
        raise LinkworkError("there is no folder to keep compiled code in; set LINKWORK_CACHE_DIR to one that you own and may write to.")
    robot = lw.Dynamics(loaded(model, floating=floating))
    if not robot.nv:
        raise LinkworkError(f"{robot.model.name} has no joint that moves.")
    names = [*(quantity or USUAL), *(DERIVATIVES if derivatives else ()), *([RUN] if simulate else ())]
    todo = [(name, kind) for name in dict.fromkeys(names) for kind in ("float64", "float32")[: 1 + (single and name != RUN)]]
    for name, _ in todo:
        if name != RUN:
            declared_as(robot.model, name.partition(":")[0])
    table = Table("kernel", "dtype", "s", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for (name, kind), taken in zip(todo, filled(model, floating, todo, jobs or os.cpu_count() or 1)):
        table.add_row(escape(name), kind, f"{taken:.2f}")
    out.print(table)
    kept = cache.contents()
    out.print(f"{len(kept)} kernels, {sum(x['bytes'] for x in kept) / 1e6:.1f} MB, in {escape(str(cache.folder()))}", soft_wrap=True)


def filled(source: str, floating: bool, todo: list[tuple[str, str]], jobs: int) -> list[float]:
    """Seconds that each took, in processes of their own: compiling holds locks within one."""
    if jobs == 1 or len(todo) == 1:
        return [fill(source, floating, *what) for what in todo]
    with ProcessPoolExecutor(min(jobs, len(todo)), get_context("spawn")) as pool:
        return list(pool.map(fill, *zip(*((source, floating, *what) for what in todo))))


def fill(source: str, floating: bool, name: str, kind: str) -> float:
    """Call a method once, as a program would, and return the seconds it took."""
    robot = lw.Dynamics(read(source, floating=floating)[0])
    start, q, v = perf_counter(), robot.neutral(), np.zeros(robot.nv)
    if robot.constraints is not None:
        q, v = robot.constraints.project(robot.assemble(q), v)
    if name == RUN:
        lw.simulate(robot, (q, v), until=1e-3, progress=False)
        return perf_counter() - start
    name, *options = name.split(":")
    method = getattr(robot, name, None)
    if method is None:
        raise LinkworkError(f"{name} is no method of Dynamics; it has no kernel of its own.")
    state = {"q": q, "v": v}
    given = [state.get(x, np.zeros(robot.lowered.shape(ARRAYS[x]))).astype(kind) for x in QUANTITIES[name].inputs]
    when = {"t": 0.0} if "t" in inspect.signature(method).parameters else {}
    method(*given, *options, **when)
    return perf_counter() - start
