"""Every quantity of a robot, called on a state."""

from types import SimpleNamespace

import pytest

CALLS = {
    "mass_matrix": lambda robot, s: robot.mass_matrix(s.q),
    "mass_matrix_inverse": lambda robot, s: robot.mass_matrix_inverse(s.q),
    "inverse_dynamics": lambda robot, s: robot.inverse_dynamics(s.q, s.v, s.vdot),
    "inverse_dynamics pushed": lambda robot, s: robot.inverse_dynamics(s.q, s.v, s.vdot, s.external),
    "forward_dynamics": lambda robot, s: robot.forward_dynamics(s.q, s.v, s.tau),
    "forward_dynamics pushed": lambda robot, s: robot.forward_dynamics(s.q, s.v, s.tau, s.external),
    "bias": lambda robot, s: robot.bias(s.q, s.v),
    "gravity_force": lambda robot, s: robot.gravity_force(s.q),
    "coriolis_matrix": lambda robot, s: robot.coriolis_matrix(s.q, s.v),
    "passive_force": lambda robot, s: robot.passive_force(s.q, s.v),
    "kinetic_energy": lambda robot, s: robot.kinetic_energy(s.q, s.v),
    "potential_energy": lambda robot, s: robot.potential_energy(s.q),
    "center_of_mass": lambda robot, s: robot.center_of_mass(s.q),
    "centroidal_momentum": lambda robot, s: robot.centroidal_momentum(s.q, s.v),
    "poses": lambda robot, s: robot.poses(s.q),
    "pose": lambda robot, s: robot.pose(s.q, robot.bodies[-1]),
    "jacobian": lambda robot, s: robot.jacobian(s.q, robot.bodies[-1]),
    "jacobian world": lambda robot, s: robot.jacobian(s.q, robot.bodies[-1], "world"),
    "integrate": lambda robot, s: robot.integrate(s.q, s.v),
    "difference": lambda robot, s: robot.difference(s.q, robot.integrate(s.q, s.v)),
    "qdot": lambda robot, s: robot.qdot(s.q, s.v),
}
INVERTS = "mass_matrix_inverse", "forward_dynamics", "forward_dynamics pushed"  # those that divide by a mass matrix
every_call = pytest.mark.parametrize("name", CALLS)


def each(s, f):
    """The state with f done to every array of it."""
    return SimpleNamespace(**{name: f(x) for name, x in vars(s).items()})
