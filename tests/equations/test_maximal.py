"""The lecture, lines 20-45: maximal against generalized coordinates."""

import numpy as np
import pytest
from zoo import close, every_mechanism, plain, state

import linkwork as lw
from linkwork.equations import MaximalCoordinates
from linkwork.equations.maximal import FreeBodies


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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", ["four_bar", "bricard", "governor", "differential", "squeezer", "rolling_disk", "snakeboard", "driven"])
def test_loops_couplings_and_drives_are_kept(name):
    """Over twists, with the multipliers of the joints: v̇ of the robot, which has neither."""
    if name == "driven":
        b = lw.Builder("driven").body("a", joint=lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
        b.body("b", "a", (1, 0, 0), lw.Revolute(axis=(0, 1, 0), armature=0.2), mass=1.0, center=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
        model = b.drive("a_joint", np.sin).model()
    else:
        model = lw.load(name)
    robot, t, rng = lw.Dynamics(model, compiled=False), 0.4, np.random.default_rng(0)
    q = robot.assemble(robot.neutral(), t=t)
    q, v = robot.constraints.project(q, rng.standard_normal(robot.nv), t=t)
    tau = rng.standard_normal(robot.nv)
    found, vdot = lw.MaximalCoordinates(robot).forward_dynamics(q, v, tau, t), robot.forward_dynamics(q, v, tau, t=t)
    np.testing.assert_allclose(found, vdot, atol=1e-7 * max(1.0, np.abs(vdot).max()))


def test_free_bodies_of_a_four_bar_move_as_the_robot_does():
    """Runge-Kutta on twelve coordinates a bar: the loop drifts open with the fourth power of the step."""
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q = robot.assemble(robot.neutral() + 0.3, hold=[robot.joints[0]])
    maximal = lw.MaximalCoordinates(robot)
    runs = [maximal.simulate(q, np.zeros(3), until=0.2, step=h) for h in (0.04, 0.02)]
    assert runs[1].drift[-1] < runs[0].drift[-1] / 8 < 1e-4
    end = lw.simulate(robot, (q, np.zeros(3)), until=0.2, rtol=1e-10, atol=1e-12)
    joints, _ = maximal.joint_state(FreeBodies(runs[1].T[-1], runs[1].V[-1], end.q[-1]))
    np.testing.assert_allclose(joints, end.q[-1], atol=1e-4)


def test_an_open_loop_and_a_batch_are_refused():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    with pytest.raises(lw.LinkworkError, match="open are"):
        lw.MaximalCoordinates(robot).forward_dynamics(np.array([0.5, 0.1, 0.0]), np.zeros(3), np.zeros(3))
    with pytest.raises(lw.ShapeError, match="takes one state"):
        lw.MaximalCoordinates(robot).forward_dynamics(np.zeros((2, 3)), np.zeros(3), np.zeros(3))
