"""The lecture, lines 20-45: maximal against generalized coordinates."""

import numpy as np
import pytest
from zoo import close, every_mechanism, plain, state

import linkwork as lw
from linkwork.equations import MaximalCoordinates


@every_mechanism
def test_maximal_and_generalized_coordinates_give_the_same_accelerations(robot):
    """KKT of free bodies and joint constraints against O(N) forward dynamics, rotors included."""
    s = state(robot)
    found = MaximalCoordinates(robot).forward_dynamics(s.q, s.v, s.tau)
    close(found, robot.forward_dynamics(s.q, s.v, s.tau), 1e-6 if robot.model.name == "massless" else 1e-9)


@every_mechanism
def test_m_links_with_n_freedoms_have_6m_minus_n_constraints(robot):
    """6 m - n, and the bodies satisfy them at any state of the robot."""
    maximal, s = MaximalCoordinates(robot), state(robot)
    assert maximal.constraints == 6 * maximal.n - robot.nv
    assert maximal.drift(maximal.free(s.q, s.v)).max(initial=0.0) < 1e-12


def test_the_matrix_of_maximal_coordinates_is_sparse():
    """Each body meets its parent only: the number of entries grows with the number of links, not with its square."""
    entries = {}
    for n in (10, 20, 40):
        robot = plain(lw.load(f"chain:{n}"))
        maximal = MaximalCoordinates(robot)
        K, _ = maximal.kkt(maximal.free(robot.neutral(), np.zeros(n)), np.zeros(n))
        entries[n] = K.nnz
    assert entries[40] < 2.2 * entries[20] < 4.9 * entries[10]


def test_maximal_coordinates_drift_and_generalized_ones_cannot():
    """The same double pendulum, the same method and step: joints come apart by more and more, and the motion is the same."""
    robot = plain(lw.load("double_pendulum"))
    q, v = np.array([1.5, -0.4]), np.array([0.3, 0.0])
    maximal = MaximalCoordinates(robot)
    coarse, fine = (maximal.simulate(q, v, until=2.0, step=h) for h in (0.02, 0.01))
    assert coarse.drift[0] < 1e-15
    assert 1e-9 < fine.drift[-1] < coarse.drift[-1] < 1e-3
    assert coarse.drift[-1] > 8 * fine.drift[-1]  # it is an error of the method, of fourth order
    exact = lw.simulate(robot, (q, v), until=2.0, rtol=1e-10, atol=1e-12)
    tip = robot.pose(exact.q[-1], "link2")[:3, 3]
    close(fine.T[-1][1][:3, 3], tip, 1e-4)
    again = maximal.drift(maximal.free(exact.q[-1], exact.v[-1]))
    assert again.max() < 1e-14  # nothing to drift: the bodies are placed by the joints


@pytest.mark.parametrize("name", ["free", "spherical"])
def test_a_free_body_has_no_constraints_to_violate(name):
    from zoo import MECHANISMS

    robot = plain(MECHANISMS[name])
    s = state(robot)
    run = MaximalCoordinates(robot).simulate(s.q, s.v, until=0.5, step=0.01)
    assert (run.drift.max() == 0) == (name == "free")
