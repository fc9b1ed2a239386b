"""Beams as rigid pieces with springs: deflections and frequencies converge to those of the beam."""

import numpy as np
import pytest
from scipy.linalg import eigh

import linkwork as lw
from linkwork.model import sections

THIN = sections.rectangle(0.004, 0.002, sections.STEEL)
L = 0.7


def matrices(model):
    """𝓜 and K at q = 0, and the Jacobian of the tip, without gravity."""
    robot = lw.Dynamics(model.with_gravity((0, 0, 0)), compiled=False)
    q, v = robot.neutral(), np.zeros(robot.nv)
    return robot.mass_matrix(q), -robot.passive_force_derivatives(q, v)[0], robot.jacobian(q, "beam_tip")


def frequencies(n, **how):
    M, K, _ = matrices(lw.mechanisms.beam(n, length=L, section=THIN, **how))
    return np.sqrt(eigh(K, M, eigvals_only=True))


@pytest.mark.parametrize("n", [1, 3, 10])
def test_a_beam_bends_twists_and_stretches_under_a_load_at_its_tip(n):
    """PL³/3EI (1 − 1/4n²), ML/EI, TL/GJ and FL/EA, all but the first exact for every n."""
    _, K, J = matrices(lw.mechanisms.beam(n, length=L, section=THIN))
    C = J @ np.linalg.solve(K, J.T)  # (rotation, displacement) per (moment, force)
    assert np.allclose(np.diag(C)[:4], [L / THIN.GJ, L / THIN.EIy, L / THIN.EIz, L / THIN.EA])
    assert np.allclose(np.diag(C)[4:], (1 - 1 / (4 * n * n)) * L**3 / 3 / np.array([THIN.EIz, THIN.EIy]))


def test_frequencies_of_a_cantilever_converge_with_the_square_of_the_number_of_segments():
    """ωᵢ = βᵢ² √(EI/ρA L⁴),  βᵢ = 1.87510407, 4.69409113, 7.85475744."""
    beta = np.array([1.87510407, 4.69409113, 7.85475744])
    exact = beta**2 * np.sqrt(THIN.EIy / (THIN.mass_per_length * L**4))
    error = [frequencies(n, freedoms="bend_y")[:3] / exact - 1 for n in (10, 20, 40)]
    assert np.allclose(error[0] / error[1], 4, rtol=0.05) and np.allclose(error[1] / error[2], 4, rtol=0.05)
    assert np.abs(error[2]).max() < 5e-3 and abs(error[2][0]) < 3e-4


def test_waves_along_and_about_the_axis_converge_too():
    """ω = π/2L √(E/ρ),  π/2L √(GJ/ρ(Iy + Iz))."""
    rho, polar = THIN.material.rho, THIN.Iy + THIN.Iz
    exact = np.pi / 2 / L * np.sqrt([THIN.material.E / rho, THIN.GJ / rho / polar])
    for n, off in ((10, 2e-3), (40, 1.3e-4)):
        found = frequencies(n, freedoms="axial")[0], frequencies(n, freedoms="twist")[0]
        assert np.allclose(found, exact, rtol=off)


def test_shear_adds_to_the_deflection():
    """PL/κGA."""
    how = {"length": L, "section": THIN}
    without, with_shear = (
        matrices(lw.mechanisms.beam(6, freedoms=x, **how)) for x in (("bend_z",), ("bend_z", "shear_y"))
    )
    tip = [(J @ np.linalg.solve(K, J.T))[4, 4] for _, K, J in (without, with_shear)]
    assert np.isclose(tip[1] - tip[0], L / THIN.GAy, rtol=1e-6)


@pytest.mark.parametrize("flexibility", ["rigid", "lumped"])
def test_mass_and_ends_do_not_depend_on_the_choice(flexibility):
    model = lw.mechanisms.beam(7, length=L, section=THIN, flexibility=flexibility)
    robot = lw.Dynamics(model, compiled=False)
    q = robot.neutral()
    assert np.isclose(sum(body.mass for body in model.bodies), THIN.mass_per_length * L)
    assert np.allclose(robot.pose(q, "beam_tip")[:3, 3], (L, 0, 0)) and np.allclose(robot.pose(q, "beam"), np.eye(4))
    assert np.allclose(robot.center_of_mass(q), (L / 2, 0, 0))


def test_a_tapered_beam_bends_as_the_integral_says():
    """Tip rotation under an end moment: ∫ dx / EI(x)."""
    tapered = lambda x: sections.rectangle(0.02, 0.01 - 0.008 * x / L, sections.STEEL)
    b = lw.Builder("tapered").beam("beam", L, tapered, segments=60, freedoms="bend_y")
    _, K, J = matrices(b.model())
    exact = L * np.mean([1 / tapered(x).EIy for x in (np.arange(2000) + 0.5) * L / 2000])
    assert np.isclose((J @ np.linalg.solve(K, J.T))[1, 1], exact, rtol=2e-3)
    rigid = lw.Builder("tapered").beam("beam", L, tapered, segments=60, flexibility="rigid").model()
    assert np.isclose(sum(body.mass for body in rigid.bodies), sum(body.mass for body in b.model().bodies), rtol=1e-3)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"flexibility": "soft"}, "rigid, lumped, modal"),
        ({"segments": 0}, "0 segments"),
        ({"segments": 2.0}, "2.0 segments"),
        ({"length": -1.0}, "length -1.0"),
        ({"length": float("nan")}, "length nan"),
        ({"section": 3}, "section 3"),
        ({"section": lambda x: 3}, "section 3 at x"),
        ({"freedoms": "bend_x"}, "bend_x"),
        ({"freedoms": ()}, "some of"),
        ({"freedoms": ("twist", "twist")}, "each once"),
        ({"damping": -1.0}, "damping -1.0"),
    ],
)
def test_a_beam_that_cannot_be_is_refused(how, said):
    with pytest.raises((lw.ModelError, lw.OptionError), match=said):
        lw.Builder("b").beam("beam", **{"length": 1.0, "section": THIN, **how}).model()
