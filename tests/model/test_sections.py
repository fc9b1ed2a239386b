"""Cross-sections: integrals over the area, torsion by a stress function, limits of shear factors."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import sections

STEEL = sections.Material(E=210e9, nu=0.3, rho=7850.0)
SECTIONS = {
    "rectangle": sections.rectangle(0.02, 0.05, STEEL),
    "circle": sections.circle(0.03, STEEL),
    "tube": sections.tube(0.03, 0.01, STEEL),
    "i_section": sections.i_section(0.05, 0.08, 0.01, 0.012, STEEL),
}


def inside(name, y, z):
    """Which points of the plane are in the section."""
    if name == "rectangle":
        return (abs(y) < 0.01) & (abs(z) < 0.025)
    if name == "i_section":
        return (abs(y) < 0.025) & (abs(z) < 0.04) & ((abs(z) > 0.028) | (abs(y) < 0.005))
    r = np.hypot(y, z)
    return (r < 0.03) & (r > (0.02 if name == "tube" else 0.0))


@pytest.mark.parametrize("name", SECTIONS)
def test_area_and_moments_are_integrals_over_the_section(name):
    """A = ∫ dA,  Iy = ∫ z² dA,  Iz = ∫ y² dA."""
    step = 1e-4
    ticks = (np.arange(1000) + 0.5) * step - 0.05
    y, z = np.meshgrid(ticks, ticks)
    y, z = y[inside(name, y, z)], z[inside(name, y, z)]
    section = SECTIONS[name]
    assert np.allclose([section.area, section.Iy, section.Iz], step**2 * np.array([y.size, z @ z, y @ y]), rtol=2e-3)


@pytest.mark.parametrize("ratio", [1.0, 1.7, 30.0])
def test_torsion_of_a_rectangle_is_twice_the_volume_under_its_stress_function(ratio):
    """J = 2 ∫ ψ dA with ∇²ψ = −2 and ψ = 0 around: by double sine series, Σ 2048 ab / (π⁶ m²n² (m²/a² + n²/b²))."""
    a, b = 0.1 * ratio, 0.1
    odd = np.arange(1, 1201, 2)
    m, n = np.meshgrid(odd, odd)
    # ∫ of each sine pair 4ab/π²mn, coefficient 32/(π⁴ mn (m²/a² + n²/b²)); J = 2 Σ
    series = 2 * np.sum(32 / (np.pi**4 * m * n * (m**2 / a**2 + n**2 / b**2)) * 4 * a * b / (np.pi**2 * m * n))
    assert np.isclose(sections.rectangle(a, b, STEEL).J, series, rtol=1e-6)
    assert np.isclose(sections.rectangle(b, a, STEEL).J, series, rtol=1e-6)


def test_a_thin_rectangle_twists_as_a_strip_and_a_square_as_known():
    """a b³/3 and 0.140577 a⁴."""
    assert np.isclose(sections.rectangle(1.0, 1e-4, STEEL).J, 1e-12 / 3, rtol=1e-4)
    assert np.isclose(sections.rectangle(1.0, 1.0, STEEL).J, 0.1405770)


def test_a_tube_without_a_hole_is_a_circle_and_a_thin_one_is_known():
    """κ → 2(1 + ν)/(4 + 3ν),  J → 2π r³ t."""
    full, circle = sections.tube(0.03, 0.03, STEEL), sections.circle(0.03, STEEL)
    assert np.allclose([full.area, full.J, full.shear_y], [circle.area, circle.J, circle.shear_y])
    thin = sections.tube(1.0, 1e-6, STEEL)
    assert np.allclose([thin.shear_y, thin.J], [2 * 1.3 / 4.9, 2e-6 * np.pi], rtol=1e-5)


def test_an_i_section_with_thin_flanges_shears_as_its_web():
    web = sections.i_section(0.01, 0.08, 0.01, 1e-9, STEEL)
    strip = sections.rectangle(0.01, 0.08, STEEL)
    assert np.allclose([web.shear_z, web.Iy, web.Iz, web.area], [strip.shear_z, strip.Iy, strip.Iz, strip.area], rtol=1e-5)


def test_the_shear_modulus_and_poissons_ratio_say_the_same():
    """G = E / 2(1 + ν)."""
    assert np.isclose(STEEL.G, 210e9 / 2.6)
    assert np.isclose(sections.Material(E=210e9, rho=1.0, G=STEEL.G).nu, 0.3)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_piece_of_a_beam_is_a_prism(name):
    """Tensor ∫ (r² − r r*) dm, by the solid that the piece looks like where this is full."""
    section = SECTIONS[name]
    piece = section.piece(0.5, start=0.1)
    assert np.allclose(piece["center"], (0.35, 0, 0)) and np.isclose(piece["mass"], STEEL.rho * section.area * 0.5)
    assert lw.Body("piece", piece["mass"], piece["center"], piece["tensor"]).complaint is None
    if name == "rectangle":
        assert np.allclose(piece["tensor"], lw.model.solids.box(piece["mass"], (0.5, 0.02, 0.05))["tensor"])
    if name == "circle":
        assert np.allclose(piece["tensor"], lw.model.solids.cylinder(piece["mass"], 0.03, 0.5, axis=(1, 0, 0))["tensor"])


def test_a_section_of_given_numbers_has_them_and_a_look():
    section = sections.given(1e-3, 2e-6, 3e-6, 4e-6, STEEL, shear=(0.5, 0.6))
    assert (section.EA, section.EIy, section.EIz) == (210e6, 420e3, 630e3)
    assert np.allclose([section.GJ, section.GAy, section.GAz], np.array([4e-6, 0.5e-3, 0.6e-3]) * STEEL.G)
    (look,) = section.piece(1.0)["visuals"]
    assert np.allclose(look.size, (1.0, np.sqrt(12 * 3e-3), np.sqrt(12 * 2e-3)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sections.Material(E=210e9, rho=7850.0), "neither nu nor G"),
        (lambda: sections.Material(E=210e9, rho=7850.0, nu=0.3, G=60e9), "give one of them"),
        (lambda: sections.Material(E=210e9, rho=7850.0, G=60e9), "nu = 0.75"),
        (lambda: sections.Material(E=0.0, rho=7850.0, nu=0.3), "E = 0.0"),
        (lambda: sections.Material(E=210e9, rho=np.inf, nu=0.3), "rho = inf"),
        (lambda: sections.Material(E=210e9, rho="7850", nu=0.3), "rho = '7850'"),
        (lambda: sections.circle(0.1, 210e9), "sections.Material"),
        (lambda: sections.circle(-0.1, STEEL), "radius = -0.1"),
        (lambda: sections.tube(0.1, 0.2, STEEL), "at most the radius"),
        (lambda: sections.i_section(0.1, 0.1, 0.01, 0.05, STEEL), "two flanges"),
        (lambda: sections.given(1.0, 1.0, 1.0, 3.0, STEEL), "polar moment"),
        (lambda: sections.circle(0.1, STEEL).piece(0.0), "length = 0.0"),
    ],
)
def test_a_section_that_cannot_be_is_refused(make, said):
    with pytest.raises(lw.ModelError, match=said.replace("(", r"\(").replace("+", r"\+")):
        make()
