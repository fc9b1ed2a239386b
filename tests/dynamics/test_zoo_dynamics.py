"""Forces and accelerations, over the zoo."""

from dataclasses import replace

import numpy as np
from zoo import (
    Sweeps,
    body_inertias,
    close,
    differences,
    every_mechanism,
    gradient,
    jacobians,
    physics,
    plain,
    rate,
    robots,
    state,
)

import linkwork as lw
from linkwork.sweeps import articulated_inertia, forward_dynamics, interbody_forces, inverse_dynamics

SHAPE = (2, 3)
VERY_CLOSE = 1e-11


@every_mechanism
def test_forward_dynamics_undoes_inverse_dynamics(robot):
    """FD(q, v, ID(q, v, v̇, f), f) = v̇."""
    s = state(robot, SHAPE)
    tau = robot.inverse_dynamics(s.q, s.v, s.vdot, s.external)
    close(robot.forward_dynamics(s.q, s.v, tau, s.external), s.vdot, VERY_CLOSE)


@every_mechanism
def test_inverse_dynamics_undoes_forward_dynamics(robot):
    """ID(q, v, FD(q, v, τ, f), f) = τ."""
    s = state(robot, SHAPE)
    vdot = robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    close(robot.inverse_dynamics(s.q, s.v, vdot, s.external), s.tau, VERY_CLOSE)


@every_mechanism
def test_the_equations_of_motion(robot):
    """τ = 𝓜 v̇ + C v + g."""
    s = state(robot, SHAPE)
    inertial = robot.mass_matrix(s.q) @ s.vdot[..., None]
    close(robot.inverse_dynamics(s.q, s.v, s.vdot), inertial[..., 0] + robot.bias(s.q, s.v))


@every_mechanism
def test_the_mass_matrix_is_symmetric_and_positive(robot):
    """𝓜 = 𝓜* > 0."""
    mass = robot.mass_matrix(robot.random_state(SHAPE, 0)[0])
    close(mass, mass.mT, 1e-15)
    assert (np.linalg.eigvalsh(mass) > 0).all()


@every_mechanism
def test_the_mass_matrix_is_the_sum_over_bodies(robot):
    """𝓜 = Σ J*(k) M(k) J(k) + armature."""
    q, _ = robot.random_state(SHAPE, 0)
    J = jacobians(robot, q)
    dense = (J.mT @ body_inertias(robot.model) @ J).sum(-3) + np.diag(physics(robot.model, "armature"))
    close(robot.mass_matrix(q), dense)


@every_mechanism
def test_the_inverse_is_the_inverse(robot):
    """𝓜⁻¹ 𝓜 = I."""
    q, _ = robot.random_state(SHAPE, 0)
    eye = np.broadcast_to(np.eye(robot.nv), (*SHAPE, robot.nv, robot.nv))
    close(robot.mass_matrix_inverse(q) @ robot.mass_matrix(q), eye, VERY_CLOSE)


@every_mechanism
def test_the_inverse_is_symmetric(robot):
    inverse = robot.mass_matrix_inverse(robot.random_state(SHAPE, 0)[0])
    close(inverse, inverse.mT, VERY_CLOSE)


@every_mechanism
def test_columns_of_the_mass_matrix_are_forces_of_unit_accelerations(robot):
    """𝓜 e = ID(q, 0, e) − g                                 Jain, section 5.3.1."""
    q, _ = robot.random_state(SHAPE, 0)
    still, unit = np.zeros(robot.nv), np.eye(robot.nv)
    forces = robot.inverse_dynamics(q[..., None, :], still, unit) - robot.gravity_force(q)[..., None, :]
    close(robot.mass_matrix(q), forces.mT, VERY_CLOSE)


@every_mechanism
def test_the_bias_is_the_coriolis_force_and_gravity(robot):
    """bias = C v + g."""
    s = state(robot, SHAPE)
    coriolis = (robot.coriolis_matrix(s.q, s.v) @ s.v[..., None])[..., 0]
    close(coriolis + robot.gravity_force(s.q), robot.bias(s.q, s.v))


@every_mechanism
def test_the_rate_of_the_mass_matrix_is_twice_the_symmetric_part_of_the_coriolis_matrix(robot):
    """d𝓜/dt = C + C*, so that d𝓜/dt − 2C does no work."""
    s = state(robot, SHAPE)
    C = robot.coriolis_matrix(s.q, s.v)
    close(C + C.mT, rate(robot, lambda sweeps: sweeps.mass_matrix, s.q, s.v))


@every_mechanism
def test_the_coriolis_matrix_is_linear_in_velocity(robot):
    """C(q, 2u − 3v) = 2 C(q, u) − 3 C(q, v)."""
    s = state(robot, SHAPE)
    C = lambda v: robot.coriolis_matrix(s.q, v)
    close(C(2 * s.vdot - 3 * s.v), 2 * C(s.vdot) - 3 * C(s.v))


@every_mechanism
def test_gravity_force_is_the_gradient_of_the_potential(robot):
    """g = ∂U/∂q along every velocity, U = −m g·c without the springs."""
    q, _ = robot.random_state(SHAPE, 0)
    weight = robot.model.mass * np.array(robot.model.gravity)
    close(robot.gravity_force(q), -gradient(robot, lambda sweeps: lambda q: sweeps.center_of_mass(q) @ weight, q))
    soft = plain(with_joints(robot.model, stiffness=0.0, rest=None))
    close(robot.gravity_force(q), differences(soft, soft.potential_energy, q), 1e-9)


@every_mechanism
def test_passive_force_is_minus_the_gradient_of_the_spring_energy_and_damping(robot):
    """τ = −∂U/∂q − d v − c sign v, in a world without gravity."""
    s = state(robot, SHAPE)
    weightless = plain(robot.model.with_gravity((0, 0, 0)))
    spring = differences(weightless, weightless.potential_energy, s.q)
    damping, friction = physics(robot.model, "damping"), physics(robot.model, "friction")
    close(robot.passive_force(s.q, s.v), -spring - damping * s.v - friction * np.sign(s.v), 1e-9)


@robots("geared")
def test_springs_at_rest_pull_no_more(robot):
    """U = 0 and τ = 0 at rest, where gravity is off."""
    weightless = plain(robot.model.with_gravity((0, 0, 0)))
    rest = np.concatenate([part.at_rest for placed in robot.model.joints for _, part, _ in placed.joint.parts])
    close(weightless.potential_energy(rest), 0.0)
    close(weightless.passive_force(rest, np.zeros(robot.nv)), np.zeros(robot.nv))


@every_mechanism
def test_external_wrenches_are_forces_through_the_jacobians(robot):
    """ID(f) = ID − Σ J*(k) f(k)                              Jain (5.36)."""
    s = state(robot, SHAPE)
    through = (jacobians(robot, s.q).mT @ s.external[..., None]).sum(-3)[..., 0]
    close(robot.inverse_dynamics(s.q, s.v, s.vdot, s.external), robot.inverse_dynamics(s.q, s.v, s.vdot) - through)
    pushed = robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    close(pushed, robot.forward_dynamics(s.q, s.v, s.tau + through), VERY_CLOSE)


@every_mechanism
def test_weight_is_a_wrench_on_each_body(robot):
    """g = −Σ J*(k) [c × m g; m g](k) in a world without gravity."""
    q, v = robot.random_state(SHAPE, 0)
    weightless = plain(robot.model.with_gravity((0, 0, 0)))
    g = robot.poses(q)[..., :3, :3].mT @ np.array(robot.model.gravity)
    linear = np.concatenate([np.zeros_like(g), g], -1)
    wrench = (body_inertias(robot.model) @ linear[..., None])[..., 0]
    close(weightless.inverse_dynamics(q, v, v, wrench), robot.inverse_dynamics(q, v, v))


@every_mechanism
def test_joints_carry_the_same_forces_in_forward_and_inverse_dynamics(robot):
    """P (α − a) + z = M α + b + Σ φ f                      Jain (7.34)."""
    given, nodes = state(robot, SHAPE), Sweeps(robot.model).nodes
    tree, s = nodes.tree, nodes.blocks(given.q)
    r = nodes.rates(s, given.v, given.tau, given.external)
    P, D, G, _ = articulated_inertia(s)
    vdot, alpha, z = forward_dynamics(s, P, D, G, r)
    tau, alpha_too, f = inverse_dynamics(s, r, vdot)
    articulated = interbody_forces(s, P, r, alpha, z)
    for k in tree.base_to_tips():
        close(alpha[k], alpha_too[k], VERY_CLOSE)
        close(articulated[k], f[k], VERY_CLOSE)
    close(tree.join(tau) if robot.nv else given.tau, given.tau, VERY_CLOSE)


@every_mechanism
def test_armature_adds_to_the_diagonal(robot):
    """𝓜 = 𝓜(without rotors) + armature."""
    q, _ = robot.random_state(SHAPE, 0)
    bare = plain(with_joints(robot.model, armature=0.0))
    close(robot.mass_matrix(q), bare.mass_matrix(q) + np.diag(physics(robot.model, "armature")))


@robots("tree", "chain", "floating")
def test_rotors_slow_every_joint_the_same_way(robot):
    """𝓜 v̇ + armature v̇ = τ − bias."""
    s = state(robot, SHAPE)
    heavy = plain(with_joints(robot.model, armature=0.7))
    vdot = heavy.forward_dynamics(s.q, s.v, s.tau)
    close(robot.inverse_dynamics(s.q, s.v, vdot) + 0.7 * vdot, s.tau, VERY_CLOSE)


@every_mechanism
def test_splitting_fixed_placements_into_nodes_changes_nothing(robot):
    """lower(split=True): the same dynamics on more nodes."""
    s = state(robot, SHAPE)
    one, other = Sweeps(robot.model), Sweeps(robot.model, split=True)
    assert len(other.nodes.tree) >= len(one.nodes.tree)
    for quantity, *inputs in [
        ("mass_matrix", s.q),
        ("mass_matrix_inverse", s.q),
        ("inverse_dynamics", s.q, s.v, s.vdot, s.external),
        ("forward_dynamics", s.q, s.v, s.tau, s.external),
        ("coriolis_matrix", s.q, s.v),
        ("passive_force", s.q, s.v),
        ("potential_energy", s.q),
        ("centroidal_momentum", s.q, s.v),
        ("poses", s.q),
        ("integrate", s.q, s.v),
    ]:
        close(getattr(one, quantity)(*inputs), getattr(other, quantity)(*inputs), VERY_CLOSE)


@robots("tree", "floating", "forest", "massless", "geared")
def test_locking_a_joint_leaves_out_its_rows(robot):
    """𝓜, g and bias of the locked mechanism are those of the whole, without the rows of the joint."""
    q, v = robot.random_state(seed=0)
    placed = [placed for placed in robot.model.joints if placed.joint.nv][1]
    rows = robot.v_index(placed.name)
    locked = plain(robot.model.locked({placed.name: q[robot.q_index(placed.name)]}))
    v[rows] = 0
    rest_q, rest_v = np.delete(q, robot.q_index(placed.name)), np.delete(v, rows)
    whole = np.delete(np.delete(robot.mass_matrix(q), rows, 0), rows, 1)
    close(locked.mass_matrix(rest_q), whole)
    close(locked.bias(rest_q, rest_v), np.delete(robot.bias(q, v), rows))


def with_joints(model, **changes):
    """The model with these properties on every joint and part of one."""

    def changed(joint):
        if isinstance(joint, lw.Compound):
            return replace(joint, row=tuple((name, changed(part), at) for name, part, at in joint.row))
        return replace(joint, **changes)

    return replace(model, joints=tuple(replace(placed, joint=changed(placed.joint)) for placed in model.joints))
