"""Figures of the literature and closed forms: rotating and spinning beams, large deflections, mechanisms beside lumped ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import linkwork as lw
from linkwork.errors import ModelError

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


SPUN = {"EA": 2.8e7, "GJ": 1e4, "EIy": 1.4e4, "EIz": 1.4e4, "rhoA": 1.2}
LAG, EXACT_LAG = -0.57437, -0.57376  # the greatest, of the linear stiffened beam and of the geometrically exact one


def spin(t):
    """Rate and acceleration of the hinge: smoothly to 6 rad/s in 15 s, then steady (Simo and Vu-Quoc)."""
    t = min(t, 15.0)
    return 6 / 15 * (t - 15 / (2 * np.pi) * np.sin(2 * np.pi * t / 15)), 6 / 15 * (1 - np.cos(2 * np.pi * t / 15))


def spun_up(bodies, count, until):
    """Tip lag of a beam whose hinge is spun up, every 0.01 s."""
    modes = {"count": count} if bodies == 1 else {"count": count, "modes": "craig-bampton", "interfaces": ["tip"]}
    body = lw.FlexibleBody.beam(10.0 / bodies, SPUN, elements=max(20 // bodies, 4), directions="y", **modes)
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
        omega, alpha = spin(t)
        return np.r_[y[n:], move(np.r_[0, y[:n]], np.r_[omega, y[n:]], np.r_[alpha, np.zeros(n)])[0][1:]]

    t = np.linspace(0, until, 100 * until + 1)
    y = solve_ivp(slope, (0, until), np.zeros(2 * n), method="Radau", rtol=1e-6, atol=1e-8, t_eval=t).y.T
    zero = np.zeros(n + 1)
    return np.array([move(np.r_[0, x[:n]], zero, zero)[1][1] for x in y])


def stiffened_lag(until, n=6, per_second=400):
    """The same of the linear stiffened beam, y = Σ c_a (x/L)^a with a = 2, 3 ..., by the trapezoidal rule.

    ρA ∂²y/∂t² + EI ∂⁴y/∂x⁴ − ω² (ρA y + ∂/∂x (½ ρA (L² − x²) ∂y/∂x)) = −ρA x ω̇
    """
    L, EI, rhoA = 10.0, SPUN["EIz"], SPUN["rhoA"]
    b = np.arange(2.0, n + 2)
    a, h = b[:, None], 1 / per_second
    M, K = rhoA * L / (a + b + 1), EI / L**3 * a * (a - 1) * b * (b - 1) / (a + b - 3)
    stiffening, F = rhoA * L * a * b / 2 * (1 / (a + b - 1) - 1 / (a + b + 1)), rhoA * L**2 / (b + 2)
    c, rate, bent, lag = np.zeros(n), np.zeros(n), np.zeros(n), [0.0]
    for i in range(1, per_second * until + 1):
        omega, alpha = spin(i * h)
        k = K + omega**2 * (stiffening - M)
        ahead = c + h * rate + h**2 / 4 * bent
        new = np.linalg.solve(M + h**2 / 4 * k, -alpha * F - k @ ahead)
        c, rate, bent = ahead + h**2 / 4 * new, rate + h / 2 * (bent + new), new
        lag.append(c.sum())
    return np.array(lag[:: per_second // 100])


def test_a_beam_that_is_spun_up_lags_as_the_stiffened_one_everywhere():
    """To 1 % of the greatest lag from 0 to 20 s with one body of 3 modes, the swinging after the spin-up included. The linear beam itself
    has the printed −0.57437 at 6.76 s, −0.46878, −0.55952, −0.36285 at 5, 7.5 and 10 s."""
    expected = stiffened_lag(20)
    assert np.isclose(np.argmin(expected), 676, atol=1)
    assert np.allclose([expected.min(), *expected[[500, 750, 1000]]], [LAG, -0.46878, -0.55952, -0.36285], rtol=0, atol=2e-5)
    assert np.abs(spun_up(1, 3, 20) - expected).max() < 1e-2 * abs(LAG)
    assert np.abs(spun_up(2, 1, 10) - expected[:1001]).max() < 1e-3 * abs(LAG)


def test_a_beam_of_several_bodies_that_is_spun_up_converges_to_the_exact_one():
    """1, 2 and 4 bodies: the greatest lag comes nearer to −0.57376, each time by more than half."""
    off = [abs(spun_up(bodies, count, 8).min() - EXACT_LAG) for bodies, count in ((1, 3), (2, 0), (4, 0))]
    assert off[1] < off[0] / 2 and off[2] < off[1] / 2
    assert off[2] < 2e-4 * abs(LAG)


@pytest.mark.slow
def test_eight_bodies_that_are_spun_up_lag_as_the_exact_beam():
    assert np.isclose(spun_up(8, 0, 8).min(), EXACT_LAG, rtol=0, atol=1e-5)


def test_a_beam_that_spins_steadily_is_stretched():
    """ρA ω² L³ / 3 EA = 5.1429e-4: where modes stand still at 6 rad/s."""
    body = lw.FlexibleBody.beam(10.0, SPUN, elements=20, directions="x", count=8)
    robot = lw.Dynamics(lw.Builder("spin", gravity=(0, 0, 0)).flexible("b", body, joint=lw.Revolute()).model(), compiled=False)
    q, v = robot.neutral(), np.r_[6.0, np.zeros(8)]
    for _ in range(3):
        q[1:] -= np.linalg.solve(body.stiffness, robot.bias(q, v)[1:])
    assert np.isclose(robot.pose(q, "b.tip")[0, 3] - 10.0, 5.1429e-4, rtol=1e-3)


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


def boom(way, load=True, **how):
    """A flat boom with a load beside its tip."""
    section = lw.sections.rectangle(0.01, 0.03, lw.sections.ALUMINIUM)
    b = lw.Builder(way, gravity=(0, 0, 0)).beam("boom", 1.0, section, flexibility=way, **how)
    if load:
        b.body("load", "boom_tip", mass=1.0, center=(0, 0.05, 0), tensor=(0.004,) * 3)
    return lw.Dynamics(b.model(), compiled=False)


def test_a_modal_beam_bends_twists_and_stretches_under_a_load_as_a_lumped_one():
    """Frequencies with the load, torsion among them."""
    lumped = boom("lumped", segments=24)
    expected = lumped.modes(lumped.neutral()).frequencies
    for modes, count, off in ((None, 5, 1e-2), (12, 7, 5e-3)):
        robot = boom("modal", modes=modes)
        assert np.allclose(robot.modes(robot.neutral()).frequencies[:count], expected[:count], rtol=off)


def test_the_tip_of_a_modal_beam_gives_way_as_the_section_says():
    """Under a moment or force at the tip: L/GJ, L/EIy, L/EIz; L/EA, L³/3EIz, L³/3EIy."""
    section, L = lw.sections.rectangle(0.01, 0.03, lw.sections.ALUMINIUM), 1.0
    expected = [L / section.GJ, L / section.EIy, L / section.EIz, L / section.EA, L**3 / 3 / section.EIz, L**3 / 3 / section.EIy]
    robot = boom("modal", load=False)
    J, K = robot.jacobian(robot.neutral(), "boom_tip"), robot.model.flexible_bodies["boom_modes"].stiffness
    assert np.allclose(np.diag(J @ np.linalg.solve(K, J.T)), expected, rtol=1e-8, atol=0)


@pytest.mark.parametrize(("freedoms", "ways"), [(("bend_z",), 2), (("axial", "bend_y"), 3), (("axial", "twist", "bend_y", "bend_z"), 6)])
def test_a_modal_beam_has_a_mode_for_every_way_that_its_tip_can_move(freedoms, ways):
    """And two more unless told; fewer are refused."""
    assert boom("modal", load=False, freedoms=freedoms).nv == ways + 2
    assert boom("modal", load=False, freedoms=freedoms, segments=1).nv == ways
    assert boom("modal", load=False, freedoms=freedoms, modes=ways).nv == ways
    for wrong in (ways - 1, 0, True, 6.0):
        with pytest.raises(ModelError, match=f"can move in {ways} ways"):
            boom("modal", freedoms=freedoms, modes=wrong)
    with pytest.raises(ModelError, match=f"with 2 segments there are {2 * ways}"):
        boom("modal", freedoms=freedoms, modes=2 * ways + 1, segments=2)
    assert boom("modal", load=False, freedoms=freedoms, modes=2 * ways, segments=2).nv == 2 * ways


def test_a_lumped_beam_of_growing_stiffness_tends_to_the_rigid_one():
    """Joint accelerations where the springs are in balance, and where the load at the tip is then, as 1/stiffness."""
    found = {way: [carried(way, E) for E in stiffnesses] for way, stiffnesses in (("lumped", (1e9, 1e10, 1e11)), ("rigid", (1e9,)))}
    off = [np.abs(x - found["rigid"][0]).max() for x in found["lumped"]]
    assert off[1] < off[0] / 5 and off[2] < off[1] / 5
    assert off[2] < 1e-3 * np.abs(found["rigid"][0]).max()


def carried(way, E):
    """Accelerations of the joints of an arm of two beams that moves, its springs where they stand still, and where its load is."""
    section = lw.sections.rectangle(0.02, 0.03, lw.sections.Material(E=E, nu=0.3, rho=2700.0))
    b = lw.Builder("arm", gravity=(1.0, -2.0, -9.81))
    b.beam("a", 1.0, section, joint=lw.Revolute(axis=(0, 1, 0)), flexibility=way, segments=5)
    b.beam("b", 1.0, section, "a_tip", lw.Pose.rpy((0, 0, 0), (0.2, 0.3, 0.4)), lw.Revolute(), flexibility=way, segments=5)
    b.body("load", "b_tip", mass=0.5, center=(0, 0.1, 0), tensor=(0.01,) * 3)
    robot = lw.Dynamics(b.model(), compiled=False)
    joints = np.r_[robot.v_index("a_joint"), robot.v_index("b_joint")]
    springs = np.setdiff1d(np.arange(robot.nv), joints)
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[joints], v[joints] = [0.3, 0.5], [1.0, -2.0]
    for _ in range(6):
        M, bias = robot.mass_matrix(q), robot.bias(q, v)
        free = np.linalg.solve(M[np.ix_(joints, joints)], -bias[joints])
        stretched = q + np.isin(np.arange(robot.nv), springs)
        k = (robot.passive_force(q, v) - robot.passive_force(stretched, v))[springs]
        q[springs] = -(M[np.ix_(springs, joints)] @ free + bias[springs]) / k
    vdot = robot.forward_dynamics(q, v, robot.passive_force(q, v))
    return np.r_[vdot[joints], robot.pose(q, "load")[:3, 3]]


def test_a_modal_beam_is_one_word_of_the_builder():
    """Tip deflection ρAgL⁴/8EI, and the damping of springs of the lumped beam: seconds times stiffness."""
    section = lw.sections.rectangle(0.02, 0.03, lw.sections.STEEL)
    robot = lw.Dynamics(lw.Builder("boom").beam("boom", 2.0, section, flexibility="modal", modes=8, damping=1e-3).model(), compiled=False)
    rest = robot.equilibrium(robot.neutral())
    sag = section.mass_per_length * 9.81 * 2.0**4 / (8 * section.EIy)
    assert np.isclose(robot.pose(rest.q, "boom_tip")[2, 3], -sag, rtol=1e-3)
    v, body = np.ones(8), robot.model.flexible_bodies["boom_modes"]
    assert np.allclose(robot.passive_force(robot.neutral(), v), -1e-3 * np.diag(body.stiffness) * v)
