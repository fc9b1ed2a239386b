"""Stiff mechanisms: what needs thousands of steps of an explicit method needs a few of an implicit one."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids


@pytest.fixture(scope="module")
def chain():
    """A pendulum with two joints so stiff and damped that they hardly move: one of them a ball joint."""
    link = solids.box(1.0, (0.1, 0.1, 1.0), (0, 0, -0.5))
    builder = lw.Builder("stiff chain").body("a", joint=lw.Revolute(axis=(0, 1, 0)), **link)
    builder.body("b", "a", (0, 0, -1), lw.Revolute(axis=(0, 1, 0), stiffness=1e5, damping=1e3), **link)
    builder.body("c", "b", (0, 0, -1), lw.Spherical(stiffness=1e5, damping=1e3), **link)
    return lw.Dynamics(builder.model())


@pytest.fixture(scope="module")
def start(chain):
    q, v = chain.neutral(), np.zeros(chain.nv)
    q[0], v[2] = 1.0, 0.1
    return q, v


@pytest.mark.slow
def test_an_implicit_method_makes_steps_as_long_as_the_motion_allows(chain, start):
    explicit = lw.simulate(chain, start, until=0.2, method="rk45")
    implicit = lw.simulate(chain, start, until=0.2, method="stiff")
    assert implicit.status == explicit.status == "finished"
    assert 20 * implicit.steps < explicit.steps
    np.testing.assert_allclose(chain.difference(explicit.q[-1], implicit.q[-1]), 0, atol=1e-5)


def test_the_midpoint_rule_bears_stiffness_too(chain, start):
    """Its equations are solved by Newton's method where the mass matrix alone is no guide."""
    run = lw.simulate(chain, start, until=1.0, method="midpoint", dt=0.01)
    exact = lw.simulate(chain, start, until=1.0, method="stiff", rtol=1e-8, atol=1e-8)
    assert run.status == "finished" and run.steps == 100
    assert abs(run.q[-1, 0] - exact.q[-1, 0]) < 1e-3


def test_explicit_steps_of_one_length_fail_and_say_so(chain, start):
    run = lw.simulate(chain, start, until=1.0, method="rk4", dt=0.01)
    assert run.status == "failed" and "the motion diverges" in run.message and "take a smaller dt" in run.message
    assert np.isfinite(run.q).all()


def test_far_turns_change_the_chart():
    """A ball joint that spins many times round, softly driven: local coordinates start anew and nothing is lost."""
    robot = lw.Dynamics(lw.Builder("wheel").body("wheel", joint=lw.Spherical(), mass=1.0, tensor=(1.0, 2.0, 2.5)).model())
    start = robot.neutral(), np.array([3.0, 1.0, 0.2])
    run = lw.simulate(robot, start, until=10.0, method="stiff", rtol=1e-8, atol=1e-8)
    exact = lw.simulate(robot, start, until=10.0, method="dop853", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(robot.difference(exact.q[-1], run.q[-1]), 0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(run.q, axis=-1), 1, atol=1e-15)


def test_a_stiff_controller(chain):
    """High gains in software are stiff as well."""
    cart = lw.Dynamics(lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.point(1.0)).model())
    control = lambda t, q, v: -1e6 * (q - np.sin(t)) - 1e4 * v
    run = lw.simulate(cart, ([0.0], [0.0]), until=2.0, method="stiff", control=control)
    assert run.steps < 300
    np.testing.assert_allclose(run.q[-1], np.sin(2.0), atol=0.02)


def test_linearly_implicit_steps_are_as_long_and_lead_to_the_same_place(chain, start):
    """RODAS with exact Jacobians, in compiled code: few steps, the end of Radau's."""
    radau, made = (lw.simulate(chain, start, until=0.2, method=method, rtol=1e-7) for method in ("radau", "rosenbrock"))
    assert made.status == "finished" and made.steps < 4 * radau.steps
    np.testing.assert_allclose(chain.difference(radau.q[-1], made.q[-1]), 0, atol=1e-6)
    for x, y in zip(made(np.linspace(0, 0.2, 11)), radau(np.linspace(0, 0.2, 11))):
        np.testing.assert_allclose(x, y, atol=1e-4)


def test_the_error_of_linearly_implicit_steps_falls_with_the_fourth_power():
    """Steps of fixed length through max_step, with a force that depends on time, whose slope takes part: error ~ h⁴."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    force = robot.kernel(t=())(lambda t, q, v: np.stack([2 * np.sin(5 * t), -v[1]]))
    state = np.array([1.0, -0.5]), np.array([0.2, 0.1])
    exact = lw.simulate(robot, state, until=1.0, method="dop853", rtol=1e-12, atol=1e-13, control=force).q[-1]
    loose = [lw.Rosenbrock(rtol=1e3, max_step=h, first_step=h) for h in (1 / 32, 1 / 64, 1 / 128)]
    runs = [lw.simulate(robot, state, until=1.0, control=force, method=method) for method in loose]
    errors = [np.abs(run.q[-1] - exact).max() for run in runs]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 4) < 0.4).all()


def test_linearly_implicit_steps_are_compiled_or_refused(chain, start):
    """Ensembles have them, with the bits of single runs; functions of Python have not."""
    q, v = (np.stack([x, x]) for x in start)
    v[1, 0] = 0.3
    made = lw.simulate(chain, (q, v), until=0.1, method="rosenbrock", save="last")
    alone = lw.simulate(chain, (q[1], v[1]), until=0.1, method="rosenbrock")
    np.testing.assert_array_equal(made.end.q[1], alone.q[-1])
    part = lw.simulate(chain, (q[1], v[1]), until=0.1, method="rosenbrock", on_step=lambda t, q, v: t > 0.01)
    np.testing.assert_array_equal(part.resume(0.1, on_step=None).q, alone.q)
    with pytest.raises(lw.SimulationError, match='method="stiff"'):
        lw.simulate(chain, start, until=0.1, method="rosenbrock", control=lambda t, q, v: 0 * v)
    with pytest.raises(lw.SimulationError, match='method "rosenbrock" has none'):
        lw.simulate(chain, start, until=0.01, method="rosenbrock").sensitivity()


def test_linearly_implicit_steps_keep_loops():
    robot = lw.Dynamics(lw.load("four_bar"))
    state = robot.constraints.random_state(seed=1, reach=0.3)
    made, exact = (lw.simulate(robot, state, until=1.0, method=method, rtol=1e-8) for method in ("rosenbrock", "dop853"))
    np.testing.assert_allclose(made.q[-1], exact.q[-1], atol=1e-6)
    assert np.abs(robot.constraints.set.rows(made.q).c).max() < 1e-12


def test_stiff_makes_compiled_steps_where_it_can_and_those_of_radau_elsewhere(chain, start):
    """With the bits of "rosenbrock", one or an ensemble; beside a function of Python, with those of "radau"."""
    made, named = (lw.simulate(chain, start, until=0.1, method=method) for method in ("stiff", "rosenbrock"))
    np.testing.assert_array_equal(made.q, named.q)
    many = lw.simulate(chain, tuple(np.stack([x, x]) for x in start), until=0.1, method="stiff", save="last")
    np.testing.assert_array_equal(many.end.q[1], made.q[-1])
    still = {"until": 0.1, "control": lambda t, q, v: 0 * v}
    made, named = (lw.simulate(chain, start, method=method, **still) for method in ("stiff", "radau"))
    np.testing.assert_array_equal(made.q, named.q)
    plain = lw.simulate(lw.Dynamics(chain.model, compiled=False), start, until=0.02, method="stiff")
    np.testing.assert_allclose(plain.q[-1], lw.simulate(chain, start, until=0.02, method="stiff").q[-1], atol=1e-6)


def test_stiff_has_derivatives_by_the_steps_of_radau(chain, start):
    run = lw.simulate(chain, start, until=0.05, method="stiff", sensitivity="state")
    same = lw.simulate(chain, start, until=0.05, method="radau", sensitivity="state")
    np.testing.assert_array_equal(run.sensitivity["state"], same.sensitivity["state"])
    cost = {"final": lambda q, v: v @ v}
    np.testing.assert_array_equal(lw.gradient(run, **cost).q, lw.gradient(same, **cost).q)
    with pytest.raises(lw.SimulationError, match='Simulate with method="radau"'):
        lw.gradient(lw.simulate(chain, start, until=0.05, method="stiff"), **cost)


def test_where_compiled_steps_end_radau_goes_on(tmp_path):
    """A four-bar with dry friction: compiled steps as long as it moves, Radau's while a joint rests; stopped, it goes on to the bit."""
    from dataclasses import replace

    model = lw.load("four_bar")
    first = model.joints[0]
    robot = lw.Dynamics(replace(model, joints=(replace(first, joint=replace(first.joint, friction=3.0)), *model.joints[1:])))
    state = robot.constraints.random_state(seed=1, reach=0.3)
    made, exact = (lw.simulate(robot, state, until=1.0, rtol=1e-8, method=method) for method in ("stiff", "rk45"))
    assert made.status == exact.status == "finished" and np.abs(made.v[-1]).max() < 1e-20
    np.testing.assert_allclose(made.q[-1], exact.q[-1], atol=1e-6)
    for n in (3, made.steps - 2):
        count = []
        how = {"until": 1.0, "rtol": 1e-8, "method": "stiff"}
        part = lw.simulate(robot, state, on_step=lambda t, q, v, n=n, count=count: len(count) >= n or count.append(t), **how)
        part.save(tmp_path / "run.npz")
        np.testing.assert_array_equal(lw.Trajectory.load(tmp_path / "run.npz").resume(1.0, on_step=None).q, made.q)


@pytest.mark.slow
def test_the_slopes_of_linearly_implicit_steps_are_those_of_the_rates():
    """W v̇ = forces: by inverse dynamics with W = 𝓜, of a free body with a spring, damping and a kernel as control, and by the derivative of
    the rates themselves, which joints that may be held take."""
    from linkwork.engine.loading.kernel import Kernel
    from linkwork.engine.tracing.program import Input
    from linkwork.simulate.runs.segments import Equations, Rates

    builder = lw.Builder("toy").body("a", joint=lw.Free(), mass=2.0, tensor=(1.0, 2.0, 2.5))
    builder.body("b", "a", (0, 0, -1), lw.Spherical(stiffness=3.0, damping=0.4), mass=1.0, tensor=(0.3, 0.2, 0.25), center=(0.1, 0, -0.2))
    robot = lw.Dynamics(builder.model())
    n = robot.nv
    control = robot.kernel(t=())(lambda t, q, v: np.sin(3 * t) - 0.2 * v * v + q[:1] * q[4:5])
    moving, resting = (Equations.of(robot, [control], modes=modes) for modes in ((), ("slides", "rests")))
    inputs = Input("t", ()), robot.lowered.input("q", (robot.nq,)), *(Input(name, (n,)) for name in ("v", "held", "vdot"))

    def both(t, q, v, held, vdot):
        at = {"held": held, "slides": 0.0 * v, "rests": 0.0 * v}
        return *Rates(moving, at).slopes(t, q, v, vdot)[:5], *Rates(resting, at).slopes(t, q, v, vdot)[:5]

    (q, v), held = robot.random_state(seed=4), np.linspace(0.1, 0.9, n)
    vdot = robot.forward_dynamics(q, v, held + control(0.3, q, v) + robot.passive_force(q, v))
    W, by_xi, by_v, by_time, bend, unit, *of_rates = Kernel("both", both, inputs).gufunc("d")(0.3, q, v, held, vdot)
    np.testing.assert_allclose(W, robot.mass_matrix(q), atol=1e-12)
    np.testing.assert_array_equal(unit, np.eye(n))
    for x, y in zip((by_xi, by_v, by_time), of_rates):
        np.testing.assert_allclose(np.linalg.solve(W, x), y, atol=1e-10)
    np.testing.assert_allclose(bend, of_rates[3], atol=1e-12)


def test_stiff_knows_the_slopes_of_wrenches_that_are_kernels():
    """A stiff spring as a wrench on a cart: few steps for one, those of the same spring as a force."""
    cart = lw.Dynamics(lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.point(1.0)).model())
    pull = lambda t, q, v: -1e6 * (q[0] - np.sin(t)) - 1e4 * v[0]
    wrench = cart.kernel(t=())(lambda t, q, v: np.stack([np.stack([0.0 * t] * 3 + [pull(t, q, v)] + [0.0 * t] * 2)]))
    force = cart.kernel(t=())(lambda t, q, v: np.stack([pull(t, q, v)]))
    how = {"until": 2.0, "method": "stiff"}
    a, b = lw.simulate(cart, ([0.0], [0.0]), external=wrench, **how), lw.simulate(cart, ([0.0], [0.0]), control=force, **how)
    assert a.steps == b.steps < 2500
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-9)
