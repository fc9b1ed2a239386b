"""Operators of an embedded model change as its loops do: X has a rate too."""

import numpy as np
import pytest
from zoo import close

import linkwork as lw
from linkwork import constraints
from linkwork.errors import ModelError

from .gallery import assembled, mixed

LETTERS = "H", "M", "𝓔φ", "φ", "R", "P", "D", "G", "K", "ψ", "Υ", "H φ M φ* H* + armature", "(I − H ψ K)* D⁻¹ (I − H ψ K)"


def tied(kind):
    """A chain with ball joints whose tip is tied to its first body by a joint."""
    model, q = mixed(kind)
    robot = lw.Dynamics(model, compiled=False)
    return robot, constraints.of(robot), q


CASES = {
    "four_bar": lambda: assembled("four_bar"),
    "spatial slider crank": lambda: assembled("spatial_slider_crank"),
    "differential": lambda: assembled("differential"),
    "balls tied by a ball": lambda: tied(lw.Spherical()),
    "balls tied by a cylinder": lambda: tied(lw.Cylindrical(axis=(0.36, 0.48, -0.8))),
    "balls tied by a cross": lambda: tied(lw.Universal()),
}


@pytest.mark.parametrize("case", CASES)
def test_rates_along_the_constraints(case):
    """Ȧ along u = d/dt A(q(t)), q(t) on the constraints with the velocity X u"""
    robot, held, q = CASES[case]()
    model = held.embedded(q)
    u, op = np.random.default_rng(0).standard_normal(model.sko.nv), model.sko.operators

    steps = 2e-4 * np.array([0, -2, -1, 1, 2])
    moved, _ = held.project(robot.integrate(q, steps[:, None] * model.whole(u)), np.zeros(robot.nv))
    ends = held.embedded(moved).sko.operators  # of a batch, all with the same choice of velocities
    for text in LETTERS:
        _, *values = np.broadcast_to(ends(text).dense(), (5, *op(text).shape))
        close(op.rate(op(text), u).dense(), (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * 2e-4), 1e-8)
    sums = sum(op.sensitivity(op.mass_matrix, i).dense() * u[i] for i in range(len(u)))
    close(op.rate(op.mass_matrix, u).dense(), sums, 1e-10)


def test_what_rolls_or_is_driven_says_so():
    """X of rows that no position gives, or that move in time, has a rate that is not known."""
    robot = lw.Dynamics(lw.load("rolling_disk"), compiled=False)
    op = robot.constraints.embedded(robot.neutral()).sko.operators
    with pytest.raises(ModelError, match=r"robot\.operators\(q, v\)"):
        op.rate(op.phi, np.zeros(op.sko.nv))
    op = robot.operators(robot.neutral(), np.ones(robot.nv))
    assert np.isfinite(op.rate(op.mass_matrix).dense()).all()
