"""The pages say what the code has: options and their defaults, extras, commands, and names of things."""

import ast
import inspect
import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import flexible
from linkwork.quantities import QUANTITIES

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
CLASSES = {"ContactLaw": lw.ContactLaw, "Save": lw.Save, "Event": lw.Event, "Material": lw.Material}
MORE = {"beam": flexible.beam, "reduced": flexible.reduced, "of_matrices": flexible.of_matrices}
TOLD_ELSEWHERE = {"iterate": "most", "symbolic": "names"}  # in prose, of one option each
NOT_OPTIONS = {"K", "M", "positions", "d", "inertias", "name"}  # of `reduced`, which other functions call


def callables():
    """Every public function, and the classes that are made of options."""
    functions = {name: getattr(lw, name) for name in lw.__all__ if inspect.isfunction(getattr(lw, name))}
    return functions | CLASSES | MORE


def options(function) -> dict:
    """Name and default of every argument that has one, or is given by its name alone."""
    arguments = inspect.signature(function).parameters.values()
    named = [x for x in arguments if x.kind is x.KEYWORD_ONLY or (x.kind is x.POSITIONAL_OR_KEYWORD and x.default is not x.empty)]
    return {x.name: x.default for x in named if function is not flexible.reduced or x.name not in NOT_OPTIONS}


@cache
def tables():
    """(functions, are the values defaults?, {option: texts}) of each table of options."""
    found = []
    for page in PAGES.values():
        for head, body in re.findall(r"^\| (options(?: and defaults)? of [^|\n]*) \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.MULTILINE):
            rows = [re.findall(r"`([^`]+)`", line.split(" | ")[0]) for line in body.splitlines()]
            cells = [text.partition("=") for row in rows for text in row]
            found.append((re.findall(r"`(\w+)`", head), "defaults" in head, [(name, value) for name, _, value in cells]))
    return found


@pytest.mark.parametrize("name", [name for name, x in callables().items() if options(x) and name not in TOLD_ELSEWHERE])
def test_every_option_of_a_public_function_stands_in_the_table_of_its_page(name):
    told = {option for names, _, cells in tables() if name in names for option, _ in cells}
    missing = [x for x in options(callables()[name]) if x not in told]
    assert not missing, f"no row for {missing} in a table with the head | options of `{name}` | of docs/"


def test_every_row_of_a_table_of_options_is_an_option_of_one_of_its_functions():
    for names, _, cells in tables():
        known = {x for name in names for x in [*inspect.signature(callables()[name]).parameters]}
        assert not {option for option, _ in cells} - known, names


def test_the_defaults_that_tables_tell_are_those_of_the_functions():
    for names, defaults, cells in tables():
        for option, value in cells if defaults else ():
            actual = [options(callables()[name])[option] for name in names if option in options(callables()[name])]
            assert not value or ast.literal_eval(value) in actual, f"{option}={value} of {names}; it is {actual}"


def test_every_extra_stands_in_the_install_table_and_says_whether_all_has_it():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (together,) = extras.pop("all")
    parts = set(re.findall(r"[\w-]+", together.partition("[")[2]))
    rows = [[x.strip() for x in line.split("|")[1:-1]] for line in PAGES["docs/index.md"].splitlines() if line.startswith("| `")]
    told = {name: row for row in rows if len(row) == 4 for name in re.findall(r"`([\w-]+)`", row[0])}
    assert told.keys() == extras.keys()
    for name, (_, brings, _, in_all) in told.items():
        assert in_all == ("yes" if name in parts else "no")
        packages = {re.split(r"[>=<\[]", x)[0] for x in extras[name]}
        assert set(re.findall(r"[\w-]+", brings)) <= packages | {"cupy"}, name


def test_every_option_of_the_command_line_stands_in_its_table():
    typer = pytest.importorskip("typer")
    from linkwork.cli import app

    commands, known = [typer.main.get_command(app)], set()
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        known |= {x for p in command.params if p.param_type_name == "option" for x in (*p.opts, *p.secondary_opts)}
    told = set(re.findall(r"`(-[\w-]+)", "\n".join(x for x in PAGES["docs/command-line.md"].splitlines() if x.startswith("|"))))
    assert told == known - {"--help"}


def test_every_name_of_the_library_in_the_pages_exists():
    """`lw.x.y`, `linkwork.x.y`, `robot.x`, and files of the repository."""
    own = {"lw": lw, "linkwork": lw, "robot": lw.Dynamics(lw.load("four_bar"), compiled=False)}
    missing = set()
    for page, text in PAGES.items():
        for chain in re.findall(r"(?<![\w.$/-])((?:lw|linkwork|robot)(?:\.[A-Za-z_]\w*)+)", without_blocks(text)):
            root, *rest = chain.split(".")
            if not exists(own[root], rest):
                missing.add(f"{page}: {chain}")
        for path in re.findall(r"`((?:linkwork|examples|tests|benchmarks|tools|docs)/[\w./-]+)`", text):
            if not (ROOT / path).exists():
                missing.add(f"{page}: {path}")
    assert not missing


def without_blocks(text):
    """A page without its blocks, which run by themselves, and with the code of its sentences."""
    return " ".join(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)))


ENDINGS = "urdf", "json", "yaml", "npz", "png", "sdf", "xml", "mjcf", "html", "pdf", "csv", "gif"


def exists(thing, names) -> bool:
    """Does this chain of attributes lead somewhere? What a property or a call returns ends it, as do names of files, "robot.urdf"."""
    for name in names:
        if name in ENDINGS or inspect.isfunction(thing) or inspect.ismethod(thing):
            return True
        try:
            thing = getattr(thing, name) if hasattr(thing, name) else import_module(f"{thing.__name__}.{name}")
        except lw.LinkworkError:  # this robot has none
            return True
        except (ImportError, AttributeError):
            return False
    return True


@pytest.mark.slow
def test_the_quantities_that_refuse_flexible_bodies_are_those_that_the_page_names():
    bar = lw.FlexibleBody.beam(1.0, {"EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}, elements=4, directions="y", count=1)
    b = lw.Builder("craft").body("hub", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1)).flexible("bar", bar, "hub", joint=lw.Revolute())
    robot = lw.Dynamics(b.model(), compiled=False)
    sizes = {"q": robot.nq, "q0": robot.nq, "q1": robot.nq, "momentum": 6}
    refused = set()
    for quantity in (x for x in QUANTITIES.values() if x.decided_by and not x.name.startswith("contact_")):
        arrays = [np.eye(sizes.get(x, robot.nv))[3] if x != "external" else np.zeros((len(robot.bodies), 6)) for x in quantity.inputs]
        wanted = [] if quantity.options is None else [x for x in list(inspect.signature(quantity.options).parameters.values())[1:]]
        values = {"axes": "world", "form": "eta"}
        try:
            robot.ask((quantity.name, *(values.get(x.name, "hub") for x in wanted)) if wanted else quantity.name, *arrays)
        except lw.ModelError as error:
            assert "flexible" in str(error), quantity.name
            refused.add(quantity.name)
    sentence = PAGES["docs/flexible.md"].partition("but three know flexible bodies")[2].partition("refuse them")[0]
    assert refused == set(re.findall(r"`(\w+)`", sentence))
