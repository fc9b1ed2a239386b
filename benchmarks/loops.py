"""Constrained forward dynamics of robots with loops, beside Pinocchio's, and its growth with the number of loops."""

import os
import sys
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from unittest.mock import patch

import numpy as np

import linkwork as lw
from benchmarks import _machine
from benchmarks._race import race
from benchmarks._robots import closed_states, geared, hung
from benchmarks.engine import RESULTS, table
from linkwork import constraints

TESTS = Path(__file__).parents[1] / "tests"
ASKED = 10.0  # times Pinocchio, in a batch, of the robots below with a free base
BATCH, STATES = 1024, 8


def robots():
    models = TESTS / "models"
    yield "cassie", lw.load(models / "cassie_mjcf" / "cassie.xml")
    for name in ("digit_like", "delta_robot"):
        yield name, lw.load(models / name / "robot.urdf", loops=models / name / "robot.yaml")


def beside_pinocchio():
    """Microseconds a state, one thread, taken in turn: a batch, one call from Python, and Pinocchio's constraintDynamics."""
    sys.path.insert(0, str(TESTS))
    import pinocchio as pin
    from constraints.peer import Peer  # type: ignore[import-not-found]

    for name, model in robots():
        held, peer = constraints.of(lw.Dynamics(model)), Peer(model)
        some = closed_states(held, STATES)
        Q, V, T = (np.tile(np.array(x), (BATCH // STATES, 1)) for x in zip(*some))
        settings, there = pin.ProximalSettings(1e-12, 1e-10, 10), [peer.state(*s) for s in some]
        vdot = held.forward_dynamics(Q, V, T)
        run = partial(pin.constraintDynamics, peer.model, peer.data)
        rest = peer.loops, peer.loop_data, settings
        times = race(
            partial(held.forward_dynamics, Q, V, T, out=np.empty_like(vdot)),
            lambda held=held, some=some: [held.forward_dynamics(*s) for s in some],
            lambda run=run, rest=rest, there=there: [run(*s, *rest) for s in there],
        )
        batch, one, theirs = (1e6 * t / n for t, n in zip(times, (BATCH, STATES, STATES)))
        off = max(np.abs(vdot[i] - peer.forward_dynamics(*s)).max() / np.abs(vdot[i]).max() for i, s in enumerate(some))
        yield [name, held.nv, len(held), held.picked, batch, one, theirs, theirs / batch, theirs / one, off]


def growth(sizes, compiled, samples=1):
    """Seconds of one forward dynamics by constraint embedding, for each number of loops."""
    for n in sizes:
        model, q = hung(n)
        held = constraints.of(lw.Dynamics(model, compiled=compiled))
        Q, zero = np.tile(q, (samples, 1)) if samples > 1 else q, np.zeros(held.nv)
        run = partial(held.forward_dynamics, Q, zero, zero, method=None if compiled else "embedded")
        run()
        yield n, min(seconds(run) for _ in range(20 if compiled or n < 500 else 5)) / samples


def many(sizes, of):
    """Forward dynamics by kernels that loop over loops: seconds of the first call with nothing on disk, and of one call."""
    for n in sizes:
        model, q = of(n)
        with TemporaryDirectory() as empty, patch.dict(os.environ, LINKWORK_CACHE_DIR=empty):
            robot = lw.Dynamics(model)
            zero = np.zeros(robot.nv)
            run = partial(robot.forward_dynamics, q, zero, zero)
            first = seconds(run)
        yield n, robot.constraints.picked, first, min(seconds(run) for _ in range(200))


def swings(sizes):
    """A tenth of a second simulated from rest: steps, seconds, and how far the energy is off, of the kinetic energy at the end."""
    for n in sizes:
        model, q = hung(n)
        robot = lw.Dynamics(model)
        lw.simulate(robot, (q, np.zeros(robot.nv)), until=0.001)
        start = perf_counter()
        run = lw.simulate(robot, (q, np.zeros(robot.nv)), until=0.1)
        took, kinetic = perf_counter() - start, robot.kinetic_energy(run.q, run.v)
        yield n, len(run.t) - 1, took, float(np.ptp(kinetic + robot.potential_energy(run.q)) / kinetic[-1])


def seconds(run):
    start = perf_counter()
    run()
    return perf_counter() - start


NOTE = (
    "Microseconds a state, one thread, the best of several, taken in turn with Pinocchio's `constraintDynamics` at the same states; "
    f"a batch is {BATCH} samples with `out=` given. Pinocchio is called from Python for each state: it has no batch of these. What is "
    f"asked is {ASKED:g} times Pinocchio in a batch of cassie or digit_like. The load average is that of the end of the run."
)


def main():
    before = lw.get_threads()
    lw.set_threads(1)
    try:
        peers = list(beside_pinocchio())
        kernels = [[n, 1e6 * t, 1e6 * t / n] for n, t in growth((1, 2, 5, 10, 20), True, 256)]
        rolled = [[n, first, 1e3 * t, 1e6 * t / n] for n, _, first, t in many((100, 300, 1000, 3000), hung)]
        gears = [[n, first, 1e3 * t, 1e6 * t / n] for n, _, first, t in many((100, 1000), geared)]
        simulated = list(swings((100, 1000)))
        plain = [[n, 1e3 * t, 1e3 * t / n] for n, t in growth((50, 100, 200, 500, 1000), False)]
    finally:
        lw.set_threads(before)
    head = "", "nv", "rows", "by", "batch", "one call", "Pinocchio", "ratio, batch", "ratio, one", "off by"
    text = [
        f"# Loops, {date.today()}",
        _machine.described(),
        NOTE,
        f"## forward dynamics under constraints\n\n{table(head, peers)}",
        f"## four-bars hung on each other's couplers, a kernel on 256 samples\n\n{table(('loops', 'µs', 'µs a loop'), kernels)}",
        f"## the same by kernels that loop over loops, one state\n\n{table(('loops', 'first call, s', 'ms', 'µs a loop'), rolled)}",
        f"## a tenth of a second of them simulated\n\n{table(('loops', 'steps', 's', 'energy off by'), simulated)}",
        f"## joints in a row, each with a gear, by such kernels\n\n{table(('gears', 'first call, s', 'ms', 'µs a gear'), gears)}",
        f"## four-bars in plain NumPy, one state\n\n{table(('loops', 'ms', 'ms a loop'), plain)}",
    ]
    print("\n\n".join(text[2:]))
    file = RESULTS / f"loops-{date.today()}.md"
    file.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    print(f"\nwritten to {os.path.relpath(file)}")


if __name__ == "__main__":
    main()
