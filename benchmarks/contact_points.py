"""Contact points of robots: time of gaps, Jacobians and their rates for a state, in batches, on one core, beside MuJoCo's collision
detection; and on a GPU where there is one, with the error against the CPU.

    python -m benchmarks contact_points        needs mujoco; the GPU part torch with CUDA
"""

import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu

MODELS = Path(__file__).parents[1] / "tests" / "models"
FEET = ["FL", "FR", "RL", "RR"]
CASES = {
    "go2, feet": ("go2_mjcf/go2.xml", FEET),
    "go2, ground": ("go2_mjcf/go2.xml", "ground"),
    "humanoid, ground": ("humanoid_mjcf/humanoid.xml", "ground"),
    "humanoid, all": ("humanoid_mjcf/humanoid.xml", "all"),
}
ASKED = "contact_gaps", "contact_jacobian", "contact_bias"


def best(run, repeats: int = 7) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def collisions(path: Path, count: int = 200) -> float:
    """Seconds of mj_kinematics and mj_collision for a state."""
    import mujoco

    m = mujoco.MjModel.from_xml_path(str(path))
    d, rng = mujoco.MjData(m), np.random.default_rng(0)
    states = m.qpos0 + 0.2 * rng.standard_normal((count, m.nq))

    def run():
        for q in states:
            d.qpos[:] = q
            mujoco.mj_kinematics(m, d)
            mujoco.mj_collision(m, d)

    return best(run) / count


def main(count: int = 4096) -> None:
    lw.set_threads(1)
    torch = torch_with_gpu()
    print(f"{'':18}{'points':>7}" + "".join(f"{name:>18}" for name in ASKED) + f"{'mj_collision':>14}   µs a state, one core")
    for name, (path, contacts) in CASES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = lw.Dynamics(lw.load(MODELS / path, contacts=contacts))
        q, v = robot.random_state((count,), seed=0)
        given = {"contact_gaps": (q,), "contact_jacobian": (q,), "contact_bias": (q, v)}
        times = [best(partial(robot.ask, asked, *given[asked])) / count for asked in ASKED]
        try:
            theirs = f"{1e6 * collisions(MODELS / path):>14.2f}"
        except (ImportError, ValueError):  # no mujoco, or the meshes of the file are not here
            theirs = f"{'-':>14}"
        print(f"{name:18}{len(robot.contacts):>7}" + "".join(f"{1e6 * x:>18.3f}" for x in times) + theirs)
        if torch is not None:
            on_gpu(torch, robot, given)


def on_gpu(torch, robot, given) -> None:
    """Samples a second in float32, and the largest error against the CPU."""
    for asked in ASKED:
        x = [torch.as_tensor(each, dtype=torch.float32, device="cuda") for each in given[asked]]
        error = np.abs(robot.ask(asked, *x).cpu().numpy() - robot.ask(asked, *given[asked])).max()
        big = [each.repeat(16, 1) for each in x]

        def run(asked=asked, big=big):
            robot.ask(asked, *big)
            torch.cuda.synchronize()

        print(f"{'':18}{asked:>18} on the GPU: {len(big[0]) / best(run):.2e} states a second, error {error:.1e}")


if __name__ == "__main__":
    main()
