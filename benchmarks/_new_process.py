"""What only a new process can tell: how long an import, a first call, a first call from disk take; how much memory.

    python -m benchmarks._new_process imported
    python -m benchmarks._new_process first_call panda [forward_dynamics_derivatives]
    python -m benchmarks._new_process first_run talos_reduced+base
    python -m benchmarks._new_process long_chain 10000
    python -m benchmarks._new_process released_chain 10000
"""

import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path
from time import perf_counter, process_time

from benchmarks import _robots


def measured(*arguments, repeats: int = 3, **environment) -> dict[str, float]:
    """The best of each figure over some new processes."""
    runs = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks._new_process", *map(str, arguments)],
            env={**os.environ, **environment}, capture_output=True, text=True, check=True, cwd=_robots.HERE.parent,
        )  # fmt: skip
        runs.append(json.loads(done.stdout))
    return {key: min(run[key] for run in runs) for key in runs[0]}


def imported() -> dict[str, float]:
    start = perf_counter()
    import linkwork  # noqa: F401

    return {"import": perf_counter() - start}


def first_call(name: str, method: str = "forward_dynamics") -> dict[str, float]:
    """After imports: reading the file, then Dynamics and its first forward dynamics, or another method of q, or of q and velocities."""
    import numpy as np

    import linkwork as lw

    start = perf_counter()
    model = _robots.model(name)
    read, busy = perf_counter(), process_time()
    robot = lw.Dynamics(model)
    count = len(lw.quantities.QUANTITIES[method].inputs)
    getattr(robot, method)(*[robot.neutral(), *[np.zeros(robot.nv)] * 2][:count])
    return {"read": read - start, "first call": perf_counter() - read, "processor": process_time() - busy}


def first_run(name: str) -> dict[str, float]:
    """After imports and reading the file: Dynamics and a first simulation of 0.1 s; the same again."""
    import numpy as np

    import linkwork as lw

    model = _robots.model(name.removesuffix("+base"), floating=name.endswith("+base"))
    start, busy = perf_counter(), process_time()
    robot = lw.Dynamics(model)
    state = robot.neutral(), np.zeros(robot.nv)
    lw.simulate(robot, state, until=0.1)
    first, spent = perf_counter() - start, process_time() - busy
    start = perf_counter()
    lw.simulate(robot, state, until=0.1)
    return {"first run": first, "processor": spent, "second run": perf_counter() - start}


def long_chain(links: str) -> dict[str, float]:
    """The built-in chain: first call, each later call, and the most memory the process ever had."""
    import numpy as np

    import linkwork as lw

    robot = lw.Dynamics(lw.load(f"chain:{links}"))
    q, v = robot.random_state(seed=0)
    q, v, tau = 0.01 * q, 0.01 * v, np.zeros(robot.nv)
    start = perf_counter()
    robot.forward_dynamics(q, v, tau)
    first, times = perf_counter() - start, []
    for _ in range(200):
        start = perf_counter()
        robot.forward_dynamics(q, v, tau)
        times.append(perf_counter() - start)
    return {"first call": first, "each": min(times), "memory": most_memory()}


def released_chain(links: str) -> dict[str, float]:
    """A zig-zag of rods, held out level from a pin, falls for a second, by rk4 with steps of 2.5 ms: what comes before, the run, its
    drift of energy against the kinetic energy at the end, and the most memory the process ever had."""
    import numpy as np

    import linkwork as lw

    start = perf_counter()
    robot = lw.Dynamics(lw.load(f"chain:{links}"))
    q = 2.0 * (-1.0) ** np.arange(1, robot.nv + 1)
    q[0] = np.pi / 2 + 1.0
    v = np.zeros(robot.nv)
    lw.simulate(robot, (q, v), until=0.01, method="rk4", dt=0.0025, save=lw.Save(dense=False))
    ready, busy = perf_counter(), process_time()
    run = lw.simulate(robot, (q, v), until=1.0, method="rk4", dt=0.0025, save=lw.Save(every=100, dense=False))
    done, spent = perf_counter(), process_time() - busy
    kinetic, potential = robot.kinetic_energy(run.q, run.v), robot.potential_energy(run.q)
    drift = float(np.abs(kinetic + potential - potential[0]).max() / kinetic[-1])
    return {"ready": ready - start, "run": done - ready, "processor": spent, "drift": drift, "memory": most_memory()}


def most_memory() -> float:
    """The most this program ever had, in bytes; getrusage would count what the process had before it became this one."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(1024 * float(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
