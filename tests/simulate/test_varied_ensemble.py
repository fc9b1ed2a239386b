"""Ensembles of mechanisms with loops whose constants differ: each sample has the motion of a model of its own."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ConstraintError
from linkwork.model.mechanisms.linkages import four_bar

FOUR_BAR = lw.Dynamics(lw.load("four_bar"))
LENGTHS = "at", "loop_at", "loop_on"
BODIES = "mass", "center", "tensor"


def random_lengths(varying, count, spread=0.2, seed=0):
    rng = np.random.default_rng(seed)
    return {name: x * rng.uniform(1 - spread, 1 + spread, (count, len(x), 1)) for name, x in varying.own.items()}


def moved(pose, p):
    return replace(pose, translation=tuple(p))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk45", *(pytest.param(x, marks=pytest.mark.slow) for x in ("dop853", "rosenbrock"))])
def test_four_bars_of_other_lengths_move_as_their_models_do(method):
    """Ends and rows at multiples of dt, to the tolerance of models of their own; alone or among others, to the bit."""
    robots = [lw.Dynamics(four_bar(crank=a, ground=b)) for a, b in ((0.1, 0.2), (0.08, 0.22), (0.05, 0.21))]
    q, v = map(np.array, zip(*(robot.constraints.random_state(seed=i) for i, robot in enumerate(robots))))
    own, varying = [robot.varying(*LENGTHS, *BODIES).own for robot in robots], FOUR_BAR.varying(*LENGTHS, *BODIES)
    given = {name: np.array([x[name] for x in own]) for name in own[0]}
    how = {"until": 0.3, "rtol": 1e-9, "method": method}
    ends, grid = (lw.simulate(varying, (q, v), given=given, **how, **more) for more in ({"save": "last"}, {"dt": 0.1}))
    for i, robot in enumerate(robots):
        alone = lw.simulate(robot, (q[i], v[i]), dt=0.1, **how)
        np.testing.assert_allclose(grid.q[i], alone.q, atol=1e-11)
        np.testing.assert_allclose(grid.v[i], alone.v, atol=1e-10)
        assert np.abs(robot.constraints.residual(grid.q[i])).max() < 1e-13
        one = lw.simulate(varying, (q[i], v[i]), given={name: x[i] for name, x in given.items()}, save="last", **how)
        np.testing.assert_array_equal(one.end.q, ends.end.q[i])
        np.testing.assert_array_equal(one.end.v, ends.end.v[i])
        assert one.steps == ends.steps[i]


def test_linkages_are_assembled_each_with_its_lengths():
    """c = 0 and Jc v = 0 by the rows of models of their own; NaN where bars do not reach each other."""
    varying = FOUR_BAR.varying(*LENGTHS)
    given = random_lengths(varying, 6)
    given["loop_on"][2] += 10.0
    q = varying.assemble(FOUR_BAR.assemble(FOUR_BAR.neutral()), **given)
    assert np.isnan(q).all(-1).tolist() == [False, False, True, False, False, False]
    q1, v1 = varying.project(q, np.ones(3), **given)
    np.testing.assert_array_equal(np.isnan(v1).all(-1), np.isnan(q).all(-1))
    loop = FOUR_BAR.model.loops[0]
    for i in (0, 5):
        joints = tuple(replace(x, at=moved(x.at, p)) for x, p in zip(FOUR_BAR.model.joints, given["at"][i]))
        closed = replace(loop, at=moved(loop.at, given["loop_at"][i, 0]), on=moved(loop.on, given["loop_on"][i, 0]))
        robot = lw.Dynamics(replace(FOUR_BAR.model, joints=joints, loops=(closed,)))
        np.testing.assert_allclose(robot.constraints.residual(q[i]), 0, atol=1e-13)
        for x, y in zip(robot.constraints.project(q[i], np.ones(3)), (q1[i], v1[i])):
            np.testing.assert_allclose(x, y, atol=1e-12)


def test_samples_whose_loops_are_open_fail_alone():
    """Open loops, velocities that break them, constants that are no numbers: each is told, the others have their motion."""
    varying = FOUR_BAR.varying(*LENGTHS)
    given = random_lengths(varying, 6)
    q = varying.assemble(FOUR_BAR.assemble(FOUR_BAR.neutral()), **given)
    q, v = varying.project(q, np.ones(3), **given)
    alone = lw.simulate(varying, (q[5], v[5]), given={name: x[5] for name, x in given.items()}, until=0.2, save="last")
    q[0, 0] += 0.3
    v[1, 0] += 0.3
    q[2] = np.nan
    given["loop_on"][3, 0, 0] = np.inf
    made = lw.simulate(varying, (q.reshape(2, 3, 3), v.reshape(2, 3, 3)), until=0.2, dt=0.1,
                       given={name: x.reshape(2, 3, *x.shape[1:]) for name, x in given.items()})  # fmt: skip
    assert made.status.tolist() == [["failed"] * 3, ["failed", "finished", "finished"]]
    np.testing.assert_array_equal(made.end.q[1, 2], alone.end.q)
    assert "does not satisfy the constraints" in made.message((0, 0)) and made.message((0, 0)) == made.message((0, 1))
    assert "not finite" in made.message((0, 2)) and "not finite" in made.message((1, 0)) and "finished" in made.message((1, 1))
    assert np.isnan(made.q[0, :, 1:]).all() and not np.isnan(made.q[1, 1:]).any()
    with pytest.raises(ConstraintError, match=r"varying\.assemble"):
        lw.simulate(varying, (q[:2], v[:2]), given={name: x[:2] for name, x in given.items()}, until=0.2)


@pytest.mark.slow
def test_masses_springs_and_dampers_vary_under_a_drive():
    """A four-bar whose crank is driven, with a spring between bars: torques of the spring do no more than the drive allows."""
    b = lw.Builder("driven", gravity=(0, 0, -9.81))
    bar = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.01, 0.1, 0.1)}
    b.body("crank", joint=lw.Revolute(), **bar)
    b.body("coupler", "crank", (1, 0, 0), lw.Revolute(), **bar)
    b.body("rocker", None, (3, 0, 0), lw.Revolute(), **bar)
    b.body("flap", "rocker", (1, 0, 0), lw.Revolute(stiffness=3.0, damping=0.1), **bar)
    b.loop("pin", "coupler", "rocker", lw.Revolute(), at=(2.5, 0, 0), on=(2.5, 0, 0))
    b.drive("crank_joint", lambda t: 0.3 * np.sin(4 * t))
    robot = lw.Dynamics(b.model())
    varying = robot.varying("mass", "damping", "loop_at")
    factor = np.array([0.7, 1.0, 1.3])
    given = {"mass": factor[:, None] * varying.value("mass"), "damping": factor[:, None] * varying.value("damping"),
             "loop_at": varying.value("loop_at") * np.array([0.98, 1.0, 1.02])[:, None, None]}  # fmt: skip
    q = varying.assemble(robot.assemble(np.array([0.0, 1.0, 2.0, 0.0]), t=0.0), t=0.0, **given)
    q, v = varying.project(q, np.zeros(4), t=0.0, **given)
    made = lw.simulate(varying, (q, v), given=given, until=0.5, dt=0.25, rtol=1e-9)
    assert (made.status == "finished").all()
    np.testing.assert_allclose(made.q[:, :, 0], np.broadcast_to(0.3 * np.sin(4 * made.t), (3, 3)), atol=1e-12)
    alone = lw.simulate(robot, (q[1], v[1]), until=0.5, dt=0.25, rtol=1e-9)
    np.testing.assert_allclose(made.q[1], alone.q, atol=1e-10)
    assert np.abs(made.end.q[0] - made.end.q[2]).max() > 1e-3


def test_batches_of_none_and_of_one():
    varying = FOUR_BAR.varying("mass")
    q, v = FOUR_BAR.constraints.random_state(seed=1)
    assert lw.simulate(varying, (np.zeros((0, 3)), np.zeros((0, 3))), until=0.1).end.q.shape == (0, 3)
    mass = varying.value("mass")
    one, many = (lw.simulate(varying, (q, v), until=0.1, given={"mass": x}) for x in (mass[None], np.stack([mass, 2 * mass])))
    for x, y in zip(one.rows(0), many.rows(0)):
        np.testing.assert_array_equal(x, y)


def test_what_has_no_constraints_is_not_assembled():
    with pytest.raises(lw.ModelError, match="no loops"):
        lw.Dynamics(lw.load("double_pendulum")).varying("mass").assemble(np.zeros(2))
    with pytest.raises(lw.UnknownNameError, match="loop_on"):
        FOUR_BAR.varying("mass").assemble(np.zeros(3), loop_on=np.zeros((1, 3)))
