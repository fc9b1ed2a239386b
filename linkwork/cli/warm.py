"""The command warm: kernels are compiled and kept on disk, so that no program has to wait for them."""

import inspect
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

import linkwork as lw

from ..engine.loading import cache
from ..errors import LinkworkError, SimulationError
from ..quantities import ARRAYS
from ..quantities.declaration import declared_as
from .app import Options, Source, app, loaded, out, read, reads_model

USUAL = "forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", "gravity_force", "poses"
DERIVATIVES = "forward_dynamics_derivatives", "inverse_dynamics_derivatives"
LENGTH = 1e-3  # seconds of a run


def _simulated(robot: lw.Dynamics, q, v) -> None:
    """With the motion within steps, and without."""
    lw.simulate(robot, (q, v), until=LENGTH, progress=False)
    lw.simulate(robot, (q, v), until=LENGTH, progress=False, save=lw.Save(dense=False))


def _ensemble(robot: lw.Dynamics, q, v) -> None:
    """Ends alone, rows at all steps, rows at multiples of dt."""
    for how in ({"save": lw.Save(at="last")}, {"save": lw.Save(at="steps")}, {"dt": LENGTH}):
        lw.simulate(robot, (q[None], v[None]), until=LENGTH, progress=False, **how)


def _rolled_out(robot: lw.Dynamics, q, v) -> None:
    """Without forces, with one for each step, by both methods."""
    for method in ("euler", "rk4"):
        for controls in (None, np.zeros((2, robot.nv))):
            lw.rollout(robot, q, v, controls, dt=LENGTH, steps=2, method=method)


SIMULATE = {
    "simulate": _simulated,
    "simulate:dop853": lambda robot, q, v: lw.simulate(robot, (q, v), until=LENGTH, progress=False, method="dop853"),
    "simulate:stiff": lambda robot, q, v: lw.simulate(robot, (q, v), until=LENGTH, progress=False, method="stiff"),
    "ensemble": _ensemble,
}
ROLLOUT = {"rollout": _rolled_out}
LINEARIZE = {"linearize": lambda robot, q, v: robot.linearize(q, v, np.zeros(robot.nv))}
RUNS: dict[str, Callable] = SIMULATE | ROLLOUT | LINEARIZE  # what has kernels of its own besides the quantities


@app.command()
@reads_model
def warm(
    options: Options,
    model: Source,
    quantity: Annotated[
        list[str] | None, typer.Option("--quantity", "-q", help="forward_dynamics ..., pose:BODY, jacobian:BODY:world; may be repeated.")
    ] = None,
    derivatives: Annotated[bool, typer.Option("--derivatives", help="Derivatives of dynamics, and linearize, too.")] = False,
    simulate: Annotated[bool, typer.Option("--simulate", help="What lw.simulate needs, of one state and of many, too.")] = False,
    rollout: Annotated[bool, typer.Option("--rollout", help="What lw.rollout needs, too.")] = False,
    single: Annotated[bool, typer.Option("--float32", help="For float32 too.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes that compile at the same time; 0 is one for each processor.", min=0)] = 0,
) -> None:
    """Compile the kernels of a mechanism and keep them on disk, so that programs that load it need not wait.

    [bold]linkwork warm panda.urdf --derivatives[/]

    [bold]linkwork warm panda.urdf -q forward_dynamics -q jacobian:panda_hand:world --float32[/]
    """
    if cache.folder() is None:
        raise LinkworkError("there is no folder to keep compiled code in; set LINKWORK_CACHE_DIR to one that you own and may write to.")
    robot = lw.Dynamics(loaded(model, options))
    if not robot.nv:
        raise LinkworkError(f"{robot.model.name} has no joint that moves.")
    names = [*(quantity or USUAL), *([*DERIVATIVES, *LINEARIZE] if derivatives else ())]
    names += [*(SIMULATE if simulate else ()), *(ROLLOUT if rollout else ())]
    todo = [(name, kind) for name in dict.fromkeys(names) for kind in ("float64", "float32")[: 1 + (single and name not in RUNS)]]
    for name, _ in todo:
        if name not in RUNS:
            bound(robot, name)
    table = Table("kernel", "dtype", "s", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for (name, kind), taken in zip(todo, filled(model, options, todo, jobs or os.cpu_count() or 1)):
        table.add_row(escape(name), kind, f"{taken:.2f}")
    out.print(table)
    kept = cache.contents()
    out.print(f"{len(kept)} kernels, {sum(x['bytes'] for x in kept) / 1e6:.1f} MB, in {escape(str(cache.folder()))}", soft_wrap=True)


def filled(source: str, options: Options, todo: list[tuple[str, str]], jobs: int) -> list[float]:
    """Seconds that each took, in processes of their own: compiling holds locks within one."""
    if jobs == 1 or len(todo) == 1:
        return [fill(source, options, *what) for what in todo]
    with ProcessPoolExecutor(min(jobs, len(todo)), get_context("spawn")) as pool:
        return list(pool.map(fill, *zip(*((source, options, *what) for what in todo))))


def fill(source: str, options: Options, name: str, kind: str) -> float:
    """Call a method once, as a program would, and return the seconds it took."""
    robot = lw.Dynamics(read(source, options)[0])
    start, q, v = perf_counter(), robot.neutral(), np.zeros(robot.nv)
    if robot.constraints is not None:
        q, v = robot.constraints.project(robot.assemble(q), v)
    if name in RUNS:
        with suppress(SimulationError):  # what this mechanism has not, such as ensembles of one that is rolled
            RUNS[name](robot, q, v)
        return perf_counter() - start
    method, inputs, extras = bound(robot, name)
    state = {"q": q, "v": v}
    arrays = [state.get(x, np.zeros(robot.lowered.shape(ARRAYS[x]))).astype(kind) for x in inputs]
    method(*arrays, *extras, **({"t": 0.0} if "t" in inspect.signature(method).parameters else {}))
    return perf_counter() - start


def bound(robot: lw.Dynamics, said: str) -> tuple[Callable, tuple[str, ...], list[str]]:
    """(method, its arrays, its options) of a quantity as the command line says it, "jacobian:hand:world"."""
    name, *options = said.split(":")
    inputs, method = declared_as(robot.model, name).inputs, getattr(robot, name, None)
    if method is None:
        raise LinkworkError(f"{name} is no method of Dynamics; it has no kernel of its own.")
    signature = inspect.signature(method)
    try:
        signature.bind(*inputs, *options)
    except TypeError:
        takes = [x for x, p in signature.parameters.items() if x not in (*inputs, "t", "out") and p.kind is not p.KEYWORD_ONLY]
        form = ":".join([name, *(x.upper() for x in takes)])
        raise LinkworkError(f"-q {said}: besides arrays {name} takes {', '.join(takes) or 'nothing'}. Write -q {form}.") from None
    return method, inputs, options
