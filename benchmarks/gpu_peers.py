"""Forward dynamics in float32 on a GPU, side by side with what one would use instead, same model, same states.

    python -m benchmarks.gpu_peers      needs torch with CUDA and an NVIDIA GPU; MJX where mujoco-mjx and jax are

The torch sweep (benchmarks/_sweep_by_hand.py) is the articulated-body sweep with batched matrices. MJX does what forward
dynamics needs and no more: kinematics, composite inertia and its factor, bias, solution; no contacts, no constraints;
with the matrix precision that jax chooses.
"""

import re
import time
import warnings

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from ._robots import file, model
from ._sweep_by_hand import SweepByHand
from .gpu import median_seconds

COUNT = 262_144
SHAPES = re.compile(r"<(visual|collision|collision_checking|gazebo|transmission)\b.*?</\1>", re.DOTALL)


def torch_sweep(torch, robot, states):
    sweep = SweepByHand(torch, robot, lambda x: torch.as_tensor(x, dtype=torch.float32, device="cuda"))
    there = [torch.as_tensor(x, dtype=torch.float32, device="cuda") for x in states]
    result = sweep(*there)
    return median_seconds(torch, lambda: sweep(*there), repeats=5, launches=3), result.cpu().double().numpy()


def mjx(name, robot, states):
    import jax
    import mujoco
    from mujoco import mjx
    from mujoco.mjx._src import smooth

    from linkwork import convert

    spec = mujoco.MjSpec.from_string(SHAPES.sub("", file(name).read_text(encoding="utf-8")))
    spec.compiler.fusestatic = False
    if robot.model.joints[0].joint.nq == 7:
        spec.worldbody.first_body().add_freejoint()
    host = spec.compile()
    flags = mujoco.mjtDisableBit
    host.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT
    model, data = mjx.put_model(host), mjx.make_data(host)
    order = [host.joint(i).name for i in range(host.njnt)]
    order[0] = order[0] or robot.joints[0]
    there = convert.mujoco(robot, order=order)
    q, v, tau = states
    given = [jax.numpy.asarray(x, np.float32) for x in (there.q_to(q), there.v_to(q, v), there.tau_to(q, tau))]

    def vdot(q, v, tau):
        d = data.replace(qpos=q, qvel=v)
        for stage in (smooth.kinematics, smooth.com_pos, smooth.crb, smooth.factor_m, smooth.com_vel, smooth.rne):
            d = stage(model, d)
        return smooth.solve_m(model, d, tau - d.qfrc_bias)

    run = jax.jit(jax.vmap(vdot))
    result, times = run(*given).block_until_ready(), []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(3):
            last = run(*given)
        last.block_until_ready()
        times.append((time.perf_counter() - start) / 3)
    return float(np.median(times)), there.vdot_from(q, v, np.asarray(result, float))


def main() -> None:
    if (torch := torch_with_gpu()) is None:
        print("needs torch with CUDA and an NVIDIA GPU")
        return
    warnings.simplefilter("ignore")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; forward dynamics, float32, {COUNT} samples")
    for name in ("panda", "simple_humanoid"):
        robot = lw.Dynamics(model(name))
        states = *robot.random_state(COUNT, seed=0), np.random.default_rng(0).standard_normal((COUNT, robot.nv))
        expected = robot.forward_dynamics(*states)
        there = [torch.as_tensor(x, dtype=torch.float32, device="cuda") for x in states]
        result = robot.forward_dynamics(*there)
        ours = median_seconds(torch, lambda: robot.forward_dynamics(*there, out=result))  # noqa: B023
        error = abs(result.cpu().numpy() - expected).max() / abs(expected).max()
        print(f"{name:16s} linkwork    {COUNT / ours:.2e}/s   error {error:.1e}", flush=True)
        for peer, run in (("torch sweep", lambda: torch_sweep(torch, robot, states)), ("MJX", lambda: mjx(name, robot, states))):  # noqa: B023
            try:
                seconds, theirs = run()
            except ImportError as missing:
                print(f"{name:16s} {peer:11s} not here: {missing}", flush=True)
                continue
            error = abs(theirs - expected).max() / abs(expected).max()
            print(f"{name:16s} {peer:11s} {COUNT / seconds:.2e}/s   error {error:.1e}   ratio {seconds / ours:.0f}", flush=True)


if __name__ == "__main__":
    main()
