"""Constraints of a model that contradict each other by little: with a tolerance they are met in the least-squares sense."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import ConstraintError

from .gallery import motion

GAP = 2e-8


@cache
def linkage(gap=GAP, compiled=True):
    """A four-bar linkage whose pin is there twice, in two places `gap` apart."""
    b, turn = lw.Builder("linkage"), lw.Revolute(axis=(0, 1, 0))
    for name, parent, at, size in (("crank", None, (0, 0, 0), 1.0), ("coupler", "crank", (1, 0, 0), 2.5), ("rocker", None, (2, 0, 0), 2.0)):
        b.body(name, parent, at, turn, mass=size, center=(size / 2, 0, 0), tensor=(0.01, size**3 / 12, size**3 / 12))
    b.loop("pin", "rocker", "coupler", turn, at=(2, 0, 0), on=(2.5, 0, 0))
    b.loop("pin again", "rocker", "coupler", turn, at=(2 + gap, 0, 0), on=(2.5, 0, gap))
    return lw.Dynamics(b.model(), compiled=compiled)


def start(robot):
    return robot.assemble([-1.0, 0.2, -2.0], tolerance=1e-6), np.zeros(3)


def test_what_cannot_be_assembled_says_by_how_much_and_what_to_do():
    with pytest.raises(ConstraintError, match=r"contradict each other by .*assemble\(q, tolerance=.*least-squares"):
        linkage(compiled=False).assemble([-1.0, 0.2, -2.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_an_assembly_with_a_tolerance_is_the_least_squares_one(compiled):
    """J* c = 0 where rows that are one count once: both pins miss by the same."""
    robot = linkage(compiled=compiled)
    q, _ = start(robot)
    c = robot.constraints.residual(q)
    assert 1e-9 < np.abs(c).max() < GAP
    np.testing.assert_allclose(c[:5] + c[5:], 0, atol=1e-12)
    assert 1e-9 < robot.constraint_report(q).contradiction < GAP
    assert "least-squares" in str(robot.constraint_report(q))


def test_without_a_tolerance_a_run_ends_with_a_status():
    run = lw.simulate(linkage(), start(linkage()), until=0.1)
    assert run.status == "failed" and len(run) == 1
    assert "tolerance" in run.message and "pin again" in run.message and "failed" in repr(run)


@pytest.mark.parametrize("how", [lw.Project(tolerance=1e-6), lw.Embed(tolerance=1e-6)])
def test_with_a_tolerance_it_runs_and_says_so(how):
    """The motion is that of the linkage with one pin, but for the gap."""
    robot, exact = linkage(), linkage(0.0)
    run = lw.simulate(robot, start(robot), until=0.5, loops=how, rtol=1e-9)
    assert run.status == "finished"
    assert "least-squares" in run.message and '"pin again"' in run.message
    assert np.abs(robot.constraints.residual(run.q)).max() < 2 * GAP
    one = motion(exact, start(exact), [0.5], rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], one.q[-1], atol=1e-6)


def test_a_run_without_contradictions_says_nothing():
    run = lw.simulate(linkage(0.0), start(linkage(0.0)), until=0.1, loops=lw.Project(tolerance=1e-6))
    assert (run.status, run.message) == ("finished", "")


def test_a_tolerance_that_means_nothing_is_refused():
    with pytest.raises(lw.LinkworkError, match="from 0 to"):
        lw.simulate(linkage(), start(linkage()), until=0.1, loops=lw.Project(tolerance=0.5))
    with pytest.raises(lw.LinkworkError, match="has no constraints"):
        lw.simulate(lw.Dynamics(lw.load("double_pendulum")), (np.zeros(2), np.zeros(2)), until=0.1, loops=lw.Project(tolerance=1e-6))
