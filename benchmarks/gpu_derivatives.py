"""Derivatives on a GPU in float32: Jacobians of forward dynamics and gradients of rollouts, beside JAX on the same sweep.

    python -m benchmarks.gpu_derivatives        needs torch with CUDA and an NVIDIA GPU; JAX where it is

JAX differentiates the articulated-body sweep written by hand with batched arrays (benchmarks/_sweep_by_hand.py): one jvp, mapped over
the directions of q, v and tau, in one jit; matrix products in full float32.
"""

import time
import warnings

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from ._robots import model
from ._sweep_by_hand import SweepByHand
from .gpu import gradients, median_seconds

COUNT = 1 << 20
OF_JAX = 1 << 14


def ours(torch, robot, states, dtype):
    """Seconds, and the three Jacobians of the first samples; samples are the fastest axis of every array."""
    columns = [torch.as_tensor(x, dtype=dtype, device="cuda").T.contiguous().T for x in states]
    nv, count = robot.nv, len(columns[0])
    out = tuple(torch.empty(nv * nv, count, dtype=dtype, device="cuda").T.unflatten(1, (nv, nv)) for _ in range(3))
    robot.forward_dynamics_derivatives(*columns, out=out)
    seconds = median_seconds(torch, lambda: robot.forward_dynamics_derivatives(*columns, out=out), repeats=5, launches=3)
    return seconds, [x[:512].cpu().double().numpy() for x in out]


def by_jax(robot, states):
    """Seconds, and the Jacobian by q of the first samples, of the differentiated sweep."""
    import jax
    import jax.numpy as jnp

    with jax.default_matmul_precision("highest"):
        sweep = SweepByHand(jnp, robot, lambda x: jnp.asarray(x, jnp.float32))
        given = [jnp.asarray(x, jnp.float32) for x in states]

        def jacobians(q, v, tau):
            directions = jnp.eye(3 * robot.nv).reshape(-1, 3, 1, robot.nv) + jnp.zeros((1, 1, len(q), 1))

            def along(direction):
                return jax.jvp(sweep, (q, v, tau), tuple(direction))[1]

            return jnp.split(jnp.moveaxis(jax.vmap(along)(directions), 0, -1), 3, -1)

        run = jax.jit(jacobians)
        start = time.perf_counter()
        first = jax.block_until_ready(run(*given))
        compiling, times = time.perf_counter() - start, []
        for _ in range(5):
            start = time.perf_counter()
            jax.block_until_ready(run(*given))
            times.append(time.perf_counter() - start)
    return float(np.median(times)), np.asarray(first[0][:512], float), compiling


def main() -> None:
    if (torch := torch_with_gpu()) is None:
        print("needs torch with CUDA and an NVIDIA GPU")
        return
    warnings.simplefilter("ignore")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for name in ("ur5", "panda", "solo12"):
        robot = lw.Dynamics(model(name))
        q, v = robot.random_state(4096, seed=0)
        states = [np.tile(x, (COUNT // 4096, 1)) for x in (q, v, np.random.default_rng(0).standard_normal((4096, robot.nv)))]
        expected = robot.forward_dynamics_derivatives(*(x[:512] for x in states))
        rates = {}
        for dtype in (torch.float64, torch.float32):
            seconds, found = ours(torch, robot, states, dtype)
            error = max(abs(a - b).max() / abs(b).max() for a, b in zip(found, expected))
            print(f"{name:8s} forward_dynamics_derivatives {str(dtype)[6:]:8s} {COUNT / seconds:.2e}/s   error {error:.1e}", flush=True)
            rates[dtype] = COUNT / seconds
        if robot.nq == robot.nv:
            try:
                seconds, theirs, compiling = by_jax(robot, [x[:OF_JAX] for x in states])
            except ImportError as missing:
                print(f"{name:8s} JAX not here: {missing}", flush=True)
                continue
            error = abs(theirs - expected[0]).max() / abs(expected[0]).max()
            print(f"{name:8s} JAX of the same sweep        float32  {OF_JAX / seconds:.2e}/s   error {error:.1e}   "
                  f"ratio {rates[torch.float32] / (OF_JAX / seconds):.0f}, compiled in {compiling:.0f} s", flush=True)  # fmt: skip
    gradients(torch)


if __name__ == "__main__":
    main()
