"""Things that swing. A pin turns about y; without a word to the contrary they hang along -z at q = 0."""

from ...joints import Joint, Prismatic, Revolute, Spherical, Universal
from .. import sections, solids
from ..beams import USUAL
from ..builder import Builder
from ..model import Model
from ..sections import Section
from .drawing import BLUE, GREY, RED, counted, in_a_row, positive

DOWN = (0.0, 0.0, -1.0)
PIN = Revolute(axis=(0.0, 1.0, 0.0))


def pendulum(*, length: float = 1.0, mass: float = 1.0) -> Model:
    """A uniform rod, 1 kg and 1 m."""
    return _rods("pendulum", 1, length, mass)


def double_pendulum(*, length: float = 1.0, mass: float = 1.0) -> Model:
    """Two uniform rods, each 1 kg and 1 m."""
    return _rods("double_pendulum", 2, length, mass)


def chain(n: int = 10, *, length: float = 1.0, mass: float = 1.0) -> Model:
    """Uniform rods, each 1 kg and 1 m: chain(2) is the double pendulum."""
    return _rods(f"chain_{n}", n, length, mass)


def cable(n: int = 10, *, length: float = 0.1, mass: float = 0.05, radius: float = 0.005, damping: float = 1e-4) -> Model:
    """Cylinders, each 50 g, 10 cm long and 1 cm thick, on universal joints that bend about x, then y."""
    positive("cable", length=length, mass=mass, radius=radius)
    piece = solids.cylinder(mass, radius, length, center=(0.0, 0.0, -length / 2), color=GREY)
    return _hanging(f"cable_{n}", n, Universal(damping=damping), piece, length)


def beam(
    n: int = 10, *, length: float = 1.0, section: Section | None = None, flexibility: str = "lumped", freedoms=USUAL, damping: float = 0.0
) -> Model:
    """A cantilever along x of 1 m, clamped at the origin, 20 mm x 5 mm of steel and flat: n segments that bend, twist and stretch."""
    counted("beam", n)
    positive("beam", length=length)
    section = sections.rectangle(0.02, 0.005, sections.STEEL) if section is None else section
    system = Builder(f"beam_{n}")
    system.beam("beam", length, section, flexibility=flexibility, segments=n, freedoms=freedoms, damping=damping, color=BLUE)
    return system.model()


def cartpole(*, cart_mass: float = 1.0, pole_mass: float = 0.1, pole_length: float = 1.0) -> Model:
    """A cart of 1 kg on a rail along x, and a pole of 0.1 kg and 1 m on it: upright at q = 0, tipping towards +x."""
    positive("cartpole", cart_mass=cart_mass, pole_mass=pole_mass, pole_length=pole_length)
    system = Builder("cartpole")
    cart = solids.box(cart_mass, (0.4, 0.2, 0.2), color=GREY)
    pole = solids.rod(pole_mass, (0.0, 0.0, pole_length), color=RED)
    system.body("cart", joint=Prismatic(axis=(1.0, 0.0, 0.0), lower=-2.4, upper=2.4), joint_name="rail", **cart)
    system.body("pole", "cart", joint=PIN, joint_name="pin", **pole)
    return system.model()


def spherical_pendulum() -> Model:
    """A bob of 1 kg and 5 cm radius on a ball joint, hung on a rod of 0.1 kg and 1 m."""
    system = Builder("spherical_pendulum")
    bob = solids.together(solids.rod(0.1, DOWN, color=GREY), solids.sphere(1.0, 0.05, DOWN, color=RED))
    system.body("bob", joint=Spherical(), joint_name="ball", **bob)
    system.frame("end", "bob", DOWN)
    return system.model()


def _rods(name: str, n: int, length: float, mass: float) -> Model:
    """n uniform rods on pins."""
    positive(name, length=length, mass=mass)
    return _hanging(name, n, PIN, solids.rod(mass, (0.0, 0.0, -length), color=BLUE), length)


def _hanging(name: str, n: int, joint: Joint, link: solids.Solid, length: float) -> Model:
    """n equal links, each on the lower end of the one before."""
    return in_a_row(Builder(name), n, joint, link, (0.0, 0.0, -length), "end")
