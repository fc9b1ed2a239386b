"""Compliant contacts in steps: N = max(0, −gap/c − d gap') where gap < 0, and 0 elsewhere, beside the closed form of its motion."""

import numpy as np
import pytest
from scenes import G

import linkwork as lw
from linkwork.model import solids
from linkwork.motion.contact_step import damping_ratio

MASS = 2.0


def soft_ball(gravity=0.0, compiled=False, **material):
    made = lw.Builder("soft", gravity=(0, 0, -gravity)).body("ball", joint=lw.Translation(), **solids.sphere(MASS, 0.1))
    return lw.Dynamics(made.ground().contact("ball", **material).model(), compiled=compiled)


def thrown(robot, dt, until=0.08, height=0.0123, **how):
    """A ball that comes down with 1 m/s, and moves along x with 3 m/s."""
    return lw.simulate(robot, ([0, 0, 0.1 + height], [3.0, 0, -1.0]), until=until, dt=dt, method="contact", **how)


def rebound(c, d):
    """How long a contact lasts without gravity, the gap at its end and the speed there, by the roots of m c s² + c d s + 1 = 0."""
    one, other = np.roots([MASS * c, c * d, 1.0]).astype(complex)
    x = lambda t: (np.exp(other * t) - np.exp(one * t)) / (one - other)
    rate = lambda t: (other * np.exp(other * t) - one * np.exp(one * t)) / (one - other)
    end = np.log((d * one + 1 / c) / (d * other + 1 / c)) / (other - one)  # d x' + x/c = 0
    end = end.real if end.real > 0 else end.real + abs(2 * np.pi / (other - one))
    return end, x(end).real, rate(end).real


@pytest.mark.parametrize(("c", "d"), [(1e-4, 0.0), (1e-4, 100.0), (1e-4, 600.0)])
def test_steps_converge_to_the_motion_of_the_law(c, d):
    """Free, touching, free again, with friction μ N while it is: z = x(t*) + e (T − t₀ − t*), v_x = 3 − μ (1 + e); second order in dt."""
    duration, gap, speed = rebound(c, d)
    wanted = gap + speed * (0.08 - 0.0123 - duration)
    errors = []
    for dt in (1e-3, 2.5e-4):
        run = thrown(soft_ball(friction=0.3, compliance=c, damping=d), dt)
        errors.append(max(abs(run.q[-1, 2] - 0.1 - wanted), abs(run.v[-1, 2] - speed), abs(run.v[-1, 0] - 3 + 0.3 * (1 + speed))))
    assert errors[0] < 0.02 and errors[1] < errors[0] / 8


@pytest.mark.parametrize("restitution", [0.05, 0.3, 0.9, 1.0])
def test_restitution_of_a_compliant_contact_is_a_damping(restitution):
    """d = 2 ζ √(m/c): a ball comes back with e times its speed, from a spring that steps resolve, and from one that they do not."""
    assert np.isclose(rebound(1e-4, 2 * damping_ratio(restitution) * np.sqrt(MASS / 1e-4))[2], restitution)
    soft, stiff = (soft_ball(compliance=c, restitution=restitution) for c in (1e-4, 1e-9))
    assert np.isclose(thrown(soft, 4e-4).v[-1, 2], restitution, atol=0.005)
    assert np.isclose(thrown(stiff, 2e-3, 0.04).v[-1, 2], restitution, atol=1e-6)


def test_a_ball_does_not_fall_through_soft_ground_with_restitution():
    """Dropped from 0.5 m, e = 0.3: it rises to less than e² 0.5 m, as gravity acts while it touches, and rests at −c m g in the end."""
    robot = soft_ball(G, True, compliance=1e-4, restitution=0.3)
    run = lw.simulate(robot, ([0, 0, 0.6], np.zeros(3)), until=1.5, method="contact", dt=1e-3)
    assert 0.5 < (run.q[(run.t > 0.42) & (run.t < 0.6), 2].max() - 0.1) / (0.5 * 0.3**2) < 1.0
    assert np.isclose(run.q[-1, 2], 0.1 - 1e-4 * MASS * G, atol=1e-9)


def test_a_damped_contact_does_not_push_before_it_touches():
    """c d = 0.1 s: no force while the gap is wider than what a step closes, and d |u| at once when it has closed."""
    run = thrown(soft_ball(G, compliance=1e-3, damping=100.0), 1e-4, until=0.02)
    force, gap = run.contact.force[:, 0, 0], run.contact.gap[:, 0]
    assert gap[force > 0].max() < 1.2e-4 and force[gap < -1e-4][0] > 90.0
    assert np.allclose(run.vdot[run.q[:, 2] > 0.1, 2], -G)


@pytest.mark.parametrize("compiled", [True, False])
def test_accelerations_of_rows_know_the_forces_of_soft_contacts(compiled):
    """m v̇ = N (−μ u_t/|u_t|, 1) − m g, N of the state; a ball at rest along the ground stays so while the push is within μ N."""
    robot = soft_ball(G, compiled, friction=0.4, compliance=1e-3, damping=20.0)
    run = lw.simulate(robot, ([0, 0, 0.09], [3.0, 0, -1.0]), until=0.002, dt=1e-3, method="contact")
    N = 0.01 / 1e-3 + 20.0
    assert np.allclose(run.vdot[0], [-0.4 * N / MASS, 0, N / MASS - G])
    start, push = ([0, 0, 0.1 - 1e-3 * MASS * G], np.zeros(3)), lambda t, q, v: np.array([5.0, 0, 0])
    held = lw.simulate(robot, start, until=0.01, method="contact", dt=1e-3, control=push)
    assert np.abs(held.vdot).max() < 1e-6 and np.allclose(held.contact.force[-1], [MASS * G, -5.0, 0])


def test_all_ways_of_stepping_have_the_same_soft_contact():
    """simulate plain and compiled, the kernel of a step, and rollouts with each solver; the derivative of a step is that of differences."""
    robot = soft_ball(G, True, friction=0.3, compliance=1e-3, damping=30.0, restitution=0.5)
    q, v = np.array([0, 0, 0.1005]), np.array([3.0, 0, -1.0])
    plain = lw.simulate(lw.Dynamics(robot.model, compiled=False), (q, v), until=0.1, dt=1e-3, method="contact")
    ends = [lw.simulate(robot, (q, v), until=0.1, dt=1e-3, method="contact").q[-1]]
    for method in ("gauss_seidel", "newton", "interior"):
        solver = lw.ContactLaw(solver=method, rounds=60, tolerance=1e-12)
        ends.append(lw.rollout(robot, q[None], v[None], dt=1e-3, steps=100, every=100, method="contact", contact=solver).q[0, -1])
    step, state, z = lw.contact_kernel(robot, dt=1e-3), (q, v, np.zeros(3)), np.zeros(3)
    for _ in range(100):
        q, v, z = step(q, v, np.zeros(3), z)
    assert np.allclose([*ends, q], plain.q[-1], atol=1e-8)
    q, v, z = state
    for _ in range(9):  # inside the ground
        q, v, z = step(q, v, np.zeros(3), z)
    J, e = np.asarray(step.jacobian(of=1, by="v")(q, v, np.zeros(3), z)), 1e-6
    D = np.stack([(step(q, v + e * x, np.zeros(3), z)[1] - step(q, v - e * x, np.zeros(3), z)[1]) / (2 * e) for x in np.eye(3)], -1)
    assert q[2] < 0.1 and J[2, 2] < 0.99 and np.allclose(J, D, atol=1e-6)
