"""Gradients of rollouts with contact: go2 on its feet, their time over that of the rollout; on a GPU if there is one, else on one core.

    python -m benchmarks.contact_gradients
"""

import time

import numpy as np

import linkwork as lw
from linkwork.engine.loading.gufunc import get_threads, set_threads

from ._machine import torch_with_gpu
from .contact import DT, go2, standing

STEPS = 100
CASES = {
    "exact": lw.ContactLaw(friction="first", rounds=50, tolerance=1e-6),
    "smoothed by 0.03 m/s": lw.ContactLaw(friction="first", rounds=20, tolerance=1e-5, smoothing=0.03),
}


def least(call, wait) -> float:
    """The shortest of a few calls, after one that compiles."""
    call()
    times = []
    for _ in range(5):
        wait()
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    torch = torch_with_gpu()
    count, wait = (65_536, torch.cuda.synchronize) if torch else (256, lambda: None)
    put = (lambda x: torch.as_tensor(x, dtype=torch.float32, device="cuda")) if torch else np.asarray
    threads = get_threads()
    set_threads(1)
    robot, q, v, tau, *_ = standing(go2)
    rng = np.random.default_rng(0)
    Q, V, T = put(np.tile(q, (count, 1))), put(v + 0.05 * rng.normal(size=(count, robot.nv))), put(tau)
    weights = None, put(np.ones(robot.nv))
    for name, solver in CASES.items():
        how = {"dt": DT, "steps": STEPS, "every": STEPS, "method": "contact", "contact": solver}
        forwards = least(lambda how=how: lw.rollout(robot, Q, V, T, **how), wait)
        backwards = least(lambda how=how: lw.rollout_gradient(robot, Q, V, T, weights=weights, **how), wait)
        rate = count * STEPS / backwards
        print(f"go2, {name}, {count} robots: {rate:.3g} steps a second with gradient, {backwards / forwards:.1f} times the rollout")
    set_threads(threads)


if __name__ == "__main__":
    main()
