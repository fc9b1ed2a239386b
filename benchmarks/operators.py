"""Spatial operators and operational space.

First `mass.inv() @ tau` on chains of 100 to 10,000 links, plain NumPy: the time grows with the number of links and no
faster. Then Λ = (J 𝓜⁻¹ J*)⁻¹ of the two feet and two hands of a humanoid, and the other kernels of chapters 10 and 16,
in batch on one thread, beside Pinocchio called from Python for each sample: computeMinverse, Jacobians, their products.
"""

from pathlib import Path

import numpy as np

import linkwork as lw
import linkwork.convert
from benchmarks.long_chain import chain, seconds
from linkwork.engine.loading.gufunc import get_threads, set_threads
from linkwork.operators import rigid
from linkwork.systems import lower

LENGTHS = 100, 300, 1000, 3000, 10_000
HUMANOID = Path(__file__).parents[1] / "tests/models/simple_humanoid/simple_humanoid.urdf"
HANDS_AND_FEET = "LLEG_LINK6", "RLEG_LINK6", "LARM_LINK7", "RARM_LINK7"
BATCH = 4096


def compiled(robot, name, *options):
    """A quantity as a kernel, and its number of operations."""
    kernel = robot.quantity((name, *options)).kernel()
    return kernel.gufunc("d"), sum(kernel.program.operations.values())


def chains() -> None:
    print(f"{'links':>6} {'P, D, G (s)':>12} {'inv() @ tau (s)':>16} {'µs/link':>9} {'off forward dynamics by':>25}")
    for n in LENGTHS:
        model = chain(n)
        nodes, rng = lower(model), np.random.default_rng(0)
        q, tau = 0.1 * rng.standard_normal(n), rng.standard_normal(n)
        first = seconds(lambda q=q, nodes=nodes: rigid(nodes, q).articulated, least=0.1)
        sko = rigid(nodes, q)
        mass = sko.operators.mass_matrix.inv()
        each = seconds(lambda mass=mass, tau=tau: mass @ tau, least=0.2)
        difference = np.abs(mass @ tau - sko.solve(tau[:, None])[:, 0]).max() / np.abs(mass @ tau).max()
        print(f"{n:>6} {first:>12.4f} {each:>16.4f} {1e6 * each / n:>9.1f} {difference:>25.1e}")


def peer(robot, q, places):
    """Λ by Pinocchio, one sample after the other: two results, the time of one, and that of computeMinverse alone."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(HUMANOID), pin.JointModelFreeFlyer())
    data = model.createData()
    q = lw.convert.pinocchio(robot).q_to(q)
    frames = [model.getFrameId(name) for name in places]
    J = np.zeros((6 * len(places), model.nv))

    def inertia(x):
        pin.computeJointJacobians(model, data, x)
        pin.updateFramePlacements(model, data)
        for i, frame in enumerate(frames):
            J[6 * i : 6 * i + 6] = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
        M = pin.computeMinverse(model, data, x)
        return np.linalg.inv(J @ (M @ J.T))

    def minverse(x):
        return pin.computeMinverse(model, data, x)

    times = [seconds(lambda f=f: [f(x) for x in q]) / len(q) for f in (inertia, minverse)]
    return [inertia(x) for x in q[:2]], *times


def operational_space() -> None:
    model = lw.load(HUMANOID, floating=True)
    robot = lw.Dynamics(model)
    _, v = robot.random_state((BATCH,), seed=0)
    q = robot.integrate(robot.neutral(), v)  # the file's limits are zero, where the task is singular
    given, flags = np.random.default_rng(1).standard_normal((BATCH, robot.nv)), np.arange(robot.nv) % 2.0
    calls = {
        "task_compliance": ((q,), HANDS_AND_FEET),
        "task_inertia": ((q,), HANDS_AND_FEET),
        "joint_response": ((q,), HANDS_AND_FEET),
        "hybrid_dynamics": ((q, v, given, flags), ()),
    }
    threads = get_threads()
    set_threads(1)
    print(f"\n{model.name}, nv = {robot.nv}, batches of {BATCH}, one thread")
    took = {}
    for name, (arguments, options) in calls.items():
        kernel, operations = compiled(robot, name, *options)
        took[name] = seconds(kernel, *arguments) / BATCH
        print(f"  {name:<20} {operations:>7} operations {1e6 * took[name]:>8.2f} µs a sample")
    took["mass_matrix_inverse"] = seconds(robot.mass_matrix_inverse, q) / BATCH
    print(f"  {'mass_matrix_inverse':<20} {'':>18} {1e6 * took['mass_matrix_inverse']:>8.2f} µs a sample")
    try:
        sample, inertia, minverse = peer(robot, q[:256], HANDS_AND_FEET)
    except ImportError:
        print("  (no Pinocchio here)")
        return
    finally:
        set_threads(threads)
    ours, _ = compiled(robot, "task_inertia", *HANDS_AND_FEET)[0](q[:2])
    swap = np.tile([3, 4, 5, 0, 1, 2], 4) + np.repeat(6 * np.arange(4), 6)
    off = np.abs(ours - np.array(sample)[:, swap][:, :, swap]).max() / np.abs(ours).max()
    print(f"  Pinocchio: Λ {1e6 * inertia:.2f} µs (off by {off:.0e}), computeMinverse alone {1e6 * minverse:.2f} µs")
    print(f"  ratio: Λ {inertia / took['task_inertia']:.1f}, 𝓜⁻¹ {minverse / took['mass_matrix_inverse']:.1f}")


def main() -> None:
    chains()
    operational_space()


if __name__ == "__main__":
    main()
