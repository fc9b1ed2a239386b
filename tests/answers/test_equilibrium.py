"""Static balance: against closed forms, and where there is none."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import linkwork as lw
from linkwork.model import solids


def plain(model):
    return lw.Dynamics(model, compiled=False)


def hanging_chain(n, span, length=1.0, mass=0.3):
    """Equal rods on pins between (0, 0, 0) and (span, 0, 0), drawn along x in a zigzag that closes near q = 0."""
    b = lw.Builder(f"chain of {n}")
    for i in range(n):
        parent, at = (f"link{i - 1}", (length, 0, 0)) if i else (None, None)
        b.body(f"link{i}", parent, at, lw.Revolute(axis=(0, 1, 0)), joint_name=f"pin{i}", **solids.rod(mass, (length, 0, 0)))
    b.loop("end", None, f"link{n - 1}", lw.Revolute(axis=(0, 1, 0)), at=(span, 0, 0), on=(length, 0, 0))
    return b.model()


def exact_slopes(n, span, length=1.0):
    """Slopes of the rods at rest: tan aᵢ = (i − (n − 1)/2) w / H, H from the span:  Σ length cos aᵢ = span."""
    number = np.arange(n) - (n - 1) / 2
    ratio = brentq(lambda x: length * np.cos(np.arctan(x * number)).sum() - span, 1e-6, 1e6, xtol=1e-15, rtol=8.9e-16)
    return np.arctan(ratio * number), 1 / ratio


def test_a_chain_of_fifty_links_hangs_as_the_exact_discrete_catenary():
    """tan aᵢ₊₁ − tan aᵢ = m g / H: each pin carries H along x, and vertical forces differ by a weight."""
    n, span = 50, 30.0
    robot = plain(hanging_chain(n, span))
    bend = 1.2 * np.linspace(1, -1, n)  # slopes of a rough arc, down and up again
    rest = robot.equilibrium(np.diff(bend, prepend=0.0))
    slopes, horizontal = exact_slopes(n, span)
    assert rest.stability == "stable"
    np.testing.assert_allclose(np.cumsum(rest.q), -slopes, atol=1e-10)
    weight = 0.3 * 9.81
    pull = rest.forces.wrenches["end"][f"link{n - 1}"][3:]
    R = robot.pose(rest.q, f"link{n - 1}")[:3, :3]
    np.testing.assert_allclose((R @ pull)[[0, 2]], [weight * horizontal, weight * n / 2], rtol=1e-9)


def bistable():
    """A parallelogram whose spring pulls it to one side or the other of the middle."""
    b = lw.Builder("bistable", gravity=(0, 0, 0))
    for name, x in (("left", 0.0), ("right", 2.0)):
        b.body(name, None, (x, 0, 0), lw.Revolute(), joint_name=name, **solids.rod(1.0, (0, 1, 0)))
    b.body("coupler", "left", (0, 1, 0), lw.Revolute(), joint_name="coupler", **solids.rod(1.0, (2, 0, 0)))
    b.loop("pin", "right", "coupler", lw.Revolute(), at=(0, 1, 0), on=(2, 0, 0))
    spring = lw.Spring("spring", None, "left", (0, -0.5, 0), (0, 1, 0), stiffness=50.0, length=1.35)
    return plain(b.model().with_forces(spring))


def test_a_bistable_four_bar_rests_on_both_sides_and_unstably_in_between():
    """The spring is as long as it likes where  |(sin q, cos q) + (0, ½)| = 1.35;  straight up it is pressed."""
    robot = bistable()
    angle = np.arccos(1.35**2 - 1.25)
    closed = lambda q: robot.assemble([q, q, -q], hold=["left"])
    for start in (0.3, 0.1, 1e-3):
        for sign in (1, -1):
            rest = robot.equilibrium(closed(sign * start))
            assert rest.stability == "stable" and np.isclose(rest.q[0], sign * angle, atol=1e-9)
    middle = robot.equilibrium(closed(0.2), search="forces")
    assert middle.stability == "unstable" and np.allclose(middle.q, 0, atol=1e-10)
    assert robot.equilibrium(closed(0.0)).stability == "stable"  # down from where the energy is highest, exactly
    assert robot.equilibrium(closed(0.7), search="forces").stability == "stable"
    assert middle.energy > robot.equilibrium(closed(0.3)).energy + 0.1
    assert len(middle.coordinates) == 1 and middle.eigenvalues[0] < 0


ROBOTS = ["pendulum", "double_pendulum", "spherical_pendulum", "cartpole", "four_bar", "slider_crank", "governor", "cable:3", "arm_6r"]


@pytest.mark.parametrize("name", ROBOTS)
def test_at_rest_the_energy_is_stationary_along_what_constraints_allow(name):
    """δU = 0 to first order, and not less to second order where it is said to be stable."""
    robot = plain(lw.load(name))
    start = robot.constraints.random_state(seed=2)[0] if robot.constraints else robot.random_state(seed=2)[0]
    rest = robot.equilibrium(start)
    assert rest.stability in ("stable", "indifferent") and rest.residual < 1e-9
    before = robot.potential_energy(rest.q)
    for k, d in zip(rest.eigenvalues, rest.directions.T):
        h = 1e-4
        both = []
        for s in (h, -h):
            q = robot.integrate(rest.q, s * d)
            q = robot.assemble(q) if robot.constraints else q
            both.append(robot.potential_energy(q) - before)
        scale = max(np.abs(rest.eigenvalues).max(), 1e-9)
        assert abs(both[0] - both[1]) / (2 * h) < 1e-6 * scale  # U′ = 0
        if not any("singular" in note for note in rest.notes):
            assert np.isclose(sum(both) / h**2, k, atol=1e-3 * scale)  # U″ is the eigenvalue


def hung_by_springs():
    """A free body on three springs, another on a ball joint below it."""
    b = lw.Builder("hung")
    b.body("plate", joint=lw.Free(), joint_name="free", **solids.box(2.0, (0.6, 0.4, 0.1)))
    b.body("bob", "plate", (0.1, 0, 0), lw.Spherical(stiffness=0.5), joint_name="ball", **solids.sphere(1.0, 0.1, (0, 0.1, -0.5)))
    corners = (0.3, 0.2, 0), (-0.3, 0.2, 0), (0, -0.2, 0)
    springs = [lw.Spring(f"s{i}", None, "plate", (*np.array(x[:2]) * 2, 1.0), x, 80.0, 0.4, 1.0) for i, x in enumerate(corners)]
    return b.model().with_forces(*springs)


MODELS = {"double_pendulum": lw.load("double_pendulum"), "four_bar": lw.load("four_bar"), "hung": hung_by_springs()}


@pytest.mark.parametrize("name", MODELS)
def test_at_rest_nothing_accelerates(name):
    """𝓜⁻¹ (τ + Q − g + Jc* λ) = 0, by forward dynamics."""
    robot = plain(MODELS[name])
    tau = 0.1 * np.cos(np.arange(robot.nv)) * (name != "hung")
    rest = robot.equilibrium(robot.random_state(seed=3)[0], tau)
    still = np.zeros(robot.nv)
    assert rest.stability == "stable"
    assert np.abs(robot.forward_dynamics(rest.q, still, tau + robot.passive_force(rest.q, still))).max() < 1e-9


def test_a_spherical_pendulum_hangs_down_however_it_is_turned_about_the_vertical():
    robot = plain(lw.load("spherical_pendulum"))
    for seed in range(5):
        rest = robot.equilibrium(robot.random_state(seed=seed)[0])
        assert rest.stability == "indifferent" and rest.indifferent.shape == (3, 1)
        np.testing.assert_allclose(robot.pose(rest.q, "end")[:3, 3], (0, 0, -1), atol=1e-10)
        np.testing.assert_allclose(np.abs(rest.indifferent[:, 0]), (0, 0, 1), atol=1e-10)
    up = robot.equilibrium([1.0, 0, 0, 0], search="forces")
    assert up.stability == "unstable" and np.allclose(np.sort(up.eigenvalues)[:2], -10.3005)


def test_a_satellite_that_floats_is_indifferent_to_rigid_motions():
    robot = plain(lw.load("satellite"))
    rest = robot.equilibrium(robot.random_state(seed=0)[0])
    assert rest.stability == "indifferent" and rest.indifferent.shape[1] == 8  # six of the craft, two drives without springs
    np.testing.assert_allclose(rest.q[[8, 9, 10, 12, 13, 14]], 0, atol=1e-10)
    assert "indifferent" in str(rest)


@pytest.mark.parametrize("search", ["energy", "forces"])
def test_where_nothing_balances_a_force_there_is_no_equilibrium(search):
    b = lw.Builder("slider")
    b.body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), joint_name="rail", mass=2.0)
    robot = plain(b.model())
    with pytest.raises(lw.EquilibriumError, match="rail"):
        robot.equilibrium([0.0], tau=[3.0], search=search)
    assert robot.equilibrium([0.2], tau=[0.0]).stability == "indifferent"


def test_a_body_that_falls_and_a_motor_that_is_too_strong_have_no_equilibrium():
    with pytest.raises(lw.EquilibriumError, match="falls without end"):
        plain(lw.load("free_body")).equilibrium(lw.Dynamics(lw.load("free_body")).neutral())
    pendulum = plain(lw.load("pendulum"))
    with pytest.raises(lw.EquilibriumError, match="joint1"):
        pendulum.equilibrium([0.1], tau=[1.01 * 4.905])
    assert np.isclose(pendulum.equilibrium([0.1], tau=[0.5 * 4.905]).q[0], np.pi / 6)


def test_a_start_with_open_loops_and_far_away_is_assembled_and_comes_to_rest():
    robot = plain(lw.load("four_bar"))
    for seed in range(4):
        rest = robot.equilibrium(robot.random_state(seed=seed)[0])
        assert rest.stability == "stable" and robot.constraint_report(rest.q).closed


def test_drives_hold_joints_where_they_are_at_a_time():
    """A double pendulum whose first joint is driven to f(t): the second hangs down."""
    b = lw.Builder("driven")
    b.body("a", joint=lw.Revolute(axis=(0, 1, 0)), joint_name="a", **solids.rod(1.0, (0, 0, -1)))
    b.body("b", "a", (0, 0, -1), lw.Revolute(axis=(0, 1, 0)), joint_name="b", **solids.rod(1.0, (0, 0, -1)))
    b.drive("a", lambda t: 0.5 * t)
    robot = plain(b.model())
    rest = robot.equilibrium([0.0, 0.1], t=1.2)
    np.testing.assert_allclose(rest.q, [0.6, -0.6], atol=1e-12)
    assert np.isclose(rest.forces.tau[0], 9.81 * 1.5 * np.sin(0.6))
    with pytest.raises(lw.LinkworkError, match="say when"):
        robot.equilibrium([0.0, 0.1])


def test_limits_stop_joints_and_push_back_only():
    """A pendulum that may not pass 0.3 rests there under a torque that would bring it farther, and off it under none."""
    b = lw.Builder("p")
    b.body("bob", joint=lw.Revolute(axis=(0, 1, 0), lower=-1.0, upper=0.3), joint_name="pin", mass=1.0, center=(0, 0, -1))
    robot = plain(b.model())
    stopped = robot.equilibrium([0.0], tau=[5.0], limits=True)
    assert stopped.q[0] == 0.3 and np.isclose(stopped.stops["pin at its upper limit"], 9.81 * np.sin(0.3) - 5.0)
    assert "beyond its upper limit" in robot.equilibrium([0.0], tau=[5.0]).notes[0]
    free = robot.equilibrium([0.3], limits=True)
    assert not free.stops and abs(free.q[0]) < 1e-12
    with pytest.raises(lw.EquilibriumError):
        robot.equilibrium([0.0], tau=[20.0])
    assert robot.equilibrium([0.0], tau=[20.0], limits=True).q[0] == 0.3


def test_limits_stop_a_linkage_too():
    """A four-bar that would sink farther stops where its rocker may not turn on; the limit carries what is left."""
    model = lw.load("four_bar")
    free = plain(model).equilibrium(np.zeros(3))
    bound = float(free.q[2] / 2)
    way = {"upper": bound} if bound > 0 else {"lower": bound}
    joints = tuple(replace(x, joint=lw.Revolute(**way)) if x.name == "rocker_joint" else x for x in model.joints)
    robot = plain(replace(model, joints=joints))
    rest = robot.equilibrium(np.zeros(3), limits=True)
    ((name, force),) = rest.stops.items()
    assert name.startswith("rocker_joint") and rest.q[2] == bound and force * bound < 0 and rest.energy > free.energy
    still, own = np.zeros(3), np.array([0.0, 0.0, force])
    assert np.abs(robot.forward_dynamics(rest.q, still, own)).max() < 1e-9


def test_dry_friction_is_told_of():
    b = lw.Builder("p")
    b.body("bob", joint=lw.Revolute(axis=(0, 1, 0), friction=0.4), joint_name="pin", mass=1.0, center=(0, 0, -1))
    rest = plain(b.model()).equilibrium([0.5])
    assert abs(rest.q[0]) < 1e-12 and "dry friction (pin)" in str(rest) and "set" in rest.notes[0]


def test_forces_without_an_energy_are_balanced_and_not_judged_by_stiffness():
    """A push that turns with its body (Beck's column, lumped): K is not symmetric."""
    b = lw.Builder("column", gravity=(0, 0, 0))
    for i in range(2):
        parent, at = (f"l{i - 1}", (0, 0, 1)) if i else (None, None)
        b.body(f"l{i}", parent, at, lw.Revolute(axis=(0, 1, 0), stiffness=1.0), **solids.rod(1.0, (0, 0, 1)))
    push = lw.Push("push", "l1", force=(0, 0, -0.5), at=(0, 0, 1), axes="body")
    robot = plain(b.model().with_forces(push))
    rest = robot.equilibrium([0.1, -0.2])
    assert rest.search == "forces" and np.allclose(rest.q, 0, atol=1e-12) and rest.stability == "not known"
    assert np.isnan(rest.energy) and "push has no potential energy" in rest.notes[0]
    with pytest.raises(lw.OptionError, match='search="forces"'):
        robot.equilibrium([0.1, -0.2], search="energy")


def test_wrenches_from_outside_are_balanced():
    robot = plain(lw.load("double_pendulum"))
    push = np.zeros((2, 6))
    push[1, 1] = 0.7
    rest = robot.equilibrium([0.1, 0.2], external=push)
    zero = np.zeros(2)
    np.testing.assert_allclose(robot.inverse_dynamics(rest.q, zero, zero, push), 0, atol=1e-12)


def test_a_rolling_disk_leans_on_nothing_and_rests_upright_among_many():
    """Rows on velocities: there are more configurations at rest than one."""
    robot = plain(lw.load("rolling_disk"))
    rest = robot.equilibrium(robot.neutral())
    assert rest.search == "forces" and rest.residual < 1e-9


def test_precision_of_what_comes_is_that_of_what_goes():
    robot = lw.Dynamics(lw.load("double_pendulum"), compiled=False)
    rest = robot.equilibrium(np.array([0.3, 0.2], np.float32))
    assert rest.q.dtype == rest.stiffness.dtype == np.float32 and np.abs(rest.q).max() < 1e-7


def test_a_mechanism_that_cannot_move_is_at_rest():
    b = lw.Builder("block")
    b.body("block", mass=1.0)
    rest = plain(b.model()).equilibrium([])
    assert rest.stability == "stable" and rest.q.shape == (0,) and rest.stiffness.shape == (0, 0)
    couplings = lw.Coupling("a", "joint1", None, (0.3,)), lw.Coupling("b", "joint2", None, (0.1,))
    rest = plain(replace(lw.load("double_pendulum"), couplings=couplings)).equilibrium([0.0, 0.0])
    assert np.allclose(rest.q, [0.3, 0.1]) and rest.eigenvalues.shape == (0,)


def test_a_body_without_mass_needs_none_to_rest():
    b = lw.Builder("massless")
    b.body("bar", joint=lw.Revolute(axis=(0, 1, 0), stiffness=2.0, rest=0.4), joint_name="pin")
    assert np.allclose(plain(b.model()).equilibrium([1.0]).q, 0.4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.equilibrium(np.zeros((4, 2))), "goes through a batch"),
        (lambda r: r.equilibrium([0.0]), "shape"),
        (lambda r: r.equilibrium([np.nan, 0.0]), "not finite"),
        (lambda r: r.equilibrium([0.0, 0.0], tau=[np.inf, 0.0]), "not finite"),
        (lambda r: r.equilibrium([0.0, 0.0], search="newton"), '"energy"'),
    ],
)
def test_what_cannot_be_asked_is_refused(call, said):
    with pytest.raises(lw.LinkworkError, match=said):
        call(plain(lw.load("double_pendulum")))


def test_compiled_and_plain_runs_come_to_the_same_rest():
    rests = [lw.Dynamics(lw.load("four_bar"), compiled=x).equilibrium(np.zeros(3)) for x in (False, True)]
    np.testing.assert_allclose(rests[0].q, rests[1].q, atol=1e-11)
    np.testing.assert_allclose(rests[0].lam, rests[1].lam, atol=1e-9)


@pytest.mark.parametrize(("length", "mass"), [(1e-9, 1e-26), (1e4, 1e7)])
def test_molecules_and_ships_come_to_rest_alike(length, mass):
    robot = plain(lw.mechanisms.double_pendulum(length=length, mass=mass))
    rest = robot.equilibrium([2.0, 1.0])
    assert rest.stability == "stable" and np.abs(rest.q).max() < 1e-10
    np.testing.assert_allclose(rest.eigenvalues / (mass * 9.81 * length), [0.34863, 2.15137], rtol=1e-4)


def test_an_angle_of_many_turns_and_a_soft_spring_far_away_are_no_trouble():
    turns = plain(lw.load("double_pendulum")).equilibrium([1e6, -1e5])
    assert turns.stability == "stable" and np.abs(np.sin(np.cumsum(turns.q))).max() < 1e-9
    b = lw.Builder("soft")
    b.body("a", joint=lw.Prismatic(stiffness=1e-4), joint_name="a", mass=5.0)
    assert np.isclose(plain(b.model()).equilibrium([0.0]).q[0], -5 * 9.81e4)


def test_a_spring_with_both_ends_at_one_point_is_no_rest():
    b = lw.Builder("tip", gravity=(0, 0, 0))
    b.body("a", joint=lw.Revolute(axis=(0, 1, 0)), joint_name="a", **solids.rod(1.0, (0, 0, -1)))
    model = b.model()
    robot = plain(model.with_forces(lw.Spring("s", None, "a", (0, 0, -1), (0, 0, -1), 10.0, 0.5)))
    with pytest.raises(lw.EquilibriumError, match='spring "s"'):
        robot.equilibrium([0.0])
    assert np.isclose(abs(robot.equilibrium([0.01]).q[0]), 2 * np.arcsin(0.25))


@pytest.mark.parametrize("name", ["chain:5", "planar_3r", "arm_6r", "four_bar", "slider_crank"])
def test_at_limits_forces_balance_and_every_limit_pushes(name):
    """q within limits,  f ≥ 0 only where q is at one,  𝓜⁻¹ (τ + Q + f − g + Jc* λ) = 0."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        model = lw.load(name)
        bounds = {x.name: (-rng.uniform(0.05, 1), rng.uniform(0.05, 1)) for x in model.joints}
        joints = (replace(x, joint=replace(x.joint, lower=bounds[x.name][0], upper=bounds[x.name][1])) for x in model.joints)
        robot = plain(replace(model, joints=tuple(joints)))
        tau = np.zeros(robot.nv) if robot.constraints else 5 * rng.standard_normal(robot.nv)
        rest = robot.equilibrium(np.zeros(robot.nq) if robot.constraints else rng.uniform(-2, 2, robot.nq), tau, limits=True)
        pushes = np.zeros(robot.nv)
        for i, (lower, upper) in enumerate(bounds.values()):
            for name_of, bound, side in (("lower", lower, 1), ("upper", upper, -1)):
                force = rest.stops.get(f"{robot.joints[i]} at its {name_of} limit", 0.0)
                assert side * (rest.q[i] - bound) >= 0 and side * force >= -1e-9 and (force == 0 or rest.q[i] == bound)
                pushes[i] += force
        still = np.zeros(robot.nv)
        assert np.abs(robot.forward_dynamics(rest.q, still, tau + pushes + robot.passive_force(rest.q, still))).max() < 1e-6


@pytest.mark.parametrize("start", [0.0, -2.0, 1.5, 3.0, 5.0])
def test_a_motor_that_just_holds_finds_the_rest_between_two_turns(start):
    """m g l/2 sin q = τ: there is a rest in every turn, though the energy falls from one to the next."""
    rest = plain(lw.load("pendulum")).equilibrium([start], tau=[0.999 * 4.905])
    assert rest.stability == "stable" and np.isclose(np.sin(rest.q[0]), 0.999)


def test_a_craft_on_two_springs_rests_where_hardly_anything_pushes_back():
    """Along some motions the energy changes with the fourth power only."""
    rng, model = np.random.default_rng(1), lw.load("satellite:1")
    ends = [(body.name, tuple(rng.uniform(-1, 1, 3)), tuple(rng.uniform(-0.1, 0.1, 3))) for body in model.bodies[-2:]]
    robot = plain(model.with_forces(*(lw.Spring(f"to {name}", None, name, at, on, 20.0, 0.1) for name, at, on in ends)))
    rest = robot.equilibrium(robot.random_state(seed=1)[0])
    assert rest.stability == "indifferent" and rest.residual < 1e-12


@pytest.mark.parametrize("name", ["double_pendulum", "spherical_pendulum"])
def test_loops_over_joints_come_to_the_same_rest(name):
    robots = [lw.Dynamics(lw.load(name), compiled=False), lw.Dynamics(lw.load(name), rolled=True)]
    q = robots[0].random_state(seed=4)[0]
    np.testing.assert_allclose(*(robot.pose(robot.equilibrium(q).q, "end") @ [0, 0, 0, 1] for robot in robots), atol=1e-9)


def test_a_search_is_no_part_of_a_kernel():
    robot = lw.Dynamics(lw.load("pendulum"))
    with pytest.raises(lw.LinkworkError, match="part of a kernel"):
        robot.kernel(lambda q: robot.equilibrium(q).q)([0.1])


def test_a_force_is_told_in_the_unit_of_its_coordinate():
    """A sliding spring: N and N/m, whatever the size of the mechanism; a mode: N/√kg and 1/s²."""
    lift = lw.Builder("lift").body("car", joint=lw.Prismatic(axis=(0, 0, 1), stiffness=200.0), mass=3.0)
    lift.body("arm", "car", (7, 0, 0), lw.Revolute(axis=(0, 1, 0), stiffness=5.0), tensor=(1, 1, 1))
    robot = plain(lift.model())
    rest = robot.equilibrium(np.zeros(2))
    assert " N left" in str(rest) and "200 N/m" in str(rest) and "5 N m" in str(rest) and repr(rest).endswith(" N)")
    with pytest.raises(lw.EquilibriumError, match=r"forces of up to 29\.4 N are not balanced"):
        robot.modes(np.zeros(2))
    bar = lw.FlexibleBody.beam(1.0, lw.sections.rectangle(0.02, 0.01, lw.sections.STEEL), count=1, directions="y")
    robot = plain(lw.Builder("bar", gravity=(0, -9.81, 0)).flexible("bar", bar).model())
    assert " 1/s²" in str(robot.equilibrium(np.zeros(1)))
    with pytest.raises(lw.EquilibriumError, match="N/√kg are not balanced"):
        robot.modes(np.zeros(1))
