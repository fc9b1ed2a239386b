"""Cross-sections of beams and what they are made of: what stiffness and mass a beam has per length.

    steel = sections.Material(E=210e9, nu=0.3, rho=7850.0)
    sections.rectangle(0.02, 0.005, steel).EIz                        # stiffness of bending in the plane x y

The axis of a beam is x; y and z are principal axes of the section, through its centre of area, which is its shear centre too.
"""

import warnings
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from ..errors import ModelError, ModelWarning
from ..spatial import Pose
from .parts import Shape
from .solids import Solid

SOFTEST = 1e3  # Pa: gels; E below it was meant in GPa


@dataclass(frozen=True)
class Material:
    """Isotropic and elastic: Young's modulus E in Pa, density rho in kg/m³, and Poisson's ratio nu or the shear modulus G.

        G = E / 2(1 + ν)
    """

    E: float
    rho: float
    nu: float = np.nan
    G: float = np.nan

    def __post_init__(self):
        positive("a material", E=self.E, rho=self.rho)
        if self.E < SOFTEST:
            said = f"a material has E = {self.E:g} Pa, softer than any that is built with: moduli are in Pa, 1 GPa is 1e9."
            warnings.warn(said, ModelWarning, stacklevel=3)
        if _missing(self.nu) and _missing(self.G):
            raise ModelError("a material has neither nu nor G; it takes one of them.")
        if _missing(self.nu):
            positive("a material", G=self.G)
            object.__setattr__(self, "nu", self.E / (2 * self.G) - 1)
        if not (isinstance(self.nu, Real) and -1 < self.nu <= 0.5):
            raise ModelError(f"a material has nu = {self.nu!r}; an isotropic one has a number above -1, up to 0.5. Check E and G.")
        if not _missing(self.G) and not np.isclose(self.G, self.E / (2 * (1 + self.nu))):
            raise ModelError(f"a material has nu = {self.nu!r} and G = {self.G!r} Pa, but G is E / 2(1 + nu); give one of them.")
        object.__setattr__(self, "G", self.E / (2 * (1 + self.nu)))


@dataclass(frozen=True)
class Section:
    """A cross-section with its material; SI units.

        area              A, ∫ dA
        Iy, Iz            second moments about y and z, ∫ z² dA and ∫ y² dA: Iz is that of bending in the plane x y
        J                 torsion constant, GJ being torque / twist per length
        shear_y, shear_z  shear factors κ: a force along y shears by  force / κ G A
    """

    area: float
    Iy: float
    Iz: float
    J: float
    material: Material
    shear_y: float = 5 / 6
    shear_z: float = 5 / 6
    parts: tuple[tuple[str, tuple[float, ...], tuple[float, float]], ...] = field(default=(), repr=False)

    def __post_init__(self):
        _of(self.material)
        positive("a section", area=self.area, Iy=self.Iy, Iz=self.Iz, J=self.J, shear_y=self.shear_y, shear_z=self.shear_z)
        if (self.Iy + self.Iz) * (1 + 1e-9) < self.J:
            raise ModelError(
                f"a section has J = {self.J:.6g} m⁴, above the polar moment Iy + Iz = {self.Iy + self.Iz:.6g} m⁴, which no section exceeds."
            )

    @property
    def EA(self) -> float:
        """Axial stiffness: force / strain."""
        return self.material.E * self.area

    @property
    def EIy(self) -> float:
        """Stiffness of bending about y, in the plane x z: moment / curvature."""
        return self.material.E * self.Iy

    @property
    def EIz(self) -> float:
        """Stiffness of bending about z, in the plane x y: moment / curvature."""
        return self.material.E * self.Iz

    @property
    def GJ(self) -> float:
        """Stiffness of torsion: torque / twist per length."""
        return self.material.G * self.J

    @property
    def GAy(self) -> float:
        """Stiffness of shear along y, κ G A."""
        return self.shear_y * self.material.G * self.area

    @property
    def GAz(self) -> float:
        """Stiffness of shear along z, κ G A."""
        return self.shear_z * self.material.G * self.area

    @property
    def mass_per_length(self) -> float:
        return self.material.rho * self.area

    @property
    def inertia_per_length(self) -> tuple[float, float, float]:
        """Rotary inertia of a slice about x, y, z:  ρ (Iy + Iz, Iy, Iz)."""
        rho = self.material.rho
        return rho * (self.Iy + self.Iz), rho * self.Iy, rho * self.Iz

    def piece(self, length: float, start: float = 0.0, color=None) -> Solid:
        """A rigid prism of this section along x, from `start` on: mass, centre, tensor and look, as Builder.body takes them."""
        positive("a piece of a beam", length=length)
        mass, middle = self.mass_per_length * length, start + length / 2
        x, y, z = (length * i for i in self.inertia_per_length)
        bending = mass * length**2 / 12
        tensor = (x, 0.0, 0.0), (0.0, y + bending, 0.0), (0.0, 0.0, z + bending)
        looks = tuple(_look(part, length, middle, color) for part in self.looks)
        return Solid(mass=mass, center=(middle, 0.0, 0.0), tensor=tensor, visuals=looks)

    @property
    def looks(self) -> tuple[tuple[str, tuple[float, ...], tuple[float, float]], ...]:
        """The solids of which it is drawn: (kind, sizes, place y z); given by numbers, the rectangle of the same radii of gyration."""
        sides = float(np.sqrt(12 * self.Iz / self.area)), float(np.sqrt(12 * self.Iy / self.area))
        return self.parts or (("box", sides, (0.0, 0.0)),)


def given(area: float, Iy: float, Iz: float, J: float, material: Material, *, shear=(5 / 6, 5 / 6)) -> Section:
    """A section by its numbers, from a handbook say; `shear` are the factors along y and z."""
    shear_y, shear_z = np.broadcast_to(shear, (2,)).tolist()
    return Section(area, Iy, Iz, J, material, shear_y, shear_z)


def rectangle(width: float, height: float, material: Material) -> Section:
    """`width` along y, `height` along z.

        J = a b³ (1/3 − 64 b / π⁵a Σ tanh(nπa/2b) / n⁵),  n = 1, 3, 5 ...,  a ≥ b       Timoshenko and Goodier, section 109
        κ = 10 (1 + ν) / (12 + 11 ν)                                                     Cowper 1966
    """
    positive("a rectangle", width=width, height=height)
    a, b = max(width, height), min(width, height)
    n = np.arange(1, 400, 2)
    J = a * b**3 * (1 / 3 - 64 * b / (np.pi**5 * a) * float(np.sum(np.tanh(n * np.pi * a / (2 * b)) / n**5.0)))
    area, shear = width * height, _shear_of_rectangle(material)
    looks = (("box", (width, height), (0.0, 0.0)),)
    return Section(area, area * height**2 / 12, area * width**2 / 12, J, material, shear, shear, looks)


def circle(radius: float, material: Material) -> Section:
    """A full circle:  I = π r⁴/4,  J = 2 I,  κ = 6 (1 + ν) / (7 + 6 ν)  (Cowper 1966)."""
    positive("a circle", radius=radius)
    return _round(radius, 0.0, material)


def tube(radius: float, thickness: float, material: Material) -> Section:
    """A ring of outer radius r and inner radius m r.

        I = π r⁴ (1 − m⁴)/4,  J = 2 I,  κ = 6 (1 + ν)(1 + m²)² / ((7 + 6 ν)(1 + m²)² + (20 + 12 ν) m²)       Cowper 1966
    """
    positive("a tube", radius=radius, thickness=thickness)
    if thickness > radius:
        raise ModelError(f"a tube has a wall of {thickness} m and an outer radius of {radius} m; the wall is at most the radius.")
    return _round(radius, 1 - thickness / radius, material)


def i_section(width: float, height: float, web: float, flange: float, material: Material) -> Section:
    """An I-beam: flanges `width` along y and `flange` thick, `height` along z over all, the web `web` thick.

    Area and second moments are exact, without fillets; J and κ those of thin walls, with h = height − flange:

        J = (2 width flange³ + h web³) / 3                                                  walls as thin strips
        κz = 10 (1 + ν)(1 + 3m)² / (12 + 72m + 150m² + 90m³ + ν (11 + 66m + 135m² + 90m³) + 30n² (m + m²) + 5νn² (8m + 9m²)),
        m = 2 width flange / h web,  n = width / h                                          Cowper 1966
        κy A = κ 2 width flange                                                             both flanges as rectangles
    """
    positive("an I-section", width=width, height=height, web=web, flange=flange)
    inner = height - 2 * flange
    if inner <= 0 or web > width:
        raise ModelError(
            f"an I-section {height} m high and {width} m wide has flanges {flange} m and a web {web} m thick; "
            "two flanges are thinner than the height, and the web is not wider than the flanges."
        )
    area = 2 * width * flange + inner * web
    Iy = (width * height**3 - (width - web) * inner**3) / 12
    Iz = (2 * flange * width**3 + inner * web**3) / 12
    h = height - flange
    J = (2 * width * flange**3 + h * web**3) / 3
    m, n, nu = 2 * width * flange / (h * web), width / h, _of(material).nu
    below = 12 + 72 * m + 150 * m**2 + 90 * m**3 + nu * (11 + 66 * m + 135 * m**2 + 90 * m**3)
    below += 30 * n**2 * (m + m**2) + 5 * nu * n**2 * (8 * m + 9 * m**2)
    shear_y, shear_z = _shear_of_rectangle(material) * 2 * width * flange / area, 10 * (1 + nu) * (1 + 3 * m) ** 2 / below
    strips = (width, flange), (web, inner), (width, flange)
    heights = h / 2, 0.0, -h / 2
    looks = tuple(("box", size, (0.0, z)) for size, z in zip(strips, heights))
    return Section(area, Iy, Iz, J, material, shear_y, shear_z, looks)


def _round(radius: float, m: float, material: Material) -> Section:
    I, nu, s = np.pi * radius**4 * (1 - m**4) / 4, _of(material).nu, (1 + m * m) ** 2
    shear = 6 * (1 + nu) * s / ((7 + 6 * nu) * s + (20 + 12 * nu) * m * m)
    area = np.pi * radius**2 * (1 - m * m)
    return Section(area, I, I, 2 * I, material, shear, shear, (("cylinder", (radius,), (0.0, 0.0)),))


def _shear_of_rectangle(material: Material) -> float:
    nu = _of(material).nu
    return 10 * (1 + nu) / (12 + 11 * nu)


def _look(part, length: float, middle: float, color) -> Shape:
    """One part of a section, drawn along x."""
    kind, size, place = part
    at = (middle, *place)
    if kind == "box":
        return Shape("box", (length, *size), Pose.of(at), color)
    return Shape("cylinder", (*size, length), Pose.of(at) @ Pose.turning_z_to((1.0, 0.0, 0.0)), color)


def _of(material) -> Material:
    if not isinstance(material, Material):
        raise ModelError(f"a section has material {material!r}; it takes sections.Material(E=..., rho=..., nu=...).")
    return material


def _missing(x) -> bool:
    return isinstance(x, Real) and x != x


def positive(thing: str, **values: float) -> None:
    """Lengths, masses and the like, by their names, are finite and positive."""
    for name, x in values.items():
        if not (isinstance(x, Real) and 0 < x < np.inf):
            raise ModelError(f"{thing} has {name} = {x!r}; it takes a finite positive number.")


STEEL = Material(E=210e9, rho=7850.0, nu=0.3)
ALUMINIUM = Material(E=70e9, rho=2700.0, nu=0.33)
TITANIUM = Material(E=114e9, rho=4430.0, nu=0.34)
