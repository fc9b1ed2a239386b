"""What a sample gets depends on its own numbers alone; a state that is none is told by every quantity."""

import numpy as np
import pytest

import linkwork as lw

LINKAGES = "four_bar", "slider_crank", "peaucellier"


def states(robot, count=5):
    found = [robot.constraints.random_state(seed=i, reach=0.3) for i in range(count)]
    return np.array([q for q, _ in found]), np.array([v for _, v in found])


@pytest.mark.parametrize("name", LINKAGES)
def test_a_batch_goes_back_to_the_constraints_as_its_samples_do(name):
    """project and lift: the same bits one by one and together, also beside a sample that is no number."""
    robot = lw.Dynamics(lw.load(name))
    Q, V = states(robot)
    V = V + 0.01
    for back in (robot.constraints.project, robot.constraints.lift):
        together, alone = back(Q, V), [back(q, v) for q, v in zip(Q, V)]
        for i, (q, v) in enumerate(alone):
            np.testing.assert_array_equal(together[0][i], q)
            np.testing.assert_array_equal(together[1][i], v)


@pytest.mark.parametrize("compiled", [True, False])
def test_tasks_of_a_linkage_give_way_as_its_motion_does(compiled):
    """Λ̲ = J Y J*, Y the accelerations that unit forces make under the constraints."""
    robot = lw.Dynamics(lw.load("four_bar"), compiled=compiled)
    Q, V = states(robot)
    still = np.zeros(robot.nv)
    base = robot.forward_dynamics(Q, 0 * V, still)
    Y = np.stack([robot.forward_dynamics(Q, 0 * V, e) - base for e in np.eye(robot.nv)], -1)
    J = robot.task_jacobian(Q, "rocker")
    np.testing.assert_allclose(robot.task_compliance(Q, "rocker"), J @ Y @ J.mT, atol=1e-9 * np.abs(Y).max())


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("ask", [lambda r, q: r.task_compliance(q, "rocker"), lambda r, q: r.constraints.compliance(q)])
def test_an_open_loop_is_no_state(ask, compiled):
    robot = lw.Dynamics(lw.load("four_bar"), compiled=compiled)
    q, _ = robot.constraints.random_state(seed=1)
    with pytest.raises(lw.LinkworkError, match="open are"):
        ask(robot, q + np.array([0.3, 0.0, 0.0]))


def test_a_task_of_a_driven_robot_says_when():
    arm = lw.Builder("driven")
    arm.body("wheel", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    arm.body("arm", "wheel", (1, 0, 0), lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    arm.drive("wheel_joint", lambda t: 0.5 * t * t)
    robot = lw.Dynamics(arm.model())
    q = np.array([0.5, 0.2])
    with pytest.raises(lw.LinkworkError, match="say when"):
        robot.task_compliance(q, "arm")
    assert abs(robot.task_compliance(q, "arm", t=1.0)[2, 2] - 1.0) < 1e-12  # the arm alone gives way: 1 / (1 kg m²)


def test_float32_comes_back_as_float32():
    robot = lw.Dynamics(lw.load("four_bar"))
    q, v = robot.constraints.random_state(seed=0)
    found = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, v, v)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, robot.forward_dynamics(q, v, v), rtol=1e-3, atol=1e-3 * np.abs(found).max())


@pytest.mark.parametrize(
    ("hold", "said"), [([7], "numbers of velocities below 3"), ([0.5], "names of joints"), ([True], "names of joints"), (["cran"], "crank")]
)
def test_what_cannot_be_held_is_told(hold, said):
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    with pytest.raises(lw.UnknownNameError, match=said):
        robot.assemble(robot.neutral(), hold=hold)


def test_a_stopped_run_goes_on_with_the_same_bits():
    """The row that was stored is not put back again, and the steps are those of the run that did not stop."""
    robot = lw.Dynamics(lw.load("strandbeest"))
    start = robot.assemble(robot.neutral()), np.zeros(robot.nv)
    for how in ("project", "embed"):
        whole = lw.simulate(robot, start, until=0.1, method="rk4", dt=0.01, loops=how)
        half = lw.simulate(robot, start, until=0.05, method="rk4", dt=0.01, loops=how).resume(until=0.1)
        np.testing.assert_array_equal(half.q, whole.q)
        np.testing.assert_array_equal(half.v, whole.v)


def test_velocities_that_were_put_back_are_taken_where_only_those_move_that_the_rows_do_not_bind():
    """A snakeboard that stands still while its rider turns: Jc v is rounding, and so is all that Jc multiplies."""
    robot = lw.Dynamics(lw.load("snakeboard"))
    q, v = robot.constraints.project(robot.neutral(), 0.1 * np.random.default_rng(0).standard_normal(robot.nv))
    assert lw.simulate(robot, (q, v), until=0.01, progress=False).status == "finished"
