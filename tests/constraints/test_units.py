"""No answer depends on the units of length, mass and time: a model whose numbers are scaled by powers of two does the same, scaled.

Points that event-by-event contacts take to be near, to touch or to rest are still measured in metres and metres a second
(`simulate/rest/contact_events.py`), so that these runs are held to a coarser bound, and to scales at which they are the same events.
"""

from functools import cache

import numpy as np
import pytest
from flexible import models as flexible
from zoo.units import Units

import linkwork as lw
from linkwork.model import solids

from . import gallery

UNITS = {
    "as it is": Units(),
    "kilometres": Units(L=2.0**-10),
    "long": Units(L=2.0**13),
    "heavy": Units(M=2.0**20),
    "fast": Units(T=2.0**-10),
    "all": Units(2.0**13, 2.0**-20, 2.0**10),
}
every_unit = pytest.mark.parametrize("unit", [UNITS[x] for x in list(UNITS)[1:]], ids=list(UNITS)[1:])


def sprung():
    """A cart, an arm and a pin on springs."""
    b = lw.Builder("sprung")
    b.body("cart", None, None, lw.Prismatic(axis=(1, 0, 0), stiffness=30.0, damping=0.4), mass=2.0, tensor=(0.1,) * 3)
    arm = lw.Revolute(axis=(0, 1, 0), stiffness=3.0, rest=0.4, damping=0.05)
    b.body("arm", "cart", None, arm, mass=1.0, center=(0, 0, -0.4), tensor=(0.02, 0.02, 0.01))
    spring = lw.Spring("spring", one=None, other="arm", at=(0.3, 0.2, 0), on=(0, 0, -0.5), stiffness=20.0, length=0.3, damping=0.2)
    return b.model().with_forces(spring, lw.Push("push", "arm", force=(0.3, 0.2, 0.1), at=(0, 0, -0.3)))


def bob():
    """A pendulum in the origin: no way between two joints says how long it is."""
    return lw.Builder("bob").body("bob", None, None, lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0, 0, -0.5), tensor=(0.01,) * 3).model()


def rack():
    """A rack that follows a pinion, against a spring."""
    b = lw.Builder("rack").body("pinion", None, None, lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0.05, 0, 0), tensor=(0.01,) * 3)
    b.body("rack", None, (0, 0, 0.3), lw.Prismatic(axis=(1, 0, 0), stiffness=40.0), mass=2.0)
    return b.couple("rack_joint", "pinion_joint", (0.02, 0.1, 0.03)).model()


def tethered():
    """A free body on a rod without mass."""
    b = lw.Builder("tethered").body("body", None, None, lw.Free(), mass=1.0, tensor=(0.01, 0.02, 0.03))
    return b.distance("rod", None, "body", 0.8, on=(0.1, 0, 0)).model()


MECHANISMS = {
    "sprung": (sprung, {}),
    "bob": (bob, {"bob_joint": 0.3}),
    "rack": (rack, {"pinion_joint": 0.2}),
    "tethered": (tethered, {"body_joint": (1, 0, 0, 0, 0.7, 0.1, 0.2)}),
    "slider_crank": (gallery.slider_crank, gallery.MAKERS["slider_crank"]()[1]),
    "scott_russell": (gallery.scott_russell, gallery.MAKERS["scott_russell"]()[1]),
    "rolling_disk": (lambda: lw.load("rolling_disk"), {}),
    "flexible_four_bar": (flexible.four_bar, {}),
}
LOOPED = [name for name in MECHANISMS if name not in ("sprung", "bob")]
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


@cache
def made(name, unit):
    """A robot in a unit, plain, with a state on its constraints, forces, and the powers of a length in q and v."""
    make, guess = MECHANISMS[name]
    model, rng = make(), np.random.default_rng(0)
    robot = lw.Dynamics(unit.model(model), compiled=False)
    q = lw.Dynamics(model, compiled=False).neutral()
    for joint, x in guess.items():
        q[robot.q_index(joint)] = x
    small = 0.01 if "flexible" in name else 1.0
    v, tau = 0.3 * small * rng.standard_normal(robot.nv), small * 0.2 * rng.standard_normal(robot.nv)
    q, v, tau = unit.q(model, q), unit.v(model, v), unit.tau(model, tau)
    if robot.constraints is not None:
        q = robot.assemble(q)
        q, v = robot.constraints.project(q, v)
    return robot, q, v, tau, unit.of(unit.lengths(model, "q")), unit.of(unit.lengths(model))


def same(found, expected, tolerance=1e-9):
    assert np.abs(np.asarray(found) - expected).max() <= tolerance * max(np.abs(expected).max(), 1e-300)


@every_unit
@pytest.mark.parametrize("name", LOOPED)
def test_loops_close_and_states_return_to_constraints_in_any_units(name, unit):
    """assemble(s q) = s assemble(q) from guesses that are far off, and project likewise."""

    def answers(unit):
        robot, q, v, _, of_q, of_v = made(name, unit)
        rng, reach = np.random.default_rng(1), of_v * (0.02 if "flexible" in name else 0.3)
        guesses = robot.integrate(q, reach * rng.uniform(-1, 1, (3, robot.nv)))
        near = robot.integrate(q, 0.03 * reach * rng.uniform(-1, 1, robot.nv))
        there, slow = robot.constraints.project(near, v)
        return [robot.assemble(guesses) / of_q, there / of_q, slow / of_v * unit.T]

    for x, y in zip(answers(unit), answers(UNITS["as it is"])):
        same(x, y)


@every_unit
@pytest.mark.parametrize("name", LOOPED)
def test_rank_and_mobility_have_no_units(name, unit):
    """Rank here and near, which rows repeat others, which are open."""

    def answers(unit):
        robot, q, *_ = made(name, unit)
        report = robot.constraint_report(q)
        return report.rank, report.generic_rank, report.redundant, report.open, report.singular

    assert answers(unit) == answers(UNITS["as it is"])


@pytest.mark.parametrize("name, unit", [(name, UNITS[list(UNITS)[1 + (i + j) % 5]]) for i, name in enumerate(MECHANISMS) for j in (0, 2)])
def test_accelerations_and_steps_scale_with_units(name, unit):
    """v̇ by every method, A of the linearized motion, and twenty steps of fixed length."""

    def answers(unit):
        robot, q, v, tau, of_q, of_v = made(name, unit)
        ways = [robot.forward_dynamics(q, v, tau)]
        if robot.constraints is not None:
            ways += [robot.constraints.forward_dynamics(q, v, tau, method=x) for x in ("augmented", "projected", "embedded")]
        A = robot.linearize(q, v, tau).A
        run = lw.simulate(robot, (q, v), until=0.04 * unit.T, dt=0.004 * unit.T, method="rk4")
        rates = np.sort_complex(np.linalg.eigvals(A) * unit.T)
        return [np.array(ways) / of_v * unit.T**2, run.q[-1] / of_q, np.abs(rates).max()]

    for x, y in zip(answers(unit), answers(UNITS["as it is"])):
        same(x, y, 1e-8)


@every_unit
@pytest.mark.parametrize("name", ["sprung", "rack", "slider_crank", "flexible_four_bar"])
def test_rest_and_its_modes_scale_with_units(name, unit):
    """Where it rests, and with what frequencies it swings there."""

    def answers(unit):
        robot, q, _, _, of_q, _ = made(name, unit)
        rest = robot.equilibrium(q)
        return rest.q / of_q, np.abs(robot.modes(rest).eigenvalues) * unit.T

    for x, y in zip(answers(unit), answers(UNITS["as it is"])):
        same(x, y, 1e-7)


@every_unit
def test_a_function_of_the_user_may_have_any_unit(unit):
    """A bead on a circle x² + y² = r², written as that: its residual is a square of a length."""
    r = 0.7 * unit.L
    b = lw.Builder("bead", (0, 0, -9.81 * unit.L / unit.T**2)).body("x", at=(0, 0.4 * unit.L, 0), joint=lw.Prismatic(axis=(1, 0, 0)))
    b.body("bead", "x", joint=lw.Prismatic(axis=(0, 0, 1)), mass=unit.M)
    circle = lw.constraints.Holonomic("circle", lambda q: q[..., 0] ** 2 + q[..., 1] ** 2 - r**2)
    robot = lw.Dynamics(b.model().with_constraints(circle), compiled=False)
    q = robot.assemble(np.array([0.5, 0.3]) * unit.L)
    same(np.linalg.norm(q), r, 1e-14)
    same(robot.equilibrium(q).q / unit.L, [0.0, -0.7], 1e-9)


def sliding(unit):
    """A box on the floor, a push along it at the start, and its state."""
    size = 0.4 * unit.L, 0.3 * unit.L, 0.2 * unit.L
    b = lw.Builder("box", (0, 0, -9.81 * unit.L / unit.T**2)).body("box", joint=lw.Free(), **solids.box(2.0 * unit.M, size))
    robot = lw.Dynamics(b.ground().contact("box", friction=0.3).model(), compiled=False)
    q, v = robot.neutral(), np.zeros(6)
    q[6], v[3] = 0.1 * unit.L, 0.5 * unit.L / unit.T
    return robot, q, v


@every_unit
def test_a_box_slides_to_rest_on_the_same_way_in_any_units(unit):
    """x = v² / 2 μ g, by steps with contacts."""
    robot, q, v = sliding(unit)
    run = lw.simulate(robot, (q, v), until=0.2 * unit.T, dt=0.02 * unit.T, method="contact")
    robot, q, v = sliding(UNITS["as it is"])
    expected = lw.simulate(robot, (q, v), until=0.2, dt=0.02, method="contact")
    same(run.q[:, 4:] / unit.L, expected.q[:, 4:], 1e-7)


@every_unit
def test_which_points_touch_stick_and_slide_does_not_depend_on_units(unit):
    """A box that stands, slides, is above the floor by 2e-7 or 1e-3 of its size, falls on it, or leaves it."""

    def answers(unit):
        robot, q, v = sliding(unit)
        v[3] = 0.0
        states, still = [], (0, 0, 0)
        for height, speed in ((0, still), (2e-7, (1e-8, 0, 0)), (1e-3, still), (0, (0.5, 0, 0)), (0, (0, 0, -0.01)), (0, (0, 0, 0.01))):
            here, slow = q.copy(), v.copy()
            here[6] += height * robot.model.size
            slow[3:] = np.array(speed) * unit.L / unit.T
            states.append((here, slow))
        found = robot.contact_dynamics(*map(np.array, zip(*states)), np.zeros(6))
        kinds = np.array([found.active, found.stick, found.slide, found.striking])
        assert kinds.any((1, 2)).all() and not kinds[:, 2].any()
        return kinds * 1.0, found.vdot[:, 3:] / (unit.L / unit.T**2)

    for x, y in zip(answers(unit), answers(UNITS["as it is"])):
        same(x, y, 1e-7)


@every_unit
def test_joint_limits_and_dry_friction_act_at_the_same_times_in_any_units(unit):
    """A slider with dry friction falls on a stop and bounces: the events of the run, and where it rests."""

    def answers(unit):
        slider = lw.Prismatic(axis=(0, 0, 1), lower=-0.3 * unit.L, friction=2.0 * unit.force)
        b = lw.Builder("slider", (0, 0, -9.81 * unit.L / unit.T**2)).body("slider", joint=slider, mass=unit.M)
        robot = lw.Dynamics(b.model(), compiled=False)
        run = lw.simulate(
            robot, ([0.1 * unit.L], [0.0]), until=1.0 * unit.T, rtol=1e-9, atol=1e-12, contact=lw.ContactLaw(limits=True, restitution=0.4)
        )
        return run.at(np.linspace(0, 1, 21) * unit.T).q / unit.L

    same(answers(unit), answers(UNITS["as it is"]), 1e-6)


@pytest.mark.parametrize("unit", [Units(L=2.0**6), Units(L=2.0**-4), Units(M=2.0**20), Units(T=2.0**-4), Units(T=2.0**6)], ids=str)
def test_a_ball_bounces_at_the_same_times_in_any_units(unit):
    """Event by event; the lengths and speeds below which points touch and rest are still absolute, see above."""

    def answers(unit):
        b = lw.Builder("ball", (0, 0, -9.81 * unit.L / unit.T**2)).body("ball", joint=lw.Free(), **solids.sphere(unit.M, 0.1 * unit.L))
        robot = lw.Dynamics(b.ground().contact("ball", friction=0.5, restitution=0.6).model(), compiled=False)
        q, v = robot.neutral(), np.zeros(6)
        q[6], v[3] = 0.3 * unit.L, 0.4 * unit.L / unit.T
        run = lw.simulate(robot, (q, v), until=0.6 * unit.T, rtol=1e-9, atol=1e-12)
        return run.at(np.linspace(0, 0.6, 13) * unit.T).q[:, 4:] / unit.L

    same(answers(unit), answers(UNITS["as it is"]), 1e-6)


@every_unit
def test_impulses_of_contacts_scale_with_units(unit):
    """solve_contacts(A, b) with A in 1/mass and b a speed."""
    rng = np.random.default_rng(0)
    J = rng.standard_normal((6, 8))
    A, b, mu = J @ J.T, rng.standard_normal(6) - [1, 0, 0, 1, 0, 0], [0.4, 0.7]
    speed = unit.L / unit.T
    same(lw.solve_contacts(A / unit.M, b * speed, mu).force / (unit.M * speed), lw.solve_contacts(A, b, mu).force, 1e-9)
