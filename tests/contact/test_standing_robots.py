"""Real robots on the ground."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

MODELS = Path(__file__).parents[1] / "models"


def loaded(name, contacts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.load(MODELS / name)
    model = model if model.ground else model.with_ground()
    return lw.Dynamics(model.with_contacts(contacts, material=lw.Material(friction=0.8)))


@pytest.mark.slow
def test_the_feet_of_a_standing_go2_carry_its_weight():
    """Four feet, a controller that holds the joints inside the loop: Σ λ_n = m g, Σ λ_t = 0 by symmetry of the stance, no creep."""
    robot = loaded("go2_mjcf/go2.xml", ["FL", "FR", "RL", "RR"])
    goal = np.tile([0.0, 0.9, -1.8], 4)
    hold = robot.kernel(lambda t, q, v: np.concatenate([0 * v[:6], 60 * (goal - q[7:]) - 3 * v[6:]]))
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0.28], goal])
    solver = lw.ContactLaw(friction="first")
    run = lw.rollout(robot, q[None], np.zeros((1, robot.nv)), hold, dt=0.002, steps=3000, every=1000, method="contact", contact=solver)
    weight = 9.81 * sum(body.mass for body in robot.model.bodies)
    assert np.isclose(run.force[0, -1, :, 0].sum(), weight, rtol=1e-3) and run.residual.max() < 1e-3
    assert np.abs(robot.contact_gaps(run.q[0, -1])).max() < 1e-6 and np.abs(run.q[0, -1] - run.q[0, -2])[4:6].max() < 1e-3


@pytest.mark.slow
def test_a_humanoid_falls_without_gaining_energy_and_lies_on_the_ground():
    """All its shapes, steps of 4 ms, e = 0: T + V never grows by more than the error of the free motion."""
    robot = loaded("humanoid_mjcf/humanoid.xml", "ground")
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[6], v[1] = 1.3, 0.5
    run = lw.simulate(robot, (q, v), until=1.2, method="contact", dt=0.004)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert run.status == "finished" and run.contact.force[-1, :, 0].sum() > 0
    assert np.diff(energy).max() < 0.002 * np.ptp(energy)
    assert run.contact.gap.min() > -0.01
