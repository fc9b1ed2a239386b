"""Small motions: frequencies, damping and shapes against closed forms, about rest and about steady motions."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import sections, solids

G = 9.81


def plain(model):
    return lw.Dynamics(model, compiled=False)


def test_a_double_pendulum_of_rods():
    """ω² = (3 ± 6/√7) g/l."""
    modes = plain(lw.load("double_pendulum")).modes([0.0, 0.0])
    np.testing.assert_allclose((2 * np.pi * modes.frequencies) ** 2, (3 + np.array([-6, 6]) / np.sqrt(7)) * G, rtol=1e-12)
    assert modes.kinds == ["swings", "swings"] and modes.stable and not modes.damping.any()


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_a_row_of_masses_and_springs(n):
    """ωⱼ = 2 √(k/m) sin((2j − 1) π / (4n + 2)), one end fixed, the other free."""
    k, m = 30.0, 0.7
    b = lw.Builder("row", gravity=(0, 0, 0))
    for i in range(n):
        b.body(f"m{i}", f"m{i - 1}" if i else None, (1, 0, 0), lw.Prismatic(axis=(1, 0, 0), stiffness=k), mass=m)
    modes = plain(b.model()).modes(np.zeros(n))
    j = np.arange(1, n + 1)
    np.testing.assert_allclose(2 * np.pi * modes.frequencies, 2 * np.sqrt(k / m) * np.sin((2 * j - 1) * np.pi / (4 * n + 2)), rtol=1e-10)


def test_a_cantilever_of_segments_converges_to_the_beam():
    """ω = 1.87510407² √(EI / ρA L⁴) in both planes, with the square of the number of segments."""
    section = sections.rectangle(0.004, 0.002, sections.STEEL)
    exact = 1.87510407**2 * np.sqrt(np.array([section.EIy, section.EIz]) / section.mass_per_length) / (2 * np.pi)
    error = []
    for n in (5, 10, 20):
        robot = plain(lw.mechanisms.beam(n, section=section).with_gravity((0, 0, 0)))
        error.append(robot.modes(robot.neutral()).frequencies[:2] / exact - 1)
    assert np.allclose(error[0] / error[1], 4, rtol=0.1) and np.allclose(error[1] / error[2], 4, rtol=0.1)
    assert np.abs(error[2]).max() < 2e-3


def test_a_cantilever_sags_by_its_weight_as_the_beam_does():
    """ρ A g L⁴ / 8 EI, for a stiff one."""
    section = sections.rectangle(0.02, 0.02, sections.STEEL)
    robot = plain(lw.mechanisms.beam(12, section=section))
    rest = robot.equilibrium(robot.neutral())
    sag = section.mass_per_length * G / (8 * section.EIy)
    assert np.isclose(robot.pose(rest.q, "beam_tip")[2, 3], -sag, rtol=4e-3)
    assert robot.modes(rest).stable and rest.stability == "stable"


def test_damping_that_is_proportional_to_stiffness_damps_fast_modes_more():
    """ζ = β ω / 2, ω as without damping; above 1 two that decay: a stiff beam has all of these."""
    beta = 2e-4
    undamped, damped = (plain(lw.mechanisms.beam(6, damping=x).with_gravity((0, 0, 0))) for x in (0.0, beta))
    omega = 2 * np.pi * undamped.modes(undamped.neutral()).frequencies
    modes = damped.modes(damped.neutral())
    swings = [x for x in modes if x.kind == "swings"]
    slow = omega[beta * omega < 2]
    np.testing.assert_allclose(sorted(x.omega for x in swings), slow, rtol=1e-7)
    np.testing.assert_allclose(sorted(x.damping for x in swings), beta * slow / 2, rtol=1e-6)
    assert modes.kinds.count("decays") == 2 * (len(omega) - len(slow)) > 0 and len(modes) == len(swings) + modes.kinds.count("decays")
    np.testing.assert_allclose(np.einsum("ia,ij,ja->a", modes.shapes.conj(), damped.mass_matrix(damped.neutral()), modes.shapes).real, 1)


def gimbals(spin=None, stiffness=4.0):
    """A disk that spins on two crossed joints with springs."""
    b = lw.Builder("gimbals")
    b.body("outer", joint=lw.Revolute(axis=(1, 0, 0), stiffness=stiffness), joint_name="x")
    b.body("inner", "outer", joint=lw.Revolute(axis=(0, 1, 0), stiffness=stiffness), joint_name="y")
    b.body("disk", "inner", joint=lw.Revolute(axis=(0, 0, 1)), joint_name="spin", mass=1.0, tensor=(0.3, 0.3, 0.5))
    if spin is not None:
        b.drive("spin", lambda t: spin * t, lambda t: spin, lambda t: 0.0 * t)
    return plain(b.model())


@pytest.mark.parametrize("driven", [False, True])
def test_a_rotor_in_gimbals_nutates_and_precesses(driven):
    """I₁ ω² ∓ I₃ Ω ω − k = 0:  ω = (√(I₃²Ω² + 4 I₁ k) ± I₃ Ω) / 2 I₁."""
    spin = 9.0
    robot = gimbals(spin if driven else None)
    modes = robot.modes(np.zeros(3), [0, 0, spin], t=0.0 if driven else None)
    root = np.sqrt((0.5 * spin) ** 2 + 4 * 0.3 * 4.0)
    swinging = [x.omega for x in modes if x.kind == "swings"]
    np.testing.assert_allclose(swinging, (root + np.array([-1, 1]) * 0.5 * spin) / 0.6, rtol=1e-9)
    assert [x.kind for x in modes].count("free") == (0 if driven else 1)
    slow, fast = (x.shape[:2] / x.shape[0] for x in modes if x.kind == "swings")
    np.testing.assert_allclose([slow[1], fast[1]], [slow[1], -slow[1]], atol=1e-9)  # round the circle, one way and the other
    assert np.isclose(abs(slow[1]), 1) and abs(slow[1].real) < 1e-9


def test_a_driven_rotor_is_shown_spinning():
    """The drive turns by Ω T while the mode swings once."""
    spin, robot = 9.0, gimbals(9.0)
    mode = robot.modes(np.zeros(3), [0, 0, spin], t=0.0)[0]
    shown = mode.motion(amplitude=0.1, period=2.0, cycles=1.0)
    np.testing.assert_allclose(shown.q[:, 2], spin / mode.frequency * shown.t / 2.0, atol=1e-9)
    assert 0.09 < np.abs(shown.q[:, :2]).max() < 0.11


def test_a_body_that_spins_freely_nutates():
    """λ = i Ω (I₃ − I₁) / I₁ in the body, besides i Ω of a change of attitude or place."""
    b = lw.Builder("top", gravity=(0, 0, 0))
    b.body("top", joint=lw.Spherical(), joint_name="ball", mass=1.0, tensor=(0.3, 0.3, 0.5))
    robot = plain(b.model())
    modes = robot.modes([0, 0, 0, 1.0], [0, 0, 3.0])
    np.testing.assert_allclose([x.omega for x in modes if x.kind == "swings"], [3 * 0.2 / 0.3, 3.0], rtol=1e-9)
    assert modes.kinds.count("free") == 1


def test_a_body_that_spins_about_its_middle_axis_tumbles():
    """σ² = Ω² (I₂ − I₁)(I₃ − I₂) / I₁ I₃."""
    b = lw.Builder("book", gravity=(0, 0, 0))
    b.body("book", joint=lw.Spherical(), joint_name="ball", mass=1.0, tensor=(0.2, 0.3, 0.4))
    modes = plain(b.model()).modes([0, 0, 0, 1.0], [0, 2.0, 0])
    grows = [x.eigenvalue.real for x in modes if x.kind == "grows"]
    np.testing.assert_allclose(grows, [2 * np.sqrt(0.1 * 0.1 / 0.2 / 0.4)], rtol=1e-9)
    assert not modes.stable and "not stable" in str(modes)


@pytest.mark.parametrize("speed", [1.0, 5.0, 9.0, 30.0])
def test_a_disk_that_rolls_straight_on_falls_below_a_speed(speed):
    """A (A + mr²) λ² + C (C + mr²) Ω² − A m g r = 0, A and C the moments across and about the axis (Routh)."""
    m, r, A, C = 2.0, 0.25, 0.04, 0.07
    b = lw.Builder("disk")
    b.body("place", joint=lw.Translation(), joint_name="place")
    b.body("heading", "place", joint=lw.Revolute(), joint_name="heading")
    b.body("lean", "heading", joint=lw.Revolute(axis=(1, 0, 0)), joint_name="lean")
    b.body("disk", "lean", joint=lw.Revolute(axis=(0, 1, 0)), joint_name="spin", mass=m, tensor=(A, C, A))
    b.roll("roll", "disk", r, (0, 1, 0))
    robot = plain(b.model())
    modes = robot.modes([0, 0, r, 0, 0, 0], [r * speed, 0, 0, 0, 0, speed])
    square = (A * m * G * r - C * (C + m * r * r) * speed**2) / (A * (A + m * r * r))
    if square > 0:
        assert np.isclose(max(x.eigenvalue.real for x in modes), np.sqrt(square)) and not modes.stable
    else:
        assert np.isclose(max(x.omega for x in modes), np.sqrt(-square)) and modes.stable


@pytest.mark.parametrize("ratio", [0.05, 0.7, 1.8])
def test_a_damped_oscillator(ratio):
    """λ = −ζω ± i ω √(1 − ζ²);  above ζ = 1 two that decay."""
    k, m = 50.0, 2.0
    omega = np.sqrt(k / m)
    b = lw.Builder("one", gravity=(0, 0, 0))
    b.body("m", joint=lw.Prismatic(stiffness=k, damping=2 * ratio * omega * m), mass=m)
    modes = plain(b.model()).modes([0.0])
    if ratio < 1:
        np.testing.assert_allclose([modes[0].omega, modes[0].damping], [omega, ratio], rtol=1e-12)
    else:
        root = omega * np.sqrt(ratio**2 - 1)
        np.testing.assert_allclose(modes.eigenvalues, [root - ratio * omega, -root - ratio * omega], rtol=1e-12)
        assert modes.kinds == ["decays", "decays"] and not modes.frequencies.any()


def test_a_pendulum_that_stands_falls():
    """σ² = 3g/2l."""
    (mode,) = plain(lw.load("pendulum")).modes([np.pi])
    assert mode.kind == "grows" and np.isclose(mode.eigenvalue, np.sqrt(1.5 * G)) and mode.frequency == 0


def test_a_follower_force_makes_a_column_flutter():
    """Two rods with unit springs: the eigenvalues of A say what the stiffness does not."""
    b = lw.Builder("column", gravity=(0, 0, 0))
    for i in range(2):
        parent, at = (f"l{i - 1}", (0, 0, 1)) if i else (None, None)
        b.body(f"l{i}", parent, at, lw.Revolute(axis=(0, 1, 0), stiffness=1.0), mass=1.0, center=(0, 0, 1))
    stable = {}
    for force in (1.0, 3.0):
        push = lw.Push("push", "l1", force=(0, 0, -force), at=(0, 0, 1), axes="body")
        stable[force] = plain(b.model().with_forces(push)).modes([0.0, 0.0]).stable
    assert stable == {1.0: True, 3.0: False}


@pytest.mark.parametrize("name", ["four_bar", "satellite:1", "cable:2"])
def test_frequencies_are_those_of_the_linearization(name):
    """By A of `robot.linearize`, in minimal coordinates where there are loops."""
    robot = plain(lw.load(name))
    rest = robot.equilibrium(robot.random_state(seed=1)[0])
    modes = robot.modes(rest)
    A, _ = robot.linearize(rest.q, np.zeros(robot.nv), np.zeros(robot.nv))
    found = np.linalg.eigvals(A)
    for x in modes:
        assert np.abs(found - x.eigenvalue).min() < 1e-6 * np.abs(found).max()


@pytest.mark.parametrize("name", ["double_pendulum", "four_bar", "beam:3"])
def test_shapes_are_orthogonal_with_the_mass_and_keep_the_constraints(name):
    """Φ* 𝓜 Φ = 1,  Jc Φ = 0."""
    robot = plain(lw.load(name))
    rest = robot.equilibrium(robot.neutral())
    modes = robot.modes(rest)
    np.testing.assert_allclose(modes.shapes.T @ robot.mass_matrix(rest.q) @ modes.shapes, np.eye(len(modes)), atol=1e-9)
    if robot.constraints:
        assert np.abs(robot.constraints.jacobian(rest.q) @ modes.shapes).max() < 1e-9


@pytest.mark.slow
def test_a_small_swing_along_a_shape_has_the_period_of_the_mode():
    """By simulation."""
    robot = lw.Dynamics(lw.load("four_bar"))
    rest = robot.equilibrium(np.zeros(3))
    (mode,) = robot.modes(rest)
    q = robot.assemble(robot.integrate(rest.q, 1e-4 * mode.shape / np.abs(mode.shape).max()), hold=["crank_joint"])
    run = lw.simulate(robot, (q, np.zeros(3)), until=1 / mode.frequency, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.q[-1], q, atol=1e-7)


@pytest.mark.parametrize("name", ["four_bar", "spherical_pendulum"])
def test_a_mode_is_a_motion_that_can_be_shown(name, tmp_path):
    robot = plain(lw.load(name))
    rest = robot.equilibrium(robot.random_state(seed=1)[0])
    mode = robot.modes(rest)[-1]
    assert mode.q.shape == (len(mode.t), robot.nq) and mode.v.shape == (len(mode.t), robot.nv)
    if robot.constraints:
        assert np.abs(robot.constraints.residual(mode.q)).max() < 1e-9
    away = robot.difference(np.broadcast_to(rest.q, mode.q.shape), mode.q)
    assert 0.01 < np.abs(away).max() < 0.5
    np.testing.assert_allclose(away[0], 0, atol=1e-9)
    assert lw.record(mode, tmp_path / "mode.html").stat().st_size > 1000
    small = mode.motion(amplitude=0.01, period=1.0, cycles=1.0)
    assert np.isclose(np.abs(robot.difference(np.broadcast_to(rest.q, small.q.shape), small.q)).max(), 0.01, rtol=1e-3)
    h = 1e-6 + small.t[1] - small.t[0]
    rate = robot.difference(small.q[:-2], small.q[2:]) / (2 * h)
    np.testing.assert_allclose(rate, small.v[1:-1], atol=0.02 * np.abs(small.v).max())


def test_modes_about_a_rest_at_a_limit_leave_the_limit_alone():
    b = lw.Builder("two")
    b.body("a", joint=lw.Revolute(axis=(0, 1, 0), upper=0.2), joint_name="a", **solids.rod(1.0, (0, 0, -1)))
    b.body("b", "a", (0, 0, -1), lw.Revolute(axis=(0, 1, 0)), joint_name="b", **solids.rod(1.0, (0, 0, -1)))
    robot = plain(b.model())
    modes = robot.modes(robot.equilibrium([0.0, 0.0], tau=[10.0, 0.0], limits=True))
    np.testing.assert_allclose(2 * np.pi * modes.frequencies, [np.sqrt(1.5 * G)])
    np.testing.assert_allclose(modes.shapes[0], 0, atol=1e-12)


def test_a_table_says_what_there_is():
    modes = plain(lw.load("spherical_pendulum")).modes([0, 0, 0, 1.0])
    assert "spherical_pendulum about rest: 3 modes" in str(modes) and "free" in str(modes) and "0.50225" in str(modes)
    assert [x.kind for x in modes[1:]] == ["swings", "swings"] and len(list(modes)) == 3
    with pytest.raises(IndexError, match="0 to 2"):
        modes[3]


def test_precision_of_what_comes_is_that_of_what_goes():
    modes = plain(lw.load("double_pendulum")).modes(np.zeros(2, np.float32))
    assert modes.shapes.dtype == np.float32 and modes.eigenvalues.dtype == np.complex64


def test_a_mechanism_that_cannot_move_has_no_modes():
    b = lw.Builder("block")
    b.body("block", mass=1.0)
    assert len(plain(b.model()).modes([])) == 0


MASSLESS = lw.Builder("massless").body("bar", joint=lw.Revolute(stiffness=2.0), joint_name="pin").model()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: plain(lw.load("pendulum")).modes([0.3]), "robot.equilibrium"),
        (lambda: plain(lw.load("double_pendulum")).modes([0.0, 0.0], [1.0, 2.0]), "steadily|the same all along"),
        (lambda: plain(lw.load("pendulum").with_gravity((0, 0, 0))).modes([0.0], [1.0, 2.0]), "shape"),
        (lambda: plain(lw.load("pendulum")).modes(np.zeros((3, 1))), "batch"),
        (lambda: plain(MASSLESS).modes([0.0]), "inertia along pin"),
        (lambda: plain(lw.load("four_bar")).modes([0.3, 0.0, 0.0]), "assemble|closed|open"),
        (lambda: plain(lw.load("governor")).modes(plain(lw.load("governor")).equilibrium(np.zeros(6))), "singular"),
        (lambda: gimbals(9.0).modes(np.zeros(3), t=0.0), "give the steady motion"),
        (lambda: plain(lw.load("pendulum")).modes([0.0])[0].motion(period=0.0), "period"),
    ],
)
def test_what_has_no_modes_is_refused(call, said):
    with pytest.raises(lw.LinkworkError, match=said):
        call()


def submarine(**fluid):
    """A hull that floats where it is, its centre of buoyancy 3 cm above that of mass, on a mast that turns."""
    b = lw.Builder("submarine")
    b.body("hull", joint=lw.Universal(), joint_name="hull", mass=50.0, tensor=(1.0, 4.0, 4.0))
    hull = lw.Immersed("hull", volume=0.05, center=(0, 0, 0.03), added_mass=(0.2, 0.9, 0.9, 5, 60, 55), drag=(0.6, 2, 3, 4, 5, 6))
    return plain(b.model().in_fluid(hull, density=1000.0, **fluid))


def test_a_hull_under_water_is_righted_by_buoyancy_and_damped_by_drag():
    """(I + Iₐ) φ̈ + D φ̇ + ρ V g h φ = 0."""
    robot = submarine()
    rest = robot.equilibrium([0.4, -0.3])
    assert rest.stability == "stable" and rest.search == "energy" and np.abs(rest.q).max() < 1e-10
    modes = robot.modes(rest)
    found = {x.modes.mostly(x.shape): x for x in modes}
    for joint, inertia, drag in (("hull.1", 1.2, 0.6), ("hull.2", 4.9, 2.0)):
        omega = np.sqrt(50 * G * 0.03 / inertia)
        assert np.allclose([found[joint].omega, found[joint].damping], [omega, drag / (2 * omega * inertia)])
    assert submarine(current=(0.5, 0.0, 0.0)).equilibrium([0.1, 0.1]).search == "forces"


def test_dry_friction_is_told_of():
    b = lw.Builder("p")
    b.body("bob", joint=lw.Revolute(axis=(0, 1, 0), friction=0.4), joint_name="pin", mass=1.0, center=(0, 0, -1))
    modes = plain(b.model()).modes([0.0])
    assert np.isclose(2 * np.pi * modes[0].frequency, np.sqrt(G)) and "dry friction (pin)" in str(modes)


def test_contacts_are_not_left_out_in_silence():
    b = lw.Builder("ball")
    b.body("ball", joint=lw.Free(), collisions=(lw.Shape("sphere", (0.1,)),), **solids.sphere(1.0, 0.1))
    robot = plain(b.model().with_ground().with_contacts("ground"))
    for call in (robot.equilibrium, robot.modes):
        with pytest.raises(lw.ModelError, match="contacts"):
            call(robot.neutral())
