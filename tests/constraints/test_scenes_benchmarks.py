"""Published motions of mechanisms with loops: S2, S3, S5 and S10 of the library of benchmarks (IFToMM, IVP test set)."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw

from .benchmarks import NAMES, START, andrews, andrews_force, car_axis, ordered
from .gallery import motion, n_four_bar, spatial_slider_crank

# --- S2: windows in a row, whose freedoms jump from 1 to n + 1 each time the cranks are level

CORNER = {
    (1, 1): (-0.2607126752, -0.9654164392, -6.637809496, 1.792553970),
    (1, 10): (0.4783850578, 0.8781501788, 1.727264076, -0.940952179),
    (2, 1): (-0.1950203019, -0.9807992057, -6.676678037, 1.327578325),
    (2, 5): (-0.8113104610, -0.5846155454, -3.569117397, 4.953105171),
    (2, 10): (0.3284581115, 0.9445185382, 1.423051470, -0.494868845),
    (40, 1): (-0.1153568806, -0.9933241113, -6.669987524, 0.774600099),
}


def windows(n):
    """n windows, cranks upright, on their way."""
    robot = lw.Dynamics(n_four_bar(n))
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    for joint in robot.joints:
        q[robot.q_index(joint)], v[robot.v_index(joint)] = (np.pi / 2, -1) if joint.startswith("crank") else (-np.pi / 2, 1)
    return robot, q, v


def swing(n, times, rtol):
    """Position and velocity of the first corner at times of a swing, and how open it ever was then."""
    robot, q, v = windows(n)
    path = motion(robot, (q, v), times, rtol=rtol)
    moving = np.matvec(robot.jacobian(path.q, "coupler0", "world"), path.v)[:, 3:5]
    return np.hstack([path.pose("coupler0")[:, :2, 3], moving])[1:], np.abs(robot.constraints.residual(path.q)).max()


@pytest.mark.parametrize("n", [1, 2])
def test_windows_swing_as_published_through_every_rank_loss(n):
    """S2, seven digits: in ten seconds the cranks are level thirteen times. A stage that falls next to one of these may cost a
    digit, but no run ends, or goes another way."""
    times = [t for many, t in CORNER if many == n]
    wanted = np.array([CORNER[n, t] for t in times])
    found, open_ = zip(*(swing(n, times, rtol=rtol) for rtol in (1e-10, 7e-11, 5e-11, 3e-11, 1e-11)))
    np.testing.assert_allclose(np.median(found, 0), wanted, rtol=2e-7)
    np.testing.assert_allclose(found, np.broadcast_to(wanted, np.shape(found)), rtol=2e-5)
    assert max(open_) < 1e-14


@pytest.mark.slow
def test_forty_windows_swing_as_published_past_their_first_rank_loss():
    """S2, N = 40: freedoms jump from 1 to 41 and back."""
    found, open_ = swing(40, [1.0], rtol=1e-8)
    np.testing.assert_allclose(found[0], CORNER[40, 1], rtol=1e-6)
    assert open_ < 1e-13


def test_at_the_rank_loss_itself_a_swing_is_a_state_like_others():
    """Level cranks: three freedoms in place of one, and projection leaves a velocity of the swing as it is."""
    robot, q, v = windows(2)
    level = np.zeros_like(q)
    report = robot.constraint_report(level)
    assert (report.mobility, report.generic_mobility, report.singular) == (3, 1, True)
    for x in (robot, lw.Dynamics(robot.model, compiled=False)):
        there, kept = x.constraints.project(level, v)
        np.testing.assert_allclose(there, level, rtol=0, atol=1e-15)
        np.testing.assert_allclose(kept, v, rtol=0, atol=1e-14)


# --- S3: Andrews' squeezing mechanism


@cache
def squeezer():
    robot = lw.Dynamics(andrews())
    q = np.zeros(7)
    for name, x in zip(NAMES, START):
        q[robot.q_index(name)] = x
    return robot, robot.constraints, q


def pulls(held, q, v, tau):
    """The multipliers of the published equations: the force on the second body of each cut, along the world's x and y."""
    cuts = held.constraint_forces(q, v, tau).cuts
    turned = {loop.name: held.robot.pose(q, loop.child)[:2, :2] for loop in held.robot.model.loops}
    return np.concatenate([R @ cuts[name][3:5] for name, R in turned.items()])


def test_the_squeezer_starts_as_published():
    """S3: q̈(0) and the multipliers, all digits given but the last."""
    robot, held, q = squeezer()
    np.testing.assert_allclose(held.residual(q), 0, rtol=0, atol=1e-15)
    tau = andrews_force(robot)(0.0, q, np.zeros(7))
    vdot = held.forward_dynamics(q, np.zeros(7), tau)
    np.testing.assert_allclose(ordered(robot, vdot, "v_index")[:2], [14222.4439199541, -10666.8329399656], rtol=1e-12)
    np.testing.assert_allclose(ordered(robot, vdot, "v_index")[2:], 0, rtol=0, atol=1e-8)
    expected = [98.5668703962411, -6.12268834425566, 0, 0, 0, 0]
    np.testing.assert_allclose(pulls(held, q, np.zeros(7), tau), expected, rtol=1e-11, atol=1e-9)


PLACES = {
    0.01: (2.160113131, -1.883364231, 0.158516758, -0.328641075, 0.525154775, 0.328641075, 1.068427205),
    0.02: (8.184905890, -7.890505364, 0.209536913, -0.238325597, 0.522536917, 0.238325597, 1.086275109),
    0.03: (15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948,
           0.5244099658805304, 0.5347301163226948, 1.048080741042263),
}  # fmt: skip
RATES = (1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385,
         0.5735699284790808, -19.29337464421385, 0.3231791658026955)  # fmt: skip
ACCELERATIONS = (-24631.76316945196, 51850.37701610329, 324102.5686413781, 566749.3645176213,
                 16743.62929479361, -566749.3645176222, 9826.520791458422)  # fmt: skip
MULTIPLIERS = 199.1753333731910, -29.75531228015052, 23.06654119098399, 31.45271365475927, 22.64249232082739, 11.61740700019673


def test_the_squeezer_moves_as_published():
    """S3. The published accelerations open the published loops at 2e-3 m/s², so that they and the multipliers, which follow
    from them, have six digits."""
    robot, held, q = squeezer()
    control = andrews_force(robot)
    path = motion(robot, (q, np.zeros(7)), PLACES, rtol=1e-11, control=control)
    np.testing.assert_allclose([ordered(robot, x, "q_index") for x in path.q[1:]], list(PLACES.values()), rtol=1e-8, atol=2e-9)
    q, v = path.q[-1], path.v[-1]
    tau = control(0.03, q, v)
    np.testing.assert_allclose(ordered(robot, v, "v_index"), RATES, rtol=1e-6)
    np.testing.assert_allclose(ordered(robot, held.forward_dynamics(q, v, tau), "v_index"), ACCELERATIONS, rtol=2e-6)
    np.testing.assert_allclose(pulls(held, q, v, tau), MULTIPLIERS, rtol=2e-6)


# --- S5: the spatial slider-crank

TABLE = {  # t: crank angle and rate, slider's place and speed
    0.1: (0.56003148209, 5.8288881347, 0.22678718855, 0.3052770069),
    0.2: (1.28724232688, 9.7828904658, 0.26303897258, 0.4260245652),
    0.5: (5.58376255331, 14.4081608102, 0.18495262978, -0.0045602906),
    1.0: (10.91359072987, 10.4275930004, 0.21172166139, -0.5034918649),
    2.0: (21.0727445228, 22.584240028, 0.2890851971, 0.2165394234),
    5.0: (54.333332168, 11.494996265, 0.2407195737, -0.595984412),
}


def test_the_spatial_slider_crank_moves_as_published():
    """S5, eight digits over five seconds."""
    robot = lw.Dynamics(spatial_slider_crank())
    held = robot.constraints
    crank, slider = robot.v_index("crank_joint").start, robot.v_index("slider_joint").start
    q, v = np.zeros(4), np.zeros(4)
    q[slider] = 0.2
    np.testing.assert_allclose(held.residual(q), 0, rtol=0, atol=1e-15)
    G, others = held.jacobian(q), [j for j in range(4) if j != crank]
    v[crank], v[others] = 6.0, np.linalg.solve(G[:, others], -6.0 * G[:, crank])
    assert abs(v[slider] - 0.24) < 1e-12
    path = motion(robot, (q, v), TABLE, rtol=1e-11)
    found = np.stack([path.q[:, crank], path.v[:, crank], path.q[:, slider], path.v[:, slider]], -1)
    np.testing.assert_allclose(found[1:], list(TABLE.values()), rtol=1e-8, atol=1e-9)


# --- S10: the car axis


@pytest.mark.slow
def test_the_car_axis_moves_as_published():
    """S10, with its multipliers: those of the published equations are scaled by ε² = 1e-4, that of the rod by two more."""
    robot, control = car_axis()
    q, v = np.array([0.0, 0.5, 1.0, 0.5]), np.array([-0.5, 0.0, -0.5, 0.0])
    q, v = motion(robot, (q, v), [3.0], rtol=1e-10, control=control)[-1]
    np.testing.assert_allclose(q, [0.0493455784275402809, 0.496989460230171154, 1.04174252488542152, 0.373911027265361257], rtol=1e-6)
    np.testing.assert_allclose(v, [-0.0770583684040972358, 0.00744686658723778553, 0.0175568157537232222, 0.770341043779251976], rtol=1e-6)
    lam = robot.constraints.solution(q, v, control(3.0, q, v), t=3.0).lam
    np.testing.assert_allclose(lam, [1e4 * -0.00473688659084893325, 2e4 * -0.00110468033125734369], rtol=1e-6)
