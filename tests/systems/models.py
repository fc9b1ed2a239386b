"""The models themselves."""

import numpy as np
import pytest
from zoo import MECHANISMS, grown, plain, state
from zoo.mechanisms import JOINTS

import linkwork as lw
from linkwork.operators import SKO, geared, rigid, velocities_of_all, with_elastic_gears
from linkwork.systems import lower
from linkwork.systems.gears import gears

from .dense import BATCH, Dense

Model = Dense


def rigid_at(model):
    """A mechanism of the zoo as an SKO model, moving."""
    s = state(plain(model), BATCH)
    return rigid(lower(model), s.q, s.v)


def random_forest(seed, parent, joint_inertia=False):
    """Blocks of random sizes, none square but by chance, on a forest; a joint may have no velocity, but no more than
    the node has entries."""
    rng = np.random.default_rng(seed)
    n = len(parent)
    m = rng.integers(2, 6, n)
    r = np.minimum(rng.integers(0, 4, n), m)
    A, H, M, armature, a, b = ([] for _ in range(6))
    for k, p in enumerate(parent):
        X = rng.standard_normal((*BATCH, m[k], m[k]))
        Y = rng.standard_normal((*BATCH, r[k], r[k])) * joint_inertia
        A.append(0.7 * rng.standard_normal((*BATCH, m[p] if p >= 0 else 3, m[k])))
        H.append(np.eye(m[k])[rng.permutation(m[k])[: r[k]]] + 0.2 * rng.standard_normal((*BATCH, r[k], m[k])))
        M.append(X @ X.mT / m[k] + np.eye(m[k]))
        armature.append(Y @ Y.mT)
        a.append(rng.standard_normal((*BATCH, m[k], 1)))
        b.append(rng.standard_normal((*BATCH, m[k], 1)))
    return SKO(parent, A, H, M, armature, a, b, rng.standard_normal((3, 1)))


def gear_train():
    """A branched arm with motors on most joints, one of them askew, off its joint's axis and out of balance."""
    arm = lw.Builder("gear train", gravity=(0.7, -1.1, -9.6))
    link = {"mass": 1.3, "center": (0.1, 0.05, 0.2), "tensor": (0.03, 0.04, 0.02)}
    rotor = {"mass": 0.2, "tensor": (2e-4, 2e-4, 3e-4)}
    arm.body("hip", None, (0, 0, 0.1), lw.Revolute(axis=(0, 1, 0)), **link)
    arm.body("knee", "hip", (0.3, 0, 0.1), lw.Revolute(axis=(0.6, 0, 0.8)), **link)
    arm.body("slide", "knee", (0.1, 0.2, 0.3), lw.Prismatic(axis=(0, 0.6, 0.8)), **link)
    arm.body("ball", "knee", (0.3, 0.2, 0), lw.Spherical(), **link)
    arm.body("hand", "ball", (0, 0.2, 0.1), lw.Revolute(axis=(1, 0, 0), armature=0.02), **link)
    arm.body("finger", "hand", (0.1, 0, 0), lw.Revolute(), **link)
    arm.motor("hip_joint", 50, **rotor)
    arm.motor("knee_joint", -30, at=(0.1, 0.05, 0), axis=(0, 0.6, 0.8), mass=0.3, center=(0.01, 0.02, 0.03),
              tensor=(3e-4, 4e-4, 5e-4))  # fmt: skip
    arm.motor("slide_joint", 100, **rotor)
    arm.motor("hand_joint", 12, **rotor)
    return arm.model()


def geared_at(model, seed=0):
    """The SKO model of the whole tree at a state that its gears allow, which nodes are geared, and X of v = X v(links)."""
    nodes, robot = lower(model), plain(model)
    train = gears(model, nodes)
    q, _ = robot.random_state(BATCH, seed)
    X = velocities_of_all(rigid(nodes, q), train)
    v = np.random.default_rng(seed).standard_normal((*BATCH, X.shape[1]))
    return rigid(nodes, q, np.matvec(X, v)), train, X


def elastic():
    sko, train, _ = geared_at(gear_train())
    return with_elastic_gears(sko, train)


def exactly_geared():
    sko, train, _ = geared_at(gear_train())
    return geared(sko, train)


FORKED = [-1, 0, 0, 1, 1, -1, 5, 3, 3, 5, -1, 7, 2]
CHAIN = range(-1, 7)
PINS = grown("pins", [(i - 1 if i else None, JOINTS[j]) for i, j in enumerate(["revolute"] * 4 + ["spherical"])], seed=11)
MODELS = {
    **{
        name: Dense(name, lambda name=name: rigid_at(MECHANISMS[name]))
        for name in ("free", "tree", "chain", "floating", "forest", "massless", "geared", "planar 2R")
    },
    "pins": Dense("pins", lambda: rigid_at(PINS)),
    "gear train": Dense("gear train", exactly_geared),
    "elastic gears": Dense("elastic gears", elastic),
    "random forest": Dense("random forest", lambda: random_forest(1, FORKED)),
    "random chain": Dense("random chain", lambda: random_forest(2, CHAIN)),
    "random forest with joint inertia": Dense("with joint inertia", lambda: random_forest(3, FORKED, joint_inertia=True)),
}
WITH_JOINT_INERTIA = "geared", "gear train", "elastic gears", "random forest with joint inertia"


def models(*names):
    """Parametrizes a test by these models."""
    return pytest.mark.parametrize("m", [pytest.param(MODELS[name], id=name) for name in names])


every_model = models(*MODELS)
every_bookish_model = models(*(name for name in MODELS if name not in WITH_JOINT_INERTIA))
serial = models("chain", "pins", "planar 2R", "random chain")
