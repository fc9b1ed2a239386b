"""Thousands of Cassies falling: semi-implicit Euler, one thread, beside MuJoCo's rollout with the same equality constraints.

The same MJCF, states and steps, without contacts and limits. MuJoCo's constraints are soft, solved by Newton's method at its default
tolerance; linkwork's are exact, and each state is put back on them. Times are the best of three, of the processor.

    python -m benchmarks.rollout_loops
"""

from pathlib import Path
from time import process_time

import numpy as np

import linkwork as lw
from benchmarks._race import best
from linkwork import convert
from linkwork.engine.loading.gufunc import get_threads, set_threads

CASSIE = Path(__file__).parents[1] / "tests" / "models" / "cassie_mjcf" / "cassie.xml"
ROBOTS, STEPS, DT = 4096, 100, 2e-4
FEWER = 256  # robots for the peer


def states(robot, count: int, seed=0):
    """States on the constraints."""
    held, rng = robot.constraints, np.random.default_rng(seed)
    start = held.assemble(robot.neutral())
    some = [held.project(start, 0.3 * rng.standard_normal(robot.nv)) for _ in range(16)]
    return (np.tile(np.array(x), (count // len(some), 1)) for x in zip(*some))


def linkwork(robot, Q, V, steps: int, method: str = "euler"):
    out = lw.rollout(robot, Q, V, dt=DT, steps=steps, every=steps, method=method)
    seconds = best(lambda: lw.rollout(robot, Q, V, dt=DT, steps=steps, every=steps, method=method, out=(out.q, out.v)), clock=process_time)
    return seconds, out


def mujoco(robot, Q, V, steps: int):
    import mujoco
    from mujoco import rollout

    from linkwork.formats.mjcf_source import compile_text

    model = compile_text(CASSIE.read_text(), None, "cassie", False).m  # without the files of meshes, which nobody needs here
    model.eq_solref = 2 * DT, 1.0  # as stiff as they may be
    model.opt.timestep, model.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_EULER
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_EULERDAMP
    data = mujoco.MjData(model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((len(Q), size))
    there = convert.mujoco(robot)
    q, v = there.q_to(Q), there.v_to(Q, V)
    initial[:, 1 : 1 + model.nq + model.nv] = np.concatenate([q, v], -1)
    room = np.zeros((len(Q), steps, size))
    seconds = best(lambda: rollout.rollout(model, data, initial, nstep=steps, state=room), clock=process_time)
    return seconds, room[:, -1, 1 : 1 + model.nq], q


def main() -> None:
    threads = get_threads()
    set_threads(1)
    try:
        robot = lw.Dynamics(lw.load(CASSIE))
        Q, V = states(robot, ROBOTS)
        ours, euler = {}, None
        for method in ("euler", "rk4"):
            seconds, out = linkwork(robot, Q, V, STEPS, method)
            euler = out if method == "euler" else euler
            ours[method] = seconds / (ROBOTS * STEPS)
            drift = np.abs(robot.constraints.residual(out.q[:16, -1])).max()
            print(
                f"{ROBOTS} Cassies, {STEPS} steps of {method}: {1e9 * ours[method]:.0f} ns for a step; loops open by {drift:.1e}"
            )
        seconds, there, start = mujoco(robot, Q[:FEWER], V[:FEWER], STEPS)
        each = seconds / (FEWER * STEPS)
        mine = convert.mujoco(robot).q_to(euler.q[:FEWER, -1])
        apart, moved = np.abs(there - mine).max(), np.abs(mine - start).max()
        print(f"MuJoCo: {1e9 * each:.0f} ns, ratio {each / ours['euler']:.1f}; apart by {apart:.1e} where states moved by {moved:.1e}")
    finally:
        set_threads(threads)


if __name__ == "__main__":
    main()
