"""The robots that are timed, from tests/models, and chains."""

import warnings
from pathlib import Path

HERE = Path(__file__).parent
MODELS = HERE.parent / "tests" / "models"
ROBOTS = {
    "panda": False, "ur5": False, "iiwa14": False, "allegro_hand": False, "solo12": True, "anymal_c": True,
    "simple_humanoid": True, "pr2": False, "talos_reduced": True,
}  # fmt: skip  # and whether they float


def file(name: str) -> Path:
    return next((MODELS / name).glob("*.urdf"))


def model(name: str, floating: bool | None = None):
    import linkwork as lw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some files have inertias that no body has
        return lw.load(file(name), floating=ROBOTS[name] if floating is None else floating, mimic="free")


def with_hands():
    """talos_reduced with a hand of 16 joints on each wrist and each foot: 102 velocities."""
    whole, hand = model("talos_reduced"), model("allegro_hand")
    for end in ("arm_left_7_link", "arm_right_7_link", "leg_left_6_link", "leg_right_6_link"):
        whole = whole.with_model(end, hand, (0.0, 0.0, -0.1), prefix=f"{end}_")
    return whole


def uneven_chain(n: int):
    """A chain of which no two links, axes or placements are alike."""
    import numpy as np

    import linkwork as lw

    rng, builder = np.random.default_rng(0), lw.Builder(f"uneven chain of {n}")
    for i in range(n):
        mass, at = rng.uniform(0.5, 1.5), lw.Pose.rpy(rng.uniform(-0.2, 0.2, 3), rng.uniform(-1, 1, 3))
        builder.body(
            f"link{i}", f"link{i - 1}" if i else None, at, lw.Revolute(axis=tuple(rng.standard_normal(3))),
            mass=mass, center=rng.uniform(-0.1, 0.1, 3), tensor=mass * rng.uniform(0.01, 0.012, 3),
        )  # fmt: skip
    return builder.model()


def closed_states(held, count: int = 8):
    """A few states that keep the constraints, and forces."""
    import numpy as np

    from linkwork.constraints import ConstraintError

    robot, rng, found = held.robot, np.random.default_rng(0), []
    start = held.assemble(robot.neutral())
    while len(found) < count:
        q, v = held.project(start, 0.3 * rng.standard_normal(robot.nv))
        found.append((q, v, rng.standard_normal(robot.nv) * np.sqrt(np.diag(robot.mass_matrix(q)))))
        try:
            start = held.assemble(robot.integrate(q, 0.1 * v))
        except ConstraintError:
            start = q
    return found


def hung(n):
    """n parallelograms hung on each other's couplers, and a configuration of them."""
    import numpy as np

    import linkwork as lw

    m = lw.Builder(f"hung:{n}", (0, -9.81, 0))
    carrier, bar = None, {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.01, 0.1, 0.1)}
    for i in range(n):
        m.body(f"a{i}", carrier, (0.1, 0, 0), lw.Revolute(), **bar)
        m.body(f"b{i}", f"a{i}", (1, 0, 0), lw.Revolute(), **bar)
        m.body(f"c{i}", carrier, (2.1, 0, 0), lw.Revolute(), **bar)
        m.loop(f"pin{i}", f"b{i}", f"c{i}", lw.Revolute(), at=(2, 0, 0), on=(1, 0, 0))
        carrier = f"b{i}"
    model = m.model()
    return model, np.array([1.2 if placed.child.startswith("b") else -1.2 for placed in model.joints])


def geared(n):
    """n joints in a row, each with a rotor beside it, and a configuration of them."""
    import numpy as np

    import linkwork as lw

    m, carrier = lw.Builder(f"geared:{n}", (0, 0, -9.81)), None
    for i in range(n):
        axis = (0, 1, 0) if i % 2 else (0, 0, 1)
        m.body(f"l{i}", carrier, (0.5, 0, 0), lw.Revolute(axis=axis), mass=1.0, center=(0.25, 0, 0), tensor=(0.01, 0.1, 0.1))
        m.body(f"r{i}", carrier, (0.3, 0.1, 0), lw.Revolute(axis=axis), mass=0.1, tensor=(1e-4, 1e-4, 1e-4))
        m.couple(f"r{i}_joint", f"l{i}_joint", (0.0, 50.0))
        carrier = f"l{i}"
    return m.model(), np.zeros(2 * n)
