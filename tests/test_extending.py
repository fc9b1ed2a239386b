"""A joint, a quantity, an operation, and kinds of systems, constraints and contact rows, taken from the pages that add them, on every
road that the library's own take."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_docs import ROOT, blocks

import linkwork as lw
from linkwork.engine.loading import cache
from linkwork.engine.loading.cuda import DeviceError
from linkwork.engine.loading.identity import digest
from linkwork.engine.tracing.operations import OPERATIONS, meanings
from linkwork.engine.tracing.program import Input, Output, Program, evaluate, record
from linkwork.engine.tracing.trace import Trace
from linkwork.errors import LinkworkError, OptionError, UnknownNameError
from linkwork.quantities import Honours, kinetic_energy, quantity

sys.path.append(str(Path(__file__).parent / "engine"))  # where the stand-in for a GPU is
import stand_in
from test_c import called, library, needs_compiler

pytestmark = pytest.mark.usefixtures("registries")
LINES = {"joint": 25, "quantity": 25, "operation": 25, "system": 25, "constraint": 45, "contact-row": 40, "method": 25}
SIZE = 70
EPS = {np.float64: 2e-13, np.float32: 1e-4}


def source(page: str) -> str:
    """What a page adds: its first block."""
    return next(blocks((ROOT / "docs" / "extending" / f"{page}.md").read_text(encoding="utf-8"))).strip() + "\n"


def added(page: str) -> SimpleNamespace:
    """The names that a page's addition makes."""
    names = {"__name__": f"extending_{page}"}
    exec(compile(source(page), f"{page}.md", "exec"), names)
    return SimpleNamespace(**names)


# --- mechanisms that have the new things


def press(joint):
    arm = lw.Builder("press")
    arm.body("plate", mass=2.0, center=(0.1, 0, 0.02), tensor=(0.02, 0.02, 0.03), at=lw.Pose.of((0.1, 0, 0.3)), joint=joint)
    arm.body("link", parent="plate", at=(0.3, 0, 0), mass=1.0, center=(0.2, 0, 0), tensor=(0.001, 0.01, 0.01), joint=SHOULDER)
    return arm.model()


SHOULDER = lw.Revolute(axis=(0, 1, 0), armature=0.1)
AXIS = (0.6, 0.0, 0.8)
WATER = {"link1": np.diag([0.1, 0.2, 0.3, 1.0, 2.0, 3.0]), "link2": np.full((6, 6), 0.05) + np.eye(6)}


def with_joint():
    names = added("joint")
    return press(names.PlanarScrew(pitch=0.05, axis=AXIS)), lw.Dynamics


def with_quantity():
    added("quantity")
    return lw.load("arm_6r"), lw.Dynamics


def with_operation():
    added("operation")
    quantity((), Honours.NOTHING, of_joints=True)(cube_root_of_energy)
    return lw.load("double_pendulum"), lw.Dynamics


def cube_root_of_energy(system, q, v):
    return np.cbrt(kinetic_energy(system, q, v))


def with_system():
    names = added("system")
    return lw.load("double_pendulum"), lambda model, **how: lw.Dynamics(model, system=names.AddedMass(model, WATER), **how)


def with_constraint():
    names = added("constraint")
    machine, load = lw.Builder("atwood"), {"tensor": (0.01, 0.01, 0.01)}
    machine.body("left", at=(0, 0, -1), joint=lw.Prismatic(axis=(0, 0, 1)), mass=3.0, **load)
    machine.body("right", at=(1, 0, -1), joint=lw.Translation(), mass=1.0, **load)
    return machine.constrain(names.Rope("rope", "left", "right", ((0, 0, 0), (1, 0, 0)), 2.0)).model(), lw.Dynamics


CASES = {
    "joint, mass matrix": (with_joint, "mass_matrix"),
    "joint, forward dynamics": (with_joint, "forward_dynamics"),
    "joint, integrate": (with_joint, "integrate"),
    "quantity": (with_quantity, "gravity_power"),
    "operation": (with_operation, "cube_root_of_energy"),
    "system, mass matrix": (with_system, "mass_matrix"),
    "system, forward dynamics": (with_system, "forward_dynamics"),
    "system, gravity": (with_system, "gravity_force"),
    "constraint": (with_constraint, "forward_dynamics"),
}


class Case:
    """A quantity of a mechanism that has the new thing, and its plain run on a batch."""

    def __init__(self, name):
        made, self.what = CASES[name]
        self.model, self.make = made()
        self.robot = self.make(self.model)
        q, v = self.robot.random_state(SIZE, seed=0)
        if self.robot.constraints is not None:
            q, v = self.robot.constraints.project(0.2 * q, v)  # not so far that a rope would have to be longer
        u = np.random.default_rng(1).standard_normal(v.shape)
        self.inputs = [x.name for x in self.robot.quantity(self.what).inputs]
        self.arrays = [{"q": q, "v": v, "dv": u}.get(x, u) for x in self.inputs]
        self.expected = self.plain(self.model)

    def plain(self, model):
        return self.make(model, compiled=False).ask(self.what, *self.arrays)

    def agrees(self, found, kind=np.float64, expected=None):
        expected = self.expected if expected is None else expected
        assert np.asarray(found).dtype == kind
        np.testing.assert_allclose(found, expected, rtol=0, atol=EPS[kind] * max(1.0, np.abs(expected).max()))


@pytest.fixture(params=CASES)
def case(request):
    return Case(request.param)


# --- the pages


@pytest.mark.parametrize("page", LINES)
def test_an_addition_is_short_and_in_one_place(page):
    assert len(source(page).splitlines()) < LINES[page]


# --- every road


def test_compiled_it_is_the_plain_run(case):
    case.agrees(case.robot.ask(case.what, *case.arrays))
    if hasattr(case.robot, case.what):
        case.agrees(getattr(case.robot, case.what)(*case.arrays))


def test_batches_have_any_axes_and_one_sample_has_none(case):
    grid = case.robot.ask(case.what, *(x.reshape(7, 10, -1) for x in case.arrays))
    case.agrees(grid.reshape(case.expected.shape))
    case.agrees([case.robot.ask(case.what, *(x[i] for x in case.arrays)) for i in range(SIZE)])
    out = np.empty_like(case.expected)
    assert case.robot.ask(case.what, *case.arrays, out=out) is out
    case.agrees(out)


@pytest.mark.parametrize("compiled", [True, False])
def test_single_precision_stays_single(case, compiled):
    robot = case.make(case.model, compiled=compiled)
    case.agrees(robot.ask(case.what, *(x.astype(np.float32) for x in case.arrays)), np.float32)


def test_a_robot_of_rolled_kernels_gives_the_same(case):
    robot = case.make(case.model, rolled=True)
    case.agrees(robot.ask(case.what, *case.arrays))
    if robot.constraints is None:
        rolls = robot.quantity(case.what).rolled(np.dtype(float)) is not None
        assert rolls == (not robot.lowered.producers)  # other blocks are not the same for every node: they run in NumPy


def test_it_works_inside_a_users_kernel(case):
    names = ", ".join(case.inputs)
    kernel = case.robot.kernel(eval(f"lambda {names}: 2 * robot.ask(what, {names})", {"robot": case.robot, "what": case.what}))
    case.agrees(kernel(*case.arrays) / 2)


def test_constants_vary(case):
    """varying("mass") at 1.5 m is the robot with masses 1.5 m."""
    heavier = replace(case.model, bodies=tuple(replace(body, mass=1.5 * body.mass) for body in case.model.bodies))
    varying = case.robot.varying("mass")
    found = varying.ask(case.what, *case.arrays, mass=1.5 * varying.value("mass"))
    case.agrees(found, expected=case.plain(heavier))


@needs_compiler
@pytest.mark.parametrize("kind", EPS)
def test_exported_c_gives_the_same(case, kind, tmp_path):
    file, _ = case.robot.export.c(case.what, tmp_path / "f", np.dtype(kind).name)
    program = case.robot.program(case.what)
    function = library(file, tmp_path)[f"{case.model.name}_{case.what}"]
    case.agrees(called(function, program, dict(zip(case.inputs, case.arrays)), kind)[0], kind)


def test_symbols_give_the_same(case):
    sympy = pytest.importorskip("sympy")
    program = case.robot.program(case.what)
    if case.robot.constraints is not None:  # each sample chooses its dependent velocities: too many branches, and that is said
        with pytest.raises(OptionError, match="branches, written out"):
            case.robot.symbolic(case.what)
        return
    symbols = [sympy.Symbol(f"{x.name}{i}", real=True) for x in program.inputs for i in range(x.size)]
    formula = sympy.lambdify(symbols, case.robot.symbolic(case.what), "numpy", cse=True)
    flat = [np.concatenate([x[i].ravel() for x in case.arrays]) for i in range(3)]
    found = [np.asarray(formula(*x), float).reshape(case.expected.shape[1:]) for x in flat]
    np.testing.assert_allclose(found, case.expected[:3], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", EPS)
def test_arrays_on_a_gpu_give_the_same_there(case, kind, monkeypatch):
    cupy = stand_in.install(monkeypatch)
    found = case.robot.ask(case.what, *(cupy.asarray(x, kind) for x in case.arrays))
    assert type(found) is stand_in.ndarray
    case.agrees(np.asarray(found), kind)


@pytest.mark.parametrize("name", ["joint, mass matrix", "system, mass matrix"])
def test_the_operators_have_the_kernels_mass_matrix(name):
    """H φ M φ* H* + armature = 𝓜, and its inverse by the factorization."""
    case = Case(name)
    mass = case.robot.operators(case.arrays[0])("H φ M φ* H* + armature")
    case.agrees(mass.dense())
    case.agrees(mass.inv().dense(), expected=case.robot.mass_matrix_inverse(case.arrays[0]))


@pytest.mark.parametrize("name", ["joint, mass matrix", "system, mass matrix", "constraint"])
def test_motion_keeps_its_energy(name):
    case = Case(name)
    q, v = (x[0] for x in case.arrays[:2]) if name == "constraint" else case.robot.random_state(seed=2)
    path = lw.simulate(case.robot, (q, v), until=0.5, rtol=1e-10, atol=1e-12)
    energy = case.robot.kinetic_energy(path.q, path.v) + case.robot.potential_energy(path.q)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_somebody_elses_code_is_never_found_on_disk_by_a_name(name):
    """A kernel on disk is known by the library's source; what a user changes in his own is not seen there."""
    case = Case(name)
    bound = case.robot.constraints
    assert digest(case.robot.quantity(case.what) if bound is None else bound.set) is None
    assert digest(lw.Dynamics(lw.load("arm_6r")).quantity("mass_matrix")) is not None


# --- the joint


def test_the_new_joint_is_a_screw_and_a_translation():
    """T = screw(θ) · translation(x', y') with (x, y) = R(θ) (x', y'), so v = X v', X = [[1, 0, 0], [−y', 1, 0], [x', 0, 1]]:
    𝓜' = X* 𝓜 X,  g' = X* g,  v̇ = X v̇' + Ẋ v'."""
    new = lw.Dynamics(press(added("joint").PlanarScrew(pitch=0.05, axis=AXIS)))
    row = lw.Helical(pitch=0.05, axis=AXIS), lw.PlanarTranslation(axis=AXIS)
    old = lw.Dynamics(press(lw.Compound(row=row)))
    q, v = old.random_state(SIZE, seed=3)
    tau = np.random.default_rng(4).standard_normal(v.shape)
    X, X_rate = np.zeros((2, SIZE, 4, 4))
    X += np.eye(4)
    X[:, 1, 0], X[:, 2, 0] = -q[:, 2], q[:, 1]
    X_rate[:, 1, 0], X_rate[:, 2, 0] = -v[:, 2], v[:, 1]
    c, s = np.cos(q[:, 0]), np.sin(q[:, 0])
    Q, V = np.stack([q[:, 0], c * q[:, 1] - s * q[:, 2], s * q[:, 1] + c * q[:, 2], q[:, 3]], -1), np.matvec(X, v)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(b).max())
    close(new.poses(Q), old.poses(q))
    close(X.mT @ new.mass_matrix(Q) @ X, old.mass_matrix(q))
    close(np.vecmat(new.gravity_force(Q), X), old.gravity_force(q))
    close(new.forward_dynamics(Q, V, tau), np.matvec(X, old.forward_dynamics(q, v, np.vecmat(tau, X))) + np.matvec(X_rate, v))


def test_the_new_joint_closes_loops_too():
    """Locked by constraints in all but its screw, it moves as a helical joint does."""
    model = press(added("joint").PlanarScrew(pitch=0.05))
    held = lw.Dynamics(replace(model, loops=(lw.Loop("guide", None, "plate", lw.Helical(pitch=0.05), lw.Pose.of((0.1, 0, 0.3))),)))
    screw = lw.Dynamics(press(lw.Helical(pitch=0.05)))
    tau = np.array([0.3, 0.0, 0.0, -0.2])
    found = held.forward_dynamics([0.4, 0, 0, 0.3], [1.0, 0, 0, -0.5], tau)
    expected = screw.forward_dynamics([0.4, 0.3], [1.0, -0.5], tau[[0, 3]])
    np.testing.assert_allclose(found, [expected[0], 0, 0, expected[1]], atol=1e-10)


def test_the_new_joint_may_be_the_one_that_closes_a_loop():
    """A free body that a loop leaves the motions of Y(p) accelerates as a body on that joint does: J v̇ + J̇ v are the same."""
    joint = added("joint").PlanarScrew(pitch=0.05, axis=AXIS)
    body = {"mass": 2.0, "center": (0.1, 0, 0.02), "tensor": (0.02, 0.02, 0.03)}
    tree = lw.Dynamics(lw.Builder("tree").body("plate", joint=joint, **body).model())
    cut = lw.Dynamics(lw.Builder("cut").body("plate", joint=lw.Free(), **body).loop("guide", None, "plate", joint).model())
    q, v = np.array([0.4, 0.3, -0.2]), np.array([1.0, -0.5, 0.7])
    T, J = tree.pose(q, "plate"), tree.jacobian(q, "plate")
    there = lw.Pose.of(T)
    vdot = cut.forward_dynamics([*there.quaternion, *there.translation], J @ v, np.zeros(6))
    np.testing.assert_allclose(vdot, J @ tree.forward_dynamics(q, v, np.zeros(3)), atol=1e-9)  # in its own frame J is constant


def test_a_file_format_that_lacks_the_new_joint_says_so(tmp_path):
    model = press(added("joint").PlanarScrew(pitch=0.05))
    with pytest.raises(LinkworkError, match=r"(?i)planarscrew"):
        lw.save(model, tmp_path / "press.urdf")


# --- the quantity


def test_the_power_of_gravity_is_the_loss_of_potential_energy():
    """dU/dt = −P along the motion."""
    added("quantity")
    robot, h = lw.Dynamics(lw.load("arm_6r")), 1e-6
    q, v = robot.random_state(SIZE, seed=0)
    U = lambda t: robot.potential_energy(robot.integrate(q, t * v))
    np.testing.assert_allclose(robot.ask("gravity_power", q, v), (U(-h) - U(h)) / (2 * h), atol=1e-6)


def test_a_quantity_that_is_declared_again_is_the_new_one():
    robot, (q, v) = lw.Dynamics(lw.load("double_pendulum")), lw.Dynamics(lw.load("double_pendulum")).random_state(seed=0)
    for factor in (1.0, 2.0):

        @quantity((), Honours.NOTHING)
        def scaled(system, q, v, factor=factor):
            return factor * kinetic_energy(system, q, v)

        assert robot.ask("scaled", q, v) == pytest.approx(factor * robot.kinetic_energy(q, v))


def test_a_quantity_of_the_library_cannot_be_replaced():
    def mass_matrix(system, q): ...

    with pytest.raises(ValueError, match=r'"mass_matrix" is a quantity of linkwork. Give your function another name'):
        quantity(("nv", "nv"), Honours.NOTHING)(mass_matrix)


def test_asking_takes_options_and_says_what_is_wrong():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    q, v = robot.random_state(seed=0)
    np.testing.assert_array_equal(robot.ask(("jacobian", "link2", "world"), q), robot.jacobian(q, "link2", "world"))
    push = np.ones((len(robot.bodies), 6))
    np.testing.assert_array_equal(
        robot.ask(("inverse_dynamics", "external"), q, v, v, push), robot.inverse_dynamics(q, v, v, external=push)
    )
    light = robot.varying("gravity")
    np.testing.assert_array_equal(light.ask(("jacobian", "link2"), q), robot.jacobian(q, "link2"))
    for asked in (robot, light):
        with pytest.raises(UnknownNameError, match=r'no quantity "mass_matrx"\. Did you mean "mass_matrix"'):
            asked.ask("mass_matrx", q)
        with pytest.raises(TypeError, match="bias takes q, v; got 1 arrays"):
            asked.ask("bias", q)
    with pytest.raises(ValueError, match="ask for"):
        robot.ask("jacobian", q)


# --- the operation


@pytest.mark.parametrize("kind", EPS)
def test_the_cube_root_is_right_to_two_units_in_the_last_place(kind):
    added("operation")
    tiny, huge = np.finfo(kind).tiny, np.finfo(kind).max
    x = np.exp(np.linspace(np.log(tiny), np.log(huge) * 0.999, 2000)).astype(kind)
    root = lw.Dynamics(lw.load("pendulum")).kernel(cube_root, x=())
    for sign in (1, -1):
        exact = np.cbrt((sign * x).astype(np.longdouble))
        assert (np.abs(root(sign * x) - exact) <= 2 * np.spacing(np.abs(exact).astype(kind))).all()
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], kind)
    np.testing.assert_array_equal(root(odd), odd)
    assert list(np.signbit(root(odd[:2]))) == [False, True]


def cube_root(x):
    return np.cbrt(x)


def test_the_new_operation_folds_and_has_a_derivative():
    """d∛x = 1 / (3 ∛x²)."""
    added("operation")
    trace, row = Trace(), OPERATIONS["cbrt"]
    assert trace.value(trace.function("cbrt", trace.constant(8.0))) == 2.0
    x = trace.input("x", 0)
    slope = row.derivative(trace, row.traced(trace, x), x)
    program = Program("slope", trace, (Input("x", ()),), tuple(Output((ref,), ()) for ref in slope))
    ((found,),) = evaluate(program, {"x": [np.float64(-8.0)]}, meanings("value"), np.float64)
    assert found == pytest.approx(1 / 12)


def test_the_new_operation_is_casadis():
    casadi = pytest.importorskip("casadi")
    added("operation")
    x = casadi.SX.sym("x")
    ((found,),) = evaluate(record("root", cube_root, [Input("x", ())]), {"x": [x]}, meanings("casadi", casadi), casadi.SX)
    f = casadi.Function("f", [x], [found])
    np.testing.assert_allclose([float(f(y)) for y in (-8.0, 0.0, 2.0)], np.cbrt([-8.0, 0.0, 2.0]), rtol=1e-15)


# --- the contact row


def latched():
    """A door in its stop with a magnet of 3 N m, on the hinge of a frame that it turns."""
    added("contact-row")
    made = lw.Builder("door").body("leaf", joint=lw.Revolute(axis=(0, 0, 1)), mass=2.0, center=(0.4, 0, 0), tensor=(0.2, 0.2, 0.3))
    handle = {"mass": 0.3, "center": (0.1, 0, 0), "tensor": (0.01, 0.01, 0.02)}
    made.body("handle", "leaf", (0.8, 0, 0), lw.Revolute(axis=(0, 0, 1), friction=0.1), **handle)
    return made.model()


def test_a_batch_of_the_new_row_has_the_motion_of_single_runs():
    """Pulls below and above the magnet, beside dry friction of another joint."""
    robot, pulls = lw.Dynamics(latched()), np.array([[2.9, 0.3], [3.5, 0.05], [-2.0, 0.3]])
    law = lw.ContactLaw(solver="newton", rounds=30, tolerance=1e-11)
    start = np.zeros((3, 2)), np.array([[0.0, 0.0], [0.0, 0.5], [0.2, 0.0]])
    batch = lw.rollout(robot, *start, pulls[:, None], dt=0.001, steps=200, method="contact", contact=law)
    for i, pull in enumerate(pulls):
        alone = lw.simulate(robot, (start[0][i], start[1][i]), until=0.2, method="contact", dt=0.001, control=lambda t, q, v, u=pull: u)
        np.testing.assert_allclose(batch.end.q[i], alone.q[-1], atol=1e-9)
    assert batch.residual.max() < 1e-9


@pytest.mark.parametrize("solver", ["gauss_seidel", "newton", "interior"])
def test_a_step_with_the_new_row_has_its_derivative(solver):
    """∂v⁺/∂τ by differences, open, shut and about to open."""
    robot = lw.Dynamics(latched())
    step = lw.contact_kernel(robot, dt=0.01, contact=lw.ContactLaw(solver=solver, rounds=100, tolerance=1e-11))
    by_tau, h = step.jacobian(of=1, by="tau"), 1e-5
    for q, tau in (([0.3, 0.0], [1.0, 0.5]), ([0.0, 0.0], [1.0, 0.5]), ([0.0, 0.0], [4.0, 0.5])):
        state = np.array(q), np.array([0.0, 0.2])
        end = lambda tau, state=state: step(*state, tau, np.zeros(2))[1]
        numeric = np.stack([(end(tau + h * x) - end(tau - h * x)) / (2 * h) for x in np.eye(2)], -1)
        np.testing.assert_allclose(by_tau(*state, np.array(tau), np.zeros(2)), numeric, atol=1e-6)


# --- the system


def test_water_adds_its_inertia_and_no_weight():
    """𝓜 + Σ J* M_added J over the bodies; ½ v* 𝓜 v; C + C* = d𝓜/dt; the same g."""
    model, make = with_system()
    wet, dry, h = make(model), lw.Dynamics(model), 1e-6
    q, v = wet.random_state(SIZE, seed=5)
    J = {name: dry.jacobian(q, name) for name in WATER}
    mass = dry.mass_matrix(q) + sum(J[name].mT @ M @ J[name] for name, M in WATER.items())
    np.testing.assert_allclose(wet.mass_matrix(q), mass, atol=1e-12)
    np.testing.assert_allclose(wet.kinetic_energy(q, v), np.vecdot(v, np.matvec(mass, v)) / 2, atol=1e-11)
    np.testing.assert_allclose(wet.gravity_force(q), dry.gravity_force(q), atol=1e-12)
    np.testing.assert_allclose(wet.bias(q, 0 * v), dry.gravity_force(q), atol=1e-12)
    C = wet.coriolis_matrix(q, v)
    rate = (wet.mass_matrix(wet.integrate(q, h * v)) - wet.mass_matrix(wet.integrate(q, -h * v))) / (2 * h)
    np.testing.assert_allclose(C + C.mT, rate, atol=1e-6)
    np.testing.assert_allclose(wet.bias(q, v), np.matvec(C, v) + wet.gravity_force(q), atol=1e-10)


def test_water_moves_with_loops_too():
    """X* (𝓜 v̇ + C v + g − τ) = 0 and Jc v̇ + γ = 0 for the velocities X that the loop allows."""
    model = lw.load("four_bar")
    wet = lw.Dynamics(model, system=added("system").AddedMass(model, {model.bodies[1].name: np.diag([1.0, 1, 1, 5, 6, 7])}))
    dry, tau = lw.Dynamics(model), np.eye(wet.nv)[0]
    q = wet.assemble(wet.neutral())
    _, v = wet.constraints.project(q, np.ones(wet.nv))
    vdot = wet.forward_dynamics(q, v, tau)
    Jc = wet.constraints.jacobian(q)
    np.testing.assert_allclose(Jc @ vdot + wet.constraints.bias(q, v), 0, atol=1e-9)
    _, sizes, rows = np.linalg.svd(Jc)
    X = rows[np.count_nonzero(sizes > 1e-9) :].T
    assert X.shape[1] == 1
    np.testing.assert_allclose(X.T @ (wet.mass_matrix(q) @ vdot + wet.bias(q, v) - tau), 0, atol=1e-9)
    assert not np.allclose(vdot, dry.forward_dynamics(q, v, tau))


def test_a_rollout_takes_the_water_along():
    model, make = with_system()
    wet, plain = make(model), make(model, compiled=False)
    q, v = wet.random_state(5, seed=6)
    found, expected = (lw.rollout(robot, q, v, dt=0.01, steps=10) for robot in (wet, plain))
    np.testing.assert_allclose(found.q, expected.q, atol=1e-11)
    assert not np.allclose(found.q, lw.rollout(lw.Dynamics(model), q, v, dt=0.01, steps=10).q, atol=1e-6)


def test_inertia_of_water_alone_is_inertia():
    """A joint that moves nothing but water is not singular."""
    arm = lw.Builder("jelly").body("bell", joint=lw.Revolute())
    model, producer = arm.model(), added("system").AddedMass
    robot = lw.Dynamics(model, system=producer(model, {"bell": 2 * np.eye(6)}))
    assert robot.forward_dynamics([0.0], [0.0], [1.0]) == pytest.approx(0.5)
    with pytest.raises(LinkworkError, match="moves nothing that has inertia"):
        lw.Dynamics(model).forward_dynamics([0.0], [0.0], [1.0])


def test_a_rolled_system_of_other_blocks_is_refused_on_a_gpu(monkeypatch):
    cupy = stand_in.install(monkeypatch)
    model, make = with_system()
    with pytest.raises(DeviceError, match=r"a rolled mass_matrix does not run: use Dynamics\(model, rolled=False\)"):
        make(model, rolled=True).mass_matrix(cupy.asarray(np.zeros(2)))


def test_what_is_for_rigid_trees_refuses_a_system_of_other_blocks():
    model, make = with_system()
    for what in (lw.Equations, lw.MaximalCoordinates):
        with pytest.raises(LinkworkError, match="leaves out the producer AddedMass"):
            what(make(model))


# --- the method


def test_the_new_method_is_of_its_orders_on_the_group():
    """error(h) / error(h/2) = 2³, at the end of steps and within them."""
    made, robot = added("method").BogackiShampine, lw.Dynamics(lw.load("satellite"))
    state, errors = robot.random_state(seed=1), []
    exact = lw.simulate(robot, state, until=1.0, method="dop853", rtol=1e-13, atol=1e-14)
    for h in (1 / 64, 1 / 128):
        run = lw.simulate(robot, state, until=1.0, method=made(rtol=1.0, atol=1.0, max_step=h, first_step=h))
        assert (run.steps, run.rejected) == (round(1 / h), 0)
        t = np.concatenate([run.t[:-1] + 0.6 * h, run.t[-1:]])
        errors.append(np.abs(robot.difference(exact(t)[0], run(t)[0])))
    for rows in (slice(-1, None), slice(None, -1)):
        assert np.log2(errors[0][rows].max() / errors[1][rows].max()) == pytest.approx(3, abs=0.3)


def test_the_new_method_goes_all_roads(monkeypatch):
    """Kernels and functions of Python, many samples, a GPU, resume and a loop: the same motion."""
    made, robot = added("method").BogackiShampine(rtol=1e-5), lw.Dynamics(lw.load("double_pendulum"))
    Q, V = robot.random_state(3, seed=2)
    damp = lambda t, q, v: -0.2 * v - 0.1 * np.sin(t)
    kernel = robot.kernel(t=())(damp)
    many = lw.simulate(robot, (Q, V), until=1.0, method=made, control=kernel)
    for i in range(3):
        for control in (kernel, damp):
            alone = lw.simulate(robot, (Q[i], V[i]), until=1.0, method=made, control=control)
            np.testing.assert_allclose(alone.end.q, many.end.q[i], rtol=0, atol=0 if control is kernel else 1e-12)
    alone = lw.simulate(robot, (Q[0], V[0]), until=1.0, method="bs32", rtol=1e-5, control=kernel)
    np.testing.assert_array_equal(alone.resume(2.0).end.v, many.resume(2.0).end.v[0])
    cupy = stand_in.install(monkeypatch)
    there = lw.simulate(robot, (cupy.asarray(Q), cupy.asarray(V)), until=1.0, method=made, control=kernel)
    np.testing.assert_allclose(np.asarray(there.end.q), many.end.q, rtol=0, atol=1e-12)
    steps = {"until": 1.0, "method": type(made)(rtol=1.0, atol=1.0, max_step=0.02, first_step=0.02)}
    run, beside = (lw.simulate(robot, (Q[0], V[0] + [x, 0]), **steps) for x in (0.0, 1e-6))
    by_state = run.sensitivity(by="state")["state"][-1]
    np.testing.assert_allclose((beside.end.v - run.end.v) / 1e-6, by_state[2:, 2], rtol=1e-4, atol=1e-4)


def test_a_method_of_the_library_cannot_be_replaced_and_one_of_yours_can():
    page = added("method")
    assert added("method").BogackiShampine.name == "bs32"
    with pytest.raises(LinkworkError, match=r'"rk45" is a method of linkwork\. Give yours another name'):
        page.method("rk45")(page.Tableau)
    with pytest.raises(LinkworkError, match='rollout has no method "bs32"'):
        lw.rollout(lw.Dynamics(lw.load("pendulum")), [0.0], [0.0], dt=0.1, steps=1, method="bs32")


def test_the_source_of_the_library_is_its_own_and_nothing_else():
    assert cache.is_ours(lw.Dynamics) and cache.is_ours(kinetic_energy.function)
    assert not cache.is_ours(np.ndarray) and not cache.is_ours(added("joint").PlanarScrew)
