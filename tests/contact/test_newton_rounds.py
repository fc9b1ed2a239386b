"""Newton's rounds on Coulomb's problem: by rows and the mass matrix, or by G; in steps, beside Gauss-Seidel."""

from dataclasses import replace

import numpy as np
import pytest
import scenes

import linkwork as lw
from linkwork import sweeps
from linkwork.contact.cone import blocks, flat, mean_compliance, residual, times
from linkwork.contact.kinds import Bounded, Contact
from linkwork.contact.problem import ByMass, Matrix, Problem, contacts
from linkwork.contact.solver.newton import change

NEWTON = lw.ContactLaw(solver="newton", rounds=30, tolerance=1e-9)


def random_problem(n=5, nv=12, batch=40, seed=0):
    """𝓜, J, r, G, b, μ and a λ near which contacts are open, stuck and sliding."""
    rng = np.random.default_rng(seed)
    A, J = rng.normal(size=(batch, nv, nv)), rng.normal(size=(batch, 3 * n, nv))
    mass, r = A @ A.mT + nv * np.eye(nv), rng.uniform(0, 0.1, (batch, n))
    G = J @ np.linalg.solve(mass, J.mT) + flat(np.stack([r, 0 * r, 0 * r], -1))[..., None] * np.eye(3 * n)
    return mass, J, r, G, rng.normal(size=(batch, 3 * n)), rng.uniform(0.1, 1.0, (batch, n)), rng.normal(size=(batch, 3 * n))


def divided(mass):
    return lambda x: np.linalg.solve(mass, x[..., None])[..., 0]


def test_a_step_by_rows_is_the_step_with_the_compliance():
    """(E + D ρ G) Δλ = −F, E = 1 + ε − D, D = dΠ by differences; solved as (𝓜 + J* C J) w = −J* E⁻¹ F, and as it is."""
    mass, J, r, G, b, mu, force = random_problem()
    g, eps = mean_compliance(G), np.full(len(b), 1e-3)
    soft = (Contact(b, g, r, mu),)
    rigid = J @ np.linalg.solve(mass, J.mT)
    p, q = Problem(soft, ByMass(mass, divided(mass), J)), Problem(soft, Matrix(rigid))
    u = p.velocities(force)
    assert np.allclose(u, times(G, force) + b) and np.allclose(q.matrix, G)
    rho, h = np.repeat(1 / g, 3, -1), 1e-7
    z, F = force - rho * u, p.natural(u, force)
    D = np.stack([(p.project(z + h * x) - p.project(z - h * x)) / (2 * h) for x in np.eye(b.shape[-1])], -1)
    trace = np.round(blocks(np.diagonal(D, axis1=-2, axis2=-1)).sum(-1), 5)
    assert 0.0 in trace and 3.0 in trace and len(np.unique(trace)) > 10
    wanted = np.linalg.solve(1.001 * np.eye(G.shape[-1]) - D + D * rho[:, None, :] @ G, -F[..., None])[..., 0]
    for way in (p, q):
        np.testing.assert_allclose(change(way, u, force, eps), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(change(p, u, force, eps), change(q, u, force, eps), rtol=1e-7, atol=1e-9)


def test_rows_over_other_motions_make_the_same_step():
    """J = A S: rows A over the twists S v of the bodies that touch, whose mass is (S 𝓜⁻¹ S*)⁻¹; 15 rows, 6 twists, 12 velocities."""
    mass, _, r, _, b, mu, force = random_problem()
    rng = np.random.default_rng(1)
    A, S = rng.normal(size=(len(b), 15, 6)), rng.normal(size=(len(b), 6, 12))
    J, compliance = A @ S, S @ np.linalg.solve(mass, S.mT)
    own = mean_compliance(J @ np.linalg.solve(mass, J.mT))
    kinds = (Contact(b, own + r / 3, r, mu),)
    full = Problem(kinds, ByMass(mass, divided(mass), J))
    small = Problem(kinds, ByMass(np.linalg.inv(compliance), lambda x: times(compliance, x), A))
    u, eps = full.velocities(force), np.full(len(b), 1e-2)
    np.testing.assert_allclose(small.velocities(force), u, atol=1e-9)
    np.testing.assert_allclose(change(small, u, force, eps), change(full, u, force, eps), rtol=1e-6, atol=1e-8)


def test_single_rows_with_bounds_are_solved_to_their_optimum():
    """lower ≤ λ ≤ upper with u = 0 within, u ≥ 0 at the lower, u ≤ 0 at the upper bound; λ is found by any start."""
    mass, J, _, _, b, _, force = random_problem(n=3, nv=9)
    G = J @ np.linalg.solve(mass, J.mT)
    own, upper = np.diagonal(G, axis1=-2, axis2=-1), np.abs(b) * 2
    p = Problem((Bounded(b, own, 0 * b, upper),), ByMass(mass, divided(mass), J))
    found, said = lw.ContactLaw(solver="newton", rounds=50, tolerance=1e-12)(p, force)
    u = times(G, found) + b
    assert (said[:, 1] <= 50).all() and (found >= 0).all() and (found <= upper).all()
    low, high = found < 1e-8, found > upper - 1e-8
    assert low.any() and high.any() and (~low & ~high).any()
    assert u[low].min() > -1e-10 and u[high].max() < 1e-10 and np.abs(u[~low & ~high]).max() < 1e-10


def test_rounds_with_the_compliance_end_in_a_solution():
    *_, G, b, mu, _ = random_problem(n=3, nv=12)
    found, said = lw.ContactLaw(solver="newton", rounds=60, tolerance=1e-10)(contacts(G, b, mu), np.zeros_like(b))
    good = said[:, 1] <= 60
    assert good.mean() > 0.9 and residual(G, b, mu, found)[good].max() < 1e-9
    assert np.array_equal(said[:, 0], residual(G, b, mu, found))
    N, T = blocks(found)[..., 0], np.linalg.norm(blocks(found)[..., 1:], axis=-1)
    assert N.min() >= 0 and (mu * N * (1 + 1e-12) >= T).all()  # also where the rounds did not suffice


def slider():
    """A cart with dry friction and a limit that carries a ball, and a soft ball that slides on the ground."""
    made = lw.Builder("slider", gravity=(2.0, 0, -9.81))
    made.body("cart", joint=lw.Prismatic(axis=(1, 0, 0), friction=1.0, lower=-1.0, upper=0.05), mass=1.0)
    made.body("arm", "cart", joint=lw.Revolute(axis=(0, 1, 0), friction=0.05), mass=0.5, center=(0, 0, -0.2), tensor=(0.1, 0.1, 0.1))
    made.body("ball", joint=lw.Free(), mass=1.0, tensor=(0.01, 0.01, 0.01), collisions=(lw.Shape("sphere", (0.1,)),))
    return lw.Dynamics(made.ground().contact("ball", friction=0.1, compliance=1e-5, damping=50.0).model())


def test_both_ways_of_solving_make_the_same_motion():
    """Limits, dry friction, a soft contact that slides; and a ball alone, whose three rows are fewer than its velocities."""
    robot, ball = slider(), scenes.ball(friction=0.3)
    q = robot.neutral()
    q[1], q[8] = 0.8, 0.11
    starts = (robot, q, 0.1 * np.ones(robot.nv)), (ball, scenes.placed(ball, z=0.12), np.array([0, 0, 0, 1.0, 0, 0]))
    for robot, q, v in starts:
        ways = replace(NEWTON, limits=True), lw.ContactLaw(rounds=200, tolerance=1e-12, limits=True)
        one, other = (lw.rollout(robot, q[None], v[None], dt=0.002, steps=150, method="contact", contact=way) for way in ways)
        assert one.force.max() > 0 and one.residual.max() < 1e-8
        np.testing.assert_allclose(one.q, other.q, atol=1e-8)
        np.testing.assert_allclose(one.force, other.force, atol=1e-4)
        single = lw.rollout(robot, q[None].astype("f"), v[None].astype("f"), dt=0.002, steps=150, method="contact",
                            contact=lw.ContactLaw(solver="newton", tolerance=1e-5, limits=True))  # fmt: skip
        assert single.q.dtype == np.float32 and single.residual.max() < 1e-4
        np.testing.assert_allclose(single.q[:, -1], one.q[:, -1], atol=2e-3)


def test_a_box_on_its_corners_takes_few_rounds():
    """Four corners share the weight, forces are not unique: Newton's rounds are few where those of Gauss-Seidel are many."""
    box = scenes.box(0.5)
    q, v = scenes.placed(box, z=0.1), np.array([0.0, 0, 0, 0.3, 0.1, 0])
    run = lw.rollout(box, q[None], v[None], dt=0.002, steps=100, method="contact", contact=NEWTON)
    assert run.residual.max() < 1e-8 and np.median(run.rounds[0, 1:]) <= 3
    assert np.isclose(run.force[0, -1, :, 0].sum(), 9.81 * 2.0, rtol=1e-6)
    alone = lw.simulate(box, (q, v), until=0.2, method="contact", dt=0.002, contact=NEWTON)
    np.testing.assert_allclose(alone.q[-1], run.q[0, -1], atol=1e-6)


@pytest.mark.parametrize("make", [lambda: lw.Dynamics(lw.load("double_pendulum")), slider], ids=["double pendulum", "slider"])
def test_the_compliance_of_rows_by_sparse_factors(make):
    """y = L⁻* J*:  y* D⁻¹ y = J 𝓜⁻¹ J*,  L⁻¹ D⁻¹ y = 𝓜⁻¹ J*."""
    robot = lw.Dynamics(make().model, compiled=False)
    q, _ = robot.random_state((3,), seed=0)
    J = np.random.default_rng(0).normal(size=(3, 4, robot.nv))
    tree = sweeps.velocity_tree(robot.lowered.plain().tree)
    factors = sweeps.factored(tree, robot.mass_matrix(q))
    y, wanted = sweeps.inwards(tree, factors, J.mT), np.linalg.solve(robot.mass_matrix(q), J.mT)
    np.testing.assert_allclose(sweeps.rows_compliance(tree, factors, y), J @ wanted, rtol=1e-9)
    np.testing.assert_allclose(sweeps.outwards(tree, factors, y), wanted, rtol=1e-9)
