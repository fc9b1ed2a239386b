"""Mechanisms that have between them all that acts on or binds a mechanism, and the roads by which a quantity can be had."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import linkwork as lw
from linkwork import constraints, export
from linkwork.engine.loading import interpreter
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Program
from linkwork.engine.writers import c
from linkwork.model import solids
from linkwork.quantities import QUANTITIES
from linkwork.quantities.base_invariant import of_free_base, of_free_bodies
from linkwork.quantities.diagonal import diagonal_form
from linkwork.quantities.momentum import of_one_free_root
from linkwork.quantities.options import task as places_of
from linkwork.quantities.roots import to_root

T = 0.4  # s: when, for those that move in time
CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


# --- mechanisms


def arm(count=3, name="arm", joint=lw.Revolute, **physics) -> lw.Model:
    """Links one on another, their axes all different, one of them sliding; gravity along no axis."""
    builder = lw.Builder(name)
    for i in range(count):
        kind = lw.Prismatic if i == 1 else joint
        builder.body(
            f"link{i}", parent=f"link{i - 1}" if i else None, at=(0.3, 0.1, 0.2), joint=kind(axis=(0.2 * i, 1 - 0.3 * i, 0.4), **physics),
            mass=1.0 + i, center=(0.1, 0.2 * i, 0.05), tensor=(0.1, 0.2, 0.25),
        )  # fmt: skip
    return builder.model().with_gravity((1.0, -2.0, -9.0))


def floating() -> lw.Model:
    builder = lw.Builder("floating")
    builder.body("hull", joint=lw.Free(), **solids.box(3.0, (0.3, 0.2, 0.1)))
    builder.body("fin", parent="hull", at=(0.1, 0, 0.1), joint=lw.Revolute(axis=(0, 1, 0.2)), **solids.rod(1.0, (0.4, 0, 0)))
    return builder.model()


def sprung() -> lw.Model:
    return arm(3, "sprung", stiffness=4.0, damping=0.3, friction=0.2).with_forces(
        lw.Spring("line", None, "link2", (0.1, 0.2, 0.3), (0.1, 0, 0.2), stiffness=7.0, length=0.4, damping=0.3),
        lw.Push("jet", "link1", force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3)),
    )


def driven() -> lw.Model:
    def angle(t):
        return 0.3 * np.sin(2 * t)

    drive = constraints.Driven("drive", "link0_joint", angle, lambda t: 0.6 * np.cos(2 * t), lambda t: -1.2 * np.sin(2 * t))
    return replace(arm(3, "driven"), constraints=(drive,))


def coupled() -> lw.Model:
    return replace(arm(3, "coupled"), couplings=(lw.Coupling("gear", "link2_joint", "link0_joint", (0.1, 2.0)),))


def long() -> lw.Model:
    """Arms beside each other, 81 velocities in all."""
    model = arm(3, "a0")
    for i in range(1, 27):
        model = model.with_model(None, arm(3), pose=(float(i), 0, 0), prefix=f"a{i}_")
    return model


FREE = of_free_base, of_free_bodies, of_one_free_root, to_root  # options of quantities of mechanisms that a free joint carries
MECHANISMS = {
    "tree": arm,
    "loop": lambda: lw.load("four_bar"),
    "coupling": coupled,
    "drive": driven,
    "springs": sprung,
    "rolling": lambda: lw.load("rolling_disk"),
    "floating": floating,
    "long": long,
}


def has_none(name: str, mechanism: str) -> bool:
    """Is it a quantity of free mechanisms, and this is none?"""
    return QUANTITIES[name].options in FREE and mechanism not in ("floating", "rolling")


def touching(model: lw.Model) -> lw.Model:
    """The same with a ground, and shapes on the first and the last body that may touch it and each other."""
    ball = lw.Shape("sphere", (0.1,), name="ball")
    rod = lw.Shape("capsule", (0.05, 0.3), lw.Pose.rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), name="rod")
    bodies = list(model.bodies)
    for i, shape in ((0, ball), (-1, rod)):
        bodies[i] = replace(bodies[i], collisions=(*bodies[i].collisions, shape))
    pairs = ["ball", "rod", ("ball", "rod")] if len(bodies) > 1 else ["ball", "rod"]
    return replace(model, bodies=tuple(bodies)).with_ground().with_contacts(pairs)


@cache
def model_of(name: str) -> lw.Model:
    return touching(MECHANISMS[name]())


def heavier(model: lw.Model) -> lw.Model:
    """The same with other masses, tensors as they are."""
    return replace(model, bodies=tuple(replace(b, mass=1.5 * b.mass) for b in model.bodies))


@dataclass(frozen=True)
class Case:
    """A state that a mechanism can have, and motion and forces that go together."""

    given: dict
    t: float | None

    def arrays(self, name: str) -> list[np.ndarray]:
        return [self.given[x] for x in QUANTITIES[name].inputs]


@cache
def case_of(name: str, model=None) -> Case:
    robot = lw.Dynamics(model or model_of(name), compiled=False)
    rng = np.random.default_rng(0)
    q, v = robot.random_state((2,), seed=3)
    t = None
    if robot.constraints is not None:
        t = T if robot.constraints.set.moving else None
        q, v = zip(*(robot.constraints.project(robot.assemble(0.3 * x + 0.7 * robot.neutral(), t=t), u, t=t) for x, u in zip(q, v)))
        q, v = np.array(q), np.array(v)
    tau, external = rng.standard_normal((2, robot.nv)), rng.standard_normal((2, len(robot.bodies), 6))
    vdot = robot.forward_dynamics(q, v, tau, t=t)
    prescribed = np.zeros((2, robot.nv))
    prescribed[:, -1] = 1.0
    dv = rng.standard_normal((2, robot.nv))
    given = {"q": q, "q0": q, "q1": robot.integrate(q, 0.3 * dv), "v": v, "dv": dv, "vdot": vdot, "tau": tau, "external": external}
    given |= {"momentum": rng.standard_normal((2, 6))}
    given |= {"dq": v, "dvdot": dv, "dtau": dv, "weight": dv, "eta": v, "zeta": tau, "p": dv}
    return Case(given | {"given": np.where(prescribed > 0, vdot, tau), "prescribed": prescribed}, t)


def what(name: str, model: lw.Model):
    """The quantity, of the last body or a point of it where it is one of a place."""
    declared, body = QUANTITIES[name], model.bodies[-1].name
    if not declared.takes_options or declared.options is diagonal_form:
        return name
    return name, (body, (0.1, 0.2, 0.3)) if declared.options is places_of else body


# --- roads: (model, name, case) -> result, each as the plain run gives it


def interpreted(self: Kernel, kind: str):
    """In place of compiling: the interpreter, for straight-line programs."""
    if not isinstance(self.program, Program):
        return compiled(self, kind)
    run = interpreter.called(self.program)
    return None, run, run  # no loop of machine code


compiled = Kernel._loaded


@cache
def robot_of(model: lw.Model, interpreter: bool = True, **how) -> lw.Dynamics:
    return lw.Dynamics(model, **how)


def plain(model, name, case, interpreter):
    return robot_of(model, compiled=False).ask(what(name, model), *case.arrays(name), t=case.t)


def kernel(model, name, case, interpreter):
    return robot_of(model, interpreter).ask(what(name, model), *case.arrays(name), t=case.t)


def rolled(model, name, case, interpreter):
    return robot_of(model, interpreter, rolled=True).ask(what(name, model), *case.arrays(name), t=case.t)


def single(model, name, case, interpreter):
    arrays = [x.astype(np.float32) for x in case.arrays(name)]
    found = robot_of(model, interpreter).ask(what(name, model), *arrays, t=case.t)
    assert all(x.dtype == np.float32 for x in results(name, found))
    return found


def one_by_one(model, name, case, interpreter):
    robot = robot_of(model, interpreter)
    rows = [results(name, robot.ask(what(name, model), *(x[i] for x in case.arrays(name)), t=case.t)) for i in range(2)]
    found = tuple(map(np.stack, zip(*rows)))
    return found if QUANTITIES[name].several else found[0]


def into(model, name, case, interpreter):
    robot, several = robot_of(model, interpreter), QUANTITIES[name].several
    out = tuple(np.full_like(x, np.nan) for x in results(name, robot.ask(what(name, model), *case.arrays(name), t=case.t)))
    robot.ask(what(name, model), *case.arrays(name), t=case.t, out=out if several else out[0])
    return out if several else out[0]


def written_in_c(model, name, case, interpreter, folder):
    robot = robot_of(model, interpreter)
    program = export.program(robot, what(name, model))
    source, _ = robot.export.c(what(name, model), folder)
    if interpreter:
        return run_program(robot, program, name, case)
    library = folder / "library.so"
    subprocess.run([CC, "-std=c99", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(library)), c.identifier(f"{model.name}_{program.name}"))
    outputs = [np.full((2, *x.shape), np.nan) for x in program.outputs]
    inputs = [np.ascontiguousarray(x) for x in (*case.arrays(name), *drive_of(robot, name, case))]
    for i in range(2):
        function(*(ctypes.c_void_p(x[i : i + 1].ctypes.data) for x in (*inputs, *outputs)))
    return outputs if QUANTITIES[name].several else outputs[0]


def drive_of(robot, name, case) -> list[np.ndarray]:
    """What drives do, for each sample, where the program of a quantity asks for it."""
    held = robot.constraints
    driven = held is not None and held.set.drives and QUANTITIES[name].constrained
    return [np.stack([held.driven(case.t)] * 2)] if driven else []


def run_program(robot, program, name, case):
    arrays = *case.arrays(name), *drive_of(robot, name, case)
    found = interpreter.run(program, dict(zip((x.name for x in program.inputs), arrays, strict=True)))
    return found if QUANTITIES[name].several else found[0]


def in_symbols(model, name, case, interpreter):
    robot = robot_of(model, interpreter)
    if interpreter:
        return run_program(robot, export.program(robot, what(name, model)), name, case)
    import sympy  # its numbers in place of symbols: expressions of a general arm are too long to be read or substituted into

    rows = []
    for i in range(2):
        named = {**dict(zip(QUANTITIES[name].inputs, case.arrays(name))), **dict(zip(["drive"], drive_of(robot, name, case)))}
        values = {x: [sympy.Float(v) for v in a[i].ravel()] for x, a in named.items()}
        rows.append([np.array(x, float) for x in results(name, robot.symbolic(what(name, model), values))])
    shapes = [x.shape for x in export.program(robot, what(name, model)).outputs]
    stacked = tuple(np.stack(x).reshape(2, *shape) for x, shape in zip(zip(*rows), shapes))
    return stacked if QUANTITIES[name].several else stacked[0]


def varied(model, name, case, interpreter):
    """A robot of other masses, which the kernel is told."""
    robot = robot_of(other_masses(model), interpreter)
    masses = np.array([body.mass for body in model.bodies])
    return robot.varying("mass").ask(what(name, model), *case.arrays(name), mass=masses, t=case.t)


@cache
def other_masses(model):
    return heavier(model)


def in_a_kernel(model, name, case, interpreter):
    robot, inputs = robot_of(model, interpreter), ", ".join(QUANTITIES[name].inputs)
    scope = {"robot": robot, "asked": what(name, model)}
    exec(f"def users(t, {inputs}):\n    return robot.ask(asked, {inputs}, t=t)", scope)
    shapes = {x: case.given[x].shape[1:] for x in QUANTITIES[name].inputs}
    return robot.kernel(scope["users"], t=(), **shapes)(np.full(2, case.t or 0.0), *case.arrays(name))


ROADS = {
    "compiled": kernel,
    "rolled": rolled,
    "float32": single,
    "one by one": one_by_one,
    "out=": into,
    "C": written_in_c,
    "symbols": in_symbols,
    "varied": varied,
    "user kernel": in_a_kernel,
}
OF_ONE_FORMULA = "C", "symbols", "varied", "user kernel"  # roads that need the quantity as one straight program


def results(name: str, found) -> tuple:
    return tuple(found) if QUANTITIES[name].several else (found,)
