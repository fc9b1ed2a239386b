"""Müller and Terze, 3.4, and the lecture: derivatives of Jacobians by Lie brackets, accelerations of bodies and points."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, every_mechanism, gradient, grown, plain, rate, robots, slope, state

import linkwork as lw
from linkwork.equations import Equations
from linkwork.spatial import tilde


def jacobian_of(robot, body):
    place = robot.model.place(body)
    return lambda sweeps: lambda q: sweeps.jacobian(q, *place)


@every_mechanism
def test_derivatives_of_the_body_jacobian_are_brackets(robot):
    """∂_c K_a = [K_a, K_c] where a ≺ c, else 0 (27): an imaginary step says the same."""
    q = state(robot).q
    for body in robot.bodies[-2:]:
        close(Equations(robot).jacobian_derivatives(q, body), gradient(robot, jacobian_of(robot, body), q), 1e-12)


@robots("chain", "tree")
def test_derivatives_of_the_body_jacobian_are_brackets_of_its_columns(robot):
    """Each nonzero one is ad_{K_a} K_c."""
    q, body = state(robot).q, robot.bodies[-1]
    K, dK = robot.jacobian(q, body), Equations(robot).jacobian_derivatives(q, body)
    brackets = np.einsum("aij,jc->iac", tilde(K.T), K)
    moved = np.abs(dK).max(0) > 0
    assert moved.any() and not (moved & moved.T).any()
    close(dK[:, moved], brackets[:, moved])


@every_mechanism
def test_jdot_is_the_rate_along_the_motion(robot):
    s, body = state(robot), robot.bodies[-1]
    close(Equations(robot).jacobian_rate(s.q, s.v, body), rate(robot, jacobian_of(robot, body), s.q, s.v), 1e-12)


@every_mechanism
def test_accelerations_of_bodies_follow_from_the_rate_of_the_jacobian(robot):
    """V̇ = K v̇ + Σ [K_b, K_c] v_b v_c (28): the wrench on a lone probe body, by Newton and Euler, says the same."""
    s, body = state(robot, (2,)), robot.bodies[-1]
    found = Equations(robot).acceleration(s.q, s.v, s.vdot, body)
    J = robot.jacobian(s.q, body)
    rates = rate(robot, jacobian_of(robot, body), s.q, s.v)
    close(found, (J @ s.vdot[..., None] + rates @ s.v[..., None])[..., 0], 1e-11)


@robots("tree", "floating", "chain", "free")
def test_accelerations_of_points_are_second_derivatives(robot):
    """x, ẋ, ẍ of a point of a body along q(t), d/dt v = v̇."""
    s, point, body = state(robot), np.array([0.3, -0.2, 0.5]), robot.bodies[-1]
    equations = Equations(robot)

    def at(t):
        q = robot.integrate(s.q, t * s.v + t * t / 2 * s.vdot)
        return equations.point_motion(q, s.v + t * s.vdot, s.vdot, body, point)

    x, xdot, xddot = at(0.0)
    close(x, (robot.pose(s.q, body) @ [*point, 1])[:3])
    close(xdot, slope(lambda t: at(t)[0], 1e-4), 1e-8)
    close(xddot, slope(lambda t: at(t)[1], 1e-4), 1e-7)


def test_jacobians_of_ball_universal_and_revolute_joints_in_one_tree_are_rates_of_poses():
    """Link Jacobians of the lecture's example: ω_4 = (J_1, R J_2, 0, R J_4) q̇, against differences of the pose."""
    plan = [(None, lw.Spherical()), (0, lw.Universal()), (0, lw.Universal()), (1, lw.Revolute(axis=(0, 1, 0)))]
    robot = plain(grown("lecture", plan))
    q = state(robot).q
    for body in robot.bodies:
        J, T = robot.jacobian(q, body, axes="world"), robot.pose(q, body)
        for j, e in enumerate(np.eye(robot.nv)):
            rate = slope(lambda h, e=e, body=body: robot.pose(robot.integrate(q, h * e), body))
            spin = rate[:3, :3] @ T[:3, :3].T
            close(J[:, j], [spin[2, 1], spin[0, 2], spin[1, 0], *rate[:3, 3]], 1e-9)
        for other in set(robot.bodies) - set(robot.model.path(body)):
            assert not J[:, robot.v_index(other.replace("body", "joint"))].any(), (body, other)


def test_sums_over_centres_of_mass_give_inverse_dynamics():
    """M = Σ J* M_c J and C = Σ J* M_c J̇ + J* [ω~] M_c J give the O(N) results."""
    robot = plain(MECHANISMS["tree"])
    equations, s = Equations(robot), state(robot)
    tau = equations.mass_matrix(s.q) @ s.vdot + equations.coriolis_matrix(s.q, s.v, "centers") @ s.v + equations.gravity_force(s.q)
    close(tau, robot.inverse_dynamics(s.q, s.v, s.vdot), 1e-11)


def test_mass_points_have_the_mass_matrix_and_coriolis_force_of_particles():
    """M = Σ μ J* J, Coriolis force Ṁ q̇ - ½ (∂M/∂q q̇)* q̇, for three particles on strings: points without tensors."""
    builder = lw.Builder("string", (0, 0, 0))
    for i in range(3):
        joint = lw.Universal()
        builder.body(f"p{i}", f"p{i - 1}" if i else None, (0, 0, -1) if i else None, joint, mass=1.0 + i, center=(0, 0, -1))
    robot = plain(builder.model())
    work, s = lw.VirtualWork(robot), state(robot)
    J = np.stack([work.point_jacobian(s.q, f"p{i}", (0, 0, -1)) for i in range(3)])
    close((np.array([1.0, 2, 3])[:, None, None] * (J.mT @ J)).sum(0), robot.mass_matrix(s.q))
    dM = gradient(robot, lambda sweeps: sweeps.mass_matrix, s.q)
    close(dM @ s.v @ s.v - np.einsum("bca,b,c->a", dM, s.v, s.v) / 2, robot.bias(s.q, s.v), 1e-11)


@pytest.mark.parametrize("name", ["universal", "free"])
def test_they_are_kernels(name):
    model = MECHANISMS[name]
    compiled, not_compiled = (Equations(lw.Dynamics(model, compiled=how)) for how in (True, False))
    s = state(compiled.robot, (3, 2))
    both = {"jacobian_derivatives": (s.q,), "jacobian_rate": (s.q, s.v)}
    both |= dict.fromkeys(("acceleration", "point_motion"), (s.q, s.v, s.vdot))
    for method, args in both.items():
        close(getattr(compiled, method)(*args, "body0"), getattr(not_compiled, method)(*args, "body0"))
