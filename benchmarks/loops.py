"""Constrained forward dynamics of robots with loops, beside Pinocchio's, and its growth with the number of loops."""

import sys
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

import linkwork as lw
from linkwork import constraints

MODELS = Path(__file__).parents[1] / "tests" / "models"
sys.path.insert(0, str(MODELS.parent))


def robots():
    yield "cassie (MJCF)", lw.load(MODELS / "cassie_mjcf" / "cassie.xml")
    for name in ("digit_like", "delta_robot"):
        yield name, lw.load(MODELS / name / "robot.urdf", loops=MODELS / name / "robot.yaml")


def best(function, repeat=5):
    times = []
    for _ in range(repeat):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


def beside_pinocchio(count=512):
    """Microseconds a sample, one thread: our kernel in a batch, and Pinocchio's constraintDynamics called one by one."""
    import pinocchio as pin
    from constraints.peer import Peer

    lw.set_threads(1)
    print(f"{'robot':16}{'kernel':>10}{'Pinocchio':>12}{'ratio':>8}{'off':>10}")
    for name, model in robots():
        robot, peer = lw.Dynamics(model), Peer(model)
        held = constraints.of(robot)
        rng = np.random.default_rng(0)
        start = held.assemble(robot.neutral())
        states = []
        for _ in range(8):
            try:
                q = held.assemble(robot.integrate(start, 0.05 * rng.uniform(-1, 1, robot.nv)))
            except constraints.ConstraintError:
                q = start
            q, v = held.project(q, 0.3 * rng.standard_normal(robot.nv))
            states.append((q, v, rng.standard_normal(robot.nv) * np.diag(robot.mass_matrix(q)) ** 0.5))
        Q, V, T = (np.tile(np.array(x), (count // 8, 1)) for x in zip(*states))
        vdot = held.forward_dynamics(Q, V, T)
        ours = best(partial(held.forward_dynamics, Q, V, T)) / count
        settings = pin.ProximalSettings(1e-12, 1e-10, 10)
        there = [peer.state(*s) for s in states]

        def run(peer=peer, there=there, settings=settings):
            for s in there:
                pin.constraintDynamics(peer.model, peer.data, *s, peer.loops, peer.loop_data, settings)

        theirs = best(run, 20) / len(there)
        off = max(np.abs(vdot[i] - peer.forward_dynamics(*s)).max() / np.abs(vdot[i]).max() for i, s in enumerate(states))
        print(f"{name:16}{ours * 1e6:10.3f}{theirs * 1e6:12.2f}{theirs / ours:8.1f}{off:10.1e}")


def hung(n):
    """n parallelograms hung on each other's couplers."""
    m = lw.Builder(f"hung:{n}", (0, -9.81, 0))
    carrier, pin_ = None, lw.Revolute()
    bar = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.01, 0.1, 0.1)}
    for i in range(n):
        m.body(f"a{i}", carrier, (0.1, 0, 0), pin_, **bar)
        m.body(f"b{i}", f"a{i}", (1, 0, 0), pin_, **bar)
        m.body(f"c{i}", carrier, (2.1, 0, 0), pin_, **bar)
        m.loop(f"pin{i}", f"b{i}", f"c{i}", pin_, at=(2, 0, 0), on=(1, 0, 0))
        carrier = f"b{i}"
    robot = lw.Dynamics(m.model(), compiled=False)
    q = robot.neutral()
    for i in range(n):
        q[robot.q_index(f"a{i}_joint")] = q[robot.q_index(f"c{i}_joint")] = -1.2
        q[robot.q_index(f"b{i}_joint")] = 1.2
    return constraints.of(robot), q


def growth(sizes=(50, 100, 200, 400, 1000)):
    """Milliseconds of one embedded forward dynamics in plain NumPy."""
    print(f"{'loops':>8}{'ms':>10}{'ms a loop':>12}")
    for n in sizes:
        held, q = hung(n)
        zero = np.zeros(held.nv)
        choices = held.embedding.choose(q)
        run = partial(held.embedding.accelerations, held.embedding.nodes, choices, q, zero, zero)
        taken = best(run, 2)
        print(f"{n:8}{taken * 1e3:10.1f}{taken * 1e3 / n:12.3f}")


def main():
    beside_pinocchio()
    growth()


if __name__ == "__main__":
    main()
