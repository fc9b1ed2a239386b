"""Chains of many links in plain NumPy: the time of a sweep grows with the number of links and no faster.

Forward dynamics by articulated bodies and inverse dynamics by Newton and Euler, one state at a time, without a kernel.
"""

from time import perf_counter

import numpy as np

import linkwork as lw

LENGTHS = 100, 200, 500, 1000


def chain(n: int) -> lw.Model:
    """n links of ten centimetres and a hundred grams, each pin across the one before."""
    builder = lw.Builder(f"chain of {n}")
    for i in range(n):
        axis = (1, 0, 0) if i % 2 else (0, 1, 0)
        builder.body(
            f"link{i}", f"link{i - 1}" if i else None, (0, 0, -0.1) if i else None, lw.Revolute(axis=axis),
            mass=0.1, center=(0, 0, -0.05), tensor=(1e-4, 1e-4, 1e-5),
        )  # fmt: skip
    return builder.model()


def seconds(f, *arguments, least: float = 0.5) -> float:
    """The best of several calls, the first not counted."""
    f(*arguments)
    times, start = [], perf_counter()
    while perf_counter() - start < least:
        before = perf_counter()
        f(*arguments)
        times.append(perf_counter() - before)
    return min(times)


def main() -> None:
    print(f"{'links':>6} {'forward dynamics':>24} {'inverse dynamics':>24}")
    print(f"{'':>6} {'s':>12}{'µs/link':>12} {'s':>12}{'µs/link':>12}")
    for n in LENGTHS:
        robot = lw.Dynamics(chain(n), compiled=False)
        q, v = robot.random_state(seed=0)
        q, v, tau = 0.1 * q, 0.1 * v, np.zeros(n)
        forward = seconds(robot.forward_dynamics, q, v, tau)
        inverse = seconds(robot.inverse_dynamics, q, v, tau)
        print(f"{n:>6} {forward:>12.4f}{1e6 * forward / n:>12.1f} {inverse:>12.4f}{1e6 * inverse / n:>12.1f}")


if __name__ == "__main__":
    main()
