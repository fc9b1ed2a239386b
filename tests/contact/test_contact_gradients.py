"""Gradients of rollouts with contacts: slopes of the cost while contacts are open, stick, slide and strike, closed forms, smoothing."""

import numpy as np
import pytest
import scenes
from scenes import G

import linkwork as lw
from linkwork.model import solids

BALL = scenes.ball(friction=0.3)
FINE = lw.ContactLaw(tolerance=1e-13, rounds=100)
CASES = {  # height of the centre, velocity
    "flight": (0.9, [0.1, 0.2, 0.3, 0.5, -0.2, 0.1]),
    "sliding": (0.1, [0.1, 0.2, 0.3, 2.0, 0.4, 0.0]),
    "rolling": (0.1, [0.0, 1.0, 0.3, 0.1, 0.0, 0.0]),
    "impact": (0.12, [1.0, 0.2, 0.3, 1.0, 0.2, -0.4]),
}
START = np.stack([scenes.placed(BALL, z=z) for z, _ in CASES.values()]), np.array([v for _, v in CASES.values()])


def slope(cost, h=1e-5):
    """The derivative at zero of functions of one number, its error of the order of h⁴."""
    return (8 * (cost(h) - cost(-h)) - (cost(2 * h) - cost(-2 * h))) / (12 * h)


def last_row(x, rows):
    """Weights on the last of some rows."""
    out = np.zeros((*np.shape(x)[:-1], rows, np.shape(x)[-1]))
    out[..., -1, :] = x
    return out


def test_the_gradient_is_the_slope_of_the_cost_in_flight_sliding_rolling_and_impact(rng):
    """dJ = q̄·dq + v̄·dv + τ̄·dτ + μ̄ dμ + m̄ dm, for each of four robots; forces of contacts have weights too."""
    robot, steps, (Q, V) = BALL.varying("mass"), 40, START
    how = {"dt": 0.01, "steps": steps, "every": 10, "method": "contact", "contact": FINE}
    tau = 0.2 * rng.standard_normal((4, steps, 6))
    given = {"contact_friction": np.full((4, 1), 0.3), "mass": np.full((4, 1), 1.0)}
    base = lw.rollout(robot, Q, V, tau, given=given, **how)
    by_q, by_v, by_force = (rng.standard_normal(x.shape) for x in (base.v, base.v, base.force))
    dq, dv, dtau, dmu, dm = (rng.standard_normal(x.shape) for x in (V, V, tau, *given.values()))

    def cost(h):
        moved = {"contact_friction": given["contact_friction"] + h * dmu, "mass": given["mass"] + h * dm}
        run = lw.rollout(robot, BALL.integrate(Q, h * dq), V + h * dv, tau + h * dtau, given=moved, **how)
        states = (by_q * BALL.difference(base.q, run.q) + by_v * run.v).sum((1, 2))
        return states + (by_force * run.force).sum((1, 2, 3))

    found = lw.rollout_gradient(robot, Q, V, tau, given=given, weights=(by_q, by_v, by_force), **how)
    total = (found.q * dq + found.v * dv).sum(-1) + (found.controls * dtau).sum((1, 2))
    total = total + sum((found.given[name] * d).sum(-1) for name, d in (("contact_friction", dmu), ("mass", dm)))
    np.testing.assert_allclose(total, slope(cost), rtol=1e-6)
    assert found.given["contact_friction"][0, 0] == 0 != found.given["contact_friction"][1, 0]
    for spacing in (1, 7, 100):
        same = lw.rollout_gradient(robot, Q, V, tau, given=given, weights=(by_q, by_v, by_force), checkpoint=spacing, run=base, **how)
        np.testing.assert_allclose(same.controls, found.controls, rtol=0, atol=1e-9 * abs(found.controls).max())


@pytest.mark.slow
def test_a_block_slides_less_far_with_more_friction():
    """x = v²/(2 μ g), dx/dμ = −v²/(2 μ² g), dx/dv = v/(μ g): four corners touch, whose forces are not unique."""
    robot, mu, speed = scenes.box(friction=0.5), 0.5, 1.0
    given = {"contact_friction": np.full((1, 8), mu)}
    q, v = scenes.placed(robot, z=0.1)[None], np.array([[0, 0, 0, speed, 0, 0]])
    how = {"dt": 0.002, "steps": 130, "every": 130, "method": "contact", "contact": lw.ContactLaw(rounds=200, tolerance=1e-10)}
    run = lw.rollout(robot, q, v, given=given, **how)
    assert abs(run.q[0, -1, 4] - speed**2 / (2 * mu * G)) < 1e-5 and abs(run.v[0, -1]).max() < 1e-9
    found = lw.rollout_gradient(robot, q, v, given=given, weights=(last_row([[0, 0, 0, 1.0, 0, 0]], 2), None), **how)
    assert abs(found.given["contact_friction"].sum() / (-(speed**2) / (2 * mu**2 * G)) - 1) < 2e-2
    assert abs(found.v[0, 3] / (speed / (mu * G)) - 1) < 2e-2
    assert abs(found.q[0, 3] - 1) < 1e-6


def bounced(gap, v, e, until):
    """Height and velocity of a ball that has bounced twice."""
    t = 0.0
    for _ in range(2):
        fall = (v + np.sqrt(v * v + 2 * G * gap)) / G
        t, v, gap = t + fall, e * (G * fall - v), 0.0
    return np.array([v * (until - t) - G * (until - t) ** 2 / 2, v - G * (until - t)])


def test_the_gradient_through_bounces_tends_to_that_of_the_motion():
    """∂(z, ż)/∂(z₀, ż₀) after two bounces, beside the closed form: the times of impacts move, errors are of first order in dt."""
    e, gap, until, h = 0.8, 0.5, 1.0, 1e-6
    moved = lambda a, b: (bounced(gap + h * a, h * b, e, until) - bounced(gap - h * a, -h * b, e, until)) / (2 * h)
    wanted = np.stack([moved(1, 0), moved(0, 1)])
    robot = scenes.ball(restitution=e)
    q, v, up = scenes.placed(robot, z=0.1 + gap)[None], np.zeros((1, 6)), np.array([[0, 0, 0, 0, 0, 1.0]])
    errors = []
    for dt in (0.004, 0.001, 0.00025):
        how = {"dt": dt, "steps": round(until / dt), "every": round(until / dt), "method": "contact"}
        parts = [lw.rollout_gradient(robot, q, v, weights=w, **how) for w in ((last_row(up, 2), None), (None, last_row(up, 2)))]
        found = np.stack([[x.q[0, 5] for x in parts], [x.v[0, 5] for x in parts]])
        errors.append(abs(found - wanted).max())
    assert errors[0] < 0.5 and errors[1] < 0.15 and errors[2] < 0.03
    steps = lw.rollout_gradient(
        robot, q, v, weights=(last_row(up, 2), None), contact=lw.ContactLaw(impact_times=False), dt=0.004, steps=250, every=250,
        method="contact",
    )  # fmt: skip
    assert steps.q[0, 5] == pytest.approx(1.0)  # in the steps themselves an impact stays where it is, and so do heights


def test_a_throw_that_comes_later_to_its_bounce_has_the_slope_of_the_motion():
    """Thrown with (vx, vz), it bounces without slip at t₁ and goes on with vx' = (5 vx + 2 r ω)/7:  ∂x/∂vz = (vx − vx') ∂t₁/∂vz,
    ∂x/∂vx = t₁ + 5/7 (T − t₁), ∂x/∂ω = 2/7 r (T − t₁). In a plane one tangent of the contact has no compliance."""
    vx, vz, spin, r, until = 1.5, 1.0, 10.0, 0.06, 0.7
    robot, steps = scenes.ball_in_a_plane(restitution=0.75, radius=r), 2800
    how = {"dt": until / steps, "steps": steps, "every": steps, "method": "contact"}
    q, v = np.array([[0, 0.6, 0]]), np.array([[vx, vz, spin]])
    run = lw.rollout(robot, q, v, **how)
    root = np.sqrt(vz**2 + 2 * G * (0.6 - r))
    first, after = (vz + root) / G, (5 * vx + 2 * r * spin) / 7
    assert run.residual.max() < 1e-8 and run.v[0, -1, 0] == pytest.approx(after, rel=5e-3)
    found = lw.rollout_gradient(robot, q, v, weights=(last_row([[1.0, 0, 0]], 2), None), **how).v[0]
    wanted = first + 5 / 7 * (until - first), (vx - after) * (1 + vz / root) / G, 2 / 7 * r * (until - first)
    np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=5e-4)


def test_smoothing_tends_to_the_contact_with_the_square_of_its_velocity(rng):
    """States and gradients, their errors divided by 100 with s divided by 10; and the gradient is that of the smoothed steps."""
    Q, V = START[0][1:], START[1][1:]
    weight = rng.standard_normal((3, 6))

    def both(s):
        how = {"dt": 0.01, "steps": 30, "every": 30, "method": "contact", "contact": lw.ContactLaw(smoothing=s, tolerance=1e-11)}
        run = lw.rollout(BALL, Q, V, **how)
        return run, lw.rollout_gradient(BALL, Q, V, weights=(None, last_row(weight, 2)), **how), how

    exact, fine, coarse = both(0.0), both(0.001), both(0.01)
    for pick in (lambda x: x[0].v[:, -1], lambda x: x[0].q[:, -1], lambda x: x[1].v):
        small, large = abs(pick(fine) - pick(exact)).max(-1), abs(pick(coarse) - pick(exact)).max(-1)
        assert (large > 30 * small).all() and (large < 0.3).all()
    _, found, how = coarse
    assert both(0.01)[0].residual.max() < 1e-10
    d = rng.standard_normal(V.shape)
    expected = slope(lambda h: (lw.rollout(BALL, Q, V + h * d, **how).v[:, -1] * weight).sum(-1), 1e-4)
    np.testing.assert_allclose((found.v * d).sum(-1), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dt, s", [(1e-2, 0.01), (1e-3, 0.003)])
def test_smoothing_takes_a_known_part_of_friction(dt, s):
    """a = μ g − s²/(2 u h), to second order in s²."""
    made = lw.Builder("slider").body("ball", joint=lw.Translation(), **solids.sphere(2.0, 0.1)).ground().contact("ball", friction=0.1)
    robot, g, steps = lw.Dynamics(made.model()), 9.81, round(0.02 / dt)
    state = np.array([0.0, 0.0, 0.1 + s**2 / g]), np.array([1.0, 0.0, 0.0])
    solver = lw.ContactLaw(smoothing=s, rounds=100, tolerance=1e-10)
    run = lw.rollout(robot, *state, dt=dt, steps=steps, every=steps, method="contact", contact=solver)
    missing = 0.1 * g - (1 - run.v[-1, 0]) / 0.02
    assert missing == pytest.approx(s**2 / (2 * dt), rel=0.05)


def test_smoothing_has_a_gradient_before_anything_touches():
    """A ball 5 mm above the ground: its speed depends on friction and height only if contacts act from afar, as the acceleration s²/d."""
    q, v, s, d = scenes.placed(BALL, z=0.105)[None], np.array([[0, 0, 0, 1.0, 0, 0]]), 0.01, 0.005
    up, along = last_row([[0, 0, 0, 0, 0, 1.0]], 2), last_row([[0, 0, 0, 1.0, 0, 0]], 2)
    how = {"dt": 1e-4, "steps": 10, "every": 10, "method": "contact", "given": {"contact_friction": np.array([[0.3]])}}
    rigid, soft = (lw.rollout_gradient(BALL, q, v, weights=(None, along), contact=lw.ContactLaw(smoothing=x), **how) for x in (0.0, s))
    assert rigid.given["contact_friction"] == 0 and soft.given["contact_friction"] < -1e-8
    rise = lw.rollout_gradient(BALL, q, 0 * v, weights=(None, up), contact=lw.ContactLaw(smoothing=s), **how)
    run = lw.rollout(BALL, q, 0 * v, contact=lw.ContactLaw(smoothing=s), **how)
    assert (run.v[0, -1, 5] + 1e-3 * G) / 1e-3 == pytest.approx(s * s / d, rel=0.02)
    assert rise.q[0, 5] == pytest.approx(-1e-3 * s * s / d**2, rel=0.05)


def test_policies_resets_and_values_of_each_step_have_gradients(rng):
    @BALL.kernel(t=(), gain=(), push=3)
    def policy(t, q, v, gain, push):
        return np.concatenate([-gain * v[:3], push * np.cos(t)])

    @BALL.kernel
    def reset(q, v):
        return q, np.where(q[4] > 0.12, 0.5 * v, v)

    Q, V = (x[1:3] for x in START)
    how = {"dt": 0.01, "steps": 20, "method": "contact", "contact": FINE, "reset": reset}
    given, each = {"gain": np.array([0.01, 0.02])}, {"push": 0.3 * rng.standard_normal((2, 20, 3))}
    weight, dg, dp = rng.standard_normal((2, 21, 6)), rng.standard_normal(2), rng.standard_normal((2, 20, 3))

    def cost(h):
        moved = {"given": {"gain": given["gain"] + h * dg}, "each_step": {"push": each["push"] + h * dp}}
        return (lw.rollout(BALL, Q, V, policy, **moved, **how).v * weight).sum((1, 2))

    found = lw.rollout_gradient(BALL, Q, V, policy, weights=(None, weight), given=given, each_step=each, **how)
    total = found.given["gain"] * dg + (found.each_step["push"] * dp).sum((1, 2))
    np.testing.assert_allclose(total, slope(cost), rtol=1e-7)


def test_float32_has_the_gradient_to_its_precision():
    Q, V = START
    how = {"dt": 0.01, "steps": 20, "every": 20, "method": "contact"}
    weights = None, last_row(np.ones((4, 6)), 2)
    one, two = (lw.rollout_gradient(BALL, Q.astype(k), V.astype(k), weights=weights, **how) for k in ("f4", "f8"))
    assert one.v.dtype == np.float32
    np.testing.assert_allclose(one.v, two.v, atol=2e-3 * abs(two.v).max())


@pytest.mark.slow
def test_jax_scans_the_step_and_has_its_gradient(rng):
    jax = pytest.importorskip("jax")
    steps, (Q, V) = 12, START
    kernel = lw.contact_kernel(BALL, dt=0.01, contact=FINE)
    weight = rng.standard_normal(6)
    with jax.enable_x64(True):
        step = BALL.jax(kernel)

        def cost(v, q):
            def one(state, _):
                q, v, impulse = state
                return step(q, v, jax.numpy.zeros(6), impulse), None

            (_, v, _), _ = jax.lax.scan(one, (q, v, jax.numpy.zeros(3)), length=steps)
            return weight @ v

        found = jax.vmap(jax.jit(jax.grad(cost)))(V, Q)
    how = {"dt": 0.01, "steps": steps, "every": steps, "method": "contact", "contact": FINE}
    expected = lw.rollout_gradient(BALL, Q, V, weights=(None, last_row(np.tile(weight, (4, 1)), 2)), **how)
    np.testing.assert_allclose(found, expected.v, rtol=1e-8, atol=1e-10)


def pushed(t, q, v):
    return np.sin(3 * t) * np.array([0, 0, 0, 1.0, 0, 0]) - 0.1 * v


@pytest.mark.slow
def test_a_run_with_contacts_has_sensitivities_and_an_adjoint(rng):
    """By the first state, masses and friction, through an impact, sliding and rolling; the control is asked in the middle of steps."""
    q, v = scenes.placed(BALL, z=0.12), np.array([0.2, 0.1, 0, 1.0, 0.3, 0])
    how = {"until": 0.3, "method": "contact", "dt": 0.01, "control": pushed}
    run = lw.simulate(BALL, (q, v), **how)
    d, h = rng.standard_normal(12), 1e-6
    ends = [lw.simulate(BALL, (BALL.integrate(q, x * d[:6]), v + x * d[6:]), **how) for x in (h, -h)]
    slopes = np.concatenate([BALL.difference(ends[1].q[-1], ends[0].q[-1]), ends[0].v[-1] - ends[1].v[-1]]) / (2 * h)
    np.testing.assert_allclose(run.sensitivity(by="state")["state"][-1] @ d, slopes, rtol=1e-6, atol=1e-7)
    ends = [lw.simulate(scenes.ball(friction=0.3 + x), (q, v), **how).v[-1] for x in (h, -h)]
    np.testing.assert_allclose(
        run.sensitivity(by="contact_friction")["contact_friction"][-1, 6:, 0], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7
    )
    weight = rng.standard_normal(6)
    found = lw.gradient(run, final=lambda q, v: weight @ v, by=["contact_friction", "mass"])
    np.testing.assert_allclose(
        np.concatenate([found.q, found.v]), weight @ run.sensitivity(by="state")["state"][-1, 6:], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(found.by["mass"], weight @ run.sensitivity(by="mass")["mass"][-1, 6:], rtol=1e-9)
    with pytest.raises(lw.SimulationError, match="lies within a step"):
        run.at(0.105).sensitivity(by="state")["state"]


def test_what_has_no_gradient_is_refused_by_name():
    q, v = START[0][:1], START[1][:1]
    how = {"dt": 0.01, "steps": 2, "method": "contact"}
    with pytest.raises(lw.SimulationError, match="weights is not a pair"):
        lw.rollout_gradient(BALL, q, v, weights=(None, None, None, None), **how)
    with pytest.raises(lw.SimulationError, match="function of the whole batch"):
        lw.rollout_gradient(BALL, q, v, lambda t, Q, V: V, weights=(None, 1.0), **how)
    with pytest.raises(lw.SimulationError, match='contact= is for method "contact"'):
        lw.rollout_gradient(lw.Dynamics(lw.load("pendulum")), [[0.0]], [[0.0]], weights=(None, 1.0), dt=0.1, steps=1, contact=FINE)
    with pytest.raises(lw.SimulationError, match="smoothing -1"):
        lw.ContactLaw(smoothing=-1)
    with pytest.raises(lw.SimulationError, match="leave polish and least_norm away"):
        lw.ContactLaw(smoothing=0.1, polish=3)
    with pytest.raises(lw.SimulationError, match='Take method="contact"'):
        lw.gradient(lw.simulate(BALL, (q[0], v[0]), until=0.01), final=lambda q, v: v @ v)
    with pytest.raises(lw.SimulationError, match="events may not reset"):
        event = lw.Event(lambda t, q, v: q[4], name="x", reset=lambda t, q, v: (q, v))
        lw.simulate(BALL, (q[0], v[0]), until=0.1, method="contact", dt=0.01, events=[event]).sensitivity()
    with pytest.raises(lw.SimulationError, match="smoothing is for rollouts"):
        lw.simulate(BALL, (q[0], v[0]), until=0.1, method="contact", dt=0.01, contact=lw.ContactLaw(smoothing=0.1))


@pytest.mark.torch
def test_torch_checks_the_gradient_of_states_and_forces():
    torch = pytest.importorskip("torch")
    q, v = (torch.from_numpy(x[1:]) for x in START)
    tau, mu = torch.zeros(3, 6, 6, dtype=torch.float64), torch.full((3, 1), 0.3, dtype=torch.float64)

    def run(v, tau, mu):
        found = lw.rollout(BALL, q, v, tau, dt=0.02, steps=6, every=3, method="contact", given={"contact_friction": mu}, contact=FINE)
        return found.q, found.v, found.force

    assert torch.autograd.gradcheck(run, [x.clone().requires_grad_() for x in (v, tau, mu)], atol=1e-4, rtol=1e-4)


@pytest.mark.torch
def test_a_policy_of_torch_meets_contacts():
    """Step by step, as a torch.nn.Module asks for: the gradient of a weight is the slope of the cost."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net, (q, v) = torch.nn.Linear(6, 6).double(), (torch.from_numpy(x[1:]) for x in START)
    how = {"dt": 0.02, "steps": 8, "method": "contact", "given": {"contact_friction": torch.full((3, 1), 0.3, dtype=torch.float64)}}

    def cost():
        run = lw.rollout(BALL, q, v, net, **how, contact=FINE)
        return run.v[:, -1].sum() + 0.01 * run.force.square().sum()

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(6, 6).double()

        def forward(self, t, q, v):
            return 0.1 * self.net(v)

    net = Policy()
    cost().backward()
    found, h = net.net.weight.grad[3, 3].item(), 1e-6
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            net.net.weight[3, 3] += sign * h
        values.append(cost().item())
        with torch.no_grad():
            net.net.weight[3, 3] -= sign * h
    assert found == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6)
