"""Benchmark problems with loops: Andrews' squeezing mechanism and the car axis."""

import numpy as np

import linkwork as lw
from linkwork import constraints

D, DA, E, EA, RR, RA, SS, SA, SB, SC, SD = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZF, ZT, FA = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
C0, L0, TORQUE = 4530.0, 0.07785, 0.033
NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
START = (-0.0617138900142764496, 0, 0.455279819163070380, 0.222668390165885885, 0.487364979543842550,
         -0.222668390165885885, 1.23054744454982119)  # fmt: skip


def andrews():
    """S3: seven bodies in the plane; E is reached three ways."""
    m = lw.Builder("squeezer", (0, 0, 0))

    def bar(name, joint, on, at, angle, mass, inertia, center):
        pose = lw.Pose.rpy((*at, 0), (0, 0, angle))
        m.body(name, on, pose, lw.Revolute(), joint_name=joint, mass=mass, center=(*center, 0), tensor=(inertia,) * 3)

    bar("K1", "beta", None, (0, 0), 0.0, 0.04325, 2.194e-6, (RA, 0))
    bar("K2", "theta", "K1", (RR, 0), np.pi, 0.00365, 4.410e-7, (DA, 0))
    bar("K3", "gamma", None, B, -np.pi / 2, 0.02373, 5.255e-6, (SA, SB))
    bar("K5", "delta", None, A, 0.0, 0.07050, 1.169e-5, (TA, TB))
    bar("K4", "phi", "K5", (ZT, 0), -np.pi / 2, 0.00706, 5.667e-7, (E - EA, 0))
    bar("K7", "epsilon", None, A, -np.pi / 2, 0.05498, 1.912e-5, (UA, -UB))
    bar("K6", "omega", "K7", (U, 0), np.pi / 2, 0.00706, 5.667e-7, (ZF - FA, 0))
    for name, body, length in (("first", "K3", SS), ("second", "K4", E), ("third", "K6", ZF)):
        m.loop(name, "K2", body, lw.Revolute(), at=(D, 0, 0), on=(length, 0, 0))
    return m.model()


def andrews_force(robot):
    """The spring from C to D on K3, and the torque on the crank."""
    gamma, beta = robot.v_index("gamma").start, robot.v_index("beta").start
    rows = robot.q_index("gamma").start

    def control(t, q, v):
        s, c = np.sin(q[rows]), np.cos(q[rows])
        d = np.array([B[0] + SC * s + SD * c - C[0], B[1] - SC * c + SD * s - C[1]])
        rate = np.array([SC * c - SD * s, SC * s + SD * c])
        length = np.linalg.norm(d)
        tau = np.zeros(robot.nv)
        tau[beta], tau[gamma] = TORQUE, -C0 * (length - L0) * (d @ rate) / length
        return tau

    return control


def ordered(robot, x, index):
    return np.array([x[getattr(robot, index)(name).start] for name in NAMES])


def car_axis():
    """S10: two masses, a rod between them, one of them led by the wheels."""
    m = lw.Builder("car_axis", (0, -1, 0))
    for side in ("left", "right"):
        m.body(side, joint=lw.PlanarTranslation(), mass=5.0, tensor=(1, 1, 1))
    robot = lw.Dynamics(m.model(), compiled=False)

    def wheel(t):
        y = 0.1 * np.sin(10 * t)
        return np.array([np.sqrt(1 - y * y), y])

    led = constraints.Holonomic("led", lambda q, t: [q[:2] @ wheel(t)])
    held = constraints.of(robot, led, constraints.Distance("rod", "left", "right", 1.0))

    def control(t, q, v):
        left, right = q[:2], q[2:] - wheel(t)
        a, b = np.linalg.norm(left), np.linalg.norm(right)
        return 1e4 * np.concatenate([(0.5 - a) * left / a, (0.5 - b) * right / b])

    return held, control
