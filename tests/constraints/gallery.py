"""Mechanisms with loops, each assembled: a robot, its constraints and a configuration that keeps them."""

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork import constraints
from linkwork.model import Loop

MODELS = Path(__file__).parents[1] / "models"
G = (0.0, -9.81, 0.0)
ABOUT_Z = lw.Revolute()


def rod(length, mass=1.0):
    """A slender uniform rod along x, from the origin."""
    return {"mass": mass, "center": (length / 2, 0, 0), "tensor": (1e-4 * mass * length**2, mass * length**2 / 12, mass * length**2 / 12)}


def four_bar(a=1.0, b=2.0, c=1.5, d=2.2, cut="foot", joint=ABOUT_Z):
    """Crank a, coupler b, rocker c on ground d; coordinates are the angles between bars, so that it is open at q = 0."""
    sizes = {"crank": a, "coupler": b, "rocker": c, "ground": d, "extension": 0.0, "masses": (1.0, 2.0, 1.5)}
    model = lw.mechanisms.four_bar(cut, stretched=True, **sizes)
    return replace(model, loops=(replace(model.loops[0], joint=joint),))


def slider_crank(r=1.0, l=2.0):
    """Crank r and rod l, uniform bars, and a slider."""
    return lw.mechanisms.slider_crank(crank=r, rod=l, masses=(1.0, 2.0, 3.0))


def n_four_bar(n):
    """n square windows in a row (S2)."""
    m = lw.Builder(f"windows:{n}", G)
    for i in range(n + 1):
        m.body(f"crank{i}", None, (i, 0, 0), ABOUT_Z, **rod(1.0))
        if i < n:
            m.body(f"coupler{i}", f"crank{i}", (1, 0, 0), ABOUT_Z, **rod(1.0))
    for i in range(n):
        m.loop(f"pin{i}", f"coupler{i}", f"crank{i + 1}", ABOUT_Z, at=(1, 0, 0), on=(1, 0, 0))
    return m.model()


def differential():
    """Two wheels and a cage between them: the cage turns by their mean."""
    m = lw.Builder("differential", (0, 0, 0))
    for name, inertia in (("left", 0.3), ("right", 0.5), ("cage", 1.1)):
        m.body(name, joint=ABOUT_Z, mass=1.0, tensor=(inertia,) * 3)
    return m.model()


def spatial_slider_crank():
    """S5: crank about x, rod with a ball on the crank and a Hooke joint on the slider."""
    m = lw.Builder("spatial_slider_crank", (0, 0, -9.81))
    m.body("crank", None, (0, 0.1, 0.12), lw.Revolute(axis=(1, 0, 0)), mass=0.12, center=(0, 0, 0.04), tensor=(1e-4,) * 3)
    m.body("slider", None, None, lw.Prismatic(axis=(1, 0, 0)), mass=2.0, tensor=(1e-4,) * 3)
    # the rod's frame: x along it from C to B at t = 0; second Hooke axis along its y
    C, B = np.array([0.2, 0, 0]), np.array([0, 0.1, 0.2])
    along = (B - C) / 0.3
    second = np.cross([1, 0, 0], along)
    second /= np.linalg.norm(second)
    R = np.stack([along, second, np.cross(along, second)], 1)
    T = np.eye(4)
    T[:3, :3] = R
    hooke = lw.Compound(row=(("first", lw.Revolute(axis=(1, 0, 0))), ("second", lw.Revolute(axis=tuple(second)))))
    m.body("rod", "slider", None, hooke, joint_on=lw.Pose.of(T).inverse(), mass=0.5, center=(0.15, 0, 0),
           tensor=(4e-4, 4e-3, 4e-3))  # fmt: skip
    m.loop("ball", "crank", "rod", lw.Spherical(), at=(0, 0, 0.08), on=(0.3, 0, 0))
    return m.model()


def intelsat():
    """INTELSAT V in a plane, springs in the joints and no cables (Müller and Terze, 5.4.1)."""
    plane = lw.Planar(axis=(1, 0, 0))
    return lw.mechanisms.intelsat(base=plane, cables=False, bus_mass=900.0, panel_mass=20.0, stiffness=1.0, damping=0.0)


def snakeboard_parts():
    """Board, rider and axles, each with x, y and angle of its own, pinned by loops (Müller and Terze, 5.4.2)."""
    return lw.mechanisms.snakeboard(half_length=0.25, masses=(4.0, 1.0, 0.5), moments=(0.06, 0.05, 0.005), separate=True)


def scott_russell(crank=0.5):
    """A crank that leads the middle of a rod whose ends slide on two lines at right angles: one slider would be enough."""
    m = lw.Builder("scott_russell", G)
    m.body("crank", joint=ABOUT_Z, **rod(crank))
    m.body("rod", "crank", (crank, 0, 0), ABOUT_Z, **rod(2 * crank), joint_on=(crank, 0, 0))
    for name, axis, end in (("level", (1, 0, 0), 2 * crank), ("upright", (0, 1, 0), 0.0)):
        m.body(name, joint=lw.Prismatic(axis=axis), mass=0.3, tensor=(0.01,) * 3)
        m.loop(f"{name} pin", name, "rod", ABOUT_Z, on=(end, 0, 0))
    return m.model()


def dual_arm():
    """Two arms of five joints that hold one bar."""
    m = lw.Builder("dual_arm", (0, 0, -9.81))
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0))
    for side, y in (("left", 0.3), ("right", -0.3)):
        before, at = None, (0, y, 0)
        for i, axis in enumerate(axes):
            m.body(f"{side}{i}", before, at, lw.Revolute(axis=axis), mass=1.0, center=(0.1, 0, 0.02 * i), tensor=(0.01, 0.02, 0.025))
            before, at = f"{side}{i}", (0.2, 0.01 * i, 0)
    m.loop("bar", "left4", "right4", lw.Fixed(), at=(0.1, -0.6, 0), on=(0.1, 0, 0))
    return m.model()


def mixed(joint, seed=0):
    """A chain of one ball, pin and free-ish joints whose tip is tied to the world by a joint of any type, anywhere."""
    rng = np.random.default_rng(seed)
    m = lw.Builder(f"tied_{joint.kind}", (0.7, -1.1, -9.6))

    def pose(reach=0.5):
        q = rng.standard_normal(4)
        return lw.Pose(tuple(q / np.abs(q).max()), tuple(rng.uniform(-reach, reach, 3)))

    chain = [lw.Spherical(), lw.Revolute(axis=(0.36, 0.48, -0.8)), lw.Prismatic(axis=(1, 0, 0)), lw.Spherical(), lw.Revolute()]
    before = None
    for i, x in enumerate(chain):
        tensor = np.diag(rng.uniform(0.02, 0.03, 3))
        m.body(f"body{i}", before, pose(), x, mass=rng.uniform(0.5, 1.5), center=rng.uniform(-0.2, 0.2, 3), tensor=tensor,
               joint_on=pose(0.1))  # fmt: skip
        before = f"body{i}"
    free = lw.Dynamics(m.model(), compiled=False)
    q, _ = free.random_state(seed=seed)
    on = pose(0.2)
    # put the loop where it is closed at q, the joint displaced at random
    from linkwork.model.model import displacement

    parts = []
    for _, part, _ in joint.parts:
        s = part.group.exp(rng.uniform(-1, 1, part.nv))
        parts.append(s)
    moved = displacement(joint, np.concatenate([np.zeros(0), *parts]))
    child = lw.Pose.of(free.pose(q, before))
    m.loop("tie", "body0", before, joint, at=lw.Pose.of(free.pose(q, "body0")).inverse() @ child @ on @ moved.inverse(), on=on)
    return m.model(), q


@cache
def assembled(name):
    """(robot, constraints, q): a mechanism of the gallery, plain NumPy."""
    model, guess, hold = MAKERS[name]()
    robot = lw.Dynamics(model, compiled=False)
    held = constraints.of(robot)
    q = robot.neutral()
    for joint, x in guess.items():
        q[robot.q_index(joint)] = x
    return robot, held, held.assemble(q, hold=hold)


def motion(robot, state, times, start=0.0, rtol=1e-9, **how):
    """The trajectory at its start and at times, at each of which a step ends."""
    run = lw.simulate(robot, state, start=start, until=start, method="dop853", rtol=rtol, atol=1e-12, **how)
    for t in times:
        run = run.resume(t)
        assert run.status == "finished", run.message
    return run.at([start, *times])


MAKERS = {
    "four_bar": lambda: (four_bar(), {"crank_joint": 1.0, "coupler_joint": -0.7, "rocker_joint": 1.1}, ("crank_joint",)),
    "four_bar, other cut": lambda: (
        four_bar(cut="pin"),
        {"crank_joint": 1.0, "coupler_joint": -0.7, "rocker_joint": 1.4},
        ("crank_joint",),
    ),
    "four_bar, ball": lambda: (
        four_bar(joint=lw.Spherical()),
        {"crank_joint": 1.0, "coupler_joint": -0.7, "rocker_joint": 1.1},
        ("crank_joint",),
    ),
    "slider_crank": lambda: (
        slider_crank(),
        {"crank_joint": 1.0, "rod_joint": -1.4, "piston_joint": -1.0},
        ("crank_joint",),
    ),
    "two windows": lambda: (
        n_four_bar(2),
        {f"crank{i}_joint": 1.2 for i in range(3)} | {f"coupler{i}_joint": -1.2 for i in range(2)},
        (),
    ),
    "peaucellier": lambda: (lw.load("peaucellier"), {}, ()),
    "bricard": lambda: (lw.load("bricard"), {}, ()),
    "spatial_slider_crank": lambda: (spatial_slider_crank(), {"slider_joint": 0.2}, ("crank_joint",)),
    "scott_russell": lambda: (
        scott_russell(), {"crank_joint": 0.6, "rod_joint": -1.2, "level_joint": 0.8, "upright_joint": 0.6}, ("crank_joint",)
    ),
    "dual_arm": lambda: (dual_arm(), {f"{side}{i}_joint": 0.3 * (-1) ** i for side in ("left", "right") for i in range(1, 5)}, ()),
    "slider_crank, engine": lambda: (lw.load("slider_crank"), {"crank_joint": 0.7}, ("crank_joint",)),
    "strandbeest": lambda: (lw.load("strandbeest"), {"crank_joint": 0.5}, ("crank_joint",)),
    "squeezer": lambda: (lw.load("squeezer"), {}, ()),
    "governor": lambda: (lw.load("governor"), {}, ()),
    "differential": lambda: (lw.load("differential"), {}, ()),
    "intelsat": lambda: (lw.load("intelsat"), {"north_yoke_joint": 0.4, "south_yoke_joint": 0.5}, ()),
    "delta_robot": lambda: (with_yaml("delta_robot"), {}, ()),
    "digit_like": lambda: (with_yaml("digit_like"), {}, ()),
    "panda": lambda: (coupled("panda"), {}, ()),
    "pr2": lambda: (coupled("pr2"), {}, ()),
    "cassie, MJCF": lambda: (lw.load(MODELS / "cassie_mjcf" / "cassie.xml"), {}, ()),
    "cassie, SDF": lambda: (lw.load(MODELS / "cassie_sdf" / "cassie_v2.sdf", floating=True), {}, ()),
    "four_bar, SDF": lambda: (
        pinned("four_bar", "Bc_bushing", "Cb_bushing"), {"joint_WA": 1.3, "joint_AB": 1.8, "joint_WC": 1.8}, ("joint_WA",)
    ),
}  # fmt: skip


def with_yaml(name):
    return lw.load(MODELS / name / "robot.urdf", loops=MODELS / name / "robot.yaml")


def coupled(name):
    with warnings.catch_warnings(action="ignore", category=lw.ModelWarning):  # pr2 has bodies that cannot be
        return lw.load(MODELS / name / f"{name}.urdf", mimic="couple")


def pinned(name, one, other):
    """A tree of an SDF file, closed where two of its frames are meant to meet; they lie beside each other."""
    model = lw.load(MODELS / name / f"{name}.sdf")
    (i, at), (j, on) = model.place(one), model.place(other)
    return replace(model, loops=(Loop("pin", model.bodies[i].name, model.bodies[j].name, lw.Cylindrical(), at, on),))
