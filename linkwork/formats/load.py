"""load and save: a Model from a file, a text or a name, and back to a file. The format is recognised by the content."""

import warnings
from dataclasses import replace
from errno import ENAMETOOLONG, ENOENT, ENOTDIR
from os import PathLike
from os.path import isdir
from pathlib import Path
from typing import IO

from ..errors import MissingFileError, ModelError, ModelWarning, OptionError, did_you_mean, listed, writing
from ..model import Model, mechanisms
from ..model.check import depth_first
from ..model.contacts import contacts_off
from ..model.parts import check_tensors
from . import data, lines, screws, xml

ENDINGS = ".urdf", ".xml", ".mjcf", ".sdf", ".json", ".yaml"  # of files to suggest in errors; the content decides the format
WRITTEN = ".urdf", ".json", ".yaml", ".yml"
READ = 'URDF (<robot>), SDF (<sdf>), MJCF (<mujoco>), JSON or YAML ("linkwork": 1, "screws": 1), built-in names ("double_pendulum")'


def load(
    source: str | bytes | PathLike | IO,
    *,
    floating: bool = False,
    gravity=None,
    mimic: str | None = None,
    strict: bool = False,
    snap: bool = True,
    package_root: str | PathLike | None = None,
    loops: str | PathLike | IO | None = None,
    meshes_outside: bool = False,
    lenient: bool = False,
    contacts=None,
) -> Model:
    """Read a Model from a path, a text, an open file, or the name of a built-in mechanism.

    floating      True: the root has a free joint called `floating_base` (`floating_base_` if the file has one of that name)
    gravity       replaces that of the file, m/s²
    mimic         None or "free": <mimic> joints of URDF are independent, without a warning if "free";
                  "couple": they follow the joints they name
    strict        True: inertias that no rigid body can have are errors; otherwise they are used, with a warning
    snap          True: angles and axes within a printing error of a quarter turn are made exact; see Model.notes
    package_root  the folder in which `package://` and `model://` names of meshes are looked up
    meshes_outside  True: meshes may be outside the folder of the file and of the packages, as by `file://` and `../`
    lenient       True: of URDF and SDF, a bad element that a model can do without (shape, material, limits, damping and
                  friction, mimic, transmission), and a loop or motor of `loops` at something that is not there, is left out, with a
                  note; otherwise it is an error
    loops         a YAML file that says which frames of a URDF coincide; see `formats.loops`
    contacts      what may touch: "ground", "all" or a list of pairs, as in `Model.with_contacts`; None: nothing does, and a note
                  says what the file has
    """
    if mimic not in (None, "free", "couple"):
        raise ModelError(f'mimic is {mimic!r}; it may be None or "free" or "couple".')
    is_whole = False
    if isinstance(source, str) and "<" not in source and source.partition(":")[0] in mechanisms.NAMES:
        model = mechanisms.mechanism(source)
    else:
        text, name, folder = _text(source)
        root = None if package_root is None else Path(package_root)
        how = xml.How(name, folder, snap, root, meshes_outside, lenient)
        match "data" if lines.is_data(text) else xml.root(text, name):
            case "data":
                file = lines.parsed(text, name)
                is_whole = isinstance(file.data, dict) and "linkwork" in file.data
                model = data.read(file) if is_whole else screws.read(file, name=name)
            case "robot":
                from . import urdf  # readers are imported at their first use

                model = urdf.read(text, how, mimic)
            case "mujoco":
                from . import mjcf  # needs mujoco, which is an extra

                model = mjcf.read(text, how)
            case "sdf":
                from . import sdf

                model = sdf.read(text, how)
            case tag:
                raise ModelError(f"{name} has the root element <{tag}>. linkwork reads: {READ}.")
        if strict or not is_whole:  # of a whole model it was said when it was made
            model = replace(model, notes=(*model.notes, *check_tensors(name, model.bodies, strict=strict)))
    if not model.bodies:
        raise ModelError(f"{model.name} has no body; a mechanism has at least one.")
    model = model.floating() if floating else model
    if mimic == "couple":
        model = replace(model, couplings=tuple(replace(x, active=True) for x in model.couplings))
    if loops is not None:
        from .loops import with_loops

        text, loops_name, _ = _text(loops)
        model = with_loops(model, text, loops_name, lenient=lenient)
    model = model if gravity is None else model.with_gravity(gravity)
    if contacts is not None:
        return model.with_contacts(contacts)
    return model if is_whole else replace(model, notes=(*model.notes, *contacts_off(model)))


def save(model: Model, path: str | PathLike, *, lossy: bool = False, world_frame: bool = False) -> None:
    """Write a model: all of it if the path ends in .json or .yaml (`formats.data`), as URDF if it ends in .urdf.

    What the file cannot hold is an error that names it: functions in .json and .yaml, in .urdf armature, springs, loops and more. With
    `lossy` URDF leaves it out. `world_frame` writes .json and .yaml without body frames, as CAD has mechanisms: see `formats.screws`.
    """
    from . import screws_writer, urdf_writer

    if not isinstance(model, Model):
        raise OptionError(f"lw.save writes a Model, not a {type(model).__name__}; a robot has one, robot.model, and a run run.save(path).")
    ending = Path(path).suffix.lower()
    if ending not in WRITTEN:
        named = f'the ending "{ending}"' if ending else "no ending"
        raise ModelError(f'"{Path(path).name}" has {named}; a model is written as .json or .yaml, which hold all of it, or as .urdf.')
    if ending == ".urdf" and world_frame:
        raise OptionError("world_frame=True is for .json and .yaml; the links of URDF have frames.")
    if ending != ".urdf":
        written = data.as_data(screws_writer.entries(model)) if world_frame else data.as_file(model)
        _write(path, data.text(written, yaml=ending != ".json"))
        return
    if [x.child for x in depth_first(model.joints)] != [x.child for x in model.joints]:
        warnings.warn(
            f"{model.name} has bodies in an order that URDF does not keep: loaded back they come depth first, as do the entries of q. "
            "model.renumbered([body.name for body in saved.bodies]) has that order too; a .json file keeps this one.",
            ModelWarning, stacklevel=2,
        )  # fmt: skip
    _write(path, urdf_writer.written(model, lossy=lossy))


def _write(path: str | PathLike, text: str) -> None:
    with writing(path):
        Path(path).write_text(text, encoding="utf-8")


def _text(source) -> tuple[str, str, Path | None]:
    """The text of a source, its name for messages, and its folder."""
    name: str = "text"
    folder: Path | None = None
    content: str | bytes
    if isinstance(source, PathLike) or (isinstance(source, str) and "<" not in source and not lines.is_data(source)):
        path = Path(source)
        content, name, folder = _content(path), path.name, path.parent
    elif isinstance(source, (str, bytes)):
        content = source
    elif callable(read := getattr(source, "read", None)):
        content = read()
        if isinstance(file := getattr(source, "name", None), str):
            name, folder = Path(file).name, Path(file).parent
    else:
        raise TypeError(f"load takes a path, a text, an open file or a built-in name, not a {type(source).__name__}.")
    text = xml.without_early_lines(xml.decoded(content, name) if isinstance(content, bytes) else content.removeprefix("\ufeff"))
    if not text.strip():
        raise ModelError(f"{name} is empty.")
    return text, name, folder


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ModelError(f'"{path}" is a pipe or a device; load takes a file. Read it, and give load its text.')
        return path.read_bytes()
    except IsADirectoryError:
        inside = listed(sorted(p.name for p in path.iterdir() if p.is_file()))
        raise ModelError(f'"{path}" is a folder; load takes one file. In it: {inside or "no files"}.') from None
    except ModelError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in (ENOENT, ENOTDIR, ENAMETOOLONG):
            raise
        shown = str(path) if len(str(path)) < 200 else f"{str(path)[:200]} ..."
        lost = "" if isdir(path.parent) else f', nor a folder "{path.parent.name}" for it,'
        beside = sorted(p.name for p in path.parent.iterdir() if p.suffix in ENDINGS) if not lost else []
        near = did_you_mean(path.name, [*mechanisms.NAMES, *beside])
        missing = f'there is no file "{shown}"{lost} and no built-in mechanism of that name'
        raise MissingFileError(f"{missing}.{near}") from None
