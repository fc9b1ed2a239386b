"""Mechanisms with flexible bodies for tests."""

from functools import cache

import linkwork as lw

SECTION = {"EA": 1e4, "GJ": 7.0, "EIy": 10.0, "EIz": 20.0, "rhoA": 1.0, "rhoIy": 1e-2, "rhoIz": 2e-2}
THIN = {"EA": 1e4, "GJ": 7.0, "EIy": 10.0, "EIz": 20.0, "rhoA": 1.0}


@cache
def bodies(keep="second", thin=False):
    section, directions = (THIN, "xyz") if thin else (SECTION, "xyzt")
    options = {"elements": 4, "keep": keep, "directions": directions}
    arm = lw.FlexibleBody.beam(1.3, section, modes="craig-bampton", interfaces=["tip"], count=1, **options)
    core = lw.FlexibleBody.beam(1.3, section, modes="free", count=5, frames={"mid": 0.65}, **options)
    return arm, core


@cache
def tree(keep="second", thin=False):
    """A free body held at its middle, two arms on its ends."""
    arm, core = bodies(keep, thin)
    b = lw.Builder("flexible_tree", gravity=(0.3, -1.0, -9.81))
    b.flexible("core", core, joint=lw.Free(), root="mid")
    b.flexible("arm", arm, "core.tip", None, lw.Revolute())
    b.flexible("leg", core, "core.root", None, lw.Revolute())
    return b.model()


@cache
def small(damping=0.0):
    """Two links with two modes each, the first not clamped at its joint, a load on a sprung joint, and a spring between points."""
    core = lw.FlexibleBody.beam(1.3, SECTION, elements=4, modes="free", count=2, frames={"mid": 0.65}, damping=damping)
    arm = lw.FlexibleBody.beam(1.3, SECTION, elements=4, count=2, damping=damping)
    b = lw.Builder("flexible_small", gravity=(0.3, -1.0, -9.81))
    b.flexible("core", core, joint=lw.Revolute(axis=(0, 1, 0)), root="mid")
    b.flexible("arm", arm, "core.tip", lw.Pose.rpy((0, 0.1, 0), (0.3, 0.2, 0.1)), lw.Revolute())
    b.body(
        "load",
        "arm.tip",
        (0.1, 0, 0),
        lw.Revolute(axis=(1, 0, 0), stiffness=2.0, damping=0.1),
        mass=0.3,
        center=(0.1, 0.2, 0),
        tensor=(0.1,) * 3,
    )
    return b.model().with_forces(lw.Spring("spring", one="core.root", other="load", stiffness=30.0, length=0.2))


@cache
def four_bar(stiffness=1.0):
    """A crank, a flexible coupler closed as a loop at its tip, a rocker."""
    section = {
        "EA": 1e4 * stiffness,
        "GJ": 7.0,
        "EIy": 10.0 * stiffness,
        "EIz": 20.0 * stiffness,
        "rhoA": 1.0,
        "rhoIy": 1e-2,
        "rhoIz": 1e-2,
    }
    coupler = lw.FlexibleBody.beam(
        1.0, section, elements=8, directions="xy", modes="craig-bampton", interfaces=["tip"], count=0, rotary=False
    )
    b = lw.Builder("flexible_four_bar", gravity=(0, -9.81, 0))
    b.body("crank", None, None, lw.Revolute(), mass=1.0, center=(0.15, 0, 0), tensor=(0.01,) * 3)
    b.flexible("coupler", coupler, "crank", (0.3, 0, 0), lw.Revolute())
    b.body("rocker", None, (1.0, 0, 0), lw.Revolute(), mass=1.0, center=(0.4, 0, 0), tensor=(0.1,) * 3)
    b.loop("pin", "rocker", "coupler.tip", lw.Revolute(), at=(0.8, 0, 0))
    return b.model()
