"""Rollouts with contact on a GPU: go2 and humanoid on their feet, all steps in one launch; steps a second and residuals, beside MJX.

    python -m benchmarks.gpu_contact                 needs torch with CUDA and an NVIDIA GPU, and mujoco for the files of the robots
    python -m benchmarks.gpu_contact --save FOLDER   writes the robots and their states, where mujoco is; needs no GPU
    python -m benchmarks.gpu_contact --from FOLDER   takes them from there

MJX, where it is: the same robots and states on a floor, Newton's solver with elliptic cones and the number of its rounds that MuJoCo has
by itself, steps in one jitted loop, float32. Where it cannot, it says why.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

import linkwork as lw

from ._machine import torch_with_gpu
from .contact import DT, FEET, go2, humanoid, mujoco_spec, mujoco_states, standing

STEPS, THEIR_STEPS, STATES = 200, 50, 4096
NEWTON = lw.ContactLaw(solver="newton", rounds=20, tolerance=5e-5)
FIRST = lw.ContactLaw(friction="first", rounds=20, tolerance=1e-5)
CASES = {
    "go2": (go2, {"friction first": (FIRST, 131_072), "friction solved": (NEWTON, 131_072)}, 8192),
    "humanoid": (humanoid(FEET), {"feet": (NEWTON, 32_768)}, 4096),
}


def prepared(name: str):
    """The robot, its states Q, V (STATES of them), the forces, and what MJX needs: the text of the model, positions, velocities, forces."""
    robot, q, v, tau, path, which = standing(CASES[name][0], NEWTON)
    rng = np.random.default_rng(0)
    Q, V = np.tile(q, (STATES, 1)), v + 0.05 * rng.normal(size=(STATES, robot.nv))
    states, force = mujoco_states(robot, Q, V, tau)
    spec = mujoco_spec(path, which)
    spec.compile()
    positions, velocities = (np.array(x) for x in zip(*states))
    return robot, {"Q": Q, "V": V, "tau": tau, "qpos": positions, "qvel": velocities, "force": force}, spec.to_xml()


def save(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        robot, arrays, xml = prepared(name)
        lw.save(robot.model, folder / f"{name}.json")
        np.savez(folder / f"{name}.npz", **arrays)
        (folder / f"{name}.xml").write_text(xml, encoding="utf-8")
        print(f"{name}: written to {folder}")


def read(folder: Path, name: str):
    with np.load(folder / f"{name}.npz") as arrays:
        return lw.Dynamics(lw.load(folder / f"{name}.json")), dict(arrays), (folder / f"{name}.xml").read_text(encoding="utf-8")


def ours(torch, name: str, label: str, robot, arrays, solver, count: int) -> None:
    times_each = count // STATES
    how = {"dt": DT, "steps": STEPS, "every": STEPS, "method": "contact", "contact": solver}
    for dtype in (torch.float32, torch.float64):
        Q, V = (torch.as_tensor(arrays[x], dtype=dtype, device="cuda").repeat(times_each, 1) for x in ("Q", "V"))
        tau = torch.as_tensor(arrays["tau"], dtype=dtype, device="cuda")
        run = lw.rollout(robot, Q, V, tau, **how)
        torch.cuda.synchronize()
        times = []
        for _ in range(5):
            start = time.perf_counter()
            run = lw.rollout(robot, Q, V, tau, **how)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        host = lw.rollout(robot, arrays["Q"][:8], arrays["V"][:8], arrays["tau"], **how)
        apart = np.abs(run.q[:8, -1].double().cpu().numpy() - host.q[:, -1]).max()
        left, rounds = (x[:, -1].double().cpu().numpy() for x in (run.residual, run.rounds))
        quantiles = ", ".join(f"{np.quantile(left, x):.0e} for {x:.1%}" for x in (0.5, 0.99, 0.999))
        said = f"largest residual of a run {quantiles}; {rounds.mean():.1f} rounds in the last step; {apart:.0e} from the CPU in float64"
        print(f"{name}, {label}, {str(dtype)[6:]}, {count} robots: {count * STEPS / min(times):.3g} steps a second; {said}", flush=True)


def mjx_steps(arrays, xml: str, count: int) -> tuple[float, float]:
    """Steps a second of MJX, and the share of robots whose state is finite after them."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import mujoco
    from mujoco import mjx

    host = mujoco.MjModel.from_xml_string(xml)
    model = mjx.put_model(host)
    start = mjx.make_data(host)
    force = jax.numpy.asarray(arrays["force"], np.float32)

    def run(q, v):
        data = start.replace(qpos=q, qvel=v, qfrc_applied=force)
        return jax.lax.fori_loop(0, THEIR_STEPS, lambda _, d: mjx.step(model, d), data).qpos

    batched = jax.jit(jax.vmap(run))
    states = [jax.numpy.asarray(np.resize(arrays[x], (count, arrays[x].shape[-1])), np.float32) for x in ("qpos", "qvel")]
    batched(*states).block_until_ready()
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        last = batched(*states).block_until_ready()
        times.append(time.perf_counter() - begin)
    finite = float(np.isfinite(np.asarray(last)).all(-1).mean())
    return count * THEIR_STEPS / min(times), finite


def main() -> None:
    folder = Path(sys.argv[-1]) if {"--save", "--from"} & set(sys.argv) else None
    if "--save" in sys.argv and folder is not None:
        save(folder)
        return
    torch = torch_with_gpu()
    if torch is None:
        print("no torch with CUDA, or no GPU: nothing is measured.")
        return
    for name, (_, solvers, count) in CASES.items():
        robot, arrays, xml = prepared(name) if folder is None else read(folder, name)
        for label, (solver, robots) in solvers.items():
            ours(torch, name, label, robot, arrays, solver, robots)
        try:
            speed, finite = mjx_steps(arrays, xml, count)
            print(f"{name}, MJX, float32, {count} robots: {speed:.3g} steps a second; {finite:.1%} finite at the end", flush=True)
        except Exception as error:  # a peer of another version may fail in any way, which must not end the run
            print(f"{name}, MJX: not measured, {type(error).__name__}: {str(error)[:500]}", flush=True)


if __name__ == "__main__":
    main()
