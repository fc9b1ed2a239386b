"""Contact problems of real robots, as steps of `simulate(method="contact")` meet them: G, b and μ of the points that would close.

falls       go2 and humanoid thrown at the ground in random postures, tumbling, until they lie
grasps      shadow hand, palm up, a ball or a box of 0.1 kg in it, fingers closing with random torques
gathered    random configurations, the 4, 8 or 12 points nearest to the ground at gaps of 0 to 0.5 mm: many contacts that no
            geometry brings together, and that can all stop
overlaps    the same with gaps of −0.5 to 0.5 mm, which bodies that are in each other ask to part with up to 0.1 m/s: with a
            fixed base some cannot
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.model.parts import Body, PlacedJoint
from linkwork.motion.contact_step import RECOVERY
from linkwork.simulate.methods.contact import law_of

MODELS = Path(__file__).parents[1] / "tests" / "models"
FILES = {"go2": "go2_mjcf/go2.xml", "humanoid": "humanoid_mjcf/humanoid.xml", "shadow hand": "shadow_hand_mjcf/right_hand.xml"}
THINGS = {"ball": lw.Shape("sphere", (0.03,)), "box": lw.Shape("box", (0.05, 0.06, 0.05))}
H = 0.002
Problem = tuple[np.ndarray, np.ndarray, np.ndarray]


def loaded(name: str, contacts=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lw.load(MODELS / FILES[name], contacts=contacts)


def with_thing(kind: str):
    """The shadow hand with a free body; contacts of that body with palm, fingers and thumb."""
    hand, mass, size = loaded("shadow hand"), 0.1, 0.055
    thing = Body("thing", mass, tensor=(mass * size**2 / 6,) * 3, collisions=(THINGS[kind],))
    model = replace(hand, bodies=(*hand.bodies, thing), joints=(*hand.joints, PlacedJoint("thing_joint", None, "thing", lw.Free())))
    parts = [x.name for x in hand.bodies if x.name.endswith(("palm", "metacarpal", "proximal", "middle"))]
    return model.with_contacts([("thing", x) for x in parts])


def smooth_joints(model):
    """Without dry friction of joints, which would be blocks of the problem that other solvers do not have."""
    return replace(model, joints=tuple(replace(x, joint=replace(x.joint, friction=0.0)) for x in model.joints))


def problem_of_step(robot, law, q, v, tau, h, mu) -> Problem | None:
    """Of the points that would close by themselves within the step."""
    free = v + h * robot.forward_dynamics(q, v, tau)
    J = robot.contact_jacobian(q)
    normal = law.normals(robot.contact_gaps(q), J, np.ones(len(law.friction)), v, free, np.asarray(h))[0]
    chosen = normal < 0
    if not chosen.any():
        return None
    J = J[np.repeat(chosen, 3)]
    b = J @ free
    b[::3] = normal[chosen]
    return J @ robot.mass_matrix_inverse(q) @ J.T, b, np.full(chosen.sum(), mu)


def thrown(robot, rng):
    """A random posture, its lowest point 1 cm above the ground, falling, drifting and turning; no torques."""
    q, v = robot.random_state(seed=int(rng.integers(2**31)))
    v = np.concatenate([rng.uniform(-2, 2, 6), 0.5 * v[6:]])
    q[6] -= robot.contact_gaps(q).min() - 0.01
    return q, v, np.zeros(robot.nv)


def grasping(robot, rng):
    """Fingers half bent at random around the thing, 1 mm above the palm; torques that close them."""
    n, q = robot.nv - 6, robot.random_state(seed=int(rng.integers(2**31)))[0]
    q[:n], q[-3:] = 0.5 * q[:n], (0.31, 0.0, 0.04)
    for _ in range(40):  # up until nothing overlaps
        gap = robot.contact_gaps(q).min()
        if gap >= 0.001:
            break
        q[-1] += 0.001 - gap
    return q, np.concatenate([np.zeros(n), rng.uniform(-0.3, 0.3, 6)]), np.concatenate([rng.uniform(0.0, 0.2, n), np.zeros(6)])


def from_runs(model, start, until: float, count: int, seed: int) -> Iterator[Problem]:
    """Problems of steps of 1 to 4 ms at states of runs from random starts, with random friction."""
    rng, robot = np.random.default_rng(seed), lw.Dynamics(smooth_joints(model))
    law = law_of(robot, limits=False)
    while count > 0:
        q, v, tau = start(robot, rng)
        h = rng.choice([0.001, 0.002, 0.004])
        run = lw.simulate(robot, (q, v), until=until, method="contact", dt=0.004, control=lambda t, q, v, tau=tau: tau)
        for q, v in zip(run.q, run.v):
            if count > 0 and (found := problem_of_step(robot, law, q, v, tau, h, rng.uniform(0.1, 1.2))) is not None:
                count -= 1
                yield found


def gathered(name: str, count: int, points: int, gaps: tuple[float, float], seed: int) -> Iterator[Problem]:
    """Problems with so many points, of random configurations and velocities: those nearest to the ground, at random gaps."""
    robot, rng = lw.Dynamics(loaded(name, "ground")), np.random.default_rng(seed)
    q, v = robot.random_state(count, seed=seed)
    gap, J = robot.contact_gaps(q), robot.contact_jacobian(q)
    near = np.argsort(gap, -1)[:, :points]
    rows = (3 * near[..., None] + np.arange(3)).reshape(count, -1)
    J = np.take_along_axis(J, rows[..., None], 1)
    G = J @ robot.mass_matrix_inverse(q) @ J.mT
    b = (J @ (v + H * robot.forward_dynamics(q, v, np.zeros(robot.nv)))[..., None])[..., 0]
    b[:, ::3] += np.maximum(rng.uniform(*gaps, (count, points)) / H, -RECOVERY)
    yield from zip(G, b, np.broadcast_to(rng.uniform(0.1, 1.2, (count, 1)), (count, points)))


def sets(each: int) -> Iterator[tuple[str, Iterator[Problem]]]:
    """Names and problems, `each` of a set."""
    for name in ("go2", "humanoid"):
        yield f"{name} falls", from_runs(loaded(name, "ground"), thrown, 0.6, each, seed=1)
    for kind in THINGS:
        yield f"shadow hand grasps a {kind}", from_runs(with_thing(kind), grasping, 0.3, each, seed=1)
    for name in ("go2", "humanoid"):
        for points in (4, 8, 12):
            yield f"{name}, {points} points gathered", gathered(name, each, points, (0.0, 0.0005), seed=points)
    for name in FILES:
        yield f"{name}, 8 points overlapping", gathered(name, each, 8, (-0.0005, 0.0005), seed=20)
