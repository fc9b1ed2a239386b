"""Jain, chapter 5: one mechanism in several formulations, the same mass matrix, the same forces, the same motion."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, plain, state

import linkwork as lw
from linkwork.operators import about_a_fixed_point, rigid, shifted, with_inertial_rates
from linkwork.spatial import Pose, phi, phi_inverse
from linkwork.systems import lower

FORMULATIONS = [rigid, with_inertial_rates, about_a_fixed_point]
every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.__name__)
every_system = pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "fixed"])


def at_a_state(name):
    robot = plain(MECHANISMS[name])
    return robot, lower(robot.model), state(robot, (2,))


@every_formulation
@every_system
def test_the_mass_matrix(formulation, name):
    """𝓜 does not know what velocities are referred to (5.31), (5.66)."""
    robot, nodes, s = at_a_state(name)
    close(formulation(nodes, s.q, s.v).mass_matrix, robot.mass_matrix(s.q), 1e-11)


@every_formulation
@every_system
def test_the_bias(formulation, name):
    """Nor does 𝓒, gravity included (table 5.1)."""
    robot, nodes, s = at_a_state(name)
    close(formulation(nodes, s.q, s.v).bias, robot.bias(s.q, s.v), 1e-11)


@every_formulation
@every_system
def test_the_motion(formulation, name):
    """Nor θ̈."""
    robot, nodes, s = at_a_state(name)
    close(formulation(nodes, s.q, s.v).forward_dynamics(s.tau), robot.forward_dynamics(s.q, s.v, s.tau), 1e-9)


@every_system
def test_body_frames_away_from_the_joints(name):
    """H_B = H φ(O,B), M_B = φ(B,O) M φ*(B,O), a_B = φ*(O,B) a: the same 𝓜 and 𝓒 (5.27) to (5.31)."""
    robot, nodes, s = at_a_state(name)
    T = Pose.rpy((0.1, -0.2, 0.3), (0.4, 0.5, -0.6)).matrix
    n = len(nodes.tree)
    other = shifted(rigid(nodes, s.q, s.v), [phi(T)] * n, [phi_inverse(T)] * n)
    close(other.mass_matrix, robot.mass_matrix(s.q), 1e-11)
    close(other.bias, robot.bias(s.q, s.v), 1e-11)


@every_system
def test_nothing_changes_from_node_to_node_about_a_fixed_point(name):
    """φ_𝕀 has identity blocks (5.62), and momentum simply adds up."""
    _, nodes, s = at_a_state(name)
    op = about_a_fixed_point(nodes, s.q, s.v).operators
    close(op.phi.dense(), (op.phi.dense() != 0).astype(float))


def test_a_fluid_is_refused():
    """The nodes of a model in a fluid do not know it."""
    nodes = lower(lw.load("double_pendulum").in_fluid(lw.Immersed("link2", added_mass=(1.0,) * 6)))
    for formulation in FORMULATIONS:
        with pytest.raises(lw.ModelError, match=f"{formulation.__name__} leaves out the fluid"):
            formulation(nodes, np.ones(2), np.ones(2))


def test_flexible_bodies_have_the_first_formulation_alone():
    """𝓜 and 𝓒 with nodes of other heights; the others are of rigid bodies."""
    beam = lw.FlexibleBody.beam(1.0, {"EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}, elements=4, directions="y", count=2)
    robot = lw.Dynamics(lw.Builder("arm").flexible("beam", beam, joint=lw.Revolute()).model(), compiled=False)
    nodes, q, v = lower(robot.model), np.array([0.3, 0.1, 0.05]), np.array([1.0, 0.2, 0.3])
    close(rigid(nodes, q, v).mass_matrix, robot.mass_matrix(q), 1e-11)
    close(rigid(nodes, q, v).bias, robot.bias(q, v), 1e-11)
    for formulation in (with_inertial_rates, about_a_fixed_point):
        with pytest.raises(lw.ModelError, match=f"{formulation.__name__} is written for rigid trees"):
            formulation(nodes, q, v)
