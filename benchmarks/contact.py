"""Steps with contact beside MuJoCo: one core, a batch of robots, and one robot alone.

go2 on its four feet, dry friction of its joints taken off before the contacts or solved with them; humanoid on the points of its feet;
and, run as `python -m benchmarks.contact --all`, with all its shapes on the ground. MuJoCo: Newton's solver, elliptic cones, the same
pairs, mj_step in a loop. The same states, joint forces and step length; both start from a robot that stands. Times of the processor,
taken in turn. Residuals are the worst of all steps, over the robots. Ratios above 1: linkwork is faster.
"""

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np

import linkwork as lw
from benchmarks._race import race
from linkwork.engine.loading.gufunc import get_threads, set_threads

MODELS = Path(__file__).parents[1] / "tests" / "models"
FEET = ["foot1_right", "foot2_right", "foot1_left", "foot2_left"]
DT, STEPS, ROBOTS, ALONE = 0.002, 50, 512, 200


def go2():
    home = np.tile([0.0, 0.9, -1.8], 4)
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0.27], home])
    return MODELS / "go2_mjcf" / "go2.xml", ["FL", "FR", "RL", "RR"], q, 7, 600


def humanoid(which):
    def made():
        robot = lw.Dynamics(lw.load(MODELS / "humanoid_mjcf" / "humanoid.xml"), compiled=False)
        q = robot.neutral()
        q[6] = 1.282
        return MODELS / "humanoid_mjcf" / "humanoid.xml", which, q, 7, 100  # it would fall over later

    return made


def settled(robot, q, first: int, solver, steps: int):
    """State and joint forces of a robot that holds its joints where they are."""
    goal, nv = q[first:], robot.nv

    @robot.kernel
    def hold(t, q, v):
        return np.concatenate([np.zeros_like(v[:6]), 80 * (goal - q[first:]) - 3 * v[6:]])

    run = lw.rollout(robot, q[None], np.zeros((1, nv)), hold, dt=DT, steps=steps, every=steps, method="contact", contact=solver)
    q, v = run.q[0, -1], run.v[0, -1]
    return q, v, np.concatenate([np.zeros(6), 80 * (goal - q[first:]) - 3 * v[6:]])


def standing(make, solver=None):
    """A robot with contacts, a state in which it stands, the forces that hold it, and the file and shapes it is made of."""
    path, which, q, first, steps = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.load(path)
    model = model if model.ground else model.with_ground()
    robot = lw.Dynamics(model.with_contacts(which, material=lw.Material(friction=0.8)))
    return robot, *settled(robot, q, first, solver, steps), path, which


def compared(name, make, solver):
    robot, q, v, tau, path, which = standing(make, solver)
    rng = np.random.default_rng(0)
    Q, V = np.tile(q, (ROBOTS, 1)), v + 0.05 * rng.normal(size=(ROBOTS, robot.nv))
    start = perf_counter()
    ours = lambda Q, V, steps: lw.rollout(robot, Q, V, tau, dt=DT, steps=steps, every=steps, method="contact", contact=solver)
    run = ours(Q, V, STEPS)
    compiled = perf_counter() - start
    theirs = MuJoCoSteps(path, robot, which, Q[:4], V[:4], tau)
    batch, alone, peer = race(lambda: ours(Q, V, STEPS), lambda: ours(Q[:1], V[:1], ALONE), theirs, clock=thread_time)
    batch, alone, peer = batch / ROBOTS / STEPS, alone / ALONE, peer / theirs.steps
    closed, left = (run.force[:, -1, :, 0] > 0).sum(-1).mean(), run.residual[:, -1]
    print(f"{name}: {len(robot.contacts)} points, {closed:.1f} closed; the first call took {compiled:.0f} s")
    peers = f"mj_step {1e6 * peer:.2f} us with {theirs.contacts:.1f}"
    print(f"    linkwork {1e6 * batch:.2f} us a step in batch, {1e6 * alone:.2f} alone; {peers}")
    print(f"    {peer / batch:.1f} times in batch, {peer / alone:.1f} alone; residual {np.median(left):.0e} median, "
          f"{np.quantile(left, 0.99):.0e} for 99 %, {left.max():.0e} worst", flush=True)  # fmt: skip


def mujoco_spec(path, which):
    """The file with a floor that the shapes named touch, and nothing else does; Newton's solver, elliptic cones, no joint limits."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(path))
    for part in [x for x in spec.geoms if x.type == mujoco.mjtGeom.mjGEOM_MESH] + list(spec.meshes):
        spec.delete(part)  # seen only
    for geom in spec.geoms:
        touches = geom.type != mujoco.mjtGeom.mjGEOM_PLANE and (which == "ground" or geom.name in which)
        geom.contype, geom.conaffinity, geom.condim, geom.friction = int(touches), 0, 3, [0.8, 0, 0]
    floor = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [5, 5, 0.1], "friction": [0.8, 0, 0]}
    spec.worldbody.add_geom(name="the_floor", contype=0, conaffinity=1, condim=3, **floor)
    spec.option.timestep, spec.option.cone, spec.option.solver = DT, mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    return spec


class MuJoCoSteps:
    """mj_step from a few states, each for as many steps as ours."""

    def __init__(self, path, robot, which, Q, V, tau):
        import mujoco

        self.model = mujoco_spec(path, which).compile()
        self.data = mujoco.MjData(self.model)
        self.states, self.force = mujoco_states(robot, Q, V, tau)
        self.steps, self.contacts, self.mujoco = STEPS * len(Q), 0.0, mujoco

    def __call__(self):
        step, model, data, found = self.mujoco.mj_step, self.model, self.data, []
        for q, v in self.states:
            self.mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, self.force
            for _ in range(STEPS):
                step(model, data)
            found.append(data.ncon)
        self.contacts = float(np.mean(found))


def mujoco_states(robot, Q, V, tau):
    """(qpos, qvel) of each state, and the forces."""
    convention = lw.convert.mujoco(robot)
    return list(zip(convention.q_to(Q), convention.v_to(Q, V))), convention.tau_to(Q[0], tau)


def main():
    threads = get_threads()
    set_threads(1)
    try:
        newton = lw.ContactLaw(solver="newton", rounds=60, tolerance=1e-5)
        compared("go2, friction first", go2, lw.ContactLaw(friction="first", tolerance=1e-5))
        compared("go2, friction solved", go2, newton)
        compared("humanoid, feet", humanoid(FEET), replace(newton, rounds=20, tolerance=5e-5))
        if "--all" in sys.argv:  # minutes of compilation
            compared("humanoid, all shapes", humanoid("ground"), replace(newton, rounds=20, tolerance=5e-5))
    finally:
        set_threads(threads)


if __name__ == "__main__":
    main()
