"""The application, and the arguments and messages that its commands share."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any
from warnings import catch_warnings, simplefilter

import typer
from rich.console import Console
from rich.markup import escape

import linkwork as lw

from ..errors import LinkworkError, ModelWarning

out, err = Console(highlight=False), Console(stderr=True, highlight=False)

app = typer.Typer(
    name="linkwork",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="MODEL is a file (URDF, SDF, MJCF) or the name of a built-in mechanism: linkwork info lists them.",
)

Source = Annotated[str, typer.Argument(metavar="MODEL", help="A file (URDF, SDF, MJCF) or a built-in name.")]
Trace = Annotated[list[str] | None, typer.Option(help="Draw the path of a body or frame; may be repeated.")]
Options = dict[str, Any]  # of `lw.load`


def option(name: str, kind: Any, flag: str, text: str, metavar: str | None = None) -> Parameter:
    """An option of `lw.load` on the command line."""
    told = Annotated[kind, typer.Option(flag, help=text, metavar=metavar)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=False if kind is bool else None, annotation=told)


LOADING = (
    option("floating", bool, "--floating", "The root has a free joint instead of being fixed to the world."),
    option("package_root", Path | None, "--packages", "Folder for package:// names of meshes."),
    option("meshes_outside", bool, "--meshes-outside", "Meshes may be outside the file's folder."),
    option("loops", Path | None, "--loops", "A YAML file that says which frames coincide."),
    option("mimic", str | None, "--mimic", "<mimic> joints of URDF: free, or couple."),
    option("contacts", str | None, "--contacts", "What may touch: ground, all, or names such as foot,hand:cup.", "WHICH"),
)


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; errors of linkwork and of files are printed without a traceback."""
    try:
        app(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except (LinkworkError, OSError) as error:
        err.print(f"[bold red]error:[/] {escape(_message(error))}", soft_wrap=True)
        return 2
    return 0


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, LinkworkError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


def _version(requested: bool) -> None:
    if requested:
        out.print(f"linkwork {lw.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Multibody dynamics: inspect a mechanism, simulate it, view it, export it.

    [bold]linkwork info panda.urdf[/]

    [bold]linkwork simulate double_pendulum --set joint1=2 --until 10 --plot run.png --html run.html[/]

    [bold]linkwork view humanoid[/]
    """


def reads_model(command: Callable) -> Callable:
    """The command with the options of `lw.load` behind its own; it takes them together, as its first argument."""

    @wraps(command)
    def run(**values):
        return command({x.name: values.pop(x.name) for x in LOADING}, **values)

    _, *own = signature(command, eval_str=True).parameters.values()
    run.__signature__ = Signature([*own, *LOADING])  # type: ignore[attr-defined]
    return run


def loaded(source: str, options: Options) -> lw.Model:
    """The model of this name; its warnings are printed."""
    model, warnings = read(source, options)
    for warning in warnings:
        print_warning(warning)
    return model


def read(source: str, options: Options) -> tuple[lw.Model, list[str]]:
    """The model of this name, and its warnings; options are those of `lw.load`, contacts as --contacts has them."""
    if options["contacts"] not in (None, "ground", "all"):
        names = [tuple(x.split(":")) if ":" in x else x for x in options["contacts"].split(",")]
        options = options | {"contacts": names}
    with catch_warnings(record=True) as caught:
        simplefilter("always", ModelWarning)
        model = lw.load(source, **options)
    return model, [str(warning.message) for warning in caught]


def print_warning(sentence: str) -> None:
    err.print(f"[yellow]warning:[/] {escape(sentence)}", soft_wrap=True)


def print_written(path: Path) -> None:
    out.print(f"wrote {escape(str(path))}", soft_wrap=True)
