"""Benchmark problems with loops: Andrews' squeezing mechanism and the car axis."""

from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork.constraints import Holonomic
from linkwork.model import mechanism

SC, SD, B, C = 0.018, 0.02, (-0.03635, 0.03273), (0.014, 0.072)
C0, L0, TORQUE = 4530.0, 0.07785, 0.033
NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
START = (-0.0617138900142764496, 0, 0.455279819163070380, 0.222668390165885885, 0.487364979543842550,
         -0.222668390165885885, 1.23054744454982119)  # fmt: skip


def andrews():
    """S3, without its spring, which `andrews_force` has."""
    return replace(mechanism("squeezer"), forces=())


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

    def wheel(t):
        y = 0.1 * np.sin(10 * t)
        return np.array([np.sqrt(1 - y * y), y])

    m.constrain(Holonomic("led", lambda q, t: [q[:2] @ wheel(t)])).distance("rod", "left", "right", 1.0)

    def control(t, q, v):
        left, right = q[:2], q[2:] - wheel(t)
        a, b = np.linalg.norm(left), np.linalg.norm(right)
        return 1e4 * np.concatenate([(0.5 - a) * left / a, (0.5 - b) * right / b])

    return lw.Dynamics(m.model(), compiled=False), control
