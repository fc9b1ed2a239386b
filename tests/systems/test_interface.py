"""A system stores nothing: rates are those at the configuration of their blocks, whatever was asked in between."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import quantities, sweeps
from linkwork.constraints.systems.embedded_view import system_at
from tests.flexible.models import small


def in_fluid():
    builder = lw.Builder("float")
    builder.body("hull", joint=lw.Free(), mass=50.0, tensor=(2.0, 3.0, 4.0))
    builder.body("arm", "hull", (0.5, 0, -0.1), lw.Revolute(axis=(0, 1, 0)), mass=3.0, center=(0.2, 0, 0), tensor=(0.1, 0.1, 0.1))
    return builder.model().in_fluid(lw.Immersed("hull", 0.051, (0.05, 0, 0.05), (0.2, 0.9, 0.8, 5.0, 60.0, 55.0), (1, 2, 3, 4, 5, 6)))


def of_tree(model):
    robot = lw.Dynamics(model, compiled=False)
    states = [robot.random_state(seed=seed) for seed in (0, 1)]
    return robot.lowered.system(robot.lowered.plain()), *states


def of_loops():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    held = robot.constraints
    states = [held.random_state(seed=seed, reach=0.3) for seed in (0, 1)]
    return system_at(held.loops, held.choices[0].choices), *states


SYSTEMS = {"rigid": lambda: of_tree(lw.load("double_pendulum")), "fluid": lambda: of_tree(in_fluid()), "flexible": lambda: of_tree(small()),
           "loops": of_loops}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_rates_are_those_at_the_configuration_of_their_blocks(name):
    system, (q, v), (other_q, other_v) = SYSTEMS[name]()
    expected = quantities.forward_dynamics(system, q, v, np.ones_like(v))
    s = system.blocks(q)
    quantities.forward_dynamics(system, other_q, other_v, np.zeros_like(v))
    r = system.rates(s, v, np.ones_like(v))
    P, D, G, _ = sweeps.articulated_inertia(s)
    u_rate, _, _ = sweeps.forward_dynamics(s, P, D, G, r)
    quantities.forward_dynamics(system, other_q, other_v, np.zeros_like(v))
    np.testing.assert_array_equal(system.whole(s, r, u_rate), expected)
