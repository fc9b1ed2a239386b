"""What drives a mechanism: functions of time and state, digital controllers, wrenches from outside."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

CART = lw.Dynamics(lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.point(2.0)).model())
ARM = lw.Dynamics(lw.load("planar_2r"))
FINE = {"rtol": 1e-9, "atol": 1e-9}
METHODS = {"rk45": FINE, "dop853": FINE, "stiff": FINE, "rk4": {"dt": 0.01}, "midpoint": {"dt": 0.01}, "euler": {"dt": 0.01}}
every_method = pytest.mark.parametrize("method", METHODS)


@every_method
def test_a_force_of_time(method):
    """m x'' = cos t:  x = (1 − cos t)/m."""
    run = lw.simulate(CART, ([0.0], [0.0]), until=2.0, method=method, control=lambda t, q, v: [np.cos(t)], **METHODS[method])
    error = {"euler": 1e-2, "midpoint": 1e-5}.get(method, 1e-7)
    np.testing.assert_allclose(run.q[:, 0], (1 - np.cos(run.t)) / 2, atol=error)
    np.testing.assert_allclose(run.tau[:, 0], np.cos(run.t), atol=1e-12)
    np.testing.assert_allclose(run.vdot[:, 0], np.cos(run.t) / 2, atol=1e-12)


@every_method
def test_a_force_of_the_state(method):
    """A spring and a damper in software are the model's own."""
    k, c = 8.0, 1.0
    joint = lw.Prismatic(axis=(1, 0, 0), stiffness=k, damping=c)
    sprung = lw.Dynamics(lw.Builder("cart").body("cart", joint=joint, **solids.point(2.0)).model())
    start = [1.0], [0.0]
    soft = lw.simulate(CART, start, until=2.0, method=method, control=lambda t, q, v: -k * q - c * v, **METHODS[method])
    hard = lw.simulate(sprung, start, until=2.0, method=method, **METHODS[method])
    np.testing.assert_allclose(soft.q[-1], hard.q[-1], atol=1e-8)
    np.testing.assert_allclose(soft.v[-1], hard.v[-1], atol=1e-8)


def test_a_controller_of_a_robot():
    """Computed torque makes every joint a critically damped spring of its own."""

    def torque(t, q, v):
        return ARM.inverse_dynamics(q, v, -4 * v - 4 * q)

    run = lw.simulate(ARM, ([1.0, -2.0], [0.0, 0.0]), until=3.0, control=torque, rtol=1e-9, atol=1e-9)
    t = run.t[:, None]
    np.testing.assert_allclose(run.q, [1.0, -2.0] * (1 + 2 * t) * np.exp(-2 * t), atol=1e-7)


# --- zero-order hold


def sampled(rate, until, k=6.0, c=2.0, m=2.0):
    """x and v of a cart under τ = −k x − c v taken at a rate and held: exact at the instants."""
    T, x, v, out = 1 / rate, 1.0, 0.0, []
    for _ in range(round(until * rate)):
        out.append((x, v))
        a = (-k * x - c * v) / m
        x, v = x + T * v + T * T / 2 * a, v + T * a
    return np.array([*out, (x, v)])


@every_method
def test_a_held_controller_is_a_discrete_one(method):
    """Between instants the force is constant: the motion at the instants is a matrix power."""
    control = lw.hold(lambda t, q, v: -6 * q - 2 * v, rate=10.0)
    run = lw.simulate(CART, ([1.0], [0.0]), until=3.0, method=method, control=control, **METHODS[method])
    rows = [np.flatnonzero(np.isclose(run.t, t, rtol=0, atol=1e-9))[-1] for t in np.arange(31) / 10]
    expected = sampled(10.0, 3.0)
    error = 0.05 if method == "euler" else 1e-7
    np.testing.assert_allclose(run.q[rows, 0], expected[:, 0], atol=error)
    np.testing.assert_allclose(run.v[rows, 0], expected[:, 1], atol=error)
    force = -6 * run.q[rows[:-1], 0] - 2 * run.v[rows[:-1], 0]
    np.testing.assert_allclose(run.tau[rows[:-1], 0], force, atol=1e-12)


@every_method
def test_a_held_controller_is_asked_once_at_each_instant(method):
    """In order, at its own rate, whatever steps the method makes."""
    asked = []

    def control(t, q, v):
        asked.append(t)
        return [0.0]

    lw.simulate(CART, ([0.0], [1.0]), until=1.0, method=method, control=lw.hold(control, rate=30.0), **METHODS[method])
    np.testing.assert_allclose(asked, np.arange(30) / 30, atol=1e-12)


def test_controllers_add_up_each_at_its_own_rate():
    """A fast one, a slow one and a continuous one."""
    counts = {"fast": 0, "slow": 0}

    def counted(name, force):
        def control(t, q, v):
            counts[name] += 1
            return [force]

        return lw.hold(control, rate={"fast": 20.0, "slow": 3.0}[name])

    drive = [counted("fast", 1.0), counted("slow", 2.0), lambda t, q, v: [t]]
    run = lw.simulate(CART, ([0.0], [0.0]), until=1.0, control=drive, rtol=1e-10)
    assert counts == {"fast": 20, "slow": 3}
    np.testing.assert_allclose(run.q[-1], (3 / 2 + 1 / 6) / 2, atol=1e-9)
    np.testing.assert_allclose(run.tau[:, 0], 3 + run.t, atol=1e-9)


def test_in_between_a_held_motion_is_exact():
    """The interpolant does not look at the acceleration of the next hold."""
    run = lw.simulate(CART, ([1.0], [0.0]), until=1.0, method="rk4", dt=0.1, control=lw.hold(lambda t, q, v: -6 * q, rate=10.0))
    q, v = run(0.25)
    i = 2
    assert q == pytest.approx(run.q[i] + 0.05 * run.v[i] + 0.05**2 / 2 * run.tau[i] / 2)
    assert v == pytest.approx(run.v[i] + 0.05 * run.tau[i] / 2)


# --- wrenches


@every_method
def test_a_thrust_in_body_axes(method):
    """A spinning rocket pushed along its axis flies straight; gravity off."""
    model = lw.Builder("rocket", (0, 0, 0)).body("rocket", joint=lw.Free(), mass=2.0, tensor=(3.0, 3.0, 1.0)).model()
    robot = lw.Dynamics(model)
    start, thrust = (robot.neutral(), [0, 0, 5.0, 0, 0, 0]), np.array([[0, 0, 0, 0, 0, 4.0]])
    run = lw.simulate(robot, start, until=2.0, method=method, external=lambda t, q, v: thrust, **METHODS[method])
    np.testing.assert_allclose(run.q[-1, 4:], [0, 0, 4.0], atol=0.05 if method == "euler" else 1e-7)
    np.testing.assert_allclose(run.v[-1, :3], [0, 0, 5.0], atol=1e-9)


def test_a_wrench_that_undoes_gravity():
    """Held at its centre of mass, an arm without motors keeps its momentum: it turns at constant rates of energy."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    weight = np.array([[0, 0, 9.81 * body.mass] for body in robot.model.bodies])

    def lift(t, q, v):
        R = robot.poses(q)[:, :3, :3]
        force = (R.mT @ weight[..., None])[..., 0]
        return np.concatenate([np.cross([body.center for body in robot.model.bodies], force), force], -1)

    run = lw.simulate(robot, ([1.0, 1.0], [1.0, -2.0]), until=3.0, external=lift, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(run.kinetic_energy, run.kinetic_energy[0], rtol=1e-7)


# --- what is refused

WRONG = {
    "control returned an array of shape (3,), but planar_2r has nv = 2": {"control": lambda t, q, v: np.zeros(3)},
    "held control returned an array of shape (), but planar_2r has nv = 2": {"control": lw.hold(lambda t, q, v: 0.0, rate=10.0)},
    "external returned an array of shape (6,), but planar_2r has wrenches of shape (": {"external": lambda t, q, v: np.zeros(6)},
    "control is 3; it must be a function of (t, q, v)": {"control": 3},
}


@pytest.mark.parametrize("text", WRONG)
def test_a_controller_that_does_not_fit_is_told_so_at_once(text):
    with pytest.raises((lw.ShapeError, lw.SimulationError)) as error:
        lw.simulate(ARM, ([0.0, 0.0], [0.0, 0.0]), until=1.0, **WRONG[text])
    assert str(error.value).startswith(text)


@pytest.mark.parametrize("rate", [0.0, -3.0, np.inf, np.nan])
def test_a_rate_is_positive(rate):
    with pytest.raises(lw.SimulationError, match="it must be a positive, finite number"):
        lw.hold(lambda t, q, v: q, rate=rate)


ARM = lw.Dynamics(lw.load("planar_2r"))
COMPLEX = {
    "a control": lambda: lw.simulate(ARM, ARM.random_state(seed=0), until=0.1, control=lambda t, q, v: 1j * v),
    "a held control": lambda: lw.simulate(ARM, ARM.random_state(seed=0), until=0.1, control=lw.hold(lambda t, q, v: 1j * v, rate=9.0)),
    "wrenches": lambda: lw.simulate(ARM, ARM.random_state(seed=0), until=0.1, external=lambda t, q, v: np.zeros((2, 6), complex)),
    "an event": lambda: lw.simulate(ARM, ARM.random_state(seed=0), until=0.1, events=[lambda t, q, v: t - 1j]),
    "a state": lambda: lw.simulate(ARM, (np.ones(2) + 1j, np.zeros(2)), until=0.1),
    "states": lambda: lw.simulate(ARM, (np.ones((3, 2)) + 1j, np.zeros(2)), until=0.1),
    "a kernel": lambda: lw.simulate(ARM, ARM.random_state(seed=0), until=0.1, control=ARM.kernel()(lambda v: 1j * v)),
    "controls of a rollout": lambda: lw.rollout(ARM, np.ones(2), np.zeros(2), np.ones((3, 2)) * 1j, dt=0.1, steps=3),
    "a function of a rollout": lambda: lw.rollout(ARM, np.ones(2), np.zeros(2), lambda t, q, v: 1j * v, dt=0.1, steps=3),
    "a reset of a rollout": lambda: lw.rollout(ARM, np.ones(2), np.zeros(2), reset=lambda t, q, v: (q, 1j * v), dt=0.1, steps=3),
    "weights": lambda: lw.rollout_gradient(ARM, np.ones(2), np.zeros(2), weights=(1j, None), dt=0.1, steps=3),
}


@pytest.mark.parametrize("what", COMPLEX)
def test_complex_numbers_are_refused(what):
    """Their imaginary parts would be lost in silence."""
    with pytest.raises(lw.LinkworkError, match="complex"):
        COMPLEX[what]()


def test_a_reset_to_complex_numbers_fails_the_run():
    event = lw.Event(lambda t, q, v: t - 0.05, "late", reset=lambda t, q, v: (1j * q, v))
    run = lw.simulate(ARM, ARM.random_state(seed=0), until=0.1, events=[event])
    assert run.status == "failed" and 'event "late"' in run.message and "complex" in run.message
