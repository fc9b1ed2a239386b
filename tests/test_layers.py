"""The folders of the package, in import order: a lower layer never imports a higher one."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "linkwork"

PAGE = (PACKAGE.parent / "docs" / "how-it-is-built.md").read_text(encoding="utf-8").partition("## Layers")[2]
ORDER, INSIDE = [], {}  # layers; of a layer its folders and modules; in import order
for _line in re.findall(r"^    (.*)$", PAGE, re.MULTILINE):
    _layer, _colon, _names = _line.rpartition(":")
    if _colon:  # modules that the order does not name are above those that it names
        INSIDE[_layer] = _names.split()
    else:
        ORDER += _names.split()
FILES = sorted(PACKAGE.rglob("*.py"))
KNOWS_FILES = {"formats", "dynamics", "simulate", "view", "__init__", "cli", "__main__"}
ENGINE_MAY_IMPORT = ("linkwork.engine", "linkwork.errors", "linkwork.lie.scalars", "linkwork.lie.iteration")
CIRCLES = {"flexible", "operators", "quantities", "simulate/ensembles", "simulate/rollouts"}  # folders with modules that import each other
NAMED_TUPLE = "_replace", "_asdict", "_fields", "_make"  # public in spite of their names


def module_of(file):
    """The dotted name of a file, with `__init__` kept: linkwork.lie.__init__."""
    return ".".join(("linkwork", *file.relative_to(PACKAGE).with_suffix("").parts))


def layer(module):
    """linkwork.lie.so3 is of the layer lie; the package itself, and any name only it has, is `__init__`."""
    name = [*module.split("."), "__init__"][1]
    return name if name in ORDER or (PACKAGE / name).exists() or (PACKAGE / f"{name}.py").exists() else "__init__"


def imports(source, module):
    """Every name of linkwork that the source imports, at any depth, as an absolute dotted name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            base = ".".join(package + ([node.module] if node.module else []))
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "linkwork")


def violations(source, module):
    """What the source imports and may not, each as a sentence."""
    own = layer(module)
    for name in imports(source, module):
        other = layer(name)
        if ORDER.index(other) > ORDER.index(own):
            yield f"{module} imports {name}, but {own} is below {other}"
        if other == "formats" and own not in KNOWS_FILES:
            yield f"{module} imports {name}, but {own} knows nothing of files"
        if own == "engine" and not f"{name}.".startswith(tuple(f"{allowed}." for allowed in ENGINE_MAY_IMPORT)):
            yield f"{module} imports {name}, but the engine knows nothing of mechanics"
        if own == "sweeps" and other == "engine":
            yield f"{module} imports {name}, but sweeps know nothing of the engine"


def without_types(source):
    """The source without the imports that only annotations need."""
    tree = ast.parse(source)
    tree.body = [x for x in tree.body if not (isinstance(x, ast.If) and ast.unparse(x.test) == "TYPE_CHECKING")]
    return ast.unparse(tree)


def place(module):
    """Where a module stands in the order inside its layer; modules that the order does not name are above all that it names."""
    _, own, name, *_ = [*module.split("."), "", ""]
    return INSIDE[own].index(name) if name in INSIDE[own] else len(INSIDE[own])


@pytest.mark.parametrize("file", [f for own in INSIDE for f in sorted((PACKAGE / own).rglob("*.py"))], ids=module_of)
def test_a_folder_of_a_layer_imports_only_lower_ones_and_holds_fifteen_files_at_most(file):
    module = module_of(file)
    for name in imports(without_types(file.read_text(encoding="utf-8")), module):
        if layer(name) == layer(module) and not module.endswith("__init__"):
            assert place(name) <= place(module), f"{module} imports {name}, which is above it"
    assert len(list(file.parent.glob("*.py"))) <= 16  # and what makes it a package


def circle(imported: dict[str, set[str]]) -> list[str]:
    """Names that import each other in a circle, of {name: what it imports}; none is an empty list."""
    above: list[str] = []
    done: set[str] = set()

    def follow(name):
        if name in above:
            return [*above[above.index(name) :], name]
        if name in done or name not in imported:
            return []
        done.add(name)
        above.append(name)
        circles = next(filter(None, map(follow, sorted(imported[name]))), [])
        above.pop()
        return circles

    return next(filter(None, map(follow, sorted(imported))), [])


def inside(folder):
    """{module: what it imports of its own folder} of a folder's modules, those imported when they are needed among them."""
    files = {module_of(x): x for x in folder.glob("*.py") if x.stem != "__init__"}
    names = {module: [*imports(without_types(x.read_text(encoding="utf-8")), module)] for module, x in files.items()}
    return {module: {x for name in names[module] for x in (name, name.rpartition(".")[0])} & {*files} - {module} for module in files}


@pytest.mark.parametrize("folder", sorted({x.parent for x in FILES} - {PACKAGE}), ids=lambda x: x.relative_to(PACKAGE).as_posix())
def test_modules_of_a_folder_do_not_import_each_other_in_a_circle(folder):
    assert bool(circle(inside(folder))) == (folder.relative_to(PACKAGE).as_posix() in CIRCLES), circle(inside(folder))


def test_a_circle_of_imports_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def private(name):
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE and not name.startswith("_repr_")


def defined(tree):
    """Every name that a module defines: functions, classes, names and attributes that it assigns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def imported(tree):
    """Every name that a module imports, as it is called there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def reaches(source):
    """Private names of others: `x._name` where the module does not define _name, or x is imported; `import _name`."""
    tree = ast.parse(source)
    own, foreign = set(defined(tree)), set(imported(tree))
    yield from filter(private, foreign)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr):
            owner = ast.unparse(node.value)
            if owner in foreign or (owner not in ("self", "cls") and node.attr not in own):
                yield ast.unparse(node)


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_a_module_does_not_reach_for_private_names_of_others(file):
    assert not list(reaches(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("robot._nodes", ["robot._nodes"]),
        ("self.robot._nodes[0]", ["self.robot._nodes"]),
        ("self._nodes = 1; other._nodes", []),
        ("class A:\n    def _run(self): ...\nA()._run()", []),
        ("self._x; cls._y; s._replace(a=1); x.__class__", []),
        ("from .trace import _new", ["_new"]),
        ("from . import symbols\ndef _sympy(): ...\nsymbols._sympy()", ["symbols._sympy"]),
    ],
)
def test_a_reach_for_a_private_name_is_found(source, found):
    assert list(reaches(source)) == found


def test_every_module_has_a_layer():
    strangers = {layer(module_of(file)) for file in FILES} - set(ORDER)
    assert not strangers, f"give {sorted(strangers)} a place in ORDER"


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_a_layer_imports_only_lower_layers(file):
    found = list(violations(file.read_text(encoding="utf-8"), module_of(file)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", sorted((PACKAGE / "engine").rglob("*.py")), ids=module_of)
def test_the_engine_has_no_words_of_mechanics(file):
    """What an error says about a mechanism is passed in: Trace.label, Trace.remedy."""
    assert not re.findall(r"(?i)\b(joint|wrench|mass|robot|armature|torque|inertia)", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("linkwork.lie.so3", "from linkwork.spatial import phi"),
        ("linkwork.lie.so3", "from ..spatial import phi"),
        ("linkwork.lie.__init__", "from .. import joints"),
        ("linkwork.joints.elementary", "def late():\n    import linkwork.model.tree"),
        ("linkwork.model.tree", "import linkwork as lw"),
        ("linkwork.model.tree", "from linkwork import load"),
        ("linkwork.sweeps.kinematics", "from linkwork.formats import urdf"),
        ("linkwork.sweeps.kinematics", "from ..engine.trace import where"),
        ("linkwork.engine.trace", "from linkwork.lie import SO3"),
        ("linkwork.engine.trace", "from ..model import Model"),
        ("linkwork.dynamics", "from .simulate import simulate"),
    ],
)
def test_a_forbidden_import_is_found(module, source):
    assert list(violations(source, module))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("linkwork.lie.so3", "from . import scalars\nfrom ..errors import ShapeError\nimport numpy"),
        ("linkwork.lie.__init__", "from .so3 import SO3"),
        ("linkwork.engine.trace", "from ..lie.scalars import sin\nfrom ..lie import scalars\nfrom .. import errors"),
        ("linkwork.dynamics", "from .engine import trace\nfrom . import sweeps, formats"),
        ("linkwork.__init__", "from .dynamics import Dynamics"),
        ("linkwork.cli", "import linkwork as lw"),
    ],
)
def test_an_allowed_import_passes(module, source):
    assert not list(violations(source, module))
