"""Published numbers: the Puma 560 (Corke and Armstrong-Hélouvry 1994) and small chains and trees (tests of RBDL).

The Puma's digits are those on which the Robotics Toolbox and Pinocchio agree, RBDL's are of Featherstone's spatial_v1.
"""

import numpy as np
import pytest

import linkwork as lw

PI = np.pi
LINKS = [  # d, a, alpha, mass, centre, tensor about the centre
    (0.67183, 0.0, PI / 2, 0.0, (0, 0, 0), (0, 0.35, 0)),
    (0.0, 0.4318, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    (0.15005, 0.0203, -PI / 2, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
    (0.4318, 0.0, PI / 2, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.0, 0.0, -PI / 2, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.0, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
]
MOTORS = [  # inertia of the rotor, gear, viscous friction at the motor, dry friction at positive rates
    (200e-6, -62.6111, 1.48e-3, 0.395),
    (200e-6, 107.815, 0.817e-3, 0.126),
    (200e-6, -53.7063, 1.38e-3, 0.132),
    (33e-6, 76.0364, 71.2e-6, 11.2e-3),
    (33e-6, 71.923, 82.6e-6, 9.26e-3),
    (33e-6, 76.686, 36.7e-6, 3.96e-3),
]
QN = np.array([0, PI / 4, PI, 0, PI / 4, 0])
ZERO, ONE = np.zeros(6), np.ones(6)


@pytest.fixture(scope="module", params=["kernel", "plain"])
def puma(request):
    """Standard Denavit and Hartenberg; motors felt through their gears: G² Jm, G² B, |G| Tc."""
    table = [(0.0, d, a, alpha) for d, a, alpha, *_ in LINKS]
    joints = [lw.Revolute(armature=G**2 * Jm, damping=G**2 * B, friction=abs(G) * Tc) for Jm, G, B, Tc in MOTORS]
    model = lw.from_dh(table, name="puma560", bodies=[row[3:] for row in LINKS], joints=joints, strict=None)
    return lw.Dynamics(model, compiled=request.param == "kernel")


def close(a, b, digits=1e-10):
    np.testing.assert_allclose(a, b, rtol=0, atol=2 * digits)


def test_the_puma_holds_its_published_gravity_load(puma):
    close(puma.gravity_force(QN), [0, 31.6398803784, 6.035138023, 0, 0.0282528, 0])


def test_the_puma_has_the_published_inverse_dynamics(puma):
    """Newton and Euler at rest, moving, and at constant rates, without friction."""
    close(puma.inverse_dynamics(QN, ZERO, ONE),
          [3.3531108581, 36.002511244, 7.4259640774, 0.1900430346, 0.2034409311, 0.1941327899])  # fmt: skip
    close(puma.inverse_dynamics(QN, ONE, ONE),
          [1.962036487, 37.7854298333, 6.6739373224, 0.1912661164, 0.2058204096, 0.1942810742])  # fmt: skip
    close(puma.inverse_dynamics(QN, ONE, ZERO),
          [-1.3910743711, 33.4227989677, 5.2831112681, 0.0012230818, 0.0306322785, 0.0001482843])  # fmt: skip


def test_the_puma_with_friction_has_the_published_inverse_dynamics(puma):
    close(puma.inverse_dynamics(QN, ONE, ONE) - puma.passive_force(QN, ONE),
          [32.4952427549, 60.8669884751, 17.7435949128, 1.4545190261, 1.2991104105, 0.7137808875])  # fmt: skip


def test_the_puma_pushing_with_its_tool_has_the_published_torques(puma):
    """The tool exerts force (1, 2, 3) and moment (1, 2, 3) in its axes: the world pushes back with as much."""
    external = np.zeros((6, 6))
    external[5] = -1, -2, -3, -1, -2, -3
    close(puma.inverse_dynamics(QN, ZERO, ZERO, external),
          [0.6427563, 29.08664003, 4.70321251, 2.82842712, -1.9717472, 3], 1e-8)  # fmt: skip


def test_the_puma_has_the_published_mass_matrix(puma):
    expected = np.diag([3.6593754122, 4.4137419336, 0.9378415752, 0.1925317061, 0.1713484517, 0.1941045057])
    for i, j, value in [(0, 1, -0.404361246), (0, 2, 0.1006136478), (0, 3, -0.0025169558), (1, 2, 0.350890665),
                        (1, 4, 0.0023595131), (2, 4, 0.0014801664), (3, 5, 0.0000282843)]:  # fmt: skip
        expected[i, j] = expected[j, i] = value
    close(puma.mass_matrix(QN), expected)


def test_the_puma_has_the_published_coriolis_forces(puma):
    """C q̇ at rates (1, 2, 3, 1, 2, 3)."""
    qd = np.array([1.0, 2, 3, 1, 2, 3])
    close(puma.coriolis_matrix(QN, qd) @ qd,
          [-4.6344217633, 8.7257112246, -1.9268101609, 0.0022557893, 0.0190524334, 0.0003648528])  # fmt: skip


def test_the_puma_has_the_published_forward_dynamics(puma):
    qd, tau = np.array([0.1, 0.2, 0.8, 0.2, 0.5, 1]), np.array([1, 3.2, 1.8, 0.1, 0.7, 4.6])
    close(puma.forward_dynamics(QN, qd, tau),
          [-0.3540475686, -6.3989262832, -2.0684942475, 0.5112435386, 4.0212231565, 23.6984540652])  # fmt: skip
    close(puma.forward_dynamics(QN, qd, tau + puma.passive_force(QN, qd)),
          [-7.4102231637, -9.8432245816, -10.9693984451, -4.4314287514, -0.9881410724, 21.0227819493])  # fmt: skip


# --- S8: each row is a body: parent, offset on it, axis, centre, tensor; one kilogram unless massless

I = (1, 1, 1)
X, Y, Z = np.eye(3)
o = (0, 0, 0)
CHAINS = {
    "one pin": ([(None, o, Z, (1, 0, 0), I)], [0], [-4.905]),
    "one pin, skew": ([(None, o, Z, (1.5, 1, 1), (1, 2, 3))], [0], [-2.3544]),
    "two pins": ([(None, o, Z, (1, 0, 0), I), (0, (1, 0, 0), Z, (1, 0, 0), I)], [0, 0], [-5.886, 3.924]),
    "three pins": (
        [(None, o, Z, (1, 0, 0), I), (0, (1, 0, 0), Z, (1, 0, 0), I), (1, (1, 0, 0), Z, (1, 0, 0), I)],
        [0, 0, 0],
        [-6.03692307692308, 3.77307692307692, 1.50923076923077],
    ),
    "crossed pins": ([(None, o, Z, (1, 0, 0), I), (0, (1, 0, 0), Y, (0, 1, 0), I)], [0, 0], [-3.924, 0]),
    "tree": (
        [
            (None, o, Z, (1, 0, 0), I),
            (0, (1, 0, 0), Y, (0, 1, 0), I),
            (1, (0, 1, 0), X, (0, 0, 1), I),
            (0, (-0.5, 0, 0), Y, (0, 1, 0), I),
            (3, (0, -0.5, 0), X, (0, 0, 1), I),
        ],
        [0, 0, 0, 0, 0],
        [-1.60319066147860, -0.534396887159533, 4.10340466926070, 0.267198443579767, 5.30579766536965],
    ),
    "three pins at a point": (
        [(None, o, Z, o, None), (0, o, Y, o, None), (1, o, X, (0, 0.5, 0), I)],
        [1, 0, 0],
        [3.301932144386186, 0, 0],
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_small_chains_and_trees_fall_as_published(name):
    """q̈ of mechanisms let go at rest, gravity (0, −9.81, 0)."""
    rows, q, qdd = CHAINS[name]
    builder = lw.Builder(name, (0, -9.81, 0))
    for i, (on, at, axis, center, tensor) in enumerate(rows):
        solid = {} if tensor is None else {"mass": 1.0, "center": center, "tensor": tensor}
        builder.body(f"b{i}", None if on is None else f"b{on}", at, lw.Revolute(axis=tuple(axis)), **solid)
    robot = lw.Dynamics(builder.model(), compiled=False)
    zero = np.zeros(robot.nv)
    close(robot.forward_dynamics(np.array(q, float), zero, zero), qdd, 1e-13)
