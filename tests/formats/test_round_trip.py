"""Files that a model is saved to: every model of the zoo in every format comes back as it was, or the call names what the format lacks.

The cases are made from the built-in mechanisms, the mechanisms of the tests, the files of robots, and a model for every kind of part.
"""

import dataclasses
import json
import warnings
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from zoo import MECHANISMS, plain

import linkwork as lw
from linkwork.constraints import Holonomic, Pfaffian
from linkwork.flexible import FlexibleBody
from linkwork.formats import data
from linkwork.model import solids
from linkwork.model.mechanisms import NAMES

ROBOTS = Path(__file__).parents[1] / "models"
FILES = sorted(x for x in ROBOTS.glob("*/*") if x.suffix in (".urdf", ".sdf", ".xml") and x.name != "keyframes.xml")
ENDINGS = "json", "yaml", "urdf", "world.json"  # the last without body frames
FUNCTIONS = Holonomic, Pfaffian, lw.constraints.Driven


def arm(**more):
    """Two links that see, touch and are driven."""
    b = lw.Builder("arm", gravity=(0.1, 0.2, -1.62))
    b.body("upper", joint=lw.Revolute(axis=(0, 1, 0), damping=0.1, lower=-1.0), **solids.rod(0.5, (1, 0, 0)))
    shape = lw.Shape("sphere", (0.1,), lw.Pose.of((0.5, 0, 0)), (1, 0, 0, 1), name="tip", material=lw.Material(0.3, 0.2), group=3)
    b.body("fore", "upper", (1, 0, 0), lw.Revolute(axis=(0, 1, 0), gear=30.0), mass=1.0, tensor=(0.1, 0.2, 0.25), collisions=[shape])
    return b


def four_bar_open_at_zero():
    b = lw.Builder("open", gravity=(0, -9.81, 0))
    b.body("crank", joint=lw.Revolute(), **solids.capsule(1.0, 0.03, (1, 0, 0)))
    b.body("coupler", "crank", (1, 0, 0), lw.Revolute(), **solids.capsule(2.0, 0.03, (2, 0, 0)))
    b.body("rocker", None, (2.2, 0, 0), lw.Revolute(), **solids.capsule(1.5, 0.03, (1.5, 0, 0)))
    return b.loop("pin", "coupler", "rocker", lw.Revolute(), at=(2, 0, 0), on=(1.5, 0, 0)).model()


def flexible():
    bar = FlexibleBody.beam(1.0, lw.sections.rectangle(0.02, 0.01, lw.sections.STEEL), elements=4, count=2, directions="y", damping=0.01)
    other = replace(bar, stiffens=False, outline=replace(bar.outline, faces=np.array([[0, 1, 2]])))
    b = lw.Builder("bars").flexible("bar", bar, joint=lw.Revolute(), visuals=(lw.Shape("box", (1, 1, 1)),))
    b.flexible("next", bar, "bar.tip", None, lw.Revolute()).flexible("last", other, "next.tip", None, lw.Revolute())
    return b.body("load", "last.tip", mass=1.0).model()


def touching():
    b = arm().ground(-1.0, name="floor").ground(-2.0, name="cellar").contact("fore", "cellar", friction=0.3)
    b.body("foot", "fore", mass=1.0, collisions=[lw.Shape("box", (1, 2, 3)), lw.Shape("sphere", (0.1,))]).contact("foot", "floor")
    *contacts, last = (model := b.model()).contacts
    return replace(model, excluded=(("upper", None), ("upper", "foot")), contacts=(*contacts, replace(last, active=False)))


def of_numpy():
    """What is computed is of NumPy's types, of 32 bits too."""
    b = lw.Builder("computed", gravity=np.arange(3.0))
    place = lw.Pose(tuple(np.float32([0, 0, 0, 1])), tuple(np.arange(3)))
    look = lw.Shape("box", tuple(np.float32([0.1, 0.5, 0.25])), place, group=np.int64(1))
    joint = lw.Revolute(axis=np.array([0.0, 0.6, 0.8]), damping=np.float32(0.5), lower=np.float64(-1.0), upper=np.int64(2))
    return b.body("a", None, np.arange(3.0), joint, mass=np.float32(1.5), tensor=np.ones(3), collisions=[look]).model()


def rolling():
    b = lw.Builder("car").body("car", joint=lw.Free(), **solids.box(1.0, (1, 1, 1)))
    b.roll("disk", "car", 0.3, (0, 1, 0), center=(0.1, 0.2, 0), normal=(0.1, 0, 1), height=0.2).roll("ball", "car", 0.4, None)
    return b.skate("skate", "car", (0, 1, 0), at=(0.1, 0, 0)).model()


MIMIC = lw.model.Coupling("c", "fore_joint", "upper_joint", (0.1, 2.0), active=False)
PUSH = lw.Push("p", "fore", (0, 0, 1.0), (0.1, 0, 0), (0, 0.2, 0), axes="body")
WATER = lw.Immersed("fore", 0.1, (0.1, 0, 0), (1, 2, 3, 4, 5, 6), (1, 1, 1, 2, 2, 2), (1, 2, 1, 2, 1, 2), lw.Pose.of((0.1, 0.2, 0)))
PARTS = {
    "open at zero": four_bar_open_at_zero,
    "not active": lambda: replace(lw.load("four_bar"), loops=(replace(lw.load("four_bar").loops[0], active=False),)),
    "free mimic": lambda: replace(arm().model(), couplings=(MIMIC,)),
    "contact": touching,
    "servos": lambda: arm().model().with_actuators("position", stiffness=3.0, damping=0.1).with_actuators("motor", ["upper_joint"]),
    "one-sided servo": lambda: replace(arm().model(), actuators=(lw.Actuator("a", (("upper_joint", 2.0),), offset=0.2, upper=1.0),)),
    "forces": lambda: arm().model().with_forces(lw.Spring("s", None, "fore", stiffness=2.0), PUSH),
    "relations": lambda: arm().relate("r", {"upper_joint": 1.0, "fore_joint": -2.0}, 0.3)
    .distance("d", "upper", "fore", 1.1, at=(0, 0.1, 0), on=(0.1, 0, 0)).model(),
    "rolling": rolling,
    "gears": lambda: arm().motor("fore_joint", 20.0, tensor=(1e-4, 1e-4, 1e-4)).model(),
    "under water": lambda: arm().model().in_fluid(WATER, density=900.0, current=(0.1, 0, 0)),
    "flexible": flexible,
    "elastic": lambda: lw.Builder("e").body("b", joint=lw.Elastic(stiffness=3.0, armature=0.1), mass=1.0, tensor=(1, 1, 1)).model(),
    "driven": lambda: arm().drive("upper_joint", np.sin).model(),
    "limits in a plane": lambda: lw.Builder("p").body("b", joint=lw.Planar(lower=-1.0, speed=2.0), **solids.sphere(1.0, 0.1)).model(),
    "odd names": lambda: lw.Builder("1e5").body("null", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1)).frame('a: "ü" \\', "null").model(),
    "a body called world": lambda: lw.Builder("w").body("world").body("a", "world", None, lw.Revolute(), **solids.sphere(1.0, 0.1)).model(),
    "meshes": lambda: lw.Builder("m").body("a", visuals=[lw.Shape("mesh", (1.0, 1.0, 2.0), mesh="a.stl", path="/there/a.stl")]).model(),
    "numbers of NumPy": of_numpy,
    "rebased": lambda: lw.load("satellite").rebased("left_panel1"),
}  # fmt: skip
MODELS = {
    **{f"built-in {name}": lambda name=name: lw.load(name) for name in NAMES},
    **{f"zoo {name}": lambda name=name: MECHANISMS[name] for name in MECHANISMS},
    **{f"{x.parent.name}/{x.name}": lambda x=x: robot(x) for x in FILES},
    **{f"part {name}": make for name, make in PARTS.items()},
}


@cache
def robot(path):
    loops = path.with_suffix(".yaml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lw.load(path, mimic="couple", loops=loops if loops.exists() else None)


def differences(one, other, what="model", rounding=0.0):
    """The fields in which two values differ, at any depth, but notes; a flexible body is its fields."""
    if isinstance(one, np.ndarray):
        same = np.shape(other) == one.shape and np.array_equal(one, other)
        return [] if same else [what]
    if data.is_record(type(one)):
        names = [name for name in data.hints(type(one)) if name != "notes"]
        inner = [(getattr(one, n), getattr(other, n, None), f"{what}.{n}") for n in names]
        return [*([] if type(one) is type(other) else [f"type of {what}"]), *(y for x in inner for y in differences(*x, rounding))]
    if isinstance(one, dict) and isinstance(other, dict) and [*one] == [*other]:
        one, other = [*one.values()], [*other.values()]
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)) and len(one) == len(other):
        return [y for i, (a, b) in enumerate(zip(one, other)) for y in differences(a, b, f"{what}[{i}]", rounding)]
    close = isinstance(one, float) and isinstance(other, (int, float)) and abs(one - other) <= rounding * max(1.0, abs(one))
    return [] if one == other or close else [what]


def same_behaviour(one, other):
    """Joint-space dynamics, constraints, passive and other forces, actuators and shapes in the world, at a random state."""
    a, b = plain(one), plain(other)
    q, v = a.random_state(seed=1)
    assert (a.nq, a.nv) == (b.nq, b.nv)
    quantities = {"mass_matrix": (q,), "bias": (q, v), "passive_force": (q, v), "potential_energy": (q,)}
    for name, state in quantities.items():
        x, y = getattr(a, name)(*state), getattr(b, name)(*state)
        np.testing.assert_allclose(y, x, rtol=0, atol=1e-10 * max(1.0, np.abs(x).max(initial=0.0)), err_msg=name)
    assert (a.constraints is None) == (b.constraints is None)
    if a.constraints is not None:
        np.testing.assert_allclose(np.sort(b.constraints.residual(q)), np.sort(a.constraints.residual(q)), atol=1e-10)
    for kind in ("visuals", "collisions"):
        for body in one.bodies:
            mine, theirs = getattr(body, kind), getattr(other.body(body.name), kind)
            assert [replace(x, pose=lw.Pose(), path=None) for x in mine] == [replace(x, pose=lw.Pose(), path=None) for x in theirs]
            for x, y in zip(mine, theirs):
                at = a.pose(q, body.name) @ x.pose.matrix, b.pose(q, body.name) @ y.pose.matrix
                np.testing.assert_allclose(at[1], at[0], atol=1e-9)
    np.testing.assert_allclose(other.gravity, one.gravity)


def cases():
    """All models in all formats; those of robots in YAML, which is read slowly, are for the whole suite."""
    for name in MODELS:
        for ending in ENDINGS:
            yield pytest.param(name, ending, marks=[pytest.mark.slow] if ending == "yaml" and "/" in name else [])


@pytest.mark.parametrize(("name", "ending"), cases())
def test_a_saved_model_is_the_model_or_the_call_says_what_the_format_lacks(name, ending, tmp_path):
    model, path, world = MODELS[name](), tmp_path / f"model.{ending}", ending.startswith("world")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an order of bodies that URDF does not keep is said so
        try:
            lw.save(model, path, world_frame=world)
        except lw.ModelError as error:
            assert ending not in ("json", "yaml") or any(isinstance(x, FUNCTIONS) for x in model.constraints), error
            named = (*model.joints, *model.loops, *model.couplings, *model.constraints, *model.bodies)
            assert "fluid" in str(error) or any(f'"{x.name}"' in str(error) for x in named)
            return
        back = lw.load(path, mimic="couple" if any(x.active for x in model.couplings) else "free")
    if ending in ("json", "yaml"):
        assert (back == model and back.order == model.order) or differences(model, back) == []
        assert back.notes == model.notes
    elif world:
        same_behaviour(model, back)
        parts = ("couplings", "contacts", "excluded", "actuators", "ground")
        assert [differences(getattr(model, x), getattr(back, x), x, 1e-9) for x in parts] == [[]] * len(parts)
    else:
        order = [body.name for body in back.bodies if body.name in {x.name for x in model.bodies}]
        same_behaviour(model.renumbered(order), back)
        assert len(model.actuators) == len(back.actuators) and not back.contacts


def assembled(robot, guess):
    with suppress(lw.LinkworkError):
        return robot.assemble(guess)


def short_run(model):
    """Two steps from an assembled state, in plain NumPy."""
    robot = plain(model)
    q, v = robot.neutral(), np.zeros(robot.nv)
    if robot.constraints is not None:
        guesses = [q, *(robot.random_state(seed=i)[0] for i in range(5))]
        q, v = robot.constraints.project(next(x for guess in guesses if (x := assembled(robot, guess)) is not None), v)
    how = {"method": "contact" if len(robot.contacts) else "rk4", "dt": 1e-3}
    return lw.simulate(robot, (q, v), until=2e-3, **how)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "part driven"])
def test_a_run_of_every_model_is_saved_and_comes_back(name, tmp_path):
    run = short_run(MODELS[name]())
    run.save(tmp_path / "run.npz")
    back = lw.Trajectory.load(tmp_path / "run.npz")
    for x in ("t", "q", "v", "vdot", "tau"):
        np.testing.assert_array_equal(getattr(back, x), getattr(run, x))
    model, other = run.robot.model, back.robot.model
    assert (other == model and other.order == model.order) or differences(model, other) == []


def test_a_field_that_is_added_to_a_part_of_a_model_is_in_the_files():
    """Every field of every dataclass that a Model is made of is written, read and compared: with another value than its default."""
    seen: dict = {}

    def collect(x):
        if data.is_record(type(x)):
            for name in data.hints(type(x)):
                value = getattr(x, name)
                default = data.defaults(type(x)).get(name, dataclasses.MISSING)
                if default is dataclasses.MISSING or isinstance(value, np.ndarray) or value != default:
                    seen.setdefault(type(x), set()).add(name)
                collect(value)
        for inner in x.values() if isinstance(x, dict) else x if isinstance(x, (tuple, list)) else ():
            collect(inner)

    for make in MODELS.values():
        collect(make())
    made_of = {kind for kind in data.types().values() if not getattr(kind, "__abstractmethods__", None)}
    made_of -= {kind for kind in made_of if kind.__subclasses__()} | set(FUNCTIONS)  # Bond, Joint ... have no objects of their own
    common = {x.name for x in dataclasses.fields(lw.joints.Joint)}  # of all joints: in one or another
    unseen = {f"{kind.__name__}.{x}" for kind in made_of for x in set(data.hints(kind)) - seen.get(kind, set()) - common}
    physics = set().union(*(seen.get(kind, set()) for kind in made_of if issubclass(kind, lw.joints.Joint)))
    assert not unseen and common <= physics, f"give PARTS a model with {sorted(unseen)} {common - physics}"


def test_old_files_in_the_world_frame_and_old_runs_are_read():
    old = '{"screws": 1, "bodies": [{"name": "a", "mass": 1, "tensor": [1, 1, 1]}], "joints": [{"name": "j", "child": "a"}]}'
    assert lw.load(old).joints[0].joint == lw.Revolute()
    text = json.loads(json.dumps({"type": "Model", "name": "m", "bodies": [{"type": "Body", "name": "a", "mass": 1.0}],
                                  "hinges": [{"type": "Hinge", "name": "j", "parent": None, "child": "a", "at": {"type": "Pose"},
                                              "joint": {"type": "Revolute", "upper": float("inf")}}]}))  # fmt: skip
    assert data.from_data(text).joints[0].joint == lw.Revolute(upper=np.inf)


WRONG = {
    'Body "b" has an entry "maß", which is not known': ('"mass"', '"maß"'),
    r'line \d+: joint of PlacedJoint "b_joint" has the type "Revolut", .*Did you mean "Revolute"': ("Revolute", "Revolut"),
    r'line \d+: name of the model is 3; it takes a text': ('"name": "m"', '"name": 3'),
    r"line \d+: mass of Body .* is an object; it takes a number": ('"mass": 1.0', '"mass": {}'),
    r'line \d+: Body "b" has no|may not be negative': ('"mass": 1.0', '"mass": -1.0'),
    "version 7 of the format; this linkwork reads version 1": ('"linkwork": 1', '"linkwork": 7'),
    r"tensor of Body \"b\" has 3 entries|it takes": ("[1.0, 0.0, 0.0]", "[1.0, 0.0]"),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_a_file_cannot_hold_is_named_with_its_line(message):
    model = lw.Builder("m").body("b", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1)).model()
    text = data.text(data.as_file(model))
    assert WRONG[message][0] in text
    with pytest.raises(lw.ModelError, match=message):
        lw.load(text.replace(*WRONG[message], 1))


@pytest.mark.parametrize("ending", ["sdf", "mjcf", "xml", "txt", ""])
def test_an_ending_that_is_not_written_is_refused(ending, tmp_path):
    path = tmp_path / f"model.{ending}".rstrip(".")
    with pytest.raises(lw.ModelError, match=r"a model is written as \.json or \.yaml, which hold all of it, or as \.urdf"):
        lw.save(lw.load("double_pendulum"), path)
    assert not path.exists()


def test_yaml_files_are_yaml(tmp_path):
    lw.save(lw.load("double_pendulum"), tmp_path / "x.yaml")
    assert (tmp_path / "x.yaml").read_text().startswith("linkwork: 1\nname: double_pendulum\n")


def test_urdf_holds_gravity_as_mujoco_reads_it(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    model = lw.Builder("m", gravity=(0, 0.5, -1.62)).body("a", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1)).model()
    lw.save(model, tmp_path / "x.urdf")
    assert lw.load(tmp_path / "x.urdf").gravity == (0.0, 0.5, -1.62)
    np.testing.assert_allclose(mujoco.MjModel.from_xml_path(str(tmp_path / "x.urdf")).opt.gravity, (0, 0.5, -1.62))
