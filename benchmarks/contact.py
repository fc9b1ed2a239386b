"""Steps with contact beside MuJoCo: one core, a batch of robots, and one robot alone.

go2 on its four feet, dry friction of its joints taken off before the contacts or solved with them; humanoid on the points of its feet;
and, run as `python -m benchmarks.contact --all`, with all its shapes on the ground. MuJoCo: Newton's solver, elliptic cones, the same
pairs, mj_step in a loop. The same states, joint forces and step length; both start from a robot that stands. Residuals are the worst of
all steps, over the robots. Ratios above 1: linkwork is faster.
"""

import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

import linkwork as lw
from benchmarks._race import best
from linkwork.engine.gufunc import get_threads, set_threads

MODELS = Path(__file__).parents[1] / "tests" / "models"
FEET = ["foot1_right", "foot2_right", "foot1_left", "foot2_left"]
DT, STEPS, ROBOTS = 0.002, 50, 1024


def go2():
    home = np.tile([0.0, 0.9, -1.8], 4)
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0.27], home])
    return MODELS / "go2_mjcf" / "go2.xml", ["FL", "FR", "RL", "RR"], q, 7


def humanoid(which):
    def made():
        robot = lw.Dynamics(lw.load(MODELS / "humanoid_mjcf" / "humanoid.xml"), compiled=False)
        q = robot.neutral()
        q[6] = 1.282
        return MODELS / "humanoid_mjcf" / "humanoid.xml", which, q, 7

    return made


def settled(robot, q, first: int, steps: int = 600):
    """State and joint forces of a robot that holds its joints where they are."""
    goal, nv = q[first:], robot.nv

    @robot.kernel
    def hold(t, q, v):
        return np.concatenate([np.zeros_like(v[:6]), 80 * (goal - q[first:]) - 3 * v[6:]])

    run = lw.rollout(robot, q[None], np.zeros((1, nv)), hold, dt=DT, steps=steps, every=steps, method="contact")
    q, v = run.q[0, -1], run.v[0, -1]
    return q, v, np.concatenate([np.zeros(6), 80 * (goal - q[first:]) - 3 * v[6:]])


def standing(make):
    """A robot with contacts, a state in which it stands, the forces that hold it, and the file and shapes it is made of."""
    path, which, q, first = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.load(path)
    model = model if model.ground else model.with_ground()
    robot = lw.Dynamics(model.with_contacts(which, material=lw.Material(friction=0.8)))
    return robot, *settled(robot, q, first), path, which


def compared(name, make, solver):
    robot, q, v, tau, path, which = standing(make)
    rng = np.random.default_rng(0)
    Q, V = np.tile(q, (ROBOTS, 1)), v + 0.05 * rng.normal(size=(ROBOTS, robot.nv))
    start = perf_counter()
    ours = lambda Q, V, steps: lw.rollout(robot, Q, V, tau, dt=DT, steps=steps, every=steps, method="contact", contact=solver)
    run = ours(Q, V, STEPS)
    compiled = perf_counter() - start
    batch = best(lambda: ours(Q, V, STEPS), 4) / ROBOTS / STEPS
    alone = best(lambda: ours(Q[:1], V[:1], 1000), 4) / 1000
    peer, contacts = mujoco_time(path, robot, which, Q, V, tau)
    closed, left = (run.force[:, -1, :, 0] > 0).sum(-1).mean(), run.residual[:, -1]
    print(f"{name}: {len(robot.contacts)} points, {closed:.1f} closed; the first call took {compiled:.0f} s")
    print(f"    linkwork {1e6 * batch:.2f} us a step in batch, {1e6 * alone:.2f} alone; mj_step {1e6 * peer:.2f} us with {contacts:.1f}")
    print(f"    {peer / batch:.1f} times in batch, {peer / alone:.1f} alone; residual {np.median(left):.0e} median, {left.max():.0e} worst")


def mujoco_time(path, robot, which, Q, V, tau):
    """Seconds of an mj_step, and contacts in it."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(path))
    for part in [x for x in spec.geoms if x.type == mujoco.mjtGeom.mjGEOM_MESH] + list(spec.meshes):
        spec.delete(part)  # seen only
    spec.worldbody.add_geom(name="the_floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], friction=[0.8, 0, 0])
    model = spec.compile()
    model.opt.timestep, model.opt.cone, model.opt.solver = DT, mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtSolver.mjSOL_NEWTON
    model.geom_friction[:, 0], model.geom_condim[:] = 0.8, 3
    floor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "the_floor")
    model.geom_contype[:], model.geom_conaffinity[:] = 1, 0
    model.geom_contype[floor], model.geom_conaffinity[floor] = 0, 1
    if which != "ground":
        for i in range(model.ngeom):
            if i != floor and mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, i) not in which:
                model.geom_contype[i] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    convention = lw.convert.mujoco(robot)
    qpos, qvel, force = convention.q_to(Q[:20]), convention.v_to(Q[:20], V[:20]), convention.tau_to(Q[0], tau)
    times, contacts = [], []
    for q, v in zip(qpos, qvel):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, force
        start = perf_counter()
        for _ in range(STEPS):
            mujoco.mj_step(model, data)
        times.append((perf_counter() - start) / STEPS)
        contacts.append(data.ncon)
    return min(times), float(np.mean(contacts))


def main():
    threads = get_threads()
    set_threads(1)
    try:
        compared("go2, friction first", go2, lw.ContactSolver(friction="first", tolerance=1e-5))
        compared("go2, friction solved", go2, lw.ContactSolver())
        compared("humanoid, feet", humanoid(FEET), lw.ContactSolver(method="interior", rounds=12, tolerance=1e-5))
        if "--all" in sys.argv:  # a minute of compilation
            compared("humanoid, all shapes", humanoid("ground"), lw.ContactSolver(rounds=30, tolerance=1e-6))
    finally:
        set_threads(threads)


if __name__ == "__main__":
    main()
