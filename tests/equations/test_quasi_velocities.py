"""From, part one, section 2, and part two, Theorem 2.1: dynamics in velocities of one's choice."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, plain

import linkwork as lw
from linkwork.equations import Equations, QuasiVelocities

STEP = 1e-5
CASES = {
    "ball, Euler angles": ("spherical", {"joint0": "ZXZ"}),
    "ball, exponential": ("spherical", {"joint0": "exponential"}),
    "free, Euler angles": ("free", {"joint0": "ZYX"}),
    "free, world axes": ("free", {"joint0": "world"}),
    "planar, exponential": ("planar", {"joint0": "exponential"}),
    "floating, Euler angles": ("floating", {"joint0": "xyz", "joint3": "XYZ"}),
    "chain, scaled": ("chain", {"joint0": lambda q: (2 + np.sin(q))[..., None]}),
    "geared": ("geared", {"joint2": "world", "joint3": "exponential", "joint4": "ZYX"}),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def made(case):
    """The choice and a state of it: x, u, u̇, away from singularities."""
    name, choices = case
    robot = plain(MECHANISMS[name])
    choice, rng = QuasiVelocities(robot, choices), np.random.default_rng(4)
    q = robot.integrate(robot.neutral(), rng.uniform(0.3, 0.6, (3, robot.nv)))
    return choice, choice.x(q), *rng.standard_normal((2, 3, robot.nv))


@every_case
def test_coordinates_there_and_back(case):
    """x(q(x)) = x, and q moves with v = S(x) u while x moves with u."""
    choice, x, u, _ = made(case)
    close(choice.x(choice.q(x)), x)
    close(choice.u(x, choice.v(x, u)), u)
    later = [choice.q(x + h * choice.xdot(x, u)) for h in (-STEP, STEP)]
    close(choice.robot.difference(*later) / (2 * STEP), choice.v(x, u), 1e-8)


@every_case
def test_power_and_energy_do_not_depend_on_the_choice(case):
    """force · u = τ · v, ½ u* (S* M S) u = ½ v* M v."""
    choice, x, u, tau = made(case)
    close((choice.force(x, tau) * u).sum(-1), (tau * choice.v(x, u)).sum(-1))
    close(choice.tau(x, choice.force(x, tau)), tau)
    close((u[..., None, :] @ choice.mass_matrix(x) @ u[..., None])[..., 0, 0] / 2, choice.kinetic_energy(x, u))


@every_case
def test_forward_undoes_inverse_dynamics(case):
    choice, x, u, udot = made(case)
    force = choice.inverse_dynamics(x, u, udot)
    close(choice.forward_dynamics(x, u, force), udot, 1e-7)
    parts = choice.mass_matrix(x) @ udot[..., None] + choice.coriolis_matrix(x, u) @ u[..., None]
    close(parts[..., 0] + choice.gravity_force(x), force, 1e-11)


@every_case
def test_the_rate_of_the_mass_matrix_is_still_c_plus_its_transpose(case):
    choice, x, u, _ = made(case)
    C = choice.coriolis_matrix(x, u)
    rate = [choice.mass_matrix(x + h * choice.xdot(x, u)) for h in (-STEP, STEP)]
    close(C + C.mT, (rate[1] - rate[0]) / (2 * STEP), 1e-6)


def test_a_velocity_of_a_body_from_any_choice():
    choice, x, u, _ = made(CASES["floating, Euler angles"])
    V = choice.robot.jacobian(choice.q(x), "body4") @ choice.v(x, u)[..., None]
    close(choice.jacobian(x, "body4") @ u[..., None], V)


@pytest.mark.parametrize("name", ["ball, Euler angles", "ball, exponential", "planar, exponential", "free, Euler angles"])
def test_boltzmanns_symbols_are_the_structure_constants_whatever_the_coordinates(name):
    """Σ S⁻¹ (∂S - ∂S) S⁻¹ (46) = c[j, i, k], at every x."""
    choice, x, _, _ = made(CASES[name])
    c = Equations(choice.robot).structure_constants()
    close(choice.gamma(x), np.einsum("jik->kij", c) + np.zeros((3, 1, 1, 1)), 1e-11)


@pytest.mark.parametrize("name", ["ball, Euler angles", "free, Euler angles", "ball, exponential"])
def test_boltzmann_hamel_is_lagrange_in_the_rates_of_the_coordinates(name):
    """d/dt ∂L/∂ẋ - ∂L/∂x = S* τ for L̄(x, ẋ) = ½ ẋ* S* M S ẋ - U, with τ from M v̇ + Σ γ_k v_k M v + S⁻* ∂U/∂x (26)."""
    choice, x, u, udot = made(CASES[name])
    x, u, udot = x[0], u[0], udot[0]
    h, n = 1e-4, choice.nv

    def slope(f, direction):
        return (8 * (f(h * direction) - f(-h * direction)) - (f(2 * h * direction) - f(-2 * h * direction))) / (12 * h)

    def L(x, u):
        return choice.kinetic_energy(x, u) - choice.potential_energy(x)

    rate = slope(lambda d: choice.mass_matrix(x + d), u)
    lagrange = choice.mass_matrix(x) @ udot + rate @ u - [slope(lambda d: L(x + d, u), e) for e in np.eye(n)]
    close(choice.inverse_dynamics(x, u, udot), lagrange, 1e-8)
    v, M = choice.v(x, u), choice.robot.mass_matrix(choice.q(x))
    dU = [slope(lambda d: choice.potential_energy(x + d), e) for e in np.eye(n)]
    hamel = M @ choice.vdot(x, u, udot) + np.einsum("kij,k,j", choice.gamma(x), v, M @ v) + np.linalg.solve(choice.S(x).T, dU)
    close(choice.tau(x, lagrange), hamel, 1e-8)


def test_the_singularity_of_a_choice_is_named_and_the_bodys_own_velocity_has_none():
    robot = plain(MECHANISMS["floating"])
    euler = QuasiVelocities(robot, {"joint0": "ZYX", "joint3": "ZXZ"})
    x = euler.x(robot.integrate(robot.neutral(), np.full((2, robot.nv), 0.4)))
    euler.check(x)
    x[1, 1] = np.pi / 2
    with pytest.raises(lw.ModelError, match=r'joint "joint0" of floating .* Euler angles ZYX .* ±90 degrees'):
        euler.check(x)
    condition = euler.condition(x)["joint0"]
    assert condition[0] < 10 and condition[1] > 1e8
    q, v = euler.q(x), np.ones((2, robot.nv))
    assert np.isfinite(robot.forward_dynamics(q, v, v)).all()  # nothing special in v
    assert np.abs(euler.u(x, v)).max() > 1e8  # the rates are not bounded


def test_choices_that_do_not_suit():
    robot = plain(MECHANISMS["chain"])
    with pytest.raises(lw.ModelError, match=r'joint "joint0" has the group SO\(2\), for which EulerRates'):
        QuasiVelocities(robot, {"joint0": "ZYX"})
    with pytest.raises(lw.UnknownNameError, match='no joint "elbow"'):
        QuasiVelocities(robot, {"elbow": "exponential"})
    with pytest.raises(lw.ModelError, match="not a choice of velocities; there are exponential"):
        QuasiVelocities(robot, {"joint0": "polar"})
    with pytest.raises(lw.ModelError, match="not a choice of velocities"):
        QuasiVelocities(robot, {"joint0": ["exponential"]})
    with pytest.raises(lw.OptionError, match=r'takes a choice for each joint by its name, \{"joint0": choice\}'):
        QuasiVelocities(robot, lambda q: np.eye(1))
