"""Motions that have a formula."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import linkwork as lw
from linkwork.model import solids
from linkwork.simulate import METHODS

FINE = {"method": "dop853", "rtol": 1e-12, "atol": 1e-12}


def test_free_asymmetric_body():
    """Jacobi's elliptic functions (Landau and Lifshitz, section 37), I₁ < I₂ < I₃ and M² > 2 E I₂:

    ω₁ = a₁ cn(τ, m),   ω₂ = a₂ sn(τ, m),   ω₃ = a₃ dn(τ, m),    τ = k t
    """
    I = np.array([1.0, 2.0, 3.0])
    robot = lw.Dynamics(lw.Builder("body").body("body", joint=lw.Spherical(), tensor=I, mass=1.0).model())
    start = np.array([0.4, 0.0, 1.0])
    E2, M2 = I @ start**2, (I**2) @ start**2
    I1, I2, I3 = I
    a = np.sqrt([(E2 * I3 - M2) / (I1 * (I3 - I1)), (E2 * I3 - M2) / (I2 * (I3 - I2)), (M2 - E2 * I1) / (I3 * (I3 - I1))])
    k = np.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
    period = 4 * ellipk(m) / k
    run = lw.simulate(robot, (robot.neutral(), start), until=3 * period, dt=period / 16, **FINE)
    sn, cn, dn, _ = ellipj(k * run.t, m)
    np.testing.assert_allclose(run.v, a * np.stack([cn, sn, dn], -1), atol=2e-11)
    np.testing.assert_allclose(run.v[-1], start, atol=2e-11)


def test_free_asymmetric_body_keeps_its_momentum_in_the_world():
    """R I ω is constant while the body tumbles over its middle axis."""
    I = np.array([1.0, 2.0, 3.0])
    robot = lw.Dynamics(lw.Builder("body").body("body", joint=lw.Free(), tensor=I, mass=1.0).model())
    robot = lw.Dynamics(robot.model.with_gravity((0, 0, 0)))
    run = lw.simulate(robot, (robot.neutral(), [0.01, 2.0, 0.01, 0, 0, 0]), until=20.0, **FINE)
    assert run.v[:, 1].min() < -1.9 and run.v[:, 1].max() > 1.9
    np.testing.assert_allclose(run.momentum, np.tile(run.momentum[0], (len(run), 1)), atol=1e-10)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-10)


@pytest.mark.parametrize("method", ["rk45", "dop853", "rk4", "midpoint", "stiff"])
def test_free_fall(method):
    """x = x₀ + v t + g t²/2, whatever the spin."""
    robot = lw.Dynamics(lw.load("free_body"))
    start = robot.neutral(), np.array([5.0, 0.1, 0.0, 1.0, 2.0, 3.0])
    run = lw.simulate(robot, start, until=1.0, method=method, dt=0.01, rtol=1e-9, atol=1e-9)
    expected = np.array([1, 2, 3]) * run.t[:, None] + np.array([0, 0, -9.81]) * run.t[:, None] ** 2 / 2
    np.testing.assert_allclose(run.q[:, 4:], expected, atol={"rk4": 2e-4, "midpoint": 1e-10}.get(method, 1e-7))


def test_damped_oscillator():
    """x = exp(−ζ t) cos(ω t) ..., a mass on a spring and a damper of the model."""
    k, c, m = 40.0, 0.8, 2.0
    joint = lw.Prismatic(axis=(1, 0, 0), stiffness=k, damping=c, rest=0.5)
    robot = lw.Dynamics(lw.Builder("mass").body("mass", joint=joint, **solids.point(m)).model())
    run = lw.simulate(robot, ([1.5], [0.0]), until=5.0, dt=0.1, **FINE)
    z = c / (2 * m)
    w = np.sqrt(k / m - z * z)
    x = 0.5 + np.exp(-z * run.t) * (np.cos(w * run.t) + z / w * np.sin(w * run.t))
    np.testing.assert_allclose(run.q[:, 0], x, atol=1e-11)


def test_ball_on_a_screw():
    """A nut on a vertical screw of pitch p turns with −m g p / (I + m p²)."""
    m, I, p = 2.0, 0.3, 0.1
    robot = lw.Dynamics(lw.Builder("nut").body("nut", joint=lw.Helical(pitch=p), mass=m, tensor=(I, I, I)).model())
    run = lw.simulate(robot, ([0.0], [0.0]), until=2.0, **FINE)
    np.testing.assert_allclose(run.q[:, 0], -m * 9.81 * p / (I + m * p * p) * run.t**2 / 2, rtol=1e-12, atol=1e-13)


def test_a_mechanism_that_cannot_move_stays():
    robot = lw.Dynamics(lw.Builder("rock").body("rock", mass=1.0).model())
    for method in [x for x in METHODS if x != "contact"]:  # nothing there touches
        run = lw.simulate(robot, (robot.neutral(), np.zeros(0)), until=1.0, method=method, dt=0.5)
        assert run.status == "finished" and run.t[-1] == 1.0 and run.q.shape == (3, 0)
