"""A robot's quantities for other programs: as a C file, as SymPy expressions, as the list of their operations."""

import re
from collections.abc import Mapping
from inspect import signature
from math import inf
from pathlib import Path
from typing import Any

from .engine.tracing.program import Program, record
from .engine.writers import c, casadi, symbols
from .errors import OptionError, writing
from .kernels import RobotKernel
from .quantities import QUANTITIES, Given
from .quantities.options import hashable


def program(robot, what) -> Program:
    """The operations of one quantity: a name, or a name and options, such as ("jacobian", "hand", "body")."""
    if isinstance(what, RobotKernel):
        if what.robot.model != robot.model:
            raise OptionError(f"{what!r} is not a kernel of {robot.model.name}; ask the robot that made it.")
        made: Any = what.program  # straight-line always
        return made
    if not isinstance(what, (str, tuple, list)):
        raise OptionError(f"{what!r} is not a quantity; give its name, (name, options...), or a kernel made with robot.kernel.")
    bound = robot.quantity(asked(robot, what))
    said = [what] if isinstance(what, str) else [x.name if isinstance(x, Given) else x for x in what]
    return record("_".join(x if isinstance(x, str) else str(x[0]) for x in said), bound.function, bound.inputs)


def asked(robot, what) -> tuple:
    """The name of a quantity and its options, which must be as many as it takes."""
    name, *options = [what] if isinstance(what, str) else list(what)
    if name in QUANTITIES:
        declared, rest = QUANTITIES[name], [x for x in options if not QUANTITIES[name].is_given(robot.model, x)]
        wanted = () if declared.options is None else tuple(signature(declared.options).parameters.values())[1:]
        least = sum(x.default is x.empty and x.kind is not x.VAR_POSITIONAL for x in wanted)
        most = inf if any(x.kind is x.VAR_POSITIONAL for x in wanted) else len(wanted)
        if not least <= len(rest) <= most:
            raise OptionError(f"{what!r} is not a quantity; ask for ({', '.join(map(repr, (name, *(x.name for x in wanted))))}).")
    return name, *map(hashable_option, options)


def hashable_option(x):
    return x if isinstance(x, (str, Given)) else hashable(x)


class Export:
    """Files of a robot's quantities for other programs."""

    def __init__(self, robot):
        self.robot = robot

    def c(self, what, path, dtype: str = "float64") -> tuple[Path, Path]:
        """A method, or a kernel, as self-contained C99 for a controller: writes the .c and .h file and returns their paths.

        `path` names either of them, with or without its ending, or the folder to write them to.
        """
        if dtype not in c.TYPES:
            raise OptionError(f'dtype is "{dtype}"; it may be {" or ".join(map(repr, c.TYPES))}.')
        operations = program(self.robot, what)
        name = c.identifier(f"{self.robot.model.name}_{operations.name}")
        path = Path(path)
        path = path / name if path.is_dir() else path.with_suffix("") if path.suffix in (".c", ".h") else path
        files = path.with_name(f"{path.name}.c"), path.with_name(f"{path.name}.h")
        said = notes(self.robot, operations, dtype)
        for file, text in zip(files, (c.source(operations, name, dtype, files[1].name, said), c.header(operations, name, dtype, said))):
            with writing(file):
                file.write_text(text, "ascii")
        return files

    def casadi(self, what, path, order: int = 1) -> Path:
        """A method, or a kernel, as C for `casadi.external`, with its Jacobians (order=1), those of these (order=2) and their sparsity;
        returns the path of the .c file.

        `path` names the file or the folder to write it to. Matrices are CasADi's; of arrays with more axes all but the last are rows.
        """
        if order not in (0, 1, 2):
            raise OptionError(f"order is {order!r}; it may be 0 (no derivatives), 1 (Jacobians) or 2 (Jacobians of these).")
        kernel = what if isinstance(what, RobotKernel) else self.robot.as_kernel(what)
        operations, inputs = kernel.program, kernel.inputs()
        name = re.sub("_+", "_", c.identifier(f"{self.robot.model.name}_{operations.name}"))
        kernels = [kernel]
        for _ in range(order):
            kernels.append(kernels[-1].by_components("jacobian", tuple(range(len(inputs)))))
        functions = casadi.family(name, [x.function for x in kernels], operations)
        path = Path(path)
        path = path / f"{name}.c" if path.is_dir() else path.with_suffix(".c")
        text = casadi.source(functions, notes(self.robot, operations, "float64"))
        with writing(path):
            path.write_text(text, "ascii")
        return path


BRANCHES = 20_000  # of a quantity in symbols, written out: SymPy looks at each of them again whenever it is used


def symbolic(robot, what, names=None):
    """A quantity as a SymPy expression, matrix or array in the symbols q0, q1 ..., v0 ..., tau0 ...

    `names` gives other symbols, or names for them, by input: {"q": ["theta", "x"]}.
    """
    operations = program(robot, what)
    if not isinstance(names, Mapping | None):
        raise OptionError(f'names is {names!r:.60}; it takes names of entries by input, as {{"q": ["theta", "x"]}}.')
    if (branches := symbols.branches(operations, names)) > BRANCHES:
        raise OptionError(
            f"{operations.name} of {robot.model.name} has {branches:,} branches, written out; in symbols there may be {BRANCHES:,}. "
            "Give numbers for the symbols that they depend on, or use robot.export.casadi or robot.export.c, which have no such limit."
        )
    results = symbols.expressions(operations, names)
    return results[0] if len(results) == 1 else tuple(results)


def notes(robot, operations: Program, dtype: str) -> list[str]:
    """What a reader of the C file needs to know."""
    count = sum(operations.operations.values())
    lines = [
        f"{operations.name} of {robot.model.name}, written by linkwork {_version()}.",
        f"{count} operations on {dtype}; no allocation, {'bounded' if operations.loops else 'no'} loops, nothing but math.h.",
        "SI units and radians. Quaternions are x y z w and of unit length; rotation comes before translation.",
        "Matrices are stored row by row. The outputs may not overlap the inputs.",
        "",
    ]
    for label, each in (("in ", zip(c.arguments(operations).values(), operations.inputs)),
                        ("out", zip(c.results(operations), operations.outputs))):  # fmt: skip
        lines += [f"  {label}  {argument:<10} {_size(x.shape)}" for argument, x in each]
    lines += ["", "Joints, and where they are in q and in v (and in tau, vdot):", *_table(robot)]
    if "external" in c.arguments(operations) or operations.name == "poses":
        lines += ["", "Bodies, in order:", *(f"  {i:<4} {name}" for i, name in enumerate(robot.bodies))]
    return lines


def _table(robot) -> list[str]:
    kinds = {placed.name: placed.joint.kind for placed in robot.model.joints}
    rows = [(robot.q_index(name), robot.v_index(name), name) for name in robot.joints]
    return [f"  q{_range(q):<10} v{_range(v):<10} {name:<24} {kinds.get(name, '')}".rstrip() for q, v, name in rows]


def _range(rows: slice) -> str:
    return f"[{rows.start}]" if rows.stop == rows.start + 1 else f"[{rows.start}..{rows.stop - 1}]"


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and seldom needed

    try:
        return version("linkwork")
    except PackageNotFoundError:  # run from a folder that was never installed
        return "(not installed)"
