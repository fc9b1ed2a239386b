"""Figures of the literature and closed forms: rotating and spinning beams, large deflections, mechanisms beside lumped ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import linkwork as lw

from .dense import hat3

UNIT = {"EA": 1e6, "GJ": 1.0, "EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}
ROTATING = {
    0: ([3.5160, 22.0345, 61.6972], [3.5160, 22.0345]),
    2: ([4.1373, 22.6149, 62.2732], [3.6218, 22.5263]),
    10: ([11.2023, 33.6404, 74.6493], [5.0490, 32.1197]),
}  # gamma: out of plane, in plane


def whirling(direction, gamma, count):
    """Frequencies of a beam on a hinge that turns steadily with gamma, the hinge's motion given."""
    body = lw.FlexibleBody.beam(1.0, UNIT, elements=40, directions=direction, count=count)
    robot = lw.Dynamics(lw.Builder("rotor", gravity=(0, 0, 0)).flexible("blade", body, joint=lw.Revolute()).model())
    v = np.zeros(robot.nv)
    v[0] = gamma
    by_q, by_v, M = (x[1:, 1:] for x in robot.inverse_dynamics_derivatives(robot.neutral(), v, np.zeros(robot.nv)))
    A = np.block([[np.zeros((count, count)), np.eye(count)], [-np.linalg.solve(M, np.concatenate([by_q, by_v], 1))]])
    w = np.linalg.eigvals(A).imag
    return np.sort(w[w > 0])


@pytest.mark.parametrize("gamma", [0, 2, 10])
def test_a_rotating_cantilever_has_the_frequencies_of_the_stiffened_beam(gamma):
    """Out of the plane of rotation and in it; 8 modes at gamma = 10."""
    count = 8 if gamma == 10 else 4
    out, inside = ROTATING[gamma]
    assert np.allclose(whirling("z", gamma, count)[:3], out, rtol=3e-4)
    assert np.allclose(whirling("y", gamma, count)[:2], inside, rtol=3e-4)


def spun_up(bodies, count):
    """Tip lag of a beam whose hinge follows a smooth spin-up to 6 rad/s in 15 s (Simo and Vu-Quoc), to 10 s."""
    section = {"EA": 2.8e7, "GJ": 1e4, "EIy": 1.4e4, "EIz": 1.4e4, "rhoA": 1.2}
    modes = {"count": count} if bodies == 1 else {"count": count, "modes": "craig-bampton", "interfaces": ["tip"]}
    body = lw.FlexibleBody.beam(10.0 / bodies, section, elements=20 // bodies, directions="y", **modes)
    b = lw.Builder("spin", gravity=(0, 0, 0))
    for k in range(bodies):
        b.flexible(f"b{k}", body, f"b{k - 1}.tip" if k else None, None, None if k else lw.Revolute())
    robot = lw.Dynamics(b.model())
    n = robot.nv - 1
    told = np.r_[1.0, np.zeros(n)]

    @robot.kernel
    def move(q, v, given):
        return robot.hybrid_dynamics(q, v, given, told), robot.pose(q, f"b{bodies - 1}.tip")[:3, 3]

    def slope(t, y):
        omega = 6 / 15 * (t - 15 / (2 * np.pi) * np.sin(2 * np.pi * t / 15))
        alpha = 6 / 15 * (1 - np.cos(2 * np.pi * t / 15))
        return np.r_[y[n:], move(np.r_[0, y[:n]], np.r_[omega, y[n:]], np.r_[alpha, np.zeros(n)])[0][1:]]

    t = np.linspace(0, 10, 1001)
    y = solve_ivp(slope, (0, 10), np.zeros(2 * n), method="Radau", rtol=1e-6, atol=1e-8, t_eval=t).y.T
    zero = np.zeros(n + 1)
    return np.array([move(np.r_[0, x[:n]], zero, zero)[1][1] for x in y])


def test_a_beam_that_is_spun_up_lags_as_the_stiffened_one():
    """Greatest lag −0.57437 at 6.76 s, −0.46878, −0.55952, −0.36285 at 5, 7.5 and 10 s, to 1 % of the greatest with one body of 3 modes;
    two bodies are nearer to the geometrically exact −0.57376."""
    one, two = spun_up(1, 3), spun_up(2, 1)
    for lag, off in ((one, 1e-2), (two, 2e-3)):
        found = [lag.min(), *lag[[500, 750, 1000]]]
        assert np.allclose(found, [-0.57437, -0.46878, -0.55952, -0.36285], rtol=0, atol=off * 0.57437)


def rod(length, stiffness, EA, force):
    """Tip of a clamped rod under a dead load, R' = R κ~, r' = R (1 + ε) e_x, m' = −r' × f, by shooting for m(L) = 0."""

    def slope(x, y):
        R, m = y[:9].reshape(3, 3), y[12:]
        along = R[:, 0] * (1 + R[:, 0] @ force / EA)
        return np.concatenate([(R @ hat3(R.T @ m / stiffness)).ravel(), along, -np.cross(along, force)])

    def end(m):
        return solve_ivp(slope, (0, length), np.concatenate([np.eye(3).ravel(), np.zeros(3), m]), rtol=1e-10, atol=1e-12).y[:, -1]

    return end(fsolve(lambda m: end(m)[12:], np.cross([0.9 * length, 0, 0], force), xtol=1e-10))[9:12]


@pytest.mark.parametrize("angle", [45, 90])
def test_the_princeton_beam_bends_far_as_a_chain_of_flexible_bodies(angle):
    """4 bodies of 6 modes: to 1e-3 of the length of the exact rod, twice as many nearer."""
    h, b, E = 0.0123777, 0.0032024, 71.7e9
    Iz, Iy = b * h**3 / 12, h * b**3 / 12
    GJ, EA, rho = E / 2.62 * 0.198 * (Iy + Iz), E * b * h, 2700.0
    force = 8.896 * np.array([0, np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    exact = rod(0.508, (GJ, E * Iy, E * Iz), EA, force)
    printed = 0.1462460 if angle == 90 else 0.0089763
    assert np.isclose(exact[2 if angle == 90 else 1], printed, rtol=2e-4)
    section = {"EA": EA, "GJ": GJ, "EIy": E * Iy, "EIz": E * Iz, "rhoA": rho * b * h, "rhoIy": rho * Iy, "rhoIz": rho * Iz}
    off = [np.abs(hung(bodies, section, force) - exact).max() / 0.508 for bodies in (2, 4)]
    assert off[1] < 1e-3
    assert off[1] < off[0] / 3


def hung(bodies, section, force):
    """Where a dead load takes the tip of a chain of bodies, by Newton's method."""
    body = lw.FlexibleBody.beam(0.508 / bodies, section, elements=4, modes="craig-bampton", interfaces=["tip"], count=0)
    builder = lw.Builder("princeton", gravity=(0, 0, 0))
    for k in range(bodies):
        builder.flexible(f"b{k}", body, f"b{k - 1}.tip" if k else None)
    robot = lw.Dynamics(builder.model(), compiled=False)
    q, tip = robot.neutral(), f"b{bodies - 1}.tip"

    def residual(q):
        return robot.gravity_force(q) - np.vecmat(force, robot.jacobian(q, tip, axes="world")[..., 3:, :])

    for _ in range(30):
        steps = 1e-7 * np.eye(robot.nv)
        slope = ((residual(q + steps) - residual(q - steps)) / 2e-7).T
        step = np.linalg.solve(slope, residual(q))
        q = q - step
        if np.abs(step).max() < 1e-9:
            break
    return robot.pose(q, tip)[:3, 3]


def mechanism(kind, way):
    """A slider-crank or four-bar at rest, its crank upright, whose connecting rod is "modal", or "lumped" in 8 segments."""
    section = lw.sections.given(4e-4, 1e-8, 1e-8, 1e-8, lw.sections.Material(E=2e9, rho=2500.0, nu=0.3))
    damping, reach = 2e-4, 0.8 * np.cos(np.arcsin(0.25))
    at = lw.Pose.rpy((0, 0.2, 0), (0, 0, -np.arcsin(0.25)))
    b = lw.Builder(f"{kind}_{way}", gravity=(0, -9.81, 0))
    b.body("crank", joint=lw.Revolute(), mass=1.0, center=(0.05, 0.1, 0), tensor=(0.01,) * 3)
    if way == "modal":
        shapes = {"modes": "craig-bampton", "interfaces": ["tip"], "count": 2}
        rod = lw.FlexibleBody.beam(0.8, section, elements=16, directions="xy", shear=False, **shapes)
        b.flexible("rod", replace(rod, damping=damping * np.diag(rod.stiffness)), "crank", at, lw.Revolute())
        b.body("rod_tip", "rod.tip")
    else:
        b.beam("rod", 0.8, section, "crank", at, lw.Revolute(), segments=8, freedoms=("axial", "bend_z"), damping=damping)
    if kind == "slider-crank":
        b.body("slider", None, (reach, 0, 0), lw.Prismatic(axis=(1, 0, 0)), mass=0.5)
        b.loop("pin", "slider", "rod_tip", lw.Revolute())
    else:
        b.body("rocker", None, (reach, -0.5, 0), lw.Revolute(), mass=0.5, center=(0, 0.3, 0), tensor=(0.02,) * 3)
        b.loop("pin", "rocker", "rod_tip", lw.Revolute(), at=(0, 0.5, 0))
    return lw.Dynamics(b.model())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slider-crank", "four-bar"])
def test_a_flexible_mechanism_moves_as_a_fine_lumped_one(kind):
    """Let go from rest: the crank's angle, the pin and the crank's rate after 0.3 s."""
    found = []
    for way in ("modal", "lumped"):
        robot = mechanism(kind, way)
        run = lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=0.3, method="stiff", rtol=1e-5, atol=1e-7)
        found.append([run.q[-1, 0], *robot.pose(run.q[-1], "rod_tip")[:2, 3], 0.1 * run.v[-1, 0]])
    assert abs(found[0][0]) > 0.3
    assert np.allclose(found[0], found[1], atol=5e-3)


def test_a_modal_beam_is_one_word_of_the_builder():
    """Tip deflection ρAgL⁴/8EI, and the damping of springs of the lumped beam: seconds times stiffness."""
    section = lw.sections.rectangle(0.02, 0.03, lw.sections.STEEL)
    robot = lw.Dynamics(lw.Builder("boom").beam("boom", 2.0, section, flexibility="modal", modes=8, damping=1e-3).model(), compiled=False)
    rest = robot.equilibrium(robot.neutral())
    sag = section.mass_per_length * 9.81 * 2.0**4 / (8 * section.EIy)
    assert np.isclose(robot.pose(rest.q, "boom_tip")[2, 3], -sag, rtol=1e-3)
    v, body = np.ones(8), robot.model.flexible_bodies["boom_modes"]
    assert np.allclose(robot.passive_force(robot.neutral(), v), -1e-3 * np.diag(body.stiffness) * v)
