"""Constrained dynamics as Pinocchio has it, on the same mechanisms."""

import numpy as np
import pytest

from .gallery import MAKERS, assembled
from .peer import Peer

OURS = "differential", "intelsat", "panda", "pr2", "four_bar, SDF"  # gears, cables, mimic joints and a sleeve are no contacts there


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in OURS])
def test_accelerations_are_pinocchios(name):
    robot, held, q = assembled(name)
    rng = np.random.default_rng(0)
    q, v = held.project(q, 0.5 * rng.standard_normal(robot.nv))
    tau = rng.standard_normal(robot.nv) * np.sqrt(np.diag(robot.mass_matrix(q)))
    ours, theirs = held.forward_dynamics(q, v, tau), Peer(robot.model).forward_dynamics(q, v, tau)
    assert np.abs(ours - theirs).max() <= 1e-9 * max(1.0, np.abs(ours).max())
