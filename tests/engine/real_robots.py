"""The robots of tests/models."""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
from zoo import state

import linkwork as lw

MODELS = Path(__file__).parents[1] / "models"
FILES = {
    file.parent.name if file.suffix == ".urdf" else f"{file.parent.name} {file.name}": file
    for file in sorted(MODELS.glob("*/*"))
    if file.suffix in (".urdf", ".xml") and file.name != "keyframes.xml"
}
FLOATING = "solo12", "anymal_c", "simple_humanoid", "talos_reduced"  # what these stand on is not the world
TIMED = "panda", "ur5", "iiwa14", "allegro_hand", "solo12", "anymal_c", "simple_humanoid", "pr2", "talos_reduced"
SPECIAL = 0.0, 1e-160, 1e-9, np.pi / 2, np.pi / 2 - 1e-9, np.pi - 1e-9, np.pi


@cache
def model(name):
    """A robot as it stands: fixed or floating."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)  # some files have inertias that no body has
        return lw.load(FILES[name], floating=name in FLOATING, mimic="free")


def states(robot, rng):
    """Samples anywhere, at and near the angles where something vanishes, and many turns away; robot runs plainly."""
    s = state(robot, (6 + len(SPECIAL),))
    parts = [part for placed in robot.model.joints for _, part, _ in placed.joint.parts]
    turns = np.concatenate([part.group.basis[:, :3].any(1) for part in parts if part.nv])
    for i, angle in enumerate((1e5, -0.7e5, *SPECIAL), start=4):
        s.q[i] = robot.integrate(robot.neutral(), angle * turns * rng.choice([-1.0, 1.0], robot.nv))
    return s
