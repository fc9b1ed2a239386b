"""The view in diagonal velocities: by kernels, in both forms, inside a user's kernel, differentiated; and what it refuses."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, plain, robots, slope, state

import linkwork as lw
from linkwork import sweeps
from linkwork.engine.loading.interpreter import run
from linkwork.errors import ModelError, OptionError, ShapeError
from linkwork.quantities import QUANTITIES
from linkwork.quantities.diagonal import diagonal_form
from linkwork.systems import Producer

BOTH_FORMS = [name for name, x in QUANTITIES.items() if x.options is diagonal_form]
MODEL = lw.load("double_pendulum")


@pytest.mark.parametrize("name", BOTH_FORMS)
@pytest.mark.parametrize("way", [{}, {"rolled": True}], ids=["straight", "rolled"])
def test_kernels_in_xi_are_the_plain_sweeps(name, way):
    model = MECHANISMS["compound"]
    robot, reference = lw.Dynamics(model, **way), plain(model)
    s = state(reference, (3,))
    given = [s.q if x == "q" else s.v if x in ("v", "eta") else s.tau for x in QUANTITIES[name].inputs]
    close(robot.ask((name, "xi"), *given), reference.ask((name, "xi"), *given), 1e-11)


class Wet(Producer):
    """Inertia that has no weight, and grows with the first coordinate: blocks that are no rigid body's."""

    def blocks(self, nodes, s, q):
        return s._replace(M={k: (2 + q[..., 0, None, None] ** 2) * s.M[k] for k in s.tree.base_to_tips()})

    def rates(self, nodes, s, r, q, v):
        fall = sweeps.scatter(s.tree, s.A, s.tree.constant(nodes.still), r.base)
        return r._replace(b={k: r.b[k] - 0.5 * s.M[k] @ fall[k] for k in s.tree.base_to_tips()})

    def block_rates(self, nodes, s, d, q, v):
        growth = (q[..., 0] * v[..., 0] / (2 + q[..., 0] ** 2))[..., None, None]
        return d._replace(N={k: d.N[k] + growth * s.M[k] for k in s.tree.base_to_tips()})


@pytest.mark.parametrize("compiled", [False, True])
def test_other_blocks_than_those_of_a_rigid_tree(compiled):
    """η̇ = m* v̇ + ṁ* v, ṁ by differences, and C without what acts at rest"""
    robot = lw.Dynamics(MECHANISMS["compound"], compiled=compiled, system=Wet())
    d, s = robot.diagonal(), state(robot)
    m_dot = d.factor_rate(s.q, s.v)
    close(m_dot, slope(lambda h: d.factor(robot.integrate(s.q, h * s.v))), 1e-9)
    eta, vdot = d.eta(s.q, s.v), robot.forward_dynamics(s.q, s.v, s.tau)
    close(d.forward_dynamics(s.q, eta, s.tau), d.factor(s.q).T @ vdot + m_dot.T @ s.v, 1e-11)
    close(d.coriolis(s.q, eta), d.zeta(s.q, robot.bias(s.q, s.v) - robot.gravity_force(s.q)) - m_dot.T @ s.v, 1e-11)


@robots("free", "compound", "planar 2R")
def test_rates_of_the_factor_are_the_derivatives_of_its_program(robot):
    """∂m by the rules of operations"""
    q = state(robot).q
    close(run(robot.as_kernel("mass_matrix_root").jacobian().program, {"q": q})[0], robot.diagonal().factor_derivative(q), 1e-10)


def test_the_view_works_inside_a_kernel_and_so_do_its_derivatives():
    robot = lw.Dynamics(MODEL)
    d, s = robot.diagonal(), state(robot, (4,))

    @robot.kernel
    def length(q, v):
        eta = d.eta(q, v)
        return eta @ eta / 2

    close(length(s.q, s.v), robot.kinetic_energy(s.q, s.v))
    close(length.jacobian(by="v")(s.q, s.v), np.matvec(robot.mass_matrix(s.q), s.v), 1e-11)


def test_rate_feedback_works_inside_a_kernel():
    robot = lw.Dynamics(MODEL.with_gravity((0, 0, 0)))
    d, s = robot.diagonal(), state(robot, (3,))

    @robot.kernel
    def control(t, q, v):
        return d.rate_feedback(2.0)(t, q, v)

    close(control(0.0, s.q, s.v), d.tau(s.q, -2 * d.eta(s.q, s.v)))


def test_float32_stays_float32():
    robot = lw.Dynamics(MODEL, compiled=False)
    q, v = (x.astype(np.float32) for x in robot.random_state((2,), seed=0))
    assert robot.diagonal().eta(q, v).dtype == np.float32
    assert robot.diagonal().factor_derivative(q).dtype == np.float32


def test_a_robot_with_loops_has_the_velocities_of_its_tree_and_refuses_the_dynamics():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q, v = robot.neutral(), np.ones(robot.nv)
    d = robot.diagonal()
    close(d.v(q, d.eta(q, v)), v)
    with pytest.raises(ModelError, match=r"robot\.forward_dynamics"):
        d.forward_dynamics(q, v, v)


def test_what_makes_no_sense_says_so():
    robot = lw.Dynamics(MODEL, compiled=False)
    d, q = robot.diagonal(), np.zeros(2)
    with pytest.raises(OptionError, match="gain"):
        d.rate_feedback(-1.0)
    with pytest.raises(OptionError, match="gain"):
        d.rate_feedback([1.0, 2.0, 3.0])
    with pytest.raises(OptionError, match='"eta"'):
        robot.ask(("diagonal_velocity", "zeta"), q, q)
    with pytest.raises(ShapeError, match="eta"):
        d.v(q, np.zeros(3))
    assert repr(d) == "<double_pendulum in eta>"
    assert repr(d.unnormalized) == "<double_pendulum in xi>"


def test_the_coriolis_term_is_linear_in_the_number_of_links():
    """Operations grow by the same number for each link; at 1000 links the looped kernel is the sweep, and η · C = 0."""
    many = {n: count(lw.Dynamics(lw.load(f"cable:{n}"), rolled=False)) for n in (6, 12, 24)}
    assert many[24] - many[12] == pytest.approx(2 * (many[12] - many[6]), rel=0.02)
    robot = lw.Dynamics(lw.load("chain:1000"))
    q, v = robot.random_state(seed=0)
    q, v = 0.1 * q, 0.1 * v
    eta = robot.diagonal().eta(q, v)
    C = robot.diagonal().coriolis(q, eta)
    assert abs(eta @ C) < 1e-12 * np.linalg.norm(eta) * np.linalg.norm(C)
    plain = lw.Dynamics(robot.model, compiled=False).diagonal()
    np.testing.assert_allclose(C, plain.coriolis(q, eta), atol=1e-9 * np.abs(C).max())


def count(robot) -> int:
    return sum(robot.program(("diagonal_coriolis", "eta")).operations.values())
