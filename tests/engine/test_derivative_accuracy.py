"""Derivatives against differences of 60 digits, to 1e-12 of the largest entry: all joints, and states where formulas divide by zero."""

import numpy as np
import pytest
from sixty_digits import ExactDerivative, error

import linkwork as lw

TOLERANCE = 1e-12
PHYSICS = {"stiffness": 3.0, "damping": 0.4, "armature": 0.1}
GROUPS = {
    "floating": (lw.Free(**PHYSICS), lw.Revolute(axis=(0, 0, 1)), lw.Helical(axis=(0, 0, 1), pitch=0.3)),
    "spherical": (lw.Spherical(**PHYSICS), lw.Cylindrical(axis=(0, 0, 1)), lw.Prismatic(axis=(0, 0, 1), **PHYSICS)),
    "planar": (lw.Planar(axis=(0, 0, 1), **PHYSICS), lw.Spherical(**PHYSICS), lw.PlanarTranslation(axis=(0, 0, 1))),
    "schoenflies": (lw.Schoenflies(axis=(0, 0, 1), **PHYSICS), lw.Translation(), lw.Universal(**PHYSICS)),
    "light": (lw.Revolute(axis=(0, 0, 1)), lw.Spherical(), lw.Revolute(axis=(0, 0, 1))),
}
DERIVATIVES = {  # by quantity: the derivative, and what each of its results is by
    "inverse_dynamics": ("inverse_dynamics_derivatives", ("q", "v", "vdot")),
    "forward_dynamics": ("forward_dynamics_derivatives", ("q", "v", "tau")),
    "gravity_force": ("gravity_force_derivative", ("q",)),
    "passive_force": ("passive_force_derivatives", ("q", "v")),
    "center_of_mass": ("center_of_mass_jacobian", ("q",)),
    "centroidal_momentum": ("centroidal_momentum_derivatives", ("q", "v")),
    "kinetic_energy": ("kinetic_energy_gradient", ("q", "v")),
    "potential_energy": ("potential_energy_gradient", ("q",)),
}


every_group = pytest.mark.parametrize("name", [pytest.param(x, marks=() if x == "planar" else pytest.mark.slow) for x in GROUPS])


def robot_of(name: str) -> lw.Dynamics:
    """A chain of three joints, bodies turned by right angles, a massless one or a light one in it."""
    builder, parent = lw.Builder(name), None
    for i, joint in enumerate(GROUPS[name]):
        mass = 1e-5 if name == "light" and i == 1 else 0.0 if name == "floating" and i == 1 else 1.0 + i
        at = lw.Pose.rpy((0.3, -0.1, 0.2), (np.pi / 2 * (i % 3), 0.0, np.pi / 2))
        tensor = tuple(mass * np.array([0.1, 0.15, 0.2]))
        builder.body(f"b{i}", parent, at, joint, mass=mass, center=(0.1, 0.05 * i, -0.2), tensor=tensor)
        parent = f"b{i}"
    last = "b2"
    springs = (
        lw.Spring("line", None, last, (0.4, 0.1, 0.9), (0.1, 0, 0.2), stiffness=7.0, length=0.4, damping=0.3),
        lw.Push("jet", last, force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3), axes="body"),
        lw.Push("weight", last, force=(1.0, 0.5, -2.0)),
    )
    return lw.Dynamics(builder.model().with_gravity((1.0, -2.0, -9.0)).with_forces(*springs), compiled=False)


def states(robot):
    """At random, at the identity, turned by almost half a turn, and with quaternions that are not unit."""
    q, v = robot.random_state(seed=1)
    yield "random", q, v
    yield "zero", robot.neutral(), v
    units = robot.lowered.units
    if units:
        near, long = robot.neutral() + 0.1, q.copy()
        for rows in units:
            near[rows] = np.array([0.6, 0.0, 0.8, 3e-9])
            long[rows] *= 1.7
        yield "near half a turn", near, v
        yield "not unit", long, v


@pytest.mark.parametrize("quantity", DERIVATIVES)
@every_group
def test_derivatives_are_right_to_twelve_digits(name, quantity):
    robot, (method, by) = robot_of(name), DERIVATIVES[quantity]
    exact, given = ExactDerivative(robot, quantity), np.cos(np.arange(robot.nv) + 1.0)
    for label, q, v in states(robot):
        arrays = [{"q": q, "v": v}.get(x.name, given) for x in robot.quantity(quantity).inputs]
        found = getattr(robot, method)(*arrays)
        for x, one in zip(by, found if isinstance(found, tuple) else (found,)):
            assert error(one, exact(robot, x, *arrays)) < TOLERANCE, (label, x)


@pytest.mark.parametrize("axes", ["body", "world"])
@every_group
def test_derivatives_of_jacobians_are_right_to_twelve_digits(name, axes):
    robot = robot_of(name)
    exact = ExactDerivative(robot, "jacobian", "b2", axes)
    for label, q, _ in states(robot):
        assert error(robot.jacobian_derivative(q, "b2", axes), exact(robot, "q", q)) < TOLERANCE, label


@pytest.mark.slow
@pytest.mark.parametrize("quantity", DERIVATIVES)
def test_the_derivative_of_the_program_is_right_to_twelve_digits(quantity):
    """by q, as `robot.derivative` has it"""
    robot = robot_of("spherical")
    exact, given = ExactDerivative(robot, quantity), np.cos(np.arange(robot.nv) + 1.0)
    for label, q, v in states(robot):
        arrays = [{"q": q, "v": v}.get(x.name, given) for x in robot.quantity(quantity).inputs]
        assert error(robot.derivative(quantity, *arrays), exact(robot, "q", *arrays)) < TOLERANCE, label
