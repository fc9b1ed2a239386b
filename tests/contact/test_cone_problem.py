"""Coulomb's problem: u = G λ + b, Signorini's condition and Coulomb's law at each contact."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.cone import residual
from linkwork.contact.kinds.coulomb import local
from linkwork.contact.problem import contacts as contacts_of
from linkwork.contact.solver.gauss_seidel import gauss_seidel
from linkwork.contact.solver.interior import interior, reach
from linkwork.contact.solver.newton import descent
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input
from linkwork.errors import ShapeError


def problems(count, contacts, nv, seed=0, friction=0.7):
    """Compliances J 𝓜⁻¹ J* of random mechanisms with some open contacts; more rows than velocities if 3 n > nv."""
    rng = np.random.default_rng(seed)
    J, L = rng.normal(size=(count, 3 * contacts, nv)), rng.normal(size=(count, nv, nv))
    G = J @ (L @ L.mT + 0.1 * np.eye(nv)) @ J.mT
    b = (J @ rng.normal(size=(count, nv, 1)))[..., 0]
    b[..., ::3] += 3 * np.maximum(rng.normal(size=(count, contacts)), 0)
    return G, b, np.full((count, contacts), friction)


@pytest.mark.parametrize(("contacts", "nv"), [(1, 6), (4, 18), (4, 6), (10, 27)])
def test_random_problems_are_solved_to_ten_digits(contacts, nv):
    """Residuals of Signorini, cone and dissipation below 1e-8 for all, redundant contacts (3 n > nv) included."""
    found = lw.solve_contacts(*problems(60, contacts, nv))
    assert found.residuals.max() < 1e-8
    assert found.converged.all() and (found.rounds <= 160).all()


def test_a_solution_obeys_signorini_and_coulomb():
    """0 ≤ u_n ⟂ λ_n ≥ 0, |λ_t| ≤ μ λ_n, λ_t against u_t: written out, without the residuals of the library."""
    G, b, mu = problems(60, 4, 18)
    found = lw.solve_contacts(G, b, mu)
    f, u = found.force.reshape(-1, 4, 3), ((G @ found.force[..., None])[..., 0] + b).reshape(-1, 4, 3)
    slip, push = np.linalg.norm(u[..., 1:], axis=-1), np.linalg.norm(f[..., 1:], axis=-1)
    assert f[..., 0].min() > -1e-7 and u[..., 0].min() > -1e-7 and np.abs(u[..., 0] * f[..., 0]).max() < 1e-7
    assert (push <= mu * f[..., 0] + 1e-7).all()
    slides = slip > 1e-6
    assert slides.any() and (push[~slides & (f[..., 0] > 1e-6)] < 0.7 * f[..., 0][~slides & (f[..., 0] > 1e-6)] + 1e-7).all()
    along = (f[..., 1:] * u[..., 1:]).sum(-1)
    assert np.allclose(along[slides], (-mu * f[..., 0] * slip)[slides], atol=1e-7)


def test_without_friction_it_is_the_linear_complementarity_problem():
    """μ = 0: w = G_nn z + b_n, 0 ≤ w ⟂ z ≥ 0, by Lemke's method."""
    G, b, mu = problems(60, 4, 18, friction=0.0)
    lemke = lw.lcp(G[:, ::3, ::3], b[:, ::3])
    assert np.allclose(lw.solve_contacts(G, b, mu).force[:, ::3], lemke.z, atol=1e-8 * np.abs(lemke.z).max())


def test_every_method_finds_the_same_velocities():
    """The interior point, Gauss-Seidel and Newton's method agree on u."""
    G, b, mu = problems(60, 4, 18)
    best = lw.solve_contacts(G, b, mu)
    inner, left, _ = interior(contacts_of(G, b, mu), 40, tolerance=1e-10)
    seidel, _ = gauss_seidel(contacts_of(G, b, mu), np.zeros_like(b), 300, 1e-10)
    for force in (inner[left < 1e-9], seidel[residual(G, b, mu, seidel) < 1e-9]):
        assert len(force) > 54
    assert np.allclose(inner[left < 1e-9], best.force[left < 1e-9], atol=1e-6)


def test_a_single_contact_is_solved_by_one_round():
    """The local problem of Gauss-Seidel is the whole of it, for compliances that couple normal and tangents strongly."""
    G, b, mu = problems(200, 1, 3)
    force = np.zeros_like(b)
    for _ in range(3):
        force = local(G, b, mu[:, 0], force, 8)
    assert residual(G, b, mu, force).max() < 1e-9


def test_a_table_on_four_legs_shares_its_weight_with_the_least_norm():
    """Four legs, three equations (weight, two moments): λ = A⁺ (W, W x, W y), which for a load at (x, y) of a square of side 2 is
    W/4 (1 ± x ± y). With a fifth leg in the middle, λ = A⁺ (...) again."""
    for legs in ([(1, 1), (-1, 1), (-1, -1), (1, -1)], [(1, 1), (-1, 1), (-1, -1), (1, -1), (0, 0)]):
        A = np.array([[1.0, x, y] for x, y in legs])  # normal rows on (height, turn, turn)
        J = np.zeros((3 * len(legs), 3))
        J[::3] = A
        G = J @ np.diag([0.1, 0.7, 0.3]) @ J.T
        b = J @ np.array([-1.0, -0.03, 0.05])
        force = lw.solve_contacts(G, b, 0.0).force[::3]
        wanted = np.linalg.pinv(A.T) @ np.linalg.solve(np.diag([0.1, 0.7, 0.3]), [1.0, 0.03, -0.05])
        assert np.allclose(force, wanted, rtol=1e-7)


def test_least_norm_forces_that_would_pull_are_not_taken():
    """A load near a corner of the table: the least norm has a leg that pulls; the forces found push, and hold the table."""
    A = np.array([[1.0, x, y] for x, y in [(1, 1), (-1, 1), (-1, -1), (1, -1)]])
    J = np.zeros((12, 3))
    J[::3] = A
    G, b = J @ J.T, J @ np.array([-1.0, -0.6, -0.6])
    found = lw.solve_contacts(G, b, 0.0)
    assert np.linalg.pinv(A.T).dot([1.0, 0.6, 0.6]).min() < 0 <= found.force[::3].min() + 1e-12
    assert found.converged and np.allclose(found.velocity, 0, atol=1e-9)


def test_a_problem_without_solution_says_so():
    """Painlevé: with a_nn − μ a_nt < 0 no λ_n ≥ 0 makes u_n = (a_nn − μ a_nt) λ_n + b_n ≥ 0 while the contact slides: as velocities, it
    stops. Where nothing can stop a contact, G_nn = 0, there is no solution, and no force is given out as one."""
    G = np.array([[1.5, 1.2, 0.0], [1.2, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = lw.solve_contacts(G, [-1.0, 50.0, 0.0], 3.0)  # as velocities: the jam stops the slip
    assert found.converged and np.allclose(found.velocity[:2], 0, atol=1e-8)
    free = lw.solve_contacts(np.diag([0.0, 1.0, 1.0]), [-1.0, 0.0, 0.0], 0.5)  # nothing can stop it
    assert not free.converged and free.residuals.max() > 1e-3


def test_a_body_jammed_between_two_walls_is_proved_infeasible_with_the_least_violation():
    """One coordinate, walls on both sides that ask it to part with 1 and 3: u = (v, −v) + (−1, −3). y = (1, 1) has J* y = 0, b·y = −4 < 0:
    by Farkas there is no v. The least Σ s² is s = (2, 2), at v = −1, and the forces found give that v."""
    J = np.zeros((6, 1))
    J[[0, 3], 0] = 1.0, -1.0
    found = lw.solve_contacts(J @ J.T, [-1.0, 0, 0, -3.0, 0, 0], 0.3)
    assert found.infeasible and not found.converged and np.allclose(found.violation, 2.0)
    assert np.allclose(found.velocity[::3], -2.0, atol=1e-6) and found.force[::3].min() >= 0


def test_problems_that_can_be_kept_are_not_called_infeasible():
    """More rows than velocities, b = J v plus gaps that are not negative: −v stops everything."""
    assert not lw.solve_contacts(*problems(60, 10, 12)).infeasible.any()
    assert not lw.solve_contacts(np.zeros((3, 3)), [0.0, 0.0, 0.0], 0.5).infeasible


def test_of_several_solutions_one_without_sliding_is_taken():
    """A box between two fingers of five points each, pressed with 1.001 of m g/(2 μ): forces without sliding exist, just inside the cones;
    so do forces with which all points slide. The box is held, and still in a run."""
    made = lw.Builder("gripper")
    made.body("box", joint=lw.Free(), mass=1.0, tensor=(0.01,) * 3, collisions=(lw.Shape("box", (0.1, 0.1, 0.1)),))
    for side, name in ((1, "left"), (-1, "right")):
        finger = lw.Shape("box", (0.02, 0.04, 0.04))
        made.body(name, joint=lw.Prismatic(axis=(side, 0, 0)), at=(-0.06 * side, 0, 0), mass=0.2, tensor=(1e-4,) * 3, collisions=(finger,))
        made.contact("box", name, friction=0.5)
    robot = lw.Dynamics(made.model(), compiled=False)
    tau = np.array([0, 0, 0, 0, 0, 0, 1.0, 1.0]) * 1.001 * 9.81
    held = robot.contact_dynamics(robot.neutral(), np.zeros(8), tau)
    assert held.stick.all() and np.abs(held.vdot).max() < 1e-9
    run = lw.simulate(robot, (robot.neutral(), np.zeros(8)), until=0.1, method="contact", dt=0.005, control=lambda t, q, v: tau)
    assert np.abs(run.v).max() < 1e-9


def test_a_problem_of_many_points_is_that_of_the_points_that_matter():
    """A plate on 200 points, of which those at its corners would do: nothing moves, all points share, in the least norm, W = Σ λ_n."""
    x = np.stack(np.meshgrid(np.linspace(-1, 1, 20), np.linspace(-1, 1, 10)), -1).reshape(-1, 2)
    J = np.zeros((600, 6))
    J[::3, 2], J[::3, 3], J[::3, 4] = 1.0, x[:, 1], -x[:, 0]
    J[1::3, 0], J[1::3, 5], J[2::3, 1], J[2::3, 5] = 1.0, -x[:, 1], 1.0, x[:, 0]
    v = np.array([0.01, 0, -0.1, 0, 0, 0])
    found = lw.solve_contacts(J @ J.T, J @ v, 0.5)
    assert found.converged and np.abs(found.velocity).max() < 1e-9
    assert np.isclose(found.force[::3].sum(), 0.1) and found.force[::3].max() < 2 * 0.1 / 200


def test_the_derivative_is_that_of_differences_where_contacts_are_strict():
    """du/db = 1 + G dλ/db, against central differences."""
    G, b, mu = problems(40, 3, 12, seed=3)
    found = lw.solve_contacts(G, b, mu)
    p, eps = contacts_of(G, b, mu), np.full(len(b), 1e-10)
    D = p.kinds[0].derivative(p.aims(found.velocity, found.force)).times(np.eye(9) / p.g[..., None]).mT
    by_b = [p.compliance.step(p, found.velocity, found.force, x, eps) for x in np.moveaxis(D, -1, 0)]  # −(1 − D + D ρ G)⁻¹ D ρ
    slope = np.eye(9) + G @ np.stack(by_b, -1)
    h, good = 1e-6, 0
    for i in range(len(b)):
        up, down = (lw.solve_contacts(G[i], b[i] + s * h * np.eye(9), mu[i], found.force[i]) for s in (1, -1))
        numeric = ((up.velocity - down.velocity) / (2 * h)).T
        good += np.allclose(slope[i], numeric, atol=1e-5)
    assert good >= 38  # a margin below the step of the difference is not strict


def test_a_newton_step_never_makes_it_worse():
    """|F| does not grow, from anywhere."""
    G, b, mu = problems(60, 4, 18)
    force = np.random.default_rng(1).normal(size=b.shape)
    again = descent(contacts_of(G, b, mu), force, 2)[0]
    assert np.isfinite(again).all()


@pytest.mark.parametrize("name", ["gauss_seidel", "interior"])
@pytest.mark.parametrize("kind", ["d", "f"])
def test_a_kernel_does_what_the_plain_text_does(name, kind):
    """The same text as one loop of compiled code, in float64 to rounding, in float32 to its accuracy."""
    G, b, mu = problems(64, 2, 12)
    rounds = {
        "gauss_seidel": lambda *x: gauss_seidel(contacts_of(*x[:3]), x[3], 40, 1e-6),
        "interior": lambda *x: interior(contacts_of(*x[:3]), 12, x[3])[:2],
    }[name]
    inputs = Input("G", (6, 6)), Input("b", (6,)), Input("mu", (2,)), Input("force", (6,))
    arrays = [x.astype(kind) for x in (G, b, mu, np.zeros_like(b))]
    force = Kernel(name, rounds, inputs).gufunc(kind)(*arrays)[0]
    if kind == "d":
        assert np.allclose(force, rounds(*arrays)[0], atol=1e-9)
    assert np.median(residual(G, b, mu, force.astype(float))) < 1e-5


def test_wrong_shapes_and_numbers_are_named():
    with pytest.raises(ShapeError, match=r"G \(..., 3n, 3n\)"):
        lw.solve_contacts(np.eye(4), np.zeros(4), 0.5)
    with pytest.raises(ShapeError, match="not negative"):
        lw.solve_contacts(np.eye(3), np.zeros(3), -0.5)
    assert lw.solve_contacts(np.zeros((0, 0)), np.zeros(0), 0.5).converged
    bad = lw.solve_contacts(np.stack([np.eye(3), np.full((3, 3), np.nan)]), np.full(3, -1.0), 0.5)
    assert bad.converged.tolist() == [True, False]
    assert not lw.solve_contacts(-np.eye(9), np.full(9, -1.0), 0.5).converged


@pytest.mark.parametrize("freedoms", [1, 2, 3])
def test_gauss_seidel_serves_mechanisms_with_fewer_freedoms_than_directions(freedoms, rng):
    """G = J J* of one contact with rank 1, and 2 as in a plane: tangents without compliance of their own do not hide friction."""
    J = rng.standard_normal((200, 3, freedoms))
    if freedoms == 2:
        J[:, 2] = 0.0
    G, b = J @ J.mT, (J @ rng.standard_normal((200, freedoms, 1)))[..., 0]
    force, _ = gauss_seidel(contacts_of(G, b, np.full((200, 1), 0.2)), np.zeros((200, 3)), 100, 1e-12)
    solved = residual(G, b, np.full((200, 1), 0.2), force) < 1e-8
    assert solved.mean() > 0.95  # with strong coupling of normal and tangent there may be several solutions or none (Painlevé)


def test_the_way_along_the_axis_of_a_cone_ends_at_its_tip(rng):
    """x + s dx with dx = −c x: lorentz(x + s dx) has a double root at s = 1/c, whatever rounding makes of its discriminant."""
    x = rng.normal(size=(1000, 1, 3))
    x[..., 0] = np.linalg.norm(x[..., 1:], axis=-1) + rng.uniform(0.01, 1, size=(1000, 1))
    c = rng.uniform(0.1, 10, size=1000)
    np.testing.assert_allclose(reach(x, -c[:, None, None] * x), 1 / c, rtol=1e-6)


@pytest.mark.parametrize("n", [20, 61])
def test_contacts_of_which_none_closes_have_no_forces(n):
    J = np.random.default_rng(0).normal(size=(3 * n, 30))
    found = lw.solve_contacts(J @ J.T, np.tile([1.0, 0.3, 0.0], n), 0.5)
    assert found.converged and not found.force.any() and not found.infeasible
