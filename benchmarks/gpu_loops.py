"""Robots with loops on a GPU: forward dynamics and rollouts a second, and errors against the CPU.

    python -m benchmarks.gpu_loops            needs torch with CUDA and an NVIDIA GPU

A delta robot and Cassie in float32 and float64, arrays with samples last in memory; 4096 Cassies over a thousand steps; linkages of
random lengths. Asked of an H200: 1e9 delta robots a second in float32.
"""

import sys
import time
from pathlib import Path

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from ._robots import closed_states, hung
from .gpu import median_seconds

MODELS = Path(__file__).parents[1] / "tests" / "models"
SAMPLES = 1 << 21
LENGTHS = "at", "loop_at", "loop_on"


def robots():
    yield "delta_robot", lw.load(MODELS / "delta_robot" / "robot.urdf", loops=MODELS / "delta_robot" / "robot.yaml")
    yield "cassie", lw.load(MODELS / "cassie_mjcf" / "cassie.xml")


def there(torch, x, count, dtype):
    """An array repeated to a number of samples, these last in memory."""
    x = np.tile(x, (count // len(x) + 1, *[1] * (x.ndim - 1)))[:count]
    x = torch.as_tensor(x, dtype=dtype, device="cuda")
    return torch.movedim(torch.movedim(x, 0, -1).contiguous(), -1, 0)


def accelerations(torch) -> None:
    for name, model in robots():
        robot = lw.Dynamics(model)
        some = [np.array(x) for x in zip(*closed_states(robot.constraints))]
        expected = robot.forward_dynamics(*some)
        for dtype in (torch.float32, torch.float64):
            count = SAMPLES if name == "delta_robot" else SAMPLES // 4
            arrays = [there(torch, x, count, dtype) for x in some]
            start = time.perf_counter()
            found = robot.forward_dynamics(*arrays)
            torch.cuda.synchronize()
            first = time.perf_counter() - start
            off = np.abs(found[: len(expected)].cpu().numpy() - expected).max() / np.abs(expected).max()
            out = torch.empty_like(found)
            seconds = median_seconds(torch, lambda robot=robot, arrays=arrays, out=out: robot.forward_dynamics(*arrays, out=out))
            print(f"{name}, {dtype}: {count / seconds:.3g} forward dynamics a second; off by {off:.1e}; first call {first:.1f} s")


def rollouts(torch, count=4096, steps=1000) -> None:
    robot = lw.Dynamics(lw.load(MODELS / "cassie_mjcf" / "cassie.xml"))
    held, rng = robot.constraints, np.random.default_rng(0)
    start = held.assemble(robot.neutral())
    q, v = map(np.array, zip(*(held.project(start, 0.3 * rng.standard_normal(robot.nv)) for _ in range(16))))
    here = lw.rollout(robot, q, v, dt=2e-4, steps=50, every=50)
    for dtype in (torch.float32, torch.float64):
        Q, V = there(torch, q, count, dtype), there(torch, v, count, dtype)
        off = np.abs(lw.rollout(robot, Q, V, dt=2e-4, steps=50, every=50).q[:16].cpu().numpy() - here.q).max()
        run = lw.rollout(robot, Q, V, dt=2e-4, steps=steps, every=steps)
        again = lambda: lw.rollout(robot, Q, V, dt=2e-4, steps=steps, every=steps, out=(run.q, run.v))  # noqa: B023
        seconds = median_seconds(torch, again, 3, 1)
        left = np.abs(held.residual(run.q[:16, -1].double().cpu().numpy())).max()
        print(f"{count} Cassies, {steps} steps, {dtype}: {seconds:.3f} s, {count * steps / seconds:.3g} steps a second; "
              f"after 50 off by {off:.1e}; loops open by {left:.1e}")  # fmt: skip


def linkages(torch, count=1 << 21) -> None:
    """Four-bars of random lengths, all closed: lengths that are scaled each by its own factor."""
    robot = lw.Dynamics(lw.load("four_bar"))
    q, v = map(np.array, zip(*(robot.constraints.random_state(seed=i, reach=0.3) for i in range(16))))
    free = robot.varying(*LENGTHS)
    scale = np.random.default_rng(0).uniform(0.5, 2.0, (4096, 1, 1))
    values = {name: scale * free.value(name) for name in LENGTHS}
    for dtype in (torch.float32, torch.float64):
        Q, V = there(torch, q, count, dtype), there(torch, v, count, dtype)
        given = {name: there(torch, x, count, dtype) for name, x in values.items()}
        found = free.forward_dynamics(Q, V, torch.zeros_like(V), **given)
        seconds = median_seconds(torch, lambda: free.forward_dynamics(Q, V, torch.zeros_like(V), **given))  # noqa: B023
        print(
            f"four-bars of {count} lengths, {dtype}: {count / seconds:.3g} a second; {int(found.isfinite().all(-1).sum())} have an answer"
        )


def long_mechanisms(torch, loops=1000, count=4096) -> None:
    """Four-bars hung on each other's couplers: kernels that loop over them."""
    model, q = hung(loops)
    robot, rng = lw.Dynamics(model), np.random.default_rng(0)
    q, v, tau = np.tile(q, (16, 1)), np.zeros((16, robot.nv)), rng.standard_normal((16, robot.nv))
    expected = robot.forward_dynamics(q, v, tau)
    for dtype in (torch.float32, torch.float64):
        arrays = [there(torch, x, count, dtype) for x in (q, v, tau)]
        found = robot.forward_dynamics(*arrays)
        off = np.abs(found[:16].cpu().numpy() - expected).max() / np.abs(expected).max()
        out = torch.empty_like(found)
        seconds = median_seconds(torch, lambda arrays=arrays, out=out: robot.forward_dynamics(*arrays, out=out), 3, 1)
        print(f"{loops} hung four-bars, {dtype}: {count / seconds:.3g} forward dynamics a second; off by {off:.1e}")


def main() -> int:
    torch = torch_with_gpu()
    if torch is None:
        print("gpu_loops needs torch with CUDA and an NVIDIA GPU.", file=sys.stderr)
        return 1
    print(torch.cuda.get_device_name(0))
    accelerations(torch)
    linkages(torch)
    long_mechanisms(torch)
    rollouts(torch)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
