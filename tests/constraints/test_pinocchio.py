"""Constrained dynamics as Pinocchio has it, on the same mechanisms."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints

from .gallery import MODELS, four_bar, slider_crank
from .peer import Peer

CASES = {
    "four_bar": lambda: four_bar(joint=lw.Spherical()),
    "slider_crank": lambda: slider_crank(joint=lw.Spherical()),
    "cassie_mjcf": lambda: lw.load(MODELS / "cassie_mjcf" / "cassie.xml"),
    "digit_like": lambda: lw.load(MODELS / "digit_like" / "robot.urdf", loops=MODELS / "digit_like" / "robot.yaml"),
    "delta_robot": lambda: lw.load(MODELS / "delta_robot" / "robot.urdf", loops=MODELS / "delta_robot" / "robot.yaml"),
}


@pytest.mark.parametrize("name", CASES)
def test_accelerations_are_pinocchios(name):
    model = CASES[name]()
    robot, peer = lw.Dynamics(model, compiled=False), Peer(model)
    held = constraints.of(robot)
    guess = {"four_bar": [1.0, -0.7, 1.1], "slider_crank": [1.0, -1.4, 2.0]}.get(name, robot.neutral())
    rng = np.random.default_rng(0)
    q, v = held.project(held.assemble(guess), 0.5 * rng.standard_normal(robot.nv))
    tau = rng.standard_normal(robot.nv) * np.sqrt(np.diag(robot.mass_matrix(q)))
    if name == "delta_robot":
        tau[[robot.v_index(j).start for j in robot.joints if j.startswith("closedloop")]] = 0.0  # spins of grams
    ours, theirs = held.forward_dynamics(q, v, tau), peer.forward_dynamics(q, v, tau)
    assert np.abs(ours - theirs).max() <= 1e-7 * max(1.0, np.abs(ours).max())
