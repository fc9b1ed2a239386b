"""Ensembles with adaptive steps on a GPU, beside this machine's CPU on all its threads, and diffrax where it imports.

    python -m benchmarks.gpu_ensembles            needs torch with CUDA and an NVIDIA GPU

10⁵ and 10⁶ double pendulums over 20 s, 10⁴ and 10⁵ pandas over 5 s, at rtol 1e-6 in float64; the ends agree with those on the CPU as far
as a chaotic motion lets them.
"""

from time import perf_counter

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from ._robots import model
from .ensembles import diffrax_seconds

CASES = (("double_pendulum", 20.0, (100_000, 1_000_000)), ("panda", 5.0, (10_000, 100_000)))


def seconds(torch, robot, Q, V, until: float):
    """Time and result on the GPU, after a launch that compiles."""
    there = [torch.as_tensor(x, device="cuda") for x in (Q, V)]
    lw.simulate(robot, (there[0][:32], there[1][:32]), until=0.01, store="last")
    torch.cuda.synchronize()
    start = perf_counter()
    made = lw.simulate(robot, tuple(there), until=until, store="last")
    torch.cuda.synchronize()
    return perf_counter() - start, made


def main() -> None:
    torch = torch_with_gpu()
    if torch is None:
        return
    print(torch.cuda.get_device_name())
    for name, until, counts in CASES:
        robot = lw.Dynamics(lw.load(name) if name == "double_pendulum" else model(name))
        for count in counts:
            Q, V = robot.random_state((count,), seed=0)
            V *= 0.1
            there, made = seconds(torch, robot, Q, V, until)
            few = min(count, counts[0])
            start = perf_counter()
            here = lw.simulate(robot, (Q[:few], V[:few]), until=until, store="last")
            cpu = (perf_counter() - start) * count / few
            steps = int(made.steps.sum())
            same = float(np.mean(np.abs(made.q[:few].cpu().numpy() - here.q).max(-1) < 1e-3))
            print(
                f"{name:>16}, {count:>9,}: GPU {there:7.3f} s, {1e9 * there / steps:6.2f} ns a step; "
                f"CPU on {lw.get_threads()} threads {cpu:7.2f} s, ratio {cpu / there:6.1f}; {100 * same:.1f}% of the ends within 1e-3"
            )
    try:
        robot = lw.Dynamics(lw.load("double_pendulum"))
        each, _ = diffrax_seconds(robot, *np.random.default_rng(0).uniform(-2, 2, (2, 20_000, 2)), 20.0)
        print(f"diffrax on its default device: {1e6 * each:.1f} us a sample of the double pendulum")
    except ImportError as error:
        print(f"no diffrax: {error}")


if __name__ == "__main__":
    main()
