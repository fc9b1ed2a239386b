"""Things that swing. A pin turns about y; without a word to the contrary they hang along -z at q = 0."""

from ...joints import Joint, Prismatic, Revolute, Spherical, Universal
from .. import solids
from ..builder import Builder
from ..model import Model

DOWN = (0.0, 0.0, -1.0)
PIN = Revolute(axis=(0.0, 1.0, 0.0))
BLUE, RED, GREY = (0.25, 0.45, 0.7, 1.0), (0.75, 0.3, 0.25, 1.0), (0.55, 0.55, 0.55, 1.0)


def pendulum() -> Model:
    """A uniform rod, 1 kg and 1 m."""
    return _hanging("pendulum", 1, PIN, solids.rod(1.0, DOWN, color=BLUE))


def double_pendulum() -> Model:
    """Two uniform rods, each 1 kg and 1 m."""
    return _hanging("double_pendulum", 2, PIN, solids.rod(1.0, DOWN, color=BLUE))


def chain(n: int = 10) -> Model:
    """Uniform rods, each 1 kg and 1 m: chain(2) is the double pendulum."""
    return _hanging(f"chain_{n}", n, PIN, solids.rod(1.0, DOWN, color=BLUE))


def cable(n: int = 10) -> Model:
    """Cylinders, each 50 g, 10 cm long and 1 cm thick, on universal joints that bend about x, then y."""
    piece = solids.cylinder(0.05, 0.005, 0.1, center=(0.0, 0.0, -0.05), color=GREY)
    return _hanging(f"cable_{n}", n, Universal(damping=1e-4), piece, length=0.1)


def cartpole() -> Model:
    """A cart of 1 kg on a rail along x, and a pole of 0.1 kg and 1 m on it: upright at q = 0, tipping towards +x."""
    system = Builder("cartpole")
    cart = solids.box(1.0, (0.4, 0.2, 0.2), color=GREY)
    pole = solids.rod(0.1, (0.0, 0.0, 1.0), color=RED)
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


def _hanging(name: str, n: int, joint: Joint, link: solids.Solid, length: float = 1.0) -> Model:
    """n equal links, each on the lower end of the one before."""
    system = Builder(name)
    end = (0.0, 0.0, -length)
    for i in range(1, n + 1):
        parent, at = (f"link{i - 1}", end) if i > 1 else (None, None)
        system.body(f"link{i}", parent, at, joint, joint_name=f"joint{i}", **link)
    system.frame("end", f"link{n}", end)
    return system.model()
