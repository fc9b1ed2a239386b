"""Energy, power, momentum and the centre of mass, over the zoo."""

import numpy as np
from zoo import Sweeps, body_inertias, close, every_mechanism, jacobians, physics, plain, rate, robots, slope, state

from linkwork.spatial import phi

SHAPE = (2, 3)


def along(robot, f, s, vdot):
    """df/dt of f(q, v) while q moves with v and v with v̇: exact to rounding."""
    sweeps, step = Sweeps(robot.model, dtype=complex), 1e-30
    return np.imag(f(sweeps)(sweeps.integrate(s.q, 1j * step * s.v), s.v + 1j * step * vdot)) / step


def power(tau, v):
    return (tau * v).sum(-1)


@every_mechanism
def test_kinetic_energy_is_half_the_mass_matrix_between_velocities(robot):
    """T = ½ v* 𝓜 v."""
    s = state(robot, SHAPE)
    close(robot.kinetic_energy(s.q, s.v), np.einsum("...i,...ij,...j", s.v, robot.mass_matrix(s.q), s.v) / 2)


@every_mechanism
def test_kinetic_energy_is_the_sum_over_bodies(robot):
    """T = ½ Σ V*(k) M(k) V(k) + ½ v* J v."""
    s = state(robot, SHAPE)
    V = (jacobians(robot, s.q) @ s.v[..., None, :, None])[..., 0]
    bodies = np.einsum("...ki,kij,...kj", V, body_inertias(robot.model), V) / 2
    close(robot.kinetic_energy(s.q, s.v), bodies + power(physics(robot.model, "armature") * s.v, s.v) / 2)


@every_mechanism
def test_forces_and_weight_and_wrenches_do_all_the_work(robot):
    """dT/dt = (τ − g) · v + Σ f(k) · V(k)."""
    s = state(robot, SHAPE)
    vdot = robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    V = (jacobians(robot, s.q) @ s.v[..., None, :, None])[..., 0]
    work = power(s.tau - robot.gravity_force(s.q), s.v) + (s.external * V).sum((-1, -2))
    close(along(robot, lambda sweeps: sweeps.kinetic_energy, s, vdot), work, 1e-11)


@every_mechanism
def test_only_motors_and_friction_change_the_energy(robot):
    """d(T + U)/dt = τ · v − d v² − c |v| when springs, damping and friction act too."""
    s = state(robot, SHAPE)
    vdot = robot.forward_dynamics(s.q, s.v, s.tau + robot.passive_force(s.q, s.v))

    def energy(t):
        q, v = robot.integrate(s.q, t * s.v), s.v + t * vdot  # right to first order, and no more is asked
        return robot.kinetic_energy(q, v) + robot.potential_energy(q)

    lost = power(physics(robot.model, "damping") * s.v, s.v) + power(physics(robot.model, "friction"), np.abs(s.v))
    close(slope(energy, 1e-4), power(s.tau, s.v) - lost, 1e-8)


@every_mechanism
def test_the_center_of_mass_is_the_mean_of_the_bodies(robot):
    """c = Σ m(k) T(k) c(k) / m."""
    q, _ = robot.random_state(SHAPE, 0)
    T = robot.poses(q)
    total = sum(b.mass * (T[..., k, :3, :3] @ b.center + T[..., k, :3, 3]) for k, b in enumerate(robot.model.bodies))
    close(robot.center_of_mass(q), total / robot.model.mass)


@every_mechanism
def test_linear_momentum_is_mass_times_the_velocity_of_the_center(robot):
    """p = m dc/dt."""
    s = state(robot, SHAPE)
    velocity = rate(robot, lambda sweeps: sweeps.center_of_mass, s.q, s.v)
    close(robot.centroidal_momentum(s.q, s.v)[..., 3:], robot.model.mass * velocity)


@every_mechanism
def test_centroidal_momentum_is_the_sum_over_bodies(robot):
    """h = Σ φ(c, k) M(k) V(k), at the centre of mass in world axes."""
    s = state(robot, SHAPE)
    V = jacobians(robot, s.q) @ s.v[..., None, :, None]
    T = robot.poses(s.q)
    T[..., :3, 3] -= robot.center_of_mass(s.q)[..., None, :]
    close(robot.centroidal_momentum(s.q, s.v), (phi(T) @ body_inertias(robot.model) @ V).sum(-3)[..., 0])


@robots("free", "floating", "massless")
def test_no_force_inside_changes_the_momentum(robot):
    """dh/dt = [0; m g] whatever the joints do, the base being free."""
    s = state(robot, SHAPE)
    s.tau[..., :6] = 0
    hdot = along(robot, lambda sweeps: sweeps.centroidal_momentum, s, robot.forward_dynamics(s.q, s.v, s.tau))
    close(hdot, np.concatenate([np.zeros(3), robot.model.mass * np.array(robot.model.gravity)]), 1e-11)


@robots("free", "floating", "massless")
def test_the_momentum_of_a_free_mechanism_is_conserved_without_gravity(robot):
    """dh/dt = 0."""
    weightless = plain(robot.model.with_gravity((0, 0, 0)))
    s = state(weightless, SHAPE)
    s.tau[..., :6] = 0
    hdot = along(weightless, lambda sweeps: sweeps.centroidal_momentum, s, weightless.forward_dynamics(s.q, s.v, s.tau))
    close(hdot, np.zeros((*SHAPE, 6)), 1e-11)


@robots("free", "floating", "massless")
def test_wrenches_from_outside_change_the_momentum(robot):
    """dh/dt = Σ φ(c, k) f(k) + [0; m g], at the centre of mass in world axes."""
    s = state(robot, SHAPE)
    s.tau[..., :6] = 0
    T = robot.poses(s.q)
    T[..., :3, 3] -= robot.center_of_mass(s.q)[..., None, :]
    wrench = (phi(T) @ s.external[..., None]).sum(-3)[..., 0]
    wrench[..., 3:] += robot.model.mass * np.array(robot.model.gravity)
    vdot = robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    close(along(robot, lambda sweeps: sweeps.centroidal_momentum, s, vdot), wrench, 1e-11)


@robots("free")
def test_a_free_body_falls_as_stones_do(robot):
    """A body at rest, however it lies: the acceleration of its centre is g, and it does not turn."""
    q, _ = robot.random_state(SHAPE, 0)
    still = np.zeros((*SHAPE, 6))
    alpha = robot.jacobian(q, "body0", "world") @ robot.forward_dynamics(q, still, still)[..., None]
    close(alpha[..., 0], np.array([0, 0, 0, *robot.model.gravity]))
