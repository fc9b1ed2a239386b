"""Derivatives of dynamics beside Pinocchio, in one run, one thread each; programs of second order; first calls.

Prints tables beside what is aimed at, and writes them to results/derivatives-<date>.md. Names of robots may be given:

    python -m benchmarks.derivatives panda ur5
"""

import os
import sys
from collections.abc import Iterator
from datetime import date
from functools import partial
from tempfile import TemporaryDirectory
from time import thread_time

import numpy as np
import pinocchio as pin

import linkwork as lw
from benchmarks import _machine, _pinocchio, _robots
from benchmarks._new_process import measured
from benchmarks._race import race
from benchmarks.engine import RESULTS, table

BATCH, CACHE = 4096, 1 << 19  # samples; bytes of results that stay in cache: half of a usual L2
CALLS, REPEATS = 100, 8  # of one sample, and of a batch in cache
ASKED = {"ur5": 40, "panda": 25, "solo12": 20, "anymal_c": 15, "simple_humanoid": 8, "talos_reduced": 8}
THEIRS = {"forward_dynamics_derivatives": pin.computeABADerivatives, "inverse_dynamics_derivatives": pin.computeRNEADerivatives}
LIMITS = {"ur5": 2, "panda": 2, "simple_humanoid": 8, "talos_reduced": 8}  # seconds of a first call
OTHERS = {"forward_dynamics": 1, "mass_matrix_inverse": 2.5}  # of talos_reduced: other methods and their limits
COLUMNS = (
    "", "nv", "operations", "Pinocchio µs", "batch µs", "ratio", "asked", "in cache µs", "ratio", "asked", "one call µs", "ratio", "off by",
)  # fmt: skip


def asked(name: str, method: str) -> tuple[float, float]:
    """The ratios to reach: in a batch, and where its results stay in cache."""
    arm, humanoid = name in ("ur5", "panda"), name in ("simple_humanoid", "talos_reduced")
    if method == "inverse_dynamics_derivatives":
        return (20, 20) if arm else (12, 12)
    return ASKED[name], 12 if humanoid else ASKED[name]


def compared(name: str, method: str) -> list:
    """One row: Pinocchio has no loop of its own for derivatives, it is called from Python for one state."""
    robot = lw.Dynamics(_robots.model(name))
    peer = _pinocchio.of_file(robot, _robots.file(name), _robots.ROBOTS[name], BATCH)
    run, states = getattr(robot, method), (peer.q, peer.v, peer.u)
    count = max(16, CACHE // (8 * 3 * robot.nv**2) // 8 * 8)
    few, first = [x[:count].copy() for x in states], [x[0].copy() for x in states]
    out, small = (tuple(np.empty_like(x) for x in run(*some)) for some in (states, few))
    theirs = partial(THEIRS[method], peer.model, peer.data, *peer.one)
    taken = race(
        partial(repeated, CALLS, theirs),
        partial(run, *states, out=out),
        partial(repeated, REPEATS, partial(run, *few, out=small)),
        partial(repeated, CALLS, partial(run, *first)),
        clock=thread_time,
    )
    peers, batch, cached, once = 1e6 * np.array(taken) / [CALLS, BATCH, REPEATS * count, CALLS]
    wanted = asked(name, method)
    times = peers, batch, peers / batch, wanted[0], cached, peers / cached, wanted[1], once, peers / once
    return [name, robot.nv, operations(robot.program(method)), *map(float, times), off(peer, method)]


def repeated(count: int, run) -> None:
    for _ in range(count):
        run()


def off(peer, method: str) -> float:
    """How far our derivative by the third argument is from Pinocchio's, relative to the largest entry."""
    found = THEIRS[method](peer.model, peer.data, *peer.one)[2]
    axes = peer.to.axes(peer.q[0])
    axes = axes.T if method.startswith("inverse") else np.linalg.inv(axes)
    theirs = axes @ (np.triu(found) + np.triu(found, 1).T) @ axes.T
    ours = getattr(peer.robot, method)(peer.q[0], peer.v[0], peer.u[0])[2]
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def operations(program) -> int:
    return sum(program.operations.values())


def second_order(name: str) -> Iterator[list]:
    """Operations and times in batch of what is made from forward dynamics, relative to it."""
    robot = lw.Dynamics(_robots.model(name))
    forward = robot.kernel(lambda q, v, tau: robot.forward_dynamics(q, v, tau))
    still = np.zeros(robot.nv)  # the weight of a Hessian does not move

    @robot.kernel(weight=robot.nv, dq=robot.nv, dv=robot.nv, dtau=robot.nv)
    def hessian_vector(q, v, tau, weight, dq, dv, dtau):
        return forward.vjp.jvp(q, v, tau, weight, dq, dv, dtau, still)

    kernels = {"vjp": (forward.vjp, 3.2), "Hessian times vector": (hessian_vector, 8.0)}
    q, v = robot.random_state((512,), seed=0)
    plain, rng = (q, v, v), np.random.default_rng(0)
    for title, (kernel, limit) in kernels.items():
        more = [rng.standard_normal((512, *x.shape)) for x in kernel.inputs()[3:]]
        kernel(*plain, *more)
        ours, base = race(partial(kernel, *plain, *more), partial(forward, *plain), clock=thread_time)
        count, own = operations(kernel.program), operations(forward.program)
        yield [f"{name}: {title}", count, own, count / own, limit, ours / base]


def tensors(name: str) -> list:
    """∂²τ/∂q², ∂²τ/∂q∂v and ∂²τ/∂v² of inverse dynamics, a sample of a batch."""
    robot = lw.Dynamics(_robots.model(name))
    first = robot.kernel(lambda q, v, vdot: robot.inverse_dynamics_derivatives(q, v, vdot)[:2])
    by_q, by_v = first.jacobian(of=(0, 1), by="q"), first.jacobian(of=1, by="v")
    q, v = robot.random_state((256,), seed=0)
    tensor, pair = by_v(q, v, v), by_q(q, v, v)
    taken = race(lambda: (by_q(q, v, v, out=pair), by_v(q, v, v, out=tensor)), clock=thread_time)
    return [name, robot.nv, operations(by_q.program) + operations(by_v.program), 1e6 * taken[0] / 256, 30.0]


def first_calls(names) -> Iterator[list]:
    """A new process with an empty cache: trace, compile, run."""
    for name in (name for name in names if name in LIMITS):
        limits = dict.fromkeys(THEIRS, LIMITS[name]) | (OTHERS if name == "talos_reduced" else {})
        for method, limit in limits.items():
            with TemporaryDirectory() as folder:
                found = measured("first_call", name, method, LINKWORK_CACHE_DIR=folder, repeats=1)
            yield [f"{name}: {method}", found["first call"], found["processor"], limit]


def main(names: list[str] | None = None) -> None:
    names = names or [*ASKED]
    before, parts = lw.get_threads(), {}
    lw.set_threads(1)
    try:
        for method in THEIRS:
            parts[method.replace("_", " ")] = COLUMNS, [compared(name, method) for name in names]
        head = "", "operations", "of forward dynamics", "ratio", "at most", "ratio of times"
        parts["forward dynamics backwards, and second order"] = head, [
            row for name in names if name in ("ur5", "panda") for row in second_order(name)
        ]
        head = "", "nv", "operations", "µs", "at most"
        parts["second derivatives of inverse dynamics: qq, qv, vv"] = head, [tensors(x) for x in names if x in ("solo12", "anymal_c")]
    finally:
        lw.set_threads(before)
    parts["first call with an empty cache"] = ("", "s", "s of the processor", "at most"), list(first_calls(names))
    text = [f"# Derivatives, {date.today()}", _machine.described(), NOTE.format(batch=BATCH, cached=CACHE >> 10)]
    text += [f"## {title}\n\n{table(head, rows)}" for title, (head, rows) in parts.items() if rows]
    print("\n\n".join(text[2:]))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"derivatives-{date.today()}.md"
    file.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    print(f"\nwritten to {os.path.relpath(file)}")


NOTE = (
    "Times of linkwork and Pinocchio are taken in turn, one thread each, time of the processor, the best of several. "
    "A batch is {batch} samples with `out=` "
    "given, or as many as give {cached} kB of results (at least 16), again and again, which stay in cache; one call is from Python. "
    "Pinocchio has no loop of its own for derivatives: it is called from Python, one state at a time. Operations "
    "count a multiply-add as two."
)


if __name__ == "__main__":
    main(sys.argv[1:])
