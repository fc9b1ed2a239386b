"""Ensembles with adaptive steps on a GPU, beside this machine's CPU on all its threads, and diffrax where it imports.

    python -m benchmarks.gpu_ensembles            needs torch with CUDA and an NVIDIA GPU

10⁵ and 10⁶ double pendulums over 20 s, 10⁴ and 10⁵ pandas over 5 s, at rtol 1e-6 in float64 and float32; the ends agree with those on
the CPU as far as a chaotic motion lets them. Then 10⁵ double pendulums with rows at multiples of 0.1 s and at all steps, and 10⁵ four-bars
of random lengths.
"""

from time import perf_counter

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from ._robots import model
from .ensembles import diffrax_seconds

ROWS = ({"save": "last"}, {"dt": 0.1}, {"save": "steps"})
CASES = (("double_pendulum", 20.0, (100_000, 1_000_000)), ("panda", 5.0, (10_000, 100_000)))


def seconds(torch, robot, Q, V, until: float):
    """Time and result on the GPU, after a launch that compiles."""
    there = [torch.as_tensor(x, device="cuda") for x in (Q, V)]
    lw.simulate(robot, (there[0][:32], there[1][:32]), until=0.01, save="last")
    torch.cuda.synchronize()
    start = perf_counter()
    made = lw.simulate(robot, tuple(there), until=until, save="last")
    torch.cuda.synchronize()
    return perf_counter() - start, made


def single(torch, robot, Q, V, until: float) -> None:
    """In float32, beside float64."""
    times = []
    for dtype in (np.float64, np.float32):
        taken, made = seconds(torch, robot, Q.astype(dtype), V.astype(dtype), until)
        times.append(taken)
        assert (made.status == "finished").all()
    print(f"{'':>16}  float64 {times[0]:.3f} s, float32 {times[1]:.3f} s")


def with_rows(torch, count: int = 100_000) -> None:
    """Double pendulums over 5 s, with rows and without; those at multiples of dt beside the CPU."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    Q, V = np.random.default_rng(0).uniform(-1, 1, (2, count, 2))
    there = tuple(torch.as_tensor(x, device="cuda") for x in (Q, V))
    for how in ROWS:
        for _ in range(2):  # the first launch compiles
            torch.cuda.synchronize()
            start = perf_counter()
            made = lw.simulate(robot, there, until=5.0, **how)
            torch.cuda.synchronize()
            taken = perf_counter() - start
        print(f"{'rows':>16}, {count:,} double pendulums over 5 s, {how}: {taken:.3f} s, {int(made.steps.sum()):,} steps")
        if "dt" in how:
            here = lw.simulate(robot, (Q[:100], V[:100]), until=5.0, **how)
            print(f"{'':>16}  rows at multiples of dt are {np.abs(made.q[:100].cpu().numpy() - here.q).max():.1e} from those on the CPU")
        if how == {"save": "steps"}:
            here = lw.simulate(robot, (Q[:3], V[:3]), until=5.0, **how)
            assert all(made.rows(k)[0].shape[0] == len(here.rows(k)[0]) for k in range(3))


def four_bars(torch, count: int = 100_000) -> None:
    """Each with its own lengths, over 2 s."""
    robot = lw.Dynamics(lw.load("four_bar"))
    varying, rng = robot.varying("at", "loop_at", "loop_on"), np.random.default_rng(0)
    given = {name: x * rng.uniform(0.8, 1.25, (count, len(x), 1)) for name, x in varying.own.items()}
    Q, V = varying.project(varying.assemble(robot.assemble(robot.neutral()), **given), np.zeros(3), **given)
    state = tuple(torch.as_tensor(x, device="cuda") for x in (Q, V))
    there = {name: torch.as_tensor(x, device="cuda") for name, x in given.items()}
    for _ in range(2):
        torch.cuda.synchronize()
        start = perf_counter()
        made = lw.simulate(varying, state, until=2.0, given=there)
        torch.cuda.synchronize()
        taken = perf_counter() - start
    start = perf_counter()
    here = lw.simulate(varying, (Q[:10_000], V[:10_000]), until=2.0, given={name: x[:10_000] for name, x in given.items()}, save="last")
    cpu = (perf_counter() - start) * count / 10_000
    apart = np.abs(made.end.q[:10_000].cpu().numpy() - here.end.q).max()
    print(f"{'four_bar':>16}, {count:,} of random lengths over 2 s: GPU {taken:.3f} s, CPU {cpu:.2f} s, ends {apart:.1e} apart")


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
            here = lw.simulate(robot, (Q[:few], V[:few]), until=until, save="last")
            cpu = (perf_counter() - start) * count / few
            steps = int(made.steps.sum())
            same = float(np.mean(np.abs(made.end.q[:few].cpu().numpy() - here.end.q).max(-1) < 1e-3))
            print(
                f"{name:>16}, {count:>9,}: GPU {there:7.3f} s, {1e9 * there / steps:6.2f} ns a step; "
                f"CPU on {lw.get_threads()} threads {cpu:7.2f} s, ratio {cpu / there:6.1f}; {100 * same:.1f}% of the ends within 1e-3"
            )
            single(torch, robot, Q, V, until)
    with_rows(torch)
    four_bars(torch)
    try:
        robot = lw.Dynamics(lw.load("double_pendulum"))
        each, _ = diffrax_seconds(robot, *np.random.default_rng(0).uniform(-2, 2, (2, 20_000, 2)), 20.0)
        print(f"diffrax on its default device: {1e6 * each:.1f} us a sample of the double pendulum")
    except ImportError as error:
        print(f"no diffrax: {error}")


if __name__ == "__main__":
    main()
