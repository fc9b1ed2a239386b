"""`robot.derivative`: any quantity, by arguments or constants, first order or second; constants against an imaginary step."""

import threading
from functools import partial
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from zoo import MECHANISMS, Sweeps, close, plain, robots, state

import linkwork as lw
from linkwork import convert
from linkwork.engine.writers.c import identifier
from linkwork.equations import Equations
from linkwork.errors import ModelError, OptionError, ShapeError, UnknownNameError
from linkwork.quantities import QUANTITIES

MODELS = Path(__file__).parents[1] / "models"
STEP = 1e-30


# --- by constants of the model


def by_imaginary_step(robot, name, constant, *arrays):
    """d/ds of a quantity while one entry of a constant moves, for each entry, last axes."""
    sweeps = Sweeps(robot.model, dtype=complex, lengths=constant == "at")
    own = robot.varying(constant).value(constant)
    columns = []
    for e in np.eye(own.size).reshape(-1, *own.shape):
        moved = 1j * STEP * e if constant == "at" else own + 1j * STEP * e  # lengths are given less the model's own
        found = QUANTITIES[name].function(sweeps.nodes.varied({constant: moved}), *arrays)
        columns.append(np.imag(np.broadcast_to(found, np.shape(getattr(robot, name)(*arrays)))) / STEP)
    found = np.stack(columns, -1)
    return found.reshape(*found.shape[:-1], *own.shape)


@pytest.mark.parametrize("constant", ["mass", "center", "tensor", "at", "armature", "gravity"])
@robots("geared", "floating")
def test_forces_change_with_every_constant_of_the_model(robot, constant):
    """∂τ/∂m, ∂τ/∂c, ∂τ/∂I, ∂τ by lengths, rotors and gravity"""
    s = state(robot)
    found = robot.derivative("inverse_dynamics", s.q, s.v, s.vdot, by=constant)
    close(found, by_imaginary_step(robot, "inverse_dynamics", constant, s.q, s.v, s.vdot), 1e-12)


@robots("planar 2R")
def test_accelerations_change_as_forces_that_are_not_met(robot):
    """∂v̇/∂m = −𝓜⁻¹ ∂τ/∂m, and so for each constant, at the v̇ of τ"""
    s = state(robot, (2,))
    vdot, inverse = robot.forward_dynamics(s.q, s.v, s.tau), robot.mass_matrix_inverse(s.q)
    for constant in ("mass", "center", "tensor", "at", "gravity"):
        found = robot.derivative("forward_dynamics", s.q, s.v, s.tau, by=constant)
        forces = robot.derivative("inverse_dynamics", s.q, s.v, vdot, by=constant)
        close(found, -np.einsum("sij,sj...->si...", inverse, forces), 1e-11)


def force(free, s, constant, x):
    return free.passive_force(s.q, s.v, **{constant: x})


@pytest.mark.slow
@robots("geared")
def test_passive_forces_change_with_springs_and_dampers(robot):
    s = state(robot)
    for constant in ("stiffness", "damping", "friction"):
        found = robot.derivative("passive_force", s.q, s.v, by=constant)
        free = robot.varying(constant)
        model, at = free.value(constant), partial(force, free, s, constant)
        for i in np.flatnonzero(model):  # a spring that is not there has no force that grows: its joint may be far from any rest
            close(found[:, i], (at(model + np.eye(robot.nv)[i]) - at(model)), 1e-11)  # linear in each


def regressor(derivatives, body, i):
    """∂τ/∂π of one body, π = (m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about its origin): by the chain rule from mass, centre and tensor."""
    by_m, by_c, by_I = (x[:, i] for x in derivatives)
    m, h = body.mass, body.mass * np.array(body.center)
    about = lambda a, b: (a @ b) * np.eye(3) - np.outer(a, b)  # the tensor about the centre is that about the origin − about(h, h) / m
    columns = [by_m - by_c @ h / m**2 + np.einsum("tab,ab->t", by_I, about(h, h)) / m**2]
    columns += [by_c @ e / m - np.einsum("tab,ab->t", by_I, (about(e, h) + about(h, e)) / m) for e in np.eye(3)]
    columns += [by_I[:, a, b] + (by_I[:, b, a] if a != b else 0) for a, b in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.stack(columns, -1)


def test_the_regressor_falls_out_and_is_pinocchios():
    """∂τ/∂π of the inertial parameters of each body that moves"""
    path = str(MODELS / "ur5" / "ur5.urdf")
    theirs, robot = pin.buildModelFromUrdf(path), plain(lw.load(path))
    there, s = convert.pinocchio(robot), state(robot)
    A = there.axes(s.q)
    expected = pin.computeJointTorqueRegressor(theirs, theirs.createData(), there.q_to(s.q), A @ s.v, A @ s.vdot)
    found = robot.derivative("inverse_dynamics", s.q, s.v, s.vdot, by=("mass", "center", "tensor"))
    child = {x.name: x.child for x in robot.model.joints}
    for j in range(1, theirs.njoints):
        i = robot.bodies.index(child[theirs.names[j]])
        Y = regressor(found, robot.model.bodies[i], i)
        close(A @ Y, expected[:, 10 * (j - 1) : 10 * j], 1e-10)


@robots("tree", "floating")
def test_forces_are_linear_in_mass_and_tensor_together(robot):
    """Σ m ∂τ/∂m + I · ∂τ/∂I = τ, without rotors"""
    s = state(robot)
    by_m, by_I = robot.derivative("inverse_dynamics", s.q, s.v, s.vdot, by=("mass", "tensor"))
    free = robot.varying("mass", "tensor")
    total = by_m @ free.value("mass") + np.einsum("tiab,iab->t", by_I, free.value("tensor"))
    close(total, robot.inverse_dynamics(s.q, s.v, s.vdot), 1e-11)


# --- of any order, by any argument


@robots("spherical", "free", "compound")
def test_second_derivatives_on_a_group_differ_by_the_bracket(robot):
    """∂_a ∂_c f − ∂_c ∂_a f = Σ c_s ∂_s f with [e_a, e_c] = Σ c_s e_s, entry (a, c) being ∂_c of ∂_a; so they are not symmetric"""
    s = state(robot)
    structure = Equations(robot).structure_constants()  # [s, a, c]
    for name, arrays in (("potential_energy", (s.q,)), ("kinetic_energy", (s.q, s.v)), ("center_of_mass", (s.q,))):
        first, second = robot.derivative(name, *arrays), robot.derivative(name, *arrays, order=2)
        close(second.swapaxes(-1, -2) - second, np.tensordot(first, structure, (-1, 0)), 1e-11)


@robots("chain")
def test_of_joints_of_one_axis_they_are_symmetric(robot):
    s = state(robot)
    second = robot.derivative("potential_energy", s.q, order=2)
    close(second, second.T, 1e-12)


@robots("spherical", "compound")
def test_the_mass_matrix_is_the_second_derivative_of_energy(robot):
    """𝓜 = ∂²T/∂v², and ∂²T/∂v∂q is the derivative of 𝓜 v"""
    s = state(robot)
    qq, qv, vq, vv = robot.derivative("kinetic_energy", s.q, s.v, by=("q", "v"), order=2)
    close(vv, robot.mass_matrix(s.q), 1e-12)
    close(vq, qv.T, 1e-12)
    close(vq, robot.derivative("mass_matrix_times", s.q, s.v), 1e-11)
    assert qq.shape == (robot.nv, robot.nv)


@robots("spherical", "planar 2R")
def test_methods_are_the_derivatives_of_the_programs(robot):
    s, body = state(robot, (2,)), robot.bodies[-1]
    close(robot.jacobian_derivative(s.q, body), robot.derivative(("jacobian", body), s.q))
    close(robot.center_of_mass_jacobian(s.q), robot.derivative("center_of_mass", s.q))
    for name, method in (("centroidal_momentum", robot.centroidal_momentum_derivatives), ("kinetic_energy", robot.kinetic_energy_gradient)):
        for one, other in zip(method(s.q, s.v), robot.derivative(name, s.q, s.v, by=("q", "v")), strict=True):
            close(one, other, 1e-11)
    close(robot.gravity_force_derivative(s.q), robot.derivative("gravity_force", s.q), 1e-11)


# --- as other calls


ARM = lw.Dynamics(MECHANISMS["planar 2R"].with_gravity((0, -9.81, 0)))


def test_batches_of_any_shape_empty_ones_too_and_both_precisions():
    s = state(ARM, (3, 2))
    whole = ARM.derivative("inverse_dynamics", s.q, s.v, s.vdot, by="mass")
    assert whole.shape == (3, 2, 2, 2) and ARM.derivative("inverse_dynamics", s.q[:0], s.v[:0], s.vdot[:0], by="mass").shape == (0, 2, 2, 2)
    np.testing.assert_array_equal(whole[1, 1], ARM.derivative("inverse_dynamics", s.q[1, 1], s.v[1, 1], s.vdot[1, 1], by="mass"))
    single = ARM.derivative("inverse_dynamics", *(x.astype(np.float32) for x in (s.q, s.v, s.vdot)), by="mass")
    assert single.dtype == np.float32
    close(single, whole, 1e-5)
    out = np.full(whole.shape, np.nan)
    assert ARM.derivative("inverse_dynamics", s.q, s.v, s.vdot, by="mass", out=out) is out
    np.testing.assert_array_equal(out, whole)


def test_other_values_of_constants_are_given_by_name():
    """one for each sample, and the derivative need not be by them"""
    s, masses = state(ARM, (3,)), np.linspace(1, 2, 6).reshape(3, 2)
    found = ARM.derivative("gravity_force", s.q, by="q", mass=masses)
    for i, m in enumerate(masses):
        link = {"center": (0.5, 0, 0), "tensor": (1 / 12,) * 3}
        arm = lw.Builder("other", (0, -9.81, 0))
        arm.body("upper", joint=lw.Revolute(), mass=m[0], **link)
        arm.body("fore", "upper", (1, 0, 0), lw.Revolute(), mass=m[1], **link)
        close(found[i], plain(arm.model()).gravity_force_derivative(s.q[i]))


def test_in_a_kernel_it_is_part_of_the_program(tmp_path):
    """and so of its derivative and of its C"""
    s = state(ARM, (3,))

    @ARM.kernel
    def power(q, v):
        return ARM.derivative("potential_energy", q) @ v

    close(power(s.q, s.v), np.vecdot(ARM.gravity_force(s.q), s.v))
    close(power.jacobian(by="q")(s.q, s.v), np.vecmat(s.v, ARM.gravity_force_derivative(s.q)))
    source, _ = ARM.export.c(ARM.as_kernel("gravity_force").jacobian(by="q"), tmp_path)
    assert identifier("planar 2R_gravity_force_jacobian") in source.read_text()
    assert ARM.symbolic(ARM.as_kernel("gravity_force").jacobian(by="q")).shape == (2, 2)


def test_one_sample_that_is_no_number_spoils_no_other():
    s = state(ARM, (5,))
    q = s.q.copy()
    q[2, 1] = np.nan  # the elbow
    for found, clean in zip(ARM.forward_dynamics_derivatives(q, s.v, s.tau), ARM.forward_dynamics_derivatives(s.q, s.v, s.tau)):
        assert np.isnan(found[2]).any()
        np.testing.assert_array_equal(np.delete(found, 2, 0), np.delete(clean, 2, 0))


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_huge_and_tiny_velocities_give_derivatives_that_are_numbers(size):
    """∂τ/∂v is linear in v where there is no gravity"""
    robot, s = plain(MECHANISMS["planar 2R"]), state(ARM)
    _, by_v, _ = robot.inverse_dynamics_derivatives(s.q, size * s.v, 0 * s.v)
    close(by_v / size, robot.inverse_dynamics_derivatives(s.q, s.v, 0 * s.v)[1])


def test_threads_that_ask_at_once_get_the_same():
    robot, s, found = lw.Dynamics(MECHANISMS["planar 2R"]), state(ARM, (50,)), []
    ask = lambda: found.append(robot.derivative("inverse_dynamics", s.q, s.v, s.vdot, by=("q", "mass")))
    threads = [threading.Thread(target=ask) for _ in range(8)]
    [x.start() for x in threads]
    [x.join() for x in threads]
    assert len(found) == 8
    for each in found:
        for one, other in zip(each, found[0]):
            np.testing.assert_array_equal(one, other)


# --- what is refused, with the remedy


def test_errors_say_what_there_is():
    q, v = np.zeros(2), np.zeros(2)
    with pytest.raises(UnknownNameError, match='Did you mean "mass"'):
        ARM.derivative("gravity_force", q, by="masss")
    with pytest.raises(UnknownNameError, match="It takes q; constants are mass, center"):
        ARM.derivative("gravity_force", q, by="tau")
    with pytest.raises(UnknownNameError, match="gravity_force"):
        ARM.derivative("gravity_forces", q)
    with pytest.raises(UnknownNameError, match="can be varied"):
        ARM.derivative("gravity_force", q, masses=v)
    with pytest.raises(OptionError, match="order is 0"):
        ARM.derivative("gravity_force", q, order=0)
    with pytest.raises(TypeError, match="takes q; got 2"):
        ARM.derivative("gravity_force", q, v)
    with pytest.raises(ShapeError, match=r"mass has shape \(3,\)"):
        ARM.derivative("gravity_force", q, mass=np.ones(3))
    with pytest.raises(OptionError, match="no result 3"):
        ARM.derivative("inverse_dynamics_derivatives", q, v, v, of=3)


def test_under_constraints_what_means_nothing_is_refused():
    four_bar = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q, v = four_bar.constraints.random_state(seed=0)
    with pytest.raises(OptionError, match="forward_dynamics_derivatives"):
        four_bar.derivative("forward_dynamics", q, v, v)
    with pytest.raises(ModelError, match="no one formula"):
        four_bar.derivative("hybrid_dynamics", q, v, v, np.zeros(3), by="given")
    by_tau = four_bar.forward_dynamics_derivatives(q, v, v)[2]
    np.testing.assert_allclose(four_bar.derivative("forward_dynamics", q, v, v, by="tau"), by_tau, atol=1e-9 * np.abs(by_tau).max())
    assert four_bar.derivative("gravity_force", q).shape == (four_bar.nv, four_bar.nv)


def test_a_robot_that_does_not_move_has_derivatives_without_entries():
    rock = lw.Builder("rock")
    rock.body("rock", mass=1.0)
    robot, none = lw.Dynamics(rock.model()), np.zeros((3, 0))
    assert robot.derivative("center_of_mass", none).shape == (3, 3, 0)
    assert robot.center_of_mass_jacobian(none).shape == (3, 3, 0)
    assert robot.jacobian_derivative(none, "rock").shape == (3, 6, 0, 0)
    assert [x.shape for x in robot.passive_force_derivatives(none, none)] == [(3, 0, 0)] * 2
    assert [x.shape for x in robot.centroidal_momentum_derivatives(none, none)] == [(3, 6, 0)] * 2
    assert robot.potential_energy_gradient(none).shape == (3, 0)
