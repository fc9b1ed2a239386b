"""Published motions: IFToMM's pendulum, the heavy top, Drake's free body, a double pendulum, four cases of ADAMS.

Digits are those that independent solutions agree on; quaternions are printed w x y z.
"""

import numpy as np
import pytest

import linkwork as lw
from linkwork.lie.so3 import rotation_matrix
from linkwork.model import solids
from linkwork.spatial import Pose

FINE = {"method": "dop853", "rtol": 1e-13, "atol": 1e-13}


def xyzw(w, x, y, z):
    return np.array([x, y, z, w])


def at(robot, state, times, **how):
    """The trajectory at these times, each reached by a step of its own."""
    trajectory = lw.simulate(robot, state, until=0.0, **(FINE | how))
    rows = []
    for t in times:
        trajectory = trajectory.resume(t)
        rows.append(len(trajectory) - 1)
    assert trajectory.status == "finished"
    return trajectory.q[rows], trajectory.v[rows]


def close(a, b, digits):
    np.testing.assert_allclose(a, b, rtol=0, atol=digits)


def same_turn(q, expected, digits):
    """Equal, or the negative: both are the same attitude."""
    close(np.abs(np.vecdot(q, expected)), 1.0, digits)
    close(q * np.sign(np.vecdot(q, expected))[..., None], expected, digits)


def test_simple_pendulum():
    """S1: x = −sin q, y = −cos q; starts horizontal; energy stays zero."""
    builder = lw.Builder("A01").body("bob", joint=lw.Revolute(axis=(0, 1, 0)), **solids.point(1.0, (0, 0, -1)))
    robot = lw.Dynamics(builder.model())
    q, v = at(robot, ([np.pi / 2], [0.0]), (1.0, 5.0, 9.99, 10.0))
    q, v = q[:, 0], v[:, 0]
    close(np.stack([-np.sin(q), -np.cos(q), -v * np.cos(q), v * np.sin(q)], -1), [
        [0.9862917511318753, -0.1650108531255412, 0.2969055159163158, 1.774643641112656],
        [-0.9423054350437573, -0.3347543384140006, 0.8579042568859491, -2.414928654370489],
        [-0.3164364699130323, -0.9486137045757765, 4.092451991494021, -1.365151120240305],
        [-0.2750874625761169, -0.9614192050991251, 4.175598100951729, -1.194749054560475],
    ], 1e-10)  # fmt: skip
    close(robot.kinetic_energy(q[:, None], v[:, None]) + robot.potential_energy(q[:, None]), 0, 1e-11)


def test_simple_pendulum_period():
    """Four times the way to the bottom."""
    robot = lw.Dynamics(lw.Builder("A01").body("bob", joint=lw.Revolute(axis=(0, 1, 0)), **solids.point(1.0, (0, 0, -1))).model())
    bottom = lw.Event(lambda t, q, v: q[0], "bottom", terminal=True)
    run = lw.simulate(robot, ([np.pi / 2], [0.0]), until=5.0, events=[bottom], **FINE)
    assert run.status == "event"
    close(4 * run.t[-1], 2.367841947576237, 1e-11)


def test_heavy_top():
    """S4: Brüls and Cardona's top."""
    robot = lw.Dynamics(lw.load("top"))
    start = robot.neutral(), np.array([0, 150, -4.61538])
    close(robot.forward_dynamics(*start, np.zeros(3)), [661.34616923, 0, 0], 1e-8)
    q, v = at(robot, start, (0.1, 0.2, 0.5, 1.0, 2.0))
    center = robot.center_of_mass(q)
    close(center, [
        [0.4212966589, 0.8945719743, -0.1491647006],
        [0.6055505614, 0.5989576818, -0.5239830274],
        [-0.7024682971, -0.0211651847, -0.7114002577],
        [0.1733439641, 0.6400885921, -0.7484907911],
        [-0.1504168227, -0.7241655916, -0.6730222696],
    ], 2e-10)  # fmt: skip
    same_turn(q, np.array([
        xyzw(0.3318229126, 0.1773380567, 0.9149751591, -0.1458260144),
        xyzw(-0.708279153, 0.4387810881, 0.5457283961, 0.0893997528),
        xyzw(0.5845606241, -0.7006628954, 0.384325753, 0.1401930788),
        xyzw(0.7329439807, -0.2782857193, 0.5318246113, -0.3201761427),
        xyzw(0.122947135, -0.4910798926, 0.3504300303, -0.7879868876),
    ]), 1e-9)  # fmt: skip
    close(v[:, 1], 150, 1e-9)
    close(v[:, ::2], [
        [4.808941332, 1.028300757], [-2.691590912, 4.91726099], [-0.471053102, 5.901083048],
        [-0.822078102, -5.923291348], [0.1222332195, -5.855624589],
    ], 2e-9)  # fmt: skip
    close(robot.kinetic_energy(q, v) + robot.potential_energy(q), 5435.696790866, 1e-8)


def test_torque_free_axisymmetric_body():
    """S6: turns about its momentum at |H|/I, and about its own axis at s/t = (I − J)/I ω; its centre falls."""
    I, J = 0.04, 0.02
    model = lw.Builder("free body").body("body", joint=lw.Free(), mass=1.0, tensor=(I, I, J)).model()
    robot = lw.Dynamics(model)
    start = np.array([0, 0, 0, 1, 1, 2, 3.0]), np.array([2, 4, 6, -4.2, 5.5, 6.1])
    t = np.array([1.0, 10.0])
    q, v = at(robot, start, t)
    same_turn(q[:, :4], np.array([
        xyzw(-0.30493638853, 0.333018098446, -0.137999998421, -0.881515028513),
        xyzw(-0.185871916512, 0.195938189834, -0.785967065293, -0.556161513134),
    ]), 1e-10)  # fmt: skip
    close(v[:, :3], [[-1.415504960961, -4.242210002522, 6], [-3.643623596596, 2.593069047736, 6]], 1e-10)
    t = t[:, None]
    close(q[:, 4:], start[0][4:] + start[1][3:] * t - [0, 0, 9.81] * t * t / 2, 1e-10 * 500)


def test_double_pendulum():
    """S9: point masses, let go from the horizontal; angles from the downward vertical."""
    bob = solids.point(1.0, (0, 0, -1))
    builder = lw.Builder("double pendulum").body("upper", joint=lw.Revolute(axis=(0, 1, 0)), **bob)
    builder.body("lower", "upper", (0, 0, -1), lw.Revolute(axis=(0, 1, 0)), **bob)
    q, v = at(lw.Dynamics(builder.model()), ([np.pi / 2, 0.0], [0.0, 0.0]), (1.0, 2.0, 3.0, 5.0))
    close(np.concatenate([q.cumsum(-1), v.cumsum(-1)], -1), [
        [-0.625087699806391, -1.03458508568001, -3.92227957288798, -1.30309924869633],
        [-0.482971534251754, -1.32404871230236, 3.0652881920734, 2.94927154757162],
        [1.78579552207742, 1.11810746120516, 0.327980619514456, -0.504455103945312],
        [-0.627186705066531, -1.30131555020981, 2.12540867384291, 3.88188872726561],
    ], 1e-10)  # fmt: skip


# --- S11: one body of 1 kg, let go; ADAMS gives five or six digits

BODY = {"mass": 1.0, "tensor": (0.04, 0.1, 0.1)}
HANG = Pose.rpy((1, 2, 3), (-np.pi / 4, 0, 0))
ADAMS = (0.0, 0.0, -9.80665)
CASES = {
    "revolute": (
        lw.Builder("a", ADAMS).body("body", None, HANG, lw.Revolute(), **BODY, joint_on=(-2, 0, 0)),
        [[1.04210, 3.41390, 1.58610], [1.20996, 3.40640, 1.59360]],
        [xyzw(0.660122, -0.273432, 0.267735, 0.646368), xyzw(0.686717, -0.284447, 0.256001, 0.618040)],
    ),
    "spherical": (
        lw.Builder("b", ADAMS).body("body", None, HANG, lw.Spherical(), **BODY, joint_on=(-2, 0, 0)),
        [[0.107619, 2, 1.21012], [-0.999684, 2, 2.96444]],
        [xyzw(0.486161, -0.201375, 0.785621, 0.325415), xyzw(0.00821332, -0.00340207, 0.923843, 0.382668)],
    ),
    "spring": (
        lw.Builder("c", ADAMS).body("body", None, None, lw.Free(), **BODY),
        [[0, -0.5973274, -2.189069], [0, -1.945198, -0.767401]],
        [xyzw(1, 0, 0, 0), xyzw(1, 0, 0, 0)],
    ),
    "distance": (
        lw.Builder("d", ADAMS)
        .body("link", None, None, lw.Universal(axes=((1, 0, 0), (0, 0, 1))))
        .body("body", "link", Pose.rpy((0, 2, 0), (0, 0, -np.pi / 2)), lw.Spherical(), **BODY, joint_on=(2, 0, 0)),
        [[0, 1.588488, -3.670108], [0, 3.955759, -0.3015866]],
        [xyzw(0.5869209, -0.3943651, -0.3943651, -0.5869209), xyzw(0.706868, 0.01837603, 0.01837603, -0.706868)],
    ),
}  # fmt: skip


def spring(robot):
    """Of stiffness 100, damping 5 and free length 2 between the origin and the centre of mass."""

    def wrench(t, q, v):
        T = robot.pose(q, "body")
        x, velocity = T[:3, 3], T[:3, :3] @ v[3:]
        length = np.linalg.norm(x)
        force = -(100 * (length - 2) + 5 * (x @ velocity) / length) * x / length
        return np.concatenate([np.zeros(3), T[:3, :3].T @ force])[None]

    return wrench


@pytest.mark.parametrize("case", CASES)
def test_adams(case):
    builder, centers, turns = CASES[case]
    robot = lw.Dynamics(builder.model())
    start, external = robot.neutral(), None
    if case == "spring":
        start[5], external = 2.0, spring(robot)
    q, _ = at(robot, (start, np.zeros(robot.nv)), (1.0, 5.0), external=external, rtol=1e-10, atol=1e-10)
    close(robot.center_of_mass(q), centers, 5e-6)
    R = robot.pose(q, "body")[..., :3, :3]
    close(R, rotation_matrix(np.array(turns)), 5e-6)
