"""Kernels on a GPU: samples a second, errors against the CPU kernel, natural and coalesced layouts.

    python -m benchmarks.gpu            needs torch with CUDA and an NVIDIA GPU
"""

import datetime
import platform
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from ._robots import uneven_chain

MODELS = Path(__file__).parents[1] / "tests" / "models"
ROBOTS = {"panda": ("panda/panda.urdf", False), "simple_humanoid": ("simple_humanoid/simple_humanoid.urdf", True)}


def median_seconds(torch, run, repeats=9, launches=10):
    """Median time of a launch over rows of them, after a warm-up."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(launches):
            run()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) / 1e3 / launches)
    return float(np.median(times))


def arguments(robot, what, count, rng):
    q, v = robot.random_state(min(count, 4096), seed=0)
    q, v = (np.tile(x, (count // len(x) + 1, 1))[:count] for x in (q, v))
    u = rng.standard_normal((count, robot.nv))
    return {"forward_dynamics": (q, v, u), "inverse_dynamics": (q, v, u), "mass_matrix": (q,)}[what]


def rollouts(torch) -> None:
    """65,536 pandas, 1000 steps of semi-implicit Euler: nothing driving them, a force for each step, a policy inside."""
    robot = lw.Dynamics(lw.load(MODELS / ROBOTS["panda"][0], mimic="free"))
    count, steps = 65_536, 1000

    @robot.kernel(target=robot.nv)
    def holds(q, v, target):
        return robot.gravity_force(q) + 50 * (target - q) - 5 * v

    q, v = robot.random_state(count, seed=0)
    v *= 0.1
    for dtype in (torch.float32, torch.float64):
        Q, V = (torch.as_tensor(x, dtype=dtype, device="cuda") for x in (q, v))
        tau = torch.randn(count, steps, robot.nv, dtype=dtype, device="cuda")
        ways = {"free, last state": (None, steps), "free, every state": (None, 1), "forces, last state": (tau, steps),
                "policy, last state": (holds, steps)}  # fmt: skip
        for name, (controls, every) in ways.items():
            given = {"target": Q} if controls is holds else {}
            first = lw.rollout(robot, Q, V, controls, dt=1e-3, steps=steps, every=every, given=given)
            out = first.q, first.v
            run = partial(lw.rollout, robot, Q, V, controls, dt=1e-3, steps=steps, every=every, given=given, out=out)
            seconds = median_seconds(torch, run, repeats=5, launches=1)
            ends = []
            for few, fast in ((Q[:64], V[:64]), (q[:64], v[:64])):
                push = tau[:64, :10] if controls is tau else controls
                if controls is tau and not torch.is_tensor(few):
                    push = push.cpu().double().numpy()
                goal = {"target": few} if given else {}
                ends.append(lw.rollout(robot, few, fast, push, dt=1e-3, steps=10, every=10, given=goal).q[:, -1])
            error = abs(ends[0].cpu().double().numpy() - ends[1]).max() / abs(ends[1]).max()
            print(f"panda rollout    {name:18s} {str(dtype)[6:]:8s} error after 10 steps {error:.1e}   {seconds * 1e3:.1f} ms, "
                  f"{count * steps / seconds:.2e} steps/s", flush=True)  # fmt: skip
        del tau, first, out, run


def gradients(torch, count=65_536, steps=1000) -> None:
    """The gradient of those rollouts by first states and forces, from checkpoints and from all states."""
    robot = lw.Dynamics(lw.load(MODELS / ROBOTS["panda"][0], mimic="free"))
    q, v = robot.random_state(count, seed=0)
    v *= 0.1
    for dtype in (torch.float32, torch.float64):
        Q, V = (torch.as_tensor(x, dtype=dtype, device="cuda") for x in (q, v))
        tau = torch.randn(steps, robot.nv, count, dtype=dtype, device="cuda").permute(2, 0, 1)
        ones = torch.ones(robot.nv, dtype=dtype, device="cuda")
        forwards = median_seconds(torch, partial(lw.rollout, robot, Q, V, tau, dt=1e-3, steps=steps, every=steps), repeats=3, launches=1)
        for checkpoint in (None, 1):
            how = {"weights": (ones, ones), "dt": 1e-3, "checkpoint": checkpoint}
            torch.cuda.reset_peak_memory_stats()
            seconds = median_seconds(torch, partial(lw.rollout_gradient, robot, Q, V, tau, steps=steps, **how), repeats=3, launches=1)
            memory = torch.cuda.max_memory_allocated() / 1e9
            few = [lw.rollout_gradient(robot, *(x[:64] for x in (Q, V)), tau[:64, :10], steps=10, **how).q.cpu().double().numpy()]
            how["weights"] = np.ones(robot.nv), np.ones(robot.nv)
            few.append(lw.rollout_gradient(robot, q[:64], v[:64], tau[:64, :10].cpu().double().numpy(), steps=10, **how).q)
            error = abs(few[0] - few[1]).max() / abs(few[1]).max()
            name = "all states" if checkpoint else "checkpoints"
            print(f"panda gradient   {name:18s} {str(dtype)[6:]:8s} error after 10 steps {error:.1e}   {seconds * 1e3:.0f} ms, "
                  f"{seconds / forwards:.1f} rollouts ({forwards * 1e3:.0f} ms), {memory:.1f} GB", flush=True)  # fmt: skip
        del tau, Q, V


def long_chain(torch) -> None:
    """A chain of 250 links, all different: rolled kernels, scratch memory on the GPU."""
    robot, count = lw.Dynamics(uneven_chain(250)), 65_536
    for dtype in (torch.float64, torch.float32):
        host = arguments(robot, "forward_dynamics", count, np.random.default_rng(0))
        there = [torch.as_tensor(x, dtype=dtype, device="cuda") for x in host]
        result = robot.forward_dynamics(*there)
        seconds = median_seconds(torch, lambda: robot.forward_dynamics(*there, out=result), repeats=3, launches=1)  # noqa: B023
        expected = robot.forward_dynamics(*(x[:64] for x in host))
        error = abs(result[:64].cpu().double().numpy() - expected).max() / abs(expected).max()
        print(f"250 links        forward_dynamics  {str(dtype)[6:]:8s} error {error:.1e}   rows {count / seconds:.2e}/s", flush=True)


def main() -> None:
    if (torch := torch_with_gpu()) is None:
        print("needs torch with CUDA and an NVIDIA GPU")
        return
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {platform.python_version()}, linkwork {lw.__version__}, "
          f"{datetime.date.today()}")
    a = torch.empty(1 << 28, dtype=torch.float32, device="cuda")
    b = torch.empty_like(a)
    copied = 2 * a.numel() * 4 / median_seconds(torch, partial(b.copy_, a))
    print(f"copy bandwidth {copied / 1e12:.2f} TB/s")
    del a, b
    for name, (file, floating) in ROBOTS.items():
        robot = lw.Dynamics(lw.load(MODELS / file, floating=floating, mimic="free"))
        for what in ("forward_dynamics", "inverse_dynamics", "mass_matrix"):
            for dtype in (torch.float64, torch.float32):
                count = 1 << (20 if robot.nv > 20 and what == "mass_matrix" else 21 if robot.nv > 20 else 23)
                host = arguments(robot, what, count, rng)
                rows = [torch.as_tensor(x, dtype=dtype, device="cuda") for x in host]
                method = getattr(robot, what)
                start = time.perf_counter()
                result = method(*rows)
                torch.cuda.synchronize()
                first = time.perf_counter() - start
                expected = method(*(x[:512] for x in host))
                error = abs(result[:512].cpu().double().numpy() - expected).max() / abs(expected).max()
                line = f"{name:16s} {what:17s} {str(dtype)[6:]:8s} error {error:.1e}"
                seconds = median_seconds(torch, lambda: method(*rows, out=result))  # noqa: B023
                line += f"   rows {count / seconds:.2e}/s"
                columns = [x.T.contiguous().T for x in rows]
                shape = (int(np.prod(result.shape[1:])), count)
                out = torch.empty(shape, dtype=dtype, device="cuda")
                out = out.T if result.ndim == 2 else out.T.unflatten(1, tuple(result.shape[1:]))
                method(*columns, out=out)
                seconds = median_seconds(torch, lambda: method(*columns, out=out))  # noqa: B023
                moved = sum(x.numel() for x in (*columns, out)) * out.element_size()
                line += f"   columns {count / seconds:.2e}/s, {moved / seconds / copied:.0%} of copy"
                kernels = [made.functions[0] for made in robot._foreign[what].device._made.values()]
                spilled = [k.local_bytes for k in kernels]
                print(line + f"   registers {[k.registers for k in kernels]}, spilled {spilled} B, first {first:.1f} s")
                sys.stdout.flush()
    rollouts(torch)
    gradients(torch)
    long_chain(torch)


if __name__ == "__main__":
    main()
