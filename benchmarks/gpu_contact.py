"""Rollouts with contact on a GPU: go2 and humanoid on their feet, all steps in one launch; steps a second and residuals.

    python -m benchmarks.gpu_contact            needs torch with CUDA and an NVIDIA GPU
"""

import time

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from .contact import DT, FEET, go2, humanoid, standing

STEPS = 200
CASES = {
    "go2": (go2, lw.ContactSolver(friction="first", rounds=20, tolerance=1e-5), 131_072),
    "humanoid, feet": (humanoid(FEET), lw.ContactSolver(method="interior", rounds=12, tolerance=1e-5), 32_768),
}


def main() -> None:
    torch = torch_with_gpu()
    if torch is None:
        print("no torch with CUDA, or no GPU: nothing is measured.")
        return
    for name, (make, solver, count) in CASES.items():
        robot, q, v, tau, *_ = standing(make)
        rng = np.random.default_rng(0)
        for dtype in (torch.float32, torch.float64):
            Q = torch.as_tensor(np.tile(q, (count, 1)), dtype=dtype, device="cuda")
            V = torch.as_tensor(v + 0.05 * rng.normal(size=(count, robot.nv)), dtype=dtype, device="cuda")
            T = torch.as_tensor(tau, dtype=dtype, device="cuda")
            how = {"dt": DT, "steps": STEPS, "every": STEPS, "method": "contact", "contact": solver}
            run = lw.rollout(robot, Q, V, T, **how)
            torch.cuda.synchronize()
            times = []
            for _ in range(5):
                start = time.perf_counter()
                run = lw.rollout(robot, Q, V, T, **how)
                torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
            host = lw.rollout(robot, Q[:8].double().cpu().numpy(), V[:8].double().cpu().numpy(), tau, **how)
            apart = np.abs(run.q[:8, -1].double().cpu().numpy() - host.q[:, -1]).max()
            left = run.residual[:, -1].double().cpu().numpy()
            said = f"residual {np.median(left):.0e} median, {np.quantile(left, 0.99):.0e} for 99 %; {apart:.0e} from the CPU in float64"
            print(f"{name}, {str(dtype)[6:]}, {count} robots: {count * STEPS / min(times):.3g} steps a second; {said}")


if __name__ == "__main__":
    main()
