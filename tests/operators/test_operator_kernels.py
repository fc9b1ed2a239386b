"""Operator expressions and the quantities of chapters 10 and 16 as kernels: the same numbers as their float runs."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from zoo import MECHANISMS, close, plain, state

import linkwork as lw
from linkwork import quantities
from linkwork.engine.loading import interpreter
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input, record
from linkwork.lie.scalars import like
from linkwork.operators import Operators, geared, operators, rigid
from linkwork.spatial import Pose
from linkwork.systems import lower

HUMANOID = Path(__file__).parents[1] / "models/simple_humanoid/simple_humanoid.urdf"
HANDS_AND_FEET = "LLEG_LINK6", "RLEG_LINK6", "LARM_LINK7", "RARM_LINK7"


def kernel(model, function, inputs, split=False):
    """A function (nodes, *inputs) of a model as a kernel: inputs are sized nv, q nq."""
    nodes = lower(model, split=split)
    units = [
        slice(rows.start + u.start, rows.start + u.stop)
        for rows, group in zip(nodes.q_rows, nodes.groups)
        for u in group.units
    ]

    def traced(*arguments):
        return function(nodes.mapped(lambda _, i, x: like(x, arguments[0])), *arguments)

    given = tuple(Input(x, (nodes.nq if x == "q" else nodes.tree.nv,), tuple(units) if x == "q" else ()) for x in inputs)
    return Kernel(function.__name__, traced, given)


def run(made):
    return made.gufunc("d")


@cache
def humanoid():
    """A humanoid with every joint bent, for the file's limits are all zero."""
    model = lw.load(HUMANOID, floating=True)
    robot = plain(model)
    v = np.random.default_rng(3).standard_normal((3, robot.nv))
    return model, robot, robot.integrate(robot.neutral(), v)


def hands_and_feet(model):
    return tuple((model.body_index(name), Pose(), False) for name in HANDS_AND_FEET)


def test_an_expression_compiles():
    """𝓜⁻¹ τ = (I − HψK)* D⁻¹ (I − HψK) τ, written with operators, as a kernel."""
    model = MECHANISMS["chain"]
    robot = plain(model)
    s = state(robot, (5,))

    def unforced(nodes, q, tau):
        op = operators(model, q)
        mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T + op.armature
        return mass.inv() @ tau

    compiled = run(kernel(model, unforced, ("q", "tau")))
    expected = np.linalg.solve(robot.mass_matrix(s.q), s.tau[..., None])[..., 0]
    close(compiled(s.q, s.tau), expected, 1e-10)


def test_an_expression_costs_what_its_sweep_costs():
    """Operators add no operations of their own: 𝓜 v̇ by φ M φ* is inverse dynamics at rest, less nothing."""
    model = MECHANISMS["chain"]

    def product(nodes, q, vdot):
        return operators(model, q)("H φ M φ* H* + armature") @ vdot

    def sweep(nodes, q, vdot):
        return rigid(nodes.mapped(lambda name, i, x: 0 * x if name == "gravity" else x), q).inverse_dynamics(vdot)

    counts = [sum(kernel(model, f, ("q", "vdot")).program.operations.values()) for f in (product, sweep)]
    assert counts[0] == counts[1]


def test_a_jacobian_and_a_determinant_compile():
    """J v and log det 𝓜 in one kernel of two outputs."""
    model = MECHANISMS["floating"]
    robot = plain(model)
    s = state(robot, (4,))

    def both(nodes, q, v):
        op = operators(model, q)
        return op.jacobian("body2") @ v, op.mass_matrix.logdet()

    twist, logdet = run(kernel(model, both, ("q", "v")))(s.q, s.v)
    close(twist, np.matvec(robot.jacobian(s.q, "body2"), s.v), 1e-11)
    close(logdet, np.linalg.slogdet(robot.mass_matrix(s.q))[1], 1e-11)


@pytest.mark.slow
def test_the_hands_and_feet_of_a_humanoid():
    """Λ of two feet and two hands, compiled, against (J 𝓜⁻¹ J*)⁻¹ in dense matrices."""
    model, robot, q = humanoid()
    J = np.concatenate([robot.jacobian(q, name) for name in HANDS_AND_FEET], -2)
    dense = np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), J.mT))

    def inertia(nodes, q):
        return quantities.task_inertia(nodes, q, hands_and_feet(model))

    Lambda, independence = run(kernel(model, inertia, ("q",), split=True))(q)
    close(Lambda, dense, 1e-9)
    assert (independence > 1e-6).all()
    op = operators(model, q)
    close(op.task(*HANDS_AND_FEET).inertia, dense, 1e-9)


def test_a_straight_humanoid_is_singular():
    """With every joint at zero, the 24 directions of hands and feet have rank 23, and the kernel's number says so."""
    model, robot, _ = humanoid()
    q = robot.neutral()
    assert operators(model, q).task(*HANDS_AND_FEET).rank == 23
    _, independence = quantities.task_inertia(lower(model), q, hands_and_feet(model))
    assert abs(independence) < 1e-12


CALLS = {
    "explicit_mass_matrix_inverse": ("q",),
    "hybrid_dynamics": ("q", "v", "tau", "flags"),
    "task_compliance": ("q",),
    "task_jacobian": ("q",),
    "joint_response": ("q",),
    "task_acceleration": ("q", "v", "tau"),
    "joint_wrenches": ("q", "v", "vdot"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mechanism", ["universal", *(pytest.param(x, marks=pytest.mark.slow) for x in ("chain", "floating"))])
def test_a_kernel_is_its_sweep(mechanism, name):
    """kernel(q, ...) = sweep(q, ...), on nodes split for it and on nodes as they are."""
    model = MECHANISMS[mechanism]
    robot = plain(model)
    s = state(robot, (3,))
    last = len(model.bodies) - 1
    s.flags = np.arange(robot.nv) % 2.0
    options: tuple = ()
    if "task" in name or name == "joint_response":
        options = (((last, Pose.of((0.1, 0.2, 0.3)), False), (0, Pose(), True)),)
    if name == "joint_wrenches":
        options = ((0, last),)

    def quantity(nodes, *arguments):
        return quantities.QUANTITIES[name](nodes, *arguments, *options)

    arguments = [getattr(s, x) for x in CALLS[name]]
    expected = quantity(lower(model), *arguments)
    close(run(kernel(model, quantity, CALLS[name], split=True))(*arguments), expected, 1e-9)


def test_one_kernel_serves_every_subset():
    """Flags are an input: the same kernel is forward dynamics, inverse dynamics and all between."""
    model = MECHANISMS["floating"]
    robot = plain(model)
    s = state(robot, (3,))

    def hybrid(nodes, q, v, given, prescribed):
        return quantities.hybrid_dynamics(nodes, q, v, given, prescribed)

    compiled = run(kernel(model, hybrid, ("q", "v", "given", "prescribed"), split=True))
    close(compiled(s.q, s.v, s.tau, np.zeros(robot.nv)), robot.forward_dynamics(s.q, s.v, s.tau), 1e-9)
    close(compiled(s.q, s.v, s.vdot, np.ones(robot.nv)), robot.inverse_dynamics(s.q, s.v, s.vdot), 1e-9)


def test_a_geared_arm_compiles():
    """Forward dynamics of twelve-entry nodes as a kernel."""
    from systems import gear_train, geared_at

    model = gear_train()
    sko, train, X = geared_at(model)

    def forward(nodes, q, tau):
        return geared(rigid(nodes, q), train).forward_dynamics((like(X.T, q) @ tau[..., None])[..., 0])

    q = plain(model).random_state((3,), seed=1)[0]
    tau = np.random.default_rng(0).standard_normal((3, sko.nv))
    expected = geared(rigid(lower(model), q), train).forward_dynamics(tau @ X)
    close(run(kernel(model, forward, ("q", "tau")))(q, tau), expected, 1e-9)


def test_forces_in_the_joints():
    """The wrench that a joint carries does the work of its joint force: H f = τ, gravity and forces from outside in it."""
    model = MECHANISMS["chain"]
    robot = plain(model)
    s = state(robot, (3,))
    bodies = tuple(range(len(model.bodies)))
    f = quantities.joint_wrenches(lower(model), s.q, s.v, s.vdot, bodies, s.external)
    tau = robot.inverse_dynamics(s.q, s.v, s.vdot, s.external)
    for i, body in enumerate(robot.bodies):
        joint = model.joints[i].name
        rows = robot.v_index(joint)
        parent = model.joints[i].parent
        relative = robot.jacobian(s.q, body)[..., rows]  # the joint's own columns: what it adds to the body's velocity
        close(np.matvec(relative.mT, f[..., i, :]), tau[..., rows], 1e-10)
        assert parent is None or parent in robot.bodies


def test_the_residues_of_a_task_that_is_never_independent():
    """Twelve directions on one body: the tracer proves that six follow from the others, and they are left out."""
    model = MECHANISMS["floating"]
    task = ((0, Pose(), False), (0, Pose.of((0.1, 0, 0)), False))

    def inertia(nodes, q):
        return quantities.task_inertia(nodes, q, task)

    made = kernel(model, inertia, ("q",))
    q, _ = lw.Dynamics(model).random_state(seed=0)
    inertia, independence = interpreter.run(record(made.name, made.function, made.inputs), {"q": q})
    assert independence == 0 and np.isfinite(inertia).all() and not inertia[6:].any()


def test_the_operators_of_traced_arrays_have_shapes():
    """Inside a kernel an operator still tells its size and how it is written."""
    model = MECHANISMS["chain"]
    seen = []

    def looked_at(nodes, q):
        op = Operators(rigid(nodes, q))
        seen.append((op.mass_matrix.shape, repr(op.mass_matrix)))
        return op.mass_matrix.dense()

    program = kernel(model, looked_at, ("q",)).program
    assert seen == [((8, 8), "H φ M φ* H* + armature")]
    assert program.outputs[0].shape == (8, 8)


def test_inside_the_kernels_of_a_robot():
    """robot.kernel compiles an expression with operators; it is what forward dynamics does to a force."""
    robot = lw.Dynamics(MECHANISMS["floating"])
    s = state(robot, (4,))

    @robot.kernel
    def unforced(q, tau):
        return operators(robot, q).mass_matrix.inv() @ tau

    close(unforced(s.q, s.tau), np.matvec(robot.mass_matrix_inverse(s.q), s.tau), 1e-10)


@pytest.mark.parametrize("axes", ["body", "world"])
def test_the_law_of_operational_space_compiles(axes):
    """τ = J* (Λ u + C_os) + N* posture                                                           Jain (10.9)."""
    robot, u = lw.Dynamics(lw.load("arm_6r")), np.arange(6.0)
    q, v = robot.random_state(seed=1)
    law = lambda q, v, u: robot.operators(q, v).task(robot.bodies[-1], axes=axes).control(u, -v)
    close(robot.kernel(law, u=6)(q, v, u), law(q, v, u), 1e-9)


@pytest.mark.parametrize("axes", ["body", "world"])
def test_a_task_under_loops_is_the_same_inside_a_kernel(axes):
    """α = J Y_C (τ − 𝓒) + imposed + drift of a point on the rocker of a four-bar."""
    robot = lw.Dynamics(lw.load("four_bar"))
    q, v = robot.constraints.project(robot.constraints.assemble(robot.neutral()), np.array([1.0, 0.2, -0.5]))
    moving = lambda q, v, tau: robot.operators(q, v).task(("rocker", (0.1, 0.0, 0.0)), axes=axes).acceleration(tau)
    close(robot.kernel(moving)(q, v, v), moving(q, v, v), 1e-9)


def test_a_singular_task_is_not_a_number_in_a_kernel_in_that_sample_alone():
    """A stretched arm has one direction less; where it has them all, Λ is as outside."""
    robot = lw.Dynamics(lw.load("arm_6r"))
    q = np.stack([robot.random_state(seed=1)[0], np.zeros(6)])
    tip = robot.bodies[-1]
    inertia = robot.kernel(lambda q: robot.operators(q).task(tip).inertia)(q)
    close(inertia[0], robot.operators(q[0]).task(tip).inertia, 1e-9)
    assert np.isnan(inertia[1]).all()
    for wrong in (lambda task: task.rank, lambda task: replace(task, deficient="ignore").inertia):
        with pytest.raises(lw.LinkworkError, match="kernel"):
            robot.kernel(partial(lambda wrong, q: wrong(robot.operators(q).task(tip)), wrong))(q)


def test_what_does_not_fit_the_robot_is_said():
    with pytest.raises(lw.ShapeError, match=r"q has shape \(3,\), but chain has nq = 8"):
        operators(MECHANISMS["chain"], np.zeros(3))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda op: op.task(), "takes the places"),
        (lambda op: op.task("link6", axes="wrld"), '"body" or "world"'),
        (lambda op: op.task(("link6", (0, 0, 0))).control(np.ones(4)), r"acceleration .* shape \(4,\); there are 3 directions"),
        (lambda op: op.task(("link6", (0, 0, 0))).control(1.0), r"shape \(\)"),
        (lambda op: op.task(("link6", (0, 0, 0))).control(np.ones(3), np.ones(4)), "posture .* there are 6 velocities"),
        (lambda op: op.task(("link6", (0, 0, 0))).acceleration(np.ones(5)), "tau .* there are 6 velocities"),
    ],
)
def test_what_does_not_fit_a_task_is_said(wrong, says):
    """Places, axes, accelerations and postures, by name."""
    with pytest.raises(lw.LinkworkError, match=says):
        wrong(operators(lw.load("arm_6r"), np.full(6, 0.4), np.zeros(6)))
