"""Chains of many links: the time of a sweep grows with the number of links and no faster.

Forward dynamics by articulated bodies and inverse dynamics by Newton and Euler, one state at a time, without a kernel; then kernels
that loop over the joints and their derivatives, Jacobian times vector and vector times Jacobian; then a second of the motion of a chain
that is let go, a thousand to a hundred thousand links.
"""

from time import perf_counter

import numpy as np

import linkwork as lw
from benchmarks._new_process import measured

LENGTHS = 100, 200, 500, 1000
LONG = 1000, 3000, 10_000
RELEASED = 1000, 10_000, 100_000


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


def effort(robot: lw.Dynamics):
    """A kernel of one's own."""

    def effort(q, v, tau):
        vdot = robot.forward_dynamics(q, v, tau - 0.1 * v)
        return 0.5 * vdot @ vdot + robot.kinetic_energy(q, v)

    return robot.kernel(effort)


def derivatives() -> None:
    """First calls in seconds, then µs a link and numbers of scratch memory a link: the kernel itself, jvp, vjp."""
    print(f"\n{'links':>6} {'kernel':>18} {'first calls, s':>26} {'µs/link':>26} {'numbers/link':>26}")
    for n in LONG:
        robot = lw.Dynamics(lw.load(f"chain:{n}"))
        rng = np.random.default_rng(0)
        robot.forward_dynamics(*np.zeros((3, n)))  # tables of the model are made once
        for kernel in robot.as_kernel("forward_dynamics"), robot.as_kernel("kinetic_energy"), effort(robot):
            firsts, times, numbers = [], [], []
            for way in kernel, kernel.jvp, kernel.vjp:
                given = [0.1 * rng.standard_normal(x.shape) for x in way.inputs()]
                before = perf_counter()
                way(*given)
                firsts.append(perf_counter() - before)
                times.append(1e6 * seconds(way, *given) / n)
                numbers.append(way.rolled().function.kernel.program.workspace / n)
            said = ("".join(f"{x:>{w}}" for x in row) for row, w in (([f"{x:.2f}" for x in firsts], 9), ([f"{x:.3f}" for x in times], 9),
                                                                     ([f"{x:.0f}" for x in numbers], 9)))  # fmt: skip
            print(f"{n:>6} {kernel.__name__:>18}", *said)


def released() -> None:
    """A second of the motion of a chain, each length in a process of its own."""
    print(f"\n{'links':>6} {'ready, s':>10} {'1 s of motion, s':>18} {'µs/link and step':>18} {'drift of energy':>18} {'memory, MB':>12}")
    for n in RELEASED:
        found = measured("released_chain", n, repeats=1)
        step = 1e6 * found["processor"] / (400 * n)
        print(f"{n:>6} {found['ready']:>10.1f} {found['run']:>18.2f} {step:>18.3f} {found['drift']:>18.1e} {found['memory'] / 1e6:>12.0f}")


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
    derivatives()
    released()


if __name__ == "__main__":
    main()
