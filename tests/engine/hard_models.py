"""Models and states in which rounding is at its worst."""

import numpy as np

import linkwork as lw

PAIRS = {
    "revolute, revolute": (lw.Revolute, lw.Revolute),
    "revolute, prismatic": (lw.Revolute, lw.Prismatic),
    "prismatic, revolute": (lw.Prismatic, lw.Revolute),
    "cylindrical, revolute": (lw.Cylindrical, lw.Revolute),
    "revolute, spherical": (lw.Revolute, lw.Spherical),
}


def tilted(pair: str, tilt: float, at=(0.11, -0.23, 0.28)) -> lw.Dynamics:
    """Three joints, each standing on the one before with its axis turned by `tilt` about x, which is not snapped."""
    pose = lw.Pose.rpy(at, (tilt, 0, 0.4), snap=False)
    first, second = PAIRS[pair]
    b = lw.Builder("tilted")
    b.body("one", None, pose, first(), mass=1.0, center=(0.05, 0.1, -0.02), tensor=(0.01, 0.02, 0.015))
    b.body("two", "one", pose, second(), mass=2.0, center=(0.1, 0.02, 0.03), tensor=(0.02, 0.01, 0.025))
    b.body("three", "two", pose, lw.Revolute(), mass=0.5, center=(-0.03, 0.2, 0.01), tensor=(0.004, 0.005, 0.002))
    return lw.Dynamics(b.model())


def chain(masses, lengths, axes=("y", "x", "z"), sizes=0.1) -> lw.Dynamics:
    """Revolute joints about alternating axes; each mass at the end of its link."""
    b, parent, at = lw.Builder("chain"), None, (0.0, 0.0, 0.0)
    for i, (mass, length) in enumerate(zip(masses, lengths)):
        axis = np.eye(3)["xyz".index(axes[i % len(axes)])]
        tensor = tuple(mass * (sizes * length) ** 2 * np.array([1.0, 1.1, 0.9]))
        b.body(f"link{i}", parent, at, lw.Revolute(axis=axis), mass=mass, center=(length, 0.05 * length, 0), tensor=tensor)
        parent, at = f"link{i}", (length, 0.0, 0.1 * length)
    return lw.Dynamics(b.model())


def slider(offset: float) -> lw.Dynamics:
    """A point on a slide along the radius of a turntable, `offset` from its axis."""
    b = lw.Builder("slider")
    b.body("table", joint=lw.Revolute(axis=(0, 0, 1)))
    b.body("point", "table", (offset, 0, 0), lw.Prismatic(axis=(1, 0, 0)), mass=1.0)
    return lw.Dynamics(b.model())


def gantry(far: float) -> lw.Dynamics:
    """A turntable, two slides across each other, and a pin, each mounted a long way from the one before and back."""
    b = lw.Builder("gantry")
    b.body("table", joint=lw.Revolute(axis=(0, 0, 1)), mass=1.0, tensor=(0.1, 0.1, 0.1))
    b.body("x", "table", (far, 0.3, 0.1), lw.Prismatic(axis=(1, 0, 0)), mass=1.0, tensor=(0.01, 0.02, 0.03))
    b.body("y", "x", (-far, far, 0.2), lw.Prismatic(axis=(0, 1, 0)), mass=0.7, tensor=(0.02, 0.01, 0.01))
    b.body("pin", "y", (0.1, -far, 0.2), lw.Revolute(axis=(1, 1, 0)), mass=0.3, center=(0.0, 0.0, 0.2), tensor=(0.01, 0.01, 0.001))
    return lw.Dynamics(b.model())


def wrist(radius: float, turned: float = 0.0) -> lw.Dynamics:
    """A light roll joint, and on a pitch joint a thin rod, which lies in the roll axis when the pitch is −`turned`."""
    b = lw.Builder("wrist")
    b.body("yaw", joint=lw.Revolute(axis=(0, 0, 1)), mass=1.0, center=(0.1, 0.0, 0.0), tensor=(0.01, 0.01, 0.01))
    b.body("roll", "yaw", (0.2, 0, 0.1), lw.Revolute(axis=(1, 0, 0)), mass=1e-6, tensor=(1e-6 * radius**2,) * 3)
    rod = (np.cos(turned), 0.0, -np.sin(turned))
    T = 1 / 12 * (np.eye(3) - np.outer(rod, rod)) + radius**2 / 2 * np.outer(rod, rod)
    b.body("rod", "roll", (0.1, 0, 0), lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=tuple(0.5 * np.array(rod)), tensor=T)
    return lw.Dynamics(b.model())


HARD = {
    "light to heavy": lambda: chain([1e-6, 1e-3, 1.0, 1e3], [1, 1, 1, 1]),
    "heavy to light": lambda: chain([1e3, 1.0, 1e-3, 1e-6], [1, 1, 1, 1]),
    "alternating masses": lambda: chain([1.0, 1e-6, 1.0, 1e-6, 1.0], [1, 0.5, 1, 0.5, 1]),
    "points on light links": lambda: chain([1e-6, 1.0, 1e-6, 1.0], [1, 1, 1, 1], sizes=1e-6),
    "short and long links": lambda: chain([1.0, 1.0, 1.0, 1.0], [1000.0, 1e-3, 1000.0, 1e-3]),
    "parallel axes": lambda: chain([1.0, 1e-6, 1e3, 1.0], [1, 1, 1, 1], axes="z"),
    "gantry nearby": lambda: gantry(1.0),
    "gantry far away": lambda: gantry(1000.0),
    "thin rod in a roll axis": lambda: wrist(1e-3),
    "thin rod turned": lambda: wrist(1e-2, 0.3),
}


def states(robot, near=(0.0, np.pi / 2, np.pi), seed=0, count=6):
    """Random states, and states within 1e-2 ... 1e-10 of folded and stretched ones."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        yield robot.random_state(seed=seed + i)
    for i in range(count):
        _, v = robot.random_state(seed=seed + count + i)
        yield rng.choice(near, robot.nq) + rng.normal(size=robot.nq) * 10.0 ** -rng.integers(2, 11), v
