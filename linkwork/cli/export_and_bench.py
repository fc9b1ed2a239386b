"""The commands convert, export-c, bench and cache: files for other programs, and the cost of the kernels."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import linkwork as lw

from ..engine.loading import cache as kernels
from ..errors import LinkworkError
from .app import Options, Source, app, loaded, out, print_written, reads_model

BENCHED = {"forward_dynamics": "qvv", "inverse_dynamics": "qvv", "mass_matrix": "q", "bias": "qv", "poses": "q"}
LEAST = 0.25  # seconds that each measurement lasts

cache = typer.Typer(help="List the compiled kernels on disk, or delete them.", invoke_without_command=True)
app.add_typer(cache, name="cache")


@app.command()
@reads_model
def convert(
    options: Options,
    model: Source,
    path: Annotated[Path, typer.Argument(help="The file to write: .json or .yaml, which hold everything, or .urdf.")],
    lossy: Annotated[bool, typer.Option("--lossy", help="Leave out what URDF cannot hold.")] = False,
) -> None:
    """Write a mechanism to another file; it loads back to the same mechanism.

    [bold]linkwork convert cassie.xml cassie.json[/]

    [bold]linkwork convert go2.xml go2.urdf --lossy[/]
    """
    lw.save(loaded(model, options), path, lossy=lossy)
    print_written(path)


@app.command("export-c")
@reads_model
def export_c(
    options: Options,
    model: Source,
    quantity: Annotated[str, typer.Argument(help="forward_dynamics, mass_matrix ..., pose:BODY, jacobian:BODY.")],
    path: Annotated[Path, typer.Argument(help="The .c file to write, or a folder.")],
    single: Annotated[bool, typer.Option("--float32", help="In float32 instead of float64.")] = False,
) -> None:
    """Write a quantity as a C file and a header that need only math.h.

    [bold]linkwork export-c panda.urdf forward_dynamics panda_fd.c[/]

    [bold]linkwork export-c panda.urdf jacobian:panda_hand hand.c --float32[/]
    """
    what = tuple(quantity.split(":"))
    what = (*what, "body") if what[0] == "jacobian" and len(what) == 2 else what
    robot = lw.Dynamics(loaded(model, options))
    for made in robot.export.c(what if len(what) > 1 else what[0], path, "float32" if single else "float64"):
        print_written(made)


@app.command()
@reads_model
def bench(
    options: Options,
    model: Source,
    batch: Annotated[int, typer.Option(help="The number of states in a batch.", min=1)] = 4096,
    method: Annotated[list[str] | None, typer.Option(help="The method to measure; may be repeated.")] = None,
) -> None:
    """Measure the dynamics of a mechanism on this computer: the first call, one call, and a batch.

    [bold]linkwork bench panda.urdf --batch 10000[/]
    """
    robot = lw.Dynamics(loaded(model, options))
    if not robot.nv:
        raise LinkworkError(f"{robot.model.name} has no joint that moves.")
    columns = ("method", "first call [ms]", "one call [µs]", f"each of {batch} [µs]", "million/s")
    table = Table(*map(escape, columns), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in method or BENCHED:
        table.add_row(name, *timed(robot, name, batch))
    out.print(table)


def timed(robot: lw.Dynamics, name: str, batch: int) -> list[str]:
    """Milliseconds of the first call, microseconds of one call and of each sample of a batch, millions of samples a second."""
    if name not in BENCHED:
        raise LinkworkError(f'--method is "{name}"; it may be {", ".join(BENCHED)}.')
    method = getattr(robot, name)
    states = dict(zip("qv", robot.random_state((batch,), seed=0)))
    many = [states[x] for x in BENCHED[name]]
    one = [x[0] for x in many]
    before = perf_counter()
    method(*one)
    first = perf_counter() - before
    room = method(*many)
    single, each = best(lambda: method(*one)), best(lambda: method(*many, out=room)) / batch
    return [f"{1e3 * first:.0f}", f"{1e6 * single:.2f}", f"{1e6 * each:.3f}", f"{1e-6 / each:.3g}"]


def best(call) -> float:
    """The time of the fastest of many calls, in seconds."""
    times, start = [], perf_counter()
    while perf_counter() - start < LEAST:
        before = perf_counter()
        call()
        times.append(perf_counter() - before)
    return min(times)


@cache.callback()
def show(context: typer.Context) -> None:
    """List the compiled kernels on disk, or delete them."""
    if context.invoked_subcommand:
        return
    entries = kernels.contents()
    sizes: dict[tuple[str, str], list[int]] = {}
    for entry in entries:
        sizes.setdefault((entry["name"], entry.get("dtype", "")), []).append(entry["bytes"])
    if entries:
        table = Table("kernel", "dtype", "how many", "kB", box=None, pad_edge=False)
        for (name, dtype), each in sorted(sizes.items()):
            table.add_row(escape(name), dtype, str(len(each)), f"{sum(each) / 1e3:.0f}")
        out.print(table)
    place = kernels.folder() or "no folder: they are compiled again in each process"
    total = sum(entry["bytes"] for entry in entries) / 1e6
    out.print(f"{len(entries)} kernels, {total:.1f} MB, in {escape(str(place))}", soft_wrap=True)


@cache.command()
def clear() -> None:
    """Delete all compiled kernels; they are compiled again when needed."""
    out.print(f"removed {kernels.clear()} files from {escape(str(kernels.folder()))}", soft_wrap=True)
