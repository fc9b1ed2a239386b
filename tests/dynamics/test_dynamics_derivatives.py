"""Derivatives of inverse and forward dynamics, along the group: the sweep, the derivative of the program, an imaginary step."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from zoo import close, differences, every_mechanism, gradient, planar_2r, robots, state

import linkwork as lw
from linkwork import convert
from linkwork.engine.loading.interpreter import run
from linkwork.systems import Producer

MODELS = Path(__file__).parents[1] / "models"
SOME = robots("tree", "floating", "geared", "planar 2R")


@every_mechanism
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_the_sweep_is_the_derivative_of_inverse_dynamics(robot, shape):
    """∂τ/∂q along e = d/ds τ(q ∘ exp(s e), v, v̇), ∂τ/∂v by differences that are exact of what is quadratic, ∂τ/∂v̇ = 𝓜"""
    s = state(robot, shape)
    by_q, by_v, by_vdot = robot.inverse_dynamics_derivatives(s.q, s.v, s.vdot)
    column = lambda x: np.asarray(x)[..., None, :]
    expected = gradient(robot, lambda at: lambda q: at.inverse_dynamics(q, column(s.v), column(s.vdot)), s.q)
    close(by_q, np.broadcast_to(expected, by_q.shape), 1e-11)
    ends = [robot.bias(column(s.q), column(s.v) + sign * np.eye(robot.nv)) for sign in (1, -1)]
    close(by_v, ((ends[0] - ends[1]) / 2).mT, 1e-11)
    close(by_vdot, robot.mass_matrix(s.q))


@SOME
def test_wrenches_on_bodies_turn_with_them(robot):
    """With `external`, against differences."""
    s = state(robot)
    found = robot.inverse_dynamics_derivatives(s.q, s.v, s.vdot, s.external)[0]
    expected = differences(robot, lambda q: robot.inverse_dynamics(q, s.v[None], s.vdot[None], s.external[None]), s.q)
    close(found, expected, 1e-9)


@SOME
def test_the_derivatives_of_forward_dynamics_are_minus_its_compliance_times_those_of_inverse_dynamics(robot):
    """∂v̇ = −𝓜⁻¹ ∂τ, at the v̇ of τ, and they are what differences approach"""
    s = state(robot, (2,))
    vdot = robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(s.q, s.v, s.tau, s.external)
    tau_q, tau_v, M = robot.inverse_dynamics_derivatives(s.q, s.v, vdot, s.external)
    for one, other in ((by_q, -np.linalg.solve(M, tau_q)), (by_v, -np.linalg.solve(M, tau_v)), (by_tau, np.linalg.inv(M))):
        close(one, other, 1e-8)
    column = lambda x, axis=-2: np.expand_dims(x, axis)
    expected = differences(robot, lambda q: robot.forward_dynamics(q, column(s.v), column(s.tau), column(s.external, -3)), s.q)
    close(by_q, expected, 1e-7)


def asked(robot, name):
    return lambda q, v, x: getattr(robot, name)(q, v, x)


@robots("free", "planar 2R", "compound")
def test_the_sweep_is_the_derivative_of_the_program(robot):
    """forwards and backwards over the operations, to rounding"""
    s = state(robot)
    for name, given in (("inverse_dynamics", s.vdot), ("forward_dynamics", s.tau)):
        kernel = robot.kernel(asked(robot, name), x=robot.nv)
        found = run(kernel.jacobian().program, {"q": s.q, "v": s.v, "x": given})
        for one, other in zip(found, getattr(robot, f"{name}_derivatives")(s.q, s.v, given), strict=True):
            close(one, other, 1e-9)


@SOME
def test_a_rate_is_the_derivative_times_its_direction(robot, rng):
    """τ̇ = ∂τ/∂q dq + ∂τ/∂v dv + 𝓜 dv̇, in one sweep of O(N), and so for v̇"""
    s, along = state(robot, (3,)), rng.standard_normal((3, 3, robot.nv))
    parts = robot.ask("inverse_dynamics_derivatives", s.q, s.v, s.vdot)
    expected = sum(np.matvec(J, d) for J, d in zip(parts, along))
    close(robot.ask("inverse_dynamics_rate", s.q, s.v, s.vdot, *along), expected, 1e-11)
    parts = robot.ask("forward_dynamics_derivatives", s.q, s.v, s.tau)
    expected = sum(np.matvec(J, d) for J, d in zip(parts, along))
    close(robot.ask("forward_dynamics_rate", s.q, s.v, s.tau, *along), expected, 1e-9)


@SOME
def test_a_gradient_is_the_weight_times_the_derivative(robot, rng):
    """in one sweep of O(N), the transpose of that of rates"""
    s, weight = state(robot, (3,)), rng.standard_normal((3, robot.nv))
    for name, given in (("inverse_dynamics", s.vdot), ("forward_dynamics", s.tau)):
        parts = robot.ask((f"{name}_derivatives", "external"), s.q, s.v, given, s.external)
        gradient = robot.ask((f"{name}_gradient", "external"), s.q, s.v, given, weight, s.external)
        for one, J in zip(gradient, parts, strict=True):
            close(one, np.vecmat(weight, J), 1e-9)


def test_two_rods_have_the_numbers_of_the_textbook():
    """Elbow at 90°, v = (1, 2): ∂τ/∂v̇ = 𝓜, and d𝓜/dt = [[−2, −1], [−1, 0]] is the rate of it along v."""
    robot = lw.Dynamics(planar_2r(), compiled=False)
    q, v = np.array([0.3, np.pi / 2]), np.array([1.0, 2.0])
    mass = robot.kernel(lambda q: robot.mass_matrix(q))
    close(run(mass.jvp.program, {"q": q, "dq": v})[0], [[-2, -1], [-1, 0]])
    close(run(mass.jacobian().program, {"q": q})[0][..., 1], [[-1, -0.5], [-0.5, 0]])
    close(robot.inverse_dynamics_derivatives(q, v, v)[2], robot.mass_matrix(q))


# --- of every quantity


def found(kernel, **arrays):
    return run(kernel.program, arrays)[0]


@robots("chain", "floating")
def test_the_gradient_of_energy_is_force(robot):
    """∂V/∂q = g where there are no springs, ∂T/∂v = 𝓜 v, ∂²T/∂v² = 𝓜"""
    s = state(robot)
    close(found(robot.as_kernel("potential_energy").jacobian(), q=s.q), robot.gravity_force(s.q), 1e-11)
    energy = robot.as_kernel("kinetic_energy")
    close(found(energy.jacobian(by="v"), q=s.q, v=s.v), robot.mass_matrix(s.q) @ s.v, 1e-11)
    close(found(energy.hessian(by="v"), q=s.q, v=s.v), robot.mass_matrix(s.q), 1e-11)


@robots("floating", "chain")
def test_the_mass_matrix_changes_symmetrically_and_as_coriolis_forces_say(robot):
    """∂𝓜 along v = C + C*"""
    s = state(robot)
    change = found(robot.as_kernel("mass_matrix").jacobian(), q=s.q)
    close(change, change.swapaxes(0, 1))
    C = robot.coriolis_matrix(s.q, s.v)
    close(change @ s.v, C + C.T, 1e-11)


@robots("floating")
def test_places_move_as_their_jacobians_say(robot):
    """∂R along v = R ω~ and ∂p along v = R ṗ, [ω; ṗ] = J v"""
    s, body = state(robot), robot.bodies[-1]
    T, (w, u) = robot.pose(s.q, body), np.split(robot.jacobian(s.q, body) @ s.v, 2)
    rate = found(robot.as_kernel(("pose", body)).jvp, q=s.q, dq=s.v)
    close(rate[:3, :3], T[:3, :3] @ lw.lie.so3.tilde(w))
    close(rate[:3, 3], T[:3, :3] @ u)


def test_constants_that_vary_have_derivatives_too():
    """∂v̇/∂m by differences, and backwards"""
    robot = lw.Dynamics(planar_2r((0, -9.81, 0)))
    s, free = state(robot), robot.varying("mass")
    kernel, m = free.as_kernel("forward_dynamics"), free.value("mass")
    by_mass = found(kernel.jacobian(by="mass"), q=s.q, v=s.v, tau=s.tau, mass=m)
    at = lambda m: found(kernel, q=s.q, v=s.v, tau=s.tau, mass=m)
    close(by_mass, np.stack([(at(m + 1e-5 * e) - at(m - 1e-5 * e)) / 2e-5 for e in np.eye(2)], -1), 1e-7)
    *_, back = run(kernel.vjp.program, {"q": s.q, "v": s.v, "tau": s.tau, "mass": m, "weight": s.vdot})
    close(back, s.vdot @ by_mass)


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
@pytest.mark.parametrize("name", ["ur5", "panda", "anymal_c"])
def test_they_are_pinocchios(name):
    """In its order of coordinates: A ∂τ A*, A a permutation."""
    path, floating = str(MODELS / name / f"{name}.urdf"), name == "anymal_c"
    theirs = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    robot = lw.Dynamics(lw.load(path, floating=floating, mimic="free"), compiled=False)
    there, data, s = convert.pinocchio(robot), theirs.createData(), state(robot)
    A = there.axes(s.q)
    q, v, vdot, tau = there.q_to(s.q), A @ s.v, A @ s.vdot, A @ s.tau
    pin.computeRNEADerivatives(theirs, data, q, v, vdot)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    ours = robot.inverse_dynamics_derivatives(s.q, s.v, s.vdot)
    for one, other in zip(ours, (data.dtau_dq, data.dtau_dv, M), strict=True):
        close(A @ one @ A.T, other, 1e-10)
    pin.computeABADerivatives(theirs, data, q, v, tau)
    inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    ours = robot.forward_dynamics_derivatives(s.q, s.v, s.tau)
    for one, other in zip(ours, (data.ddq_dq, data.ddq_dv, inverse), strict=True):
        close(A @ one @ A.T, other, 1e-9)


def test_a_long_mechanism_has_them_with_wrenches_too(rng):
    """column by column from a rolled kernel"""
    chain = lw.load("chain:4")
    plain, rolled = lw.Dynamics(chain, compiled=False), lw.Dynamics(chain, rolled=True)
    s = state(plain, (2,))
    for name, given in (("inverse_dynamics_derivatives", s.vdot), ("forward_dynamics_derivatives", s.tau)):
        for one, other in zip(*(getattr(robot, name)(s.q, s.v, given, s.external) for robot in (rolled, plain)), strict=True):
            close(one, other, 1e-9)


def test_other_blocks_than_those_of_the_tree_have_the_derivatives_of_their_program(rng):
    """Twice the inertia, and with it the weight: twice the derivatives of inverse dynamics."""

    class Heavier(Producer):
        def blocks(self, nodes, s, q):
            return s._replace(M={k: 2 * s.M[k] for k in s.tree.base_to_tips()})

    model, given = planar_2r().with_gravity((0, -9.81, 0)), rng.standard_normal((3, 2))
    other, own = lw.Dynamics(model, compiled=False, system=Heavier()), lw.Dynamics(model, compiled=False)
    for one, two in zip(other.inverse_dynamics_derivatives(*given), own.inverse_dynamics_derivatives(*given), strict=True):
        close(one, 2 * two, 1e-11)


@pytest.mark.parametrize("name, forward, vjp, sweep", [("panda", 1741, 3.2, 4100), ("ur5", 654, 3.2, 1500)])
def test_derivatives_stay_short(name, forward, vjp, sweep):
    """The vector-Jacobian product of forward dynamics in at most 3.2 times its operations."""
    robot = lw.Dynamics(lw.load(MODELS / name / f"{name}.urdf", mimic="free"))
    kernel = robot.kernel(lambda q, v, tau: robot.forward_dynamics(q, v, tau))
    count = lambda program: sum(program.operations.values())
    assert count(kernel.program) <= forward
    assert count(kernel.vjp.program) <= vjp * forward
    assert count(robot.program("inverse_dynamics_derivatives")) <= sweep
