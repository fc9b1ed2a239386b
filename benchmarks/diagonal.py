"""Chains of many links in velocities whose mass matrix is the identity: the time of η, of C(q, η) and of η̇ grows with the number of links.

One state at a time, by kernels that loop over the links, beside forward dynamics in v. (Jain, Algorithm 19.1)
"""

import numpy as np

import linkwork as lw

from .long_chain import LENGTHS, chain, seconds

ASKED = "diagonal_velocity", "diagonal_coriolis", "diagonal_dynamics", "forward_dynamics"


def main() -> None:
    print("µs per link")
    print(f"{'links':>6}" + "".join(f"{name:>20}" for name in ASKED) + f"{'|η · C| / |η| |C|':>20}")
    for n in LENGTHS:
        robot = lw.Dynamics(chain(n), rolled=True)
        q, v = robot.random_state(seed=0)
        q, v, tau = 0.1 * q, 0.1 * v, np.zeros(n)
        eta = robot.ask("diagonal_velocity", q, v)
        arrays = (q, v), (q, eta), (q, eta, tau), (q, v, tau)
        times = [seconds(robot.ask, name, *given, least=0.3) for name, given in zip(ASKED, arrays)]
        C = robot.ask("diagonal_coriolis", q, eta)
        work = abs(eta @ C) / (np.linalg.norm(eta) * np.linalg.norm(C))
        print(f"{n:>6}" + "".join(f"{1e6 * each / n:>20.3f}" for each in times) + f"{work:>20.1e}")


if __name__ == "__main__":
    main()
