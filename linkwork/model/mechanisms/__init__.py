"""Built-in mechanisms, by name.

    pendulum, double_pendulum, chain     uniform rods on pins, hanging down; chain:100 has a hundred links, chain ten
    cable                                the same of thin cylinders on universal joints; cable:100
    beam                                 a cantilever as segments that bend, twist and stretch; beam:20
    cartpole, spherical_pendulum         a pole on a cart; a bob on a ball joint
    planar_2r, planar_3r                 arms in the plane x y
    arm_6r, puma560                      an arm with a spherical wrist; the Puma 560 as it was measured
    free_body, top, satellite            a block, a heavy symmetric top, a craft with solar panels; satellite:6
    reaction_wheels, moment_gyros        craft that turn by wheels, and by gimbals that tilt wheels
    space_robot                          a craft with two arms
    humanoid                             a person of 25 degrees of freedom
    joint_zoo                            every type of joint in one tree

and with loops, gears or wheels, closed at q = 0 (the squeezer near it):

    slider_crank, four_bar, peaucellier  an engine's; Chebyshev's; the exact straight line
    strandbeest, squeezer                a leg of Jansen's beasts; Andrews' seven bodies
    bricard, governor                    six joints square to each other; Watt's
    dual_arm                             two arms that hold a beam
    differential, intelsat               of a car; a satellite whose panels are tied by cables
    rolling_disk, snakeboard             on a table, without slipping; nobody pushes it

Each is a function too, and many take sizes and masses: `lw.mechanisms.four_bar(crank=0.12, rocker=0.3)`.
"""

from collections.abc import Callable

from ...errors import ModelError, UnknownNameError, did_you_mean
from ..model import Model
from .arms import arm_6r, dual_arm, planar_2r, planar_3r, puma560
from .craft import free_body, intelsat, moment_gyros, reaction_wheels, satellite, space_robot, top
from .humanoid import humanoid
from .linkages import four_bar, peaucellier, slider_crank, squeezer, strandbeest
from .pendulums import beam, cable, cartpole, chain, double_pendulum, pendulum, spherical_pendulum
from .spatial_loops import bricard, differential, governor
from .wheels import rolling_disk, snakeboard
from .zoo import joint_zoo

MOST = 100_000  # of a size in a name: minutes, and a GB; functions take any
SIZED: dict[str, Callable[..., Model]] = {"chain": chain, "cable": cable, "beam": beam, "satellite": satellite}
PLAIN: dict[str, Callable[..., Model]] = {x.__name__: x for x in (
    pendulum, double_pendulum, cartpole, spherical_pendulum, planar_2r, planar_3r, arm_6r, puma560, free_body, top, reaction_wheels,
    moment_gyros, space_robot, humanoid, joint_zoo, slider_crank, four_bar, peaucellier, strandbeest, squeezer, bricard, dual_arm,
    governor, differential, intelsat, rolling_disk, snakeboard,
)}  # fmt: skip
NAMES: tuple[str, ...] = (*PLAIN, *SIZED)
__all__ = ["NAMES", "SIZED", "mechanism", *NAMES]


def mechanism(name: str) -> Model:
    """The built-in mechanism of this name; some take a size after a colon, as in "chain:100"."""
    kind, colon, size = name.partition(":")
    if kind not in NAMES:
        raise UnknownNameError(f'there is no built-in mechanism "{kind}".{did_you_mean(kind, NAMES)}')
    if not colon:
        return {**PLAIN, **SIZED}[kind]()
    if kind not in SIZED:
        raise ModelError(f'"{name}" asks for a size, but {kind} has only one; {", ".join(SIZED)} take a size.')
    if size.isdecimal() and (len(size) > 6 or int(size) > MOST):
        raise ModelError(f'"{name}" asks for size {size}; a name makes at most {MOST}, lw.mechanisms.{kind}(n) any number.')
    if not size.isdecimal() or int(size) < 1:
        raise ModelError(f'"{name}" asks for size "{size}"; it takes a whole number from 1, as in "{kind}:100".')
    return SIZED[kind](int(size))
