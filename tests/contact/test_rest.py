"""Mechanisms that rest on each other for long, and a top that rises: runs beside closed forms."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scenes import G

import linkwork as lw

MODELS = Path(__file__).parents[1] / "models"
LONG = 100.0  # s


def at_rest(robot, q, until, dt):
    """A run from rest in which contacts are solved in every step."""
    run = lw.simulate(robot, (q, np.zeros(robot.nv)), until=until, method="contact", dt=dt)
    assert run.status == "finished" and not run.message and run.contact.residual.max() < 1e-8
    return run


def stack(ratio):
    """Ten cubes, the top one heavier; each stands on the upper face of the one below, which is a plane of that body."""
    made = lw.Builder("stack").ground()
    for i in range(10):
        mass = ratio if i == 9 else 1.0
        shapes = lw.Shape("box", (1, 1, 1), name=f"cube{i}"), lw.Shape("plane", (), lw.Pose.of((0, 0, 0.5)), name=f"face{i}")
        made.body(f"body{i}", joint=lw.Free(), mass=mass, tensor=(mass / 6,) * 3, collisions=shapes)
        made.contact(f"cube{i}", f"face{i - 1}" if i else "ground", friction=0.5)
    robot = lw.Dynamics(made.model())
    q = robot.neutral()
    q[6::7] = np.arange(10) + 0.5
    return robot, q


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.0, 1e4])
def test_a_stack_of_ten_boxes_stands_for_20_seconds(ratio):
    """Below cube i the contact carries g Σ_{j ≥ i} m_j; nothing creeps by more than 1e-10 m/s."""
    robot, q = stack(ratio)
    run = at_rest(robot, q, 20.0, 0.05)
    masses = np.array([x.mass for x in robot.model.bodies])
    assert np.abs(run.q - q).max() < 2e-9
    assert np.allclose(run.contact.force[-1, :, 0].reshape(10, 8).sum(-1), G * np.cumsum(masses[::-1])[::-1], rtol=1e-7)


def arch(mu):
    """A half circle of five wedges of 36°, radii 1 and 1.4: four small balls in the lower face of each, on the plane of the next."""
    made, r = lw.Builder("arch").ground(), 0.01
    middle = [np.pi * (i + 0.5) / 5 for i in range(5)]
    centers = [np.array([1.2 * np.cos(a), 0, 1.2 * np.sin(a)]) for a in middle]

    def balls(k, angle, normal):
        at = [(x * np.cos(angle), y, x * np.sin(angle)) for x in (1.0, 1.4) for y in (-0.3, 0.3)]
        return [
            lw.Shape("sphere", (r,), lw.Pose.of(tuple(p + r * normal - centers[k])), name=f"ball{k}.{angle:.2f}.{i}")
            for i, p in enumerate(at)
        ]

    pairs = []
    for k in range(5):
        low, high = np.pi * k / 5, np.pi * (k + 1) / 5
        shapes = balls(k, low, np.array([-np.sin(low), 0, np.cos(low)]))
        pairs += [(x.name, f"face{k - 1}" if k else "ground") for x in shapes]
        if k == 4:
            shapes += balls(k, high, np.array([0, 0, 1.0]))
            pairs += [(x.name, "ground") for x in shapes[4:]]
        turn = (0.0, np.sin(-high / 2), 0.0, np.cos(high / 2))  # z to the normal of the upper face, (−sin, 0, cos)
        at = np.array([1.2 * np.cos(high), 0, 1.2 * np.sin(high)]) - centers[k]
        shapes.append(lw.Shape("plane", (), lw.Pose(turn, tuple(at)), name=f"face{k}"))
        made.body(f"block{k}", joint=lw.Free(), mass=1.0, tensor=(0.05,) * 3, collisions=tuple(shapes))
    for one, other in pairs:
        made.contact(one, other, friction=mu)
    robot = lw.Dynamics(made.model())
    q = robot.neutral()
    q.reshape(5, 7)[:, 4:] = centers
    return robot, q


@pytest.mark.slow
def test_an_arch_of_five_blocks_stands_for_100_seconds_and_falls_without_friction():
    """μ = 0.5 > tan 18°: its sides carry 5 m g, and nothing creeps by more than 1e-8 m. μ = 0.1: it comes down."""
    robot, q = arch(0.5)
    assert np.abs(robot.contact_gaps(q)).max() < 1e-12
    run = at_rest(robot, q, LONG, 0.05)
    assert np.abs(run.q - q).max() < 1e-8
    below = [i for i, name in enumerate(robot.contacts.names) if robot.contacts.second[i] < 0 or robot.contacts.first[i] < 0]
    assert np.isclose(run.contact.force[-1, below, 0].sum(), 5 * G, rtol=1e-8)
    loose, q = arch(0.1)
    fallen = lw.simulate(loose, (q, np.zeros(loose.nv)), until=0.3, method="contact", dt=0.01)
    assert fallen.q[-1, 2 * 7 + 6] < q[2 * 7 + 6] - 0.05


@pytest.mark.parametrize("legs", [4, 5])
def test_a_table_stands_on_its_legs_with_the_least_norm_of_forces(legs):
    """Ten seconds: λ = A⁺ (W, W x, W y) in each step, without creep."""
    places = [(1, 1), (-1, 1), (-1, -1), (1, -1), (0, 0)][:legs]
    feet = tuple(lw.Shape("sphere", (0.1,), lw.Pose.of((x, y, 0.1)), name=f"leg{i}") for i, (x, y) in enumerate(places))
    made = lw.Builder("table").body("top", joint=lw.Free(), mass=3.0, center=(0.2, 0.1, 1.0), tensor=(1.0, 1.0, 1.0), collisions=feet)
    robot = lw.Dynamics(made.ground().contact("top", friction=0.5).model(), compiled=False)
    run = at_rest(robot, robot.neutral(), 10.0, 0.1)
    A = np.array([[1.0] * legs, *np.transpose(places)])
    wanted = np.linalg.pinv(A) @ (3 * G * np.array([1, 0.2, 0.1]))
    assert np.allclose(run.contact.force[:, :, 0], wanted, rtol=1e-6) and np.abs(run.q - run.q[0]).max() < 1e-9


def test_a_fast_top_with_a_round_peg_rises_and_keeps_jelletts_invariant():
    """Peg of radius R, centre of mass l above its centre, axis e, contact a = −(l e + R z) from the centre of mass. Any force F there
    has d(L·a)/dt = (a × F)·a − l L·ė = 0, as L = I₁ e × ė + I₃ ω₃ e: −L·a = L·(l e + R z) is constant, whatever the friction. From rest
    but for a spin n it is I₃ n (l + R cos θ₀); friction raises the axis from 0.3 rad and the centre of mass with it."""
    R, ell, inertia, spin, tilt = 0.02, 0.01, 3e-5, 300.0, 0.3
    made = lw.Builder("top").body(
        "top", joint=lw.Free(), mass=0.1, center=(0, 0, ell), tensor=(inertia,) * 3, collisions=(lw.Shape("sphere", (R,)),)
    )
    robot = lw.Dynamics(made.ground().contact("top", friction=0.1).model())
    q = robot.neutral()
    q[:4], q[6] = (np.sin(tilt / 2), 0, 0, np.cos(tilt / 2)), R
    run = lw.simulate(robot, (q, np.array([0, 0, spin, 0, 0, 0])), until=1.0, method="contact", dt=2.5e-4)
    pose = robot.pose(run.q, "top")
    axis, L = pose[:, :3, 2], inertia * (pose[:, :3, :3] @ run.v[:, :3, None])[..., 0]
    jellett = (L * (ell * axis + R * np.array([0, 0, 1.0]))).sum(-1)
    assert not run.message and np.allclose(jellett, inertia * spin * (ell + R * np.cos(tilt)), rtol=1e-11)
    assert axis[0, 2] < 0.956 and axis[-1, 2] > 0.99 and run.contact.gap.min() > -1e-9


@pytest.mark.slow
def test_contacts_of_a_falling_humanoid_take_energy_and_leave_it_on_the_ground():
    """e = 0. Contacts change T by λ·(u_f + u⁺)/2 = λ·u⁺ − ½ λ* G λ ≤ 0 in each step; gaps are never below −|v| h, and at the end, lying,
    above −1e-6 m."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.load(MODELS / "humanoid_mjcf/humanoid.xml", contacts="ground")
    robot = lw.Dynamics(replace(model, joints=tuple(replace(x, joint=replace(x.joint, friction=0.0)) for x in model.joints)))
    q, v, h = robot.neutral(), np.zeros(robot.nv), 0.004
    q[6], v[1] = 1.3, 0.5
    run = lw.simulate(robot, (q, v), until=4.0, method="contact", dt=h)
    assert run.status == "finished" and not run.message
    for k in np.flatnonzero(run.contact.force[..., 0].max(-1) > 0)[::5]:
        half = robot.integrate(run.q[k + 1], -h / 2 * run.v[k + 1])
        J, force = robot.contact_jacobian(half), h * run.contact.force[k].ravel()
        after, G_force = J @ run.v[k + 1], J @ (robot.mass_matrix_inverse(half) @ (J.T @ force))
        assert force @ after - force @ G_force / 2 <= 1e-5
    speed = np.abs(run.v).max()
    assert run.contact.gap.min() > -speed * h and np.abs(run.v[-1]).max() < 0.05
    assert run.contact.gap[-1].min() > -1e-6
