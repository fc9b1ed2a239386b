"""Beams of segments that bend far and buckle: against the elastica and Euler's load."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import linkwork as lw
from linkwork.model import sections

FLAT = sections.rectangle(0.02, 0.002, sections.STEEL)


def loaded(n, force):
    """A cantilever of 1 m without weight that bends in one plane, a force on its tip that keeps its direction."""
    push = lw.Push("load", "beam_tip", force)
    return lw.Dynamics(lw.mechanisms.beam(n, section=FLAT, freedoms="bend_y").with_gravity((0, 0, 0)).with_forces(push), compiled=False)


def elastica(load):
    """Tip of θ″ = −load cos θ, θ(0) = 0, θ′(1) = 0,  load = PL²/EI."""
    s = np.linspace(0, 1, 50)
    rates = lambda s, y: np.array([y[1], -load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])])
    ends = lambda a, b: np.array([a[0], b[1], a[2], a[3]])
    return solve_bvp(rates, ends, s, np.array([0.5 * s, 0 * s, s, 0 * s]), tol=1e-10, max_nodes=100_000).y[2:, -1]


@pytest.mark.parametrize(("load", "known"), [(1.0, (0.0564, 0.3017)), (10.0, (0.5550, 0.8106))])
def test_a_cantilever_bends_as_the_elastica(load, known):
    """With the square of the number of segments; the numbers are those of Bisshopp and Drucker, 1945."""
    exact = elastica(load)
    assert np.allclose((1 - exact[0], exact[1]), known, atol=1e-4)
    error = []
    for n in (5, 10, 20):
        robot = loaded(n, (0, 0, -load * FLAT.EIy))
        rest = robot.equilibrium(robot.neutral())
        assert rest.stability == "stable"
        x, _, z = robot.pose(rest.q, "beam_tip")[:3, 3]
        error.append(np.array([x, -z]) - exact)
    assert np.allclose(error[0][1] / error[1][1], 4, rtol=0.1) and np.allclose(error[1] / error[2], 4, rtol=0.1)
    assert np.abs(error[2]).max() < 1.2e-3


def test_a_column_is_stable_below_its_critical_load_and_buckles_above():
    """P = π² EI / 4L²; of n segments (2n)² (EI/L²) sin²(π/4n)."""
    n = 8
    critical = 4 * n**2 * FLAT.EIy * np.sin(np.pi / (4 * n)) ** 2
    assert np.isclose(critical, np.pi**2 * FLAT.EIy / 4, rtol=4e-3)
    straight = {x: loaded(n, (-x * critical, 0, 0)).equilibrium(np.zeros(n), search="forces") for x in (0.9999, 1.0001)}
    assert [rest.stability for rest in straight.values()] == ["stable", "unstable"]
    robot = loaded(n, (-1.05 * critical, 0, 0))
    bent = robot.equilibrium(np.zeros(n))  # from where it is balanced, straight
    assert bent.stability == "stable" and 0.2 < abs(bent.q.sum()) < 1.0
    assert bent.energy < robot.equilibrium(np.zeros(n), search="forces").energy
    assert not robot.modes(np.zeros(n)).stable and robot.modes(bent).stable
