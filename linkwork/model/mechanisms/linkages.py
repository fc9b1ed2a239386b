"""Linkages in the plane x y, closed as they stand at q = 0. Gravity, where there is any, is along -y."""

import numpy as np

from ...errors import ModelError
from ...joints import Prismatic, Revolute
from ...spatial import Pose
from .. import solids
from ..builder import Builder
from ..forces import Spring
from ..model import Model
from .drawing import ALONG, BLUE, DARK, GOLD, GREEN, RED, STEEL, VIOLET, Drawing, bars, meeting, of_bodies, point, positive, turned


def slider_crank(*, crank: float = 0.0345, rod: float = 0.137, bore: float = 0.0855, masses=None) -> Model:
    """One cylinder of Volkswagen's 1600 boxer engine: stroke 69 mm, rod 137 mm, bore 85.5 mm; masses are estimates. Dead centre at
    q = 0, crank and rod along x.

    `masses` of crank, rod and piston make crank and rod uniform bars, as in textbooks; without them the crank is a web of 6.2 kg.
    """
    positive("slider_crank", crank=crank, rod=rod, bore=bore)
    of_crank, of_rod, of_piston = of_bodies("slider_crank", "mass", masses, "crank", "rod", "piston")
    size = crank / 0.0345  # of all that is not seen in the motion
    engine = Drawing("slider_crank")
    if of_crank is None:
        web = solids.together(
            solids.cylinder(6.0, size * 0.06, size * 0.01, center=(0, 0, -0.02 * size), color=STEEL),
            solids.cylinder(0.2, size * 0.012, size * 0.04, center=(crank, 0, 0), color=DARK),
        )
        engine.body("crank", None, (0, 0), Revolute(), **web)
    else:
        engine.bar("crank", None, (0, 0), (crank, 0), width=size * 0.016, layer=-1, color=STEEL, mass=of_crank)
    engine.bar("rod", "crank", (crank, 0), (crank + rod, 0), width=size * 0.016, color=BLUE, mass=of_rod)
    piston = solids.cylinder(
        of_piston or 0.4, bore / 2, size * 0.05, center=(size * 0.01, 0, 0), axis=(1, 0, 0), color=(*GOLD[:3], 0.6)
    )
    engine.body("piston", None, (crank + rod, 0), Prismatic(axis=(1, 0, 0)), **piston)
    engine.loop("wrist", "piston", "rod", (crank + rod, 0))
    return engine.model()


def four_bar(
    cut: str = "pin",
    *,
    crank: float = 0.1,
    coupler: float = 0.25,
    rocker: float = 0.25,
    ground: float = 0.2,
    extension: float = 0.25,
    angle: float = np.pi / 2,
    masses=None,
    stretched: bool = False,
) -> Model:
    """Chebyshev's lambda: crank 1, ground 2, rocker 2.5, coupler 5 dm, whose end goes straight for half of a turn.

    Cut at the pin between coupler and rocker, or at the rocker's foot: two trees, one mechanism. The coupler is so long from pin to
    pin, and its frame "end" an `extension` beyond. At q = 0 the crank is at an `angle` from the ground and the loop is closed;
    `stretched`, all bars are along x at q = 0 and coordinates are the angles between bars, so that the loop is open there.
    `masses` of crank, coupler and rocker replace those of steel bars.
    """
    if cut not in ("pin", "foot"):
        raise ModelError(f'four_bar is cut at "{cut}"; it may be "pin" or "foot".')
    positive("four_bar", crank=crank, coupler=coupler, rocker=rocker, ground=ground)
    if not (np.isfinite(extension) and extension >= 0):
        raise ModelError(f"four_bar has extension = {extension}; it takes a finite number that is not negative, in metres.")
    of_crank, of_coupler, of_rocker = of_bodies("four_bar", "mass", masses, "crank", "coupler", "rocker")
    O, foot, A = point((0, 0)), point((ground, 0)), turned(crank, 0.0 if stretched else angle)
    B = A + coupler * ALONG if stretched else meeting(A, coupler, foot, rocker, "four_bar")
    beyond = extension / coupler
    end = (1 + beyond) * B - beyond * A
    width = 0.015 * (crank / 0.1)
    walker = Drawing("four_bar")
    walker.bar("crank", None, O, A, width=width, color=RED, mass=of_crank)
    walker.bar("coupler", "crank", A, end, width=width, layer=1, color=BLUE, mass=of_coupler)
    if cut == "pin":
        top = foot + rocker * ALONG if stretched else B
        walker.bar("rocker", None, foot, top, width=width, color=GOLD, mass=of_rocker)
        walker.loop("pin", "coupler", "rocker", B, on=top)
    else:
        heel = B - rocker * ALONG if stretched else foot
        walker.bar("rocker", "coupler", B, heel, width=width, color=GOLD, mass=of_rocker)
        walker.loop("foot", None, "rocker", foot, on=heel)
    walker.frame("end", "coupler", end)
    return walker.model()


def peaucellier(long: float = 1.0, short: float = 0.4, arm: float = 0.35) -> Model:
    """Seven bars: two long ones on the ground, a rhombus between them, an arm that leads its near corner on a circle.

    Its far corner, the frame "tip", goes along the line x = (long² - short²) / (2 arm). Without gravity.
    """
    positive("peaucellier", long=long, short=short, arm=arm)
    near = point((2 * arm, 0))
    upper = meeting((0, 0), long, near, short, "peaucellier")
    lower = upper * (1, -1, 1)
    tip = 2 * point((upper[0], 0)) - near
    cell = Drawing("peaucellier", (0.0, 0.0, 0.0))
    for side, corner, layer in (("upper", upper, 0), ("lower", lower, 1)):
        cell.bar(side, None, (0, 0), corner, layer=layer, color=BLUE, width=0.04)
        cell.bar(f"{side}_near", side, corner, near, layer=layer + 1, color=GOLD, width=0.04)
        cell.bar(f"{side}_far", side, corner, tip, layer=layer + 2, color=GOLD, width=0.04)
    cell.bar("arm", None, (arm, 0), near, layer=3, color=RED, width=0.04)
    cell.loop("near", "upper_near", "lower_near", near)
    cell.loop("far", "upper_far", "lower_far", tip)
    cell.loop("led", "upper_near", "arm", near)
    cell.frame("tip", "upper_far", tip)
    return cell.model()


def strandbeest() -> Model:
    """A leg of Theo Jansen's beasts with his holy numbers a to m; the frame "foot" steps."""
    a, b, c, d, e, f, g, h, i, j, k, l, m = np.array(
        [38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49.0, 50.0, 61.9, 7.8, 15.0]
    ) / 100
    hip, P = point((-a, -l)), point((m, 0))
    Y = meeting(hip, b, P, j)
    X = meeting(hip, d, Y, e)
    Z = meeting(P, k, hip, c)
    W = meeting(Z, g, X, f)
    foot = meeting(Z, i, W, h)
    leg = Drawing("strandbeest")
    leg.bar("crank", None, (0, 0), P, width=0.03, color=RED)
    leg.bar("upper_rod", "crank", P, Y, width=0.02, layer=1, color=GREEN)
    leg.bar("lower_rod", "crank", P, Z, width=0.02, layer=2, color=GREEN)
    leg.bar("thigh", None, hip, Y, X, width=0.02, color=BLUE)
    leg.bar("rod", "thigh", X, W, width=0.02, layer=1, color=VIOLET)
    leg.bar("link", None, hip, Z, width=0.02, layer=1, color=VIOLET)
    leg.bar("shank", "link", Z, W, foot, width=0.02, color=GOLD)
    leg.loop("knee", "upper_rod", "thigh", Y)
    leg.loop("ankle", "lower_rod", "link", Z)
    leg.loop("heel", "rod", "shank", W)
    leg.frame("foot", "shank", foot)
    return leg.model()


def squeezer() -> Model:
    """Andrews' squeezing mechanism (IFToMM A03): seven bodies that hold one point three ways, a spring, no gravity.

    Coordinates are the published angles, beta to epsilon, so that it is closed where the problem starts and not at zero:
    beta -0.06171389, theta 0, gamma 0.45527982, phi 0.22266839, delta 0.48736498, omega -0.22266839, epsilon 1.23054744.
    """
    O, A, B, C = (0, 0), (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    bodies: list = [  # name, joint, parent, at, angle, mass, inertia, centre, ends, colour
        ("K1", "beta", None, O, 0.0, 0.04325, 2.194e-6, (0.00092, 0), [(0.007, 0)], RED),
        ("K2", "theta", "K1", (0.007, 0), np.pi, 0.00365, 4.410e-7, (0.0115, 0), [(0.028, 0)], DARK),
        ("K3", "gamma", None, B, -np.pi / 2, 0.02373, 5.255e-6, (0.01874, 0.01043), [(0.035, 0), (0.018, 0.02)], BLUE),
        ("K5", "delta", None, A, 0.0, 0.07050, 1.169e-5, (0.02308, 0.00916), [(0.04, 0), (0.02308, 0.02)], GOLD),
        ("K4", "phi", "K5", (0.04, 0), -np.pi / 2, 0.00706, 5.667e-7, (0.00579, 0), [(0.02, 0)], GREEN),
        ("K7", "epsilon", None, A, -np.pi / 2, 0.05498, 1.912e-5, (0.01228, -0.00449), [(0.04, 0), (0.01228, -0.012)], VIOLET),
        ("K6", "omega", "K7", (0.04, 0), np.pi / 2, 0.00706, 5.667e-7, (0.00579, 0), [(0.02, 0)], GREEN),
    ]
    system = Builder("squeezer", (0.0, 0.0, 0.0))
    for layer, (name, joint, parent, at, angle, mass, inertia, center, ends, color) in enumerate(bodies):
        looks = bars([point(end) for end in ((0, 0), *ends)], 0.003, layer % 3, color)["visuals"]
        place = Pose.rpy((*at, 0), (0, 0, angle))
        solid = {"mass": mass, "center": point(center), "tensor": (inertia,) * 3, "visuals": looks}
        system.body(name, parent, place, Revolute(), joint_name=joint, **solid)
    for name, body, reach in (("first", "K3", 0.035), ("second", "K4", 0.02), ("third", "K6", 0.02)):
        system.loop(name, "K2", body, Revolute(), at=(0.028, 0, 0), on=(reach, 0, 0))
    spring = Spring("spring", None, "K3", (*C, 0.0), (0.018, 0.02, 0.0), stiffness=4530.0, length=0.07785)
    return system.model().with_forces(spring)
