"""Derivatives of places, momentum, energies and passive forces along the group: laws, an imaginary step, Pinocchio."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from zoo import MECHANISMS, close, differences, every_mechanism, gradient, robots, state

import linkwork as lw
from linkwork import convert
from linkwork.systems import Producer

MODELS = Path(__file__).parents[1] / "models"


def column(x):
    return np.asarray(x)[..., None, :]


def sprung(name) -> lw.Dynamics:
    """A mechanism with springs, a damper and pushes between points of it."""
    model = MECHANISMS[name]
    first, last = model.bodies[0].name, model.bodies[-1].name
    forces = (
        lw.Spring("between", first, last, (0.1, 0.2, 0.3), (0.3, 0.1, 0.2), stiffness=7.0, length=0.4, damping=0.3),
        lw.Spring("line", None, last, (0.5, 0.2, 0.3), (0.3, 0.1, 0.2), stiffness=5.0, length=0.2, damping=0.1),
        lw.Push("jet", last, (1, 2, 3), (0.1, 0.2, 0.3), (0.2, 0.1, 0.3), axes="body"),
        lw.Push("hand", last, (1, 2, 3), (0.1, 0.2, 0.3), (0.2, 0.1, 0.3)),
        lw.Push("weight", last, (0, 1, -3), at=(0.2, 0, 0.3)),
    )
    return lw.Dynamics(model.with_forces(*forces), compiled=False)


SPRUNG = pytest.mark.parametrize("robot", [sprung(name) for name in ("geared", "tree", "floating")], ids=["geared", "tree", "floating"])


# --- places, momentum, kinetic energy


@every_mechanism
@pytest.mark.parametrize("axes", ["body", "world"])
def test_the_kinematic_hessian_is_the_derivative_of_the_jacobian(robot, axes):
    """∂J/∂q along e = d/ds J(q ∘ exp(s e)), in either axes"""
    s, body = state(robot, (2,)), robot.bodies[-1]
    place = robot.model.place(body)
    close(robot.jacobian_derivative(s.q, body, axes), gradient(robot, lambda at: lambda q: at.jacobian(q, *place, axes), s.q))


@every_mechanism
def test_the_centre_of_mass_and_momentum_change_as_their_derivatives_say(robot):
    """∂c/∂q, ∂h/∂q by an imaginary step; ∂h/∂v v = h, which is linear in v"""
    s = state(robot, (2,))
    close(robot.center_of_mass_jacobian(s.q), gradient(robot, lambda at: at.center_of_mass, s.q))
    by_q, by_v = robot.centroidal_momentum_derivatives(s.q, s.v)
    close(by_q, gradient(robot, lambda at: lambda q: at.centroidal_momentum(q, column(s.v)), s.q), 1e-11)
    close(np.matvec(by_v, s.v), robot.centroidal_momentum(s.q, s.v))
    mass = sum(body.mass for body in robot.model.bodies)
    close(by_v[..., 3:, :], mass * robot.center_of_mass_jacobian(s.q))


@every_mechanism
def test_kinetic_energy_changes_as_its_gradient_says(robot):
    """∂T/∂q by an imaginary step, ∂T/∂v = 𝓜 v"""
    s = state(robot, (2,))
    by_q, by_v = robot.kinetic_energy_gradient(s.q, s.v)
    close(by_q, gradient(robot, lambda at: lambda q: at.kinetic_energy(q, column(s.v)), s.q), 1e-11)
    close(by_v, np.matvec(robot.mass_matrix(s.q), s.v))


@robots("floating", "tree", "forest")
def test_momentum_changes_by_what_acts_from_outside(robot):
    """With dq = v and dv = v̇ of a free fall, ḣ = [0; m g] where no joint holds on to the world"""
    s = state(robot, (3,))
    by_q, by_v = robot.centroidal_momentum_derivatives(s.q, s.v)
    found = robot.ask("centroidal_momentum_change", s.q, s.v, s.tau, s.vdot)
    close(found, np.matvec(by_q, s.tau) + np.matvec(by_v, s.vdot), 1e-11)


def test_a_free_body_keeps_its_momentum_and_falls():
    robot = lw.Dynamics(MECHANISMS["floating"], compiled=False)
    s = state(robot)
    vdot = robot.forward_dynamics(s.q, s.v, s.tau * (np.arange(robot.nv) >= 6))  # its joints push, nothing holds its base
    mass = sum(body.mass for body in robot.model.bodies)
    expected = np.concatenate([np.zeros(3), mass * np.array(robot.model.gravity)])
    close(robot.ask("centroidal_momentum_change", s.q, s.v, s.v, vdot), expected, 1e-11)


# --- gravity, springs, dampers, pushes


@every_mechanism
def test_gravity_changes_as_its_derivative_says(robot):
    s = state(robot, (2,))
    found = robot.gravity_force_derivative(s.q)
    close(found, gradient(robot, lambda at: at.gravity_force, s.q), 1e-11)
    zero = np.zeros_like(s.v)
    close(found, robot.inverse_dynamics_derivatives(s.q, zero, zero)[0])


@SPRUNG
def test_passive_forces_change_as_their_derivatives_say(robot):
    """∂Q/∂q by differences; ∂Q/∂v exactly, for Q is linear in v but for dry friction, which is as it is along small steps"""
    s = state(robot, (2,))
    by_q, by_v = robot.passive_force_derivatives(s.q, s.v)
    close(by_q, differences(robot, lambda q: robot.passive_force(q, column(s.v)), s.q), 1e-9)
    ends = [robot.passive_force(column(s.q), column(s.v) + sign * 1e-3 * np.eye(robot.nv)) for sign in (1, -1)]
    close(by_v, ((ends[0] - ends[1]) / 2e-3).mT, 1e-9)


@SPRUNG
def test_the_gradient_of_potential_energy_is_what_holds_the_mechanism(robot):
    """∂U/∂q by differences; the Hessian of the springs' energy is ∂g − ∂Q, without what has no energy"""
    s = state(robot, (2,))
    close(robot.potential_energy_gradient(s.q), differences(robot, robot.potential_energy, s.q), 1e-9)
    bare = replace(robot.model, forces=tuple(x for x in robot.model.forces if x.name not in ("jet", "hand")))
    held, zero = lw.Dynamics(bare, compiled=False), np.zeros_like(s.v)
    close(held.potential_energy_gradient(s.q), held.gravity_force(s.q) - held.passive_force(s.q, zero), 1e-11)
    hessian = held.gravity_force_derivative(s.q) - held.passive_force_derivatives(s.q, zero)[0]
    close(hessian, differences(held, held.potential_energy_gradient, s.q), 1e-9)


SOFT = {"spherical": lw.Spherical(stiffness=(1.0, 2.0, 0.0)), "planar": lw.Planar(stiffness=(0.0, 2.0, 1.0)),
        "free": lw.Free(stiffness=(0, 0, 0, 1.0, 2.0, 3.0))}  # fmt: skip


@pytest.mark.parametrize("joint", SOFT.values(), ids=SOFT)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_spring_along_some_directions_of_a_joint_has_an_energy(joint, compiled):
    """Q = −∂U/∂q, U = ½ ξ* k ξ, though k is zero in places and the directions of a group depend on each other"""
    builder = lw.Builder("soft", (0, 0, 0))
    builder.body("block", joint=joint, mass=1.0, tensor=(0.1, 0.1, 0.1))
    robot = lw.Dynamics(builder.model(), compiled=compiled)
    s = state(robot, (2,))
    slope = differences(robot, robot.potential_energy, s.q)
    close(-robot.passive_force(s.q, 0 * s.v), slope, 1e-9)
    close(robot.potential_energy_gradient(s.q), slope, 1e-9)


@SPRUNG
def test_with_passive_forces_they_are_part_of_what_changes(robot):
    """∂(ID − Q), and ∂v̇ = 𝓜⁻¹ (∂Q − ∂τ) at the v̇ of τ + Q, which differences approach"""
    s = state(robot, (2,))
    Q_q, Q_v = robot.passive_force_derivatives(s.q, s.v)
    tau_q, tau_v, M = robot.inverse_dynamics_derivatives(s.q, s.v, s.vdot, s.external)
    found = robot.inverse_dynamics_derivatives(s.q, s.v, s.vdot, s.external, passive=True)
    for one, other in zip(found, (tau_q - Q_q, tau_v - Q_v, M), strict=True):
        close(one, other)
    total = s.tau + robot.passive_force(s.q, s.v)
    tau_q, tau_v, M = robot.inverse_dynamics_derivatives(s.q, s.v, robot.forward_dynamics(s.q, s.v, total, s.external), s.external)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(s.q, s.v, s.tau, s.external, passive=True)
    close(M @ by_q, Q_q - tau_q, 1e-9)
    close(M @ by_v, Q_v - tau_v, 1e-9)
    close(M @ by_tau, np.broadcast_to(np.eye(robot.nv), M.shape), 1e-9)
    push = s.external[..., None, :, :]
    moved = lambda q: robot.forward_dynamics(q, column(s.v), column(s.tau) + robot.passive_force(q, column(s.v)), push)
    close(by_q, differences(robot, moved, s.q), 1e-7)


def test_points_that_meet_have_derivatives_that_are_numbers():
    """A spring between points at one place: k I, and no force without a length."""
    arm = lw.Builder("slide")
    arm.body("slider", joint=lw.Translation(), mass=1.0)
    robot = lw.Dynamics(arm.model().with_forces(lw.Spring("s", None, "slider", stiffness=3.0, damping=0.5)), compiled=False)
    by_q, by_v = robot.passive_force_derivatives(np.zeros(3), np.ones(3))
    close(by_q, -3.0 * np.eye(3))
    close(by_v, np.zeros((3, 3)))


# --- ours and theirs


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
@pytest.mark.parametrize("name", ["ur5", "solo12"])
def test_they_are_pinocchios(name):
    """In its order of coordinates, linear rows first"""
    path, floating = str(MODELS / name / f"{name}.urdf"), name == "solo12"
    theirs = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    robot = lw.Dynamics(lw.load(path, floating=floating), compiled=False)
    there, data, s = convert.pinocchio(robot), theirs.createData(), state(robot)
    A = there.axes(s.q)
    q, v, vdot = there.q_to(s.q), A @ s.v, A @ s.vdot
    swap = lambda x: np.concatenate([x[3:], x[:3]])
    close(A @ robot.gravity_force_derivative(s.q) @ A.T, pin.computeGeneralizedGravityDerivatives(theirs, data, q), 1e-10)
    if floating:  # of a fixed base they leave out the mass
        close(robot.center_of_mass_jacobian(s.q) @ A.T, pin.jacobianCenterOfMass(theirs, data, q), 1e-10)
        by_q, by_v = robot.centroidal_momentum_derivatives(s.q, s.v)
        close(swap(by_v @ A.T), pin.computeCentroidalMap(theirs, data, q), 1e-10)
        dh_dq, *_ = pin.computeCentroidalDynamicsDerivatives(theirs, data, q, v, vdot)
        close(swap(by_q @ A.T), dh_dq, 1e-10)
    pin.computeJointJacobians(theirs, data, q)
    pin.computeJointKinematicHessians(theirs, data)
    last = max(robot.model.joints, key=lambda x: theirs.getJointId(x.name) % theirs.njoints)
    for axes, frame in (("body", pin.ReferenceFrame.LOCAL), ("world", pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)):
        ours = swap(np.einsum("rac,ia,jc->rij", robot.jacobian_derivative(s.q, last.child, axes), A, A))
        hessian = pin.getJointKinematicHessian(theirs, data, theirs.getJointId(last.name), frame)
        close(ours, hessian.ravel().reshape(hessian.shape, order="F"), 1e-10)  # its memory is column by column


# --- what is refused, with the remedy


def test_blocks_that_somebody_else_makes_have_the_derivatives_of_their_program(rng):
    """Twice the inertia, and with it the weight: twice the derivatives of energies and forces, and the same of the center of mass."""

    class Heavier(Producer):
        def blocks(self, nodes, s, q):
            return s._replace(M={k: 2 * s.M[k] for k in s.tree.base_to_tips()})

    model = MECHANISMS["planar 2R"].with_gravity((0, -9.81, 0))
    other, own = lw.Dynamics(model, compiled=False, system=Heavier()), lw.Dynamics(model, compiled=False)
    q, v = rng.standard_normal((2, 2))
    for one, two in zip(other.kinetic_energy_gradient(q, v), own.kinetic_energy_gradient(q, v), strict=True):
        close(one, 2 * two)
    close(other.center_of_mass_jacobian(q), own.center_of_mass_jacobian(q))
    close(other.gravity_force_derivative(q), 2 * own.gravity_force_derivative(q))
    close(other.derivative("kinetic_energy", q, v, by="v"), other.mass_matrix(q) @ v)


@robots("geared")
def test_dry_friction_at_rest_is_no_damper(robot):
    """∂Q/∂v at v = 0, by the sweep and by the program"""
    q, zero = state(robot).q, np.zeros(robot.nv)
    _, by_v = robot.passive_force_derivatives(q, zero)
    close(by_v, -np.diag(robot.varying("damping").value("damping")))
    close(robot.derivative("passive_force", q, zero, by="v"), by_v)
