"""Thousands of pandas falling: semi-implicit Euler, one thread, against MuJoCo's rollout and Pinocchio's batch of aba.

The same URDF without its shapes, the same states and steps; MuJoCo with every constraint off. linkwork and MuJoCo keep
every state, in memory that was used before. Each is the best of three; peers run for fewer steps, and the time of a
step is compared. Ratios above 1: linkwork is faster.
"""

import re
from pathlib import Path

import numpy as np

import linkwork as lw
from benchmarks._race import best
from linkwork.engine.loading.gufunc import get_threads, set_threads

PANDA = Path(__file__).parents[1] / "tests" / "models" / "panda" / "panda.urdf"
ROBOTS, STEPS, DT = 4096, 1000, 1e-3
FEWER = 50  # steps for the peers
SHAPES = re.compile(r"<(visual|collision)\b.*?</\1>", re.DOTALL)


def panda() -> str:
    """The arm's URDF without meshes, which nobody needs here."""
    return SHAPES.sub("", PANDA.read_text(encoding="utf-8"))


def linkwork(text: str, Q, V, steps: int) -> tuple[float, np.ndarray]:
    robot = lw.Dynamics(lw.load(text, mimic="free"))
    out = lw.rollout(robot, Q, V, dt=DT, steps=steps)
    seconds = best(lambda: lw.rollout(robot, Q, V, dt=DT, steps=steps, out=(out.q, out.v)))
    return seconds, out.q[:, -1]


def mujoco(text: str, Q, V, steps: int) -> tuple[float, np.ndarray]:
    import mujoco
    from mujoco import rollout

    extension = '<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
    model = mujoco.MjModel.from_xml_string(text.replace("</robot>", extension + "</robot>"))
    model.opt.timestep = DT
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_EQUALITY | flags.mjDSBL_EULERDAMP
    data = mujoco.MjData(model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((len(Q), size))
    initial[:, 1 : 1 + model.nq + model.nv] = np.concatenate([Q, V], -1)
    room = np.full((len(Q), steps, size), 0.0)
    seconds = best(lambda: rollout.rollout(model, data, initial, nstep=steps, state=room))
    return seconds, room[:, -1, 1 : 1 + model.nq]


def pinocchio(text: str, Q, V, steps: int) -> tuple[float, np.ndarray]:
    """aba of the whole batch in C++, and the step in NumPy: quicker than a Python loop over robots."""
    import pinocchio as pin

    model = pin.buildModelFromXML(text)
    pool = pin.ModelPool(model, 1)
    damping = np.asarray(model.damping)[:, None]
    q, v = (np.asfortranarray(x.T.copy()) for x in (Q, V))
    a, tau = np.zeros_like(v, order="F"), np.zeros_like(v, order="F")

    def run():
        q[:], v[:] = Q.T, V.T
        for _ in range(steps):
            np.multiply(-damping, v, out=tau)
            pin.abaInParallel(1, pool, q, v, tau, a)
            np.add(v, DT * a, out=v)
            np.add(q, DT * v, out=q)

    return best(run), q.T


def main() -> None:
    text, threads = panda(), get_threads()
    set_threads(1)
    try:
        Q, V = lw.Dynamics(lw.load(text, mimic="free")).random_state((ROBOTS,), seed=0)
        V *= 0.1
        seconds, _ = linkwork(text, Q, V, STEPS)
        _, there = linkwork(text, Q, V, FEWER)
        ours = seconds / (ROBOTS * STEPS)
        print(f"{ROBOTS} pandas, {STEPS} steps: linkwork {seconds:.3f} s, {1e9 * ours:.1f} ns for a step of a robot, one thread")
        for name, peer in (("MuJoCo", mujoco), ("Pinocchio", pinocchio)):
            seconds, theirs = peer(text, Q, V, FEWER)
            each = seconds / (ROBOTS * FEWER)
            apart = np.abs(theirs - there).max()
            print(f"{name:>10}: {1e9 * each:8.1f} ns, ratio {each / ours:6.1f}; after {FEWER} steps {apart:.1e} rad apart")
    finally:
        set_threads(threads)


if __name__ == "__main__":
    main()
