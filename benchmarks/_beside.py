"""Times of this checkout beside those of another one: the same calls, each in a process of its own, the two trees in turn.

    python -m benchmarks._beside OTHER [part of a name ...]

OTHER is the folder of another checkout of linkwork, an earlier commit. A call is timed with a warm cache, as the processor's time of the
best of several; a ratio is the old time over the new one, above 1 where this checkout is faster. Calls that an earlier commit refuses have
no ratio.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

HERE = Path(__file__).parents[1]
MODELS = HERE / "tests" / "models"
REPEATS, ROUNDS = 5, 3
CASES: dict[str, Callable] = {}
Call = Callable[[], object]


def case(make: Callable[[], Call]) -> Callable[[], Call]:
    """A call to be timed, made by a function that prepares it."""
    CASES[make.__name__] = make
    return make


# --- single runs


def _model(name: str, floating: bool = False):
    import linkwork as lw

    path = next(x for x in sorted((MODELS / name).iterdir()) if x.suffix in (".urdf", ".xml", ".sdf") and "scene" not in x.name)
    return lw.load(path, floating=floating, mimic="free") if path.suffix == ".urdf" else lw.load(path)


def _run(robot, until: float, q=None, v=None, **how) -> Call:
    import linkwork as lw

    q = robot.random_state(seed=0)[0] if q is None else q
    v = 0.1 * robot.random_state(seed=0)[1] if v is None else v
    return lambda: lw.simulate(robot, (q, v), until=until, **how)


def _arm(friction: float = 0.0, stiffness: float = 0.0, **limits):
    import linkwork as lw
    from linkwork.model import solids

    builder, how = lw.Builder("arm"), {"axis": (0, 1, 0), "friction": friction}
    builder.body("upper", joint=lw.Revolute(**how, **limits), **solids.rod(1.0, (0, 0, -1)))
    elbow = lw.Revolute(**how, stiffness=stiffness, damping=stiffness / 100)
    builder.body("fore", "upper", (0, 0, -1), elbow, **solids.rod(1.0, (0, 0, -1)))
    return lw.Dynamics(builder.model())


def _named(name: str):
    import linkwork as lw

    return lw.Dynamics(lw.load(name))


def _four_bar():
    robot = _named("four_bar")
    return robot, robot.constraints.random_state(seed=1, reach=0.3)[0]


START = np.array([1.2, 0.3]), np.zeros(2)


@case
def run_double_pendulum():
    return _run(_named("double_pendulum"), 20.0)


@case
def run_panda():
    import linkwork as lw

    return _run(lw.Dynamics(_model("panda")), 5.0)


@case
def run_panda_dop853():
    import linkwork as lw

    return _run(lw.Dynamics(_model("panda")), 5.0, method="dop853", rtol=1e-9)


@case
def run_panda_stiff():
    import linkwork as lw

    robot = lw.Dynamics(_model("panda"))
    return _run(robot, 1.0, v=np.zeros(robot.nv), method="stiff")


@case
def run_panda_radau():
    import linkwork as lw

    robot = lw.Dynamics(_model("panda"))
    return _run(robot, 1.0, v=np.zeros(robot.nv), method="radau")


@case
def run_four_bar():
    robot, q = _four_bar()
    return _run(robot, 5.0, q, np.zeros(3))


@case
def run_pendulum_rk4():
    return _run(_named("double_pendulum"), 5.0, method="rk4", dt=1e-3)


@case
def run_arm_with_limit():
    return _run(_arm(lower=-0.7), 10.0, *START, limits=True)


@case
def run_arm_with_dry_friction():
    return _run(_arm(friction=0.02), 10.0, *START)


@case
def run_arm_with_reset():
    import linkwork as lw

    robot = _arm()
    wall = lw.Event(robot.kernel()(lambda q: q[0] + 0.3), "wall", direction=-1, reset=lambda t, q, v: (q, -0.8 * v))
    return _run(robot, 10.0, *START, events=[wall])


@case
def run_ball_event_by_event():
    robot, q, v = _ball()
    return _run(robot, 3.0, q[0], v[0])


@case
def run_panda_with_control_in_python():
    import linkwork as lw

    return _run(lw.Dynamics(_model("panda")), 1.0, control=lambda t, q, v: -0.5 * v)


@case
def run_four_bar_with_control_in_python():
    robot, q = _four_bar()
    return _run(robot, 1.0, q, np.zeros(3), control=lambda t, q, v: -0.1 * v)


# --- batches


def _ball(count: int = 1):
    import linkwork as lw
    from linkwork.model import solids

    builder = lw.Builder("ball").ground().body("ball", joint=lw.Free(), **solids.sphere(1.0, 0.1))
    robot = lw.Dynamics(builder.contact("ball", friction=0.3, restitution=0.9).model())
    q, v = np.tile(robot.neutral(), (count, 1)), np.zeros((count, 6))
    q[:, 6] = np.linspace(0.5, 1.5, count)
    return robot, q, v


def _ends(robot, count: int, until: float, seed: int = 0) -> Call:
    import linkwork as lw

    Q, V = robot.random_state((count,), seed=seed)
    return lambda: lw.simulate(robot, (Q, 0.1 * V), until=until, store="last")


@case
def ensemble_of_double_pendulums():
    return _ends(_named("double_pendulum"), 5_000, 5.0)


@case
def ensemble_of_pandas():
    import linkwork as lw

    return _ends(lw.Dynamics(_model("panda")), 500, 2.0)


@case
def ensemble_of_pandas_with_rows():
    import linkwork as lw

    robot = lw.Dynamics(_model("panda"))
    Q, V = robot.random_state((200,), seed=0)
    return lambda: lw.simulate(robot, (Q, 0.1 * V), until=2.0, dt=0.05)


@case
def ensemble_of_four_bars_of_random_lengths():
    import linkwork as lw

    robot, rng = _named("four_bar"), np.random.default_rng(0)
    varying = robot.varying("at", "loop_at", "loop_on")
    given = {name: x * rng.uniform(0.8, 1.25, (1000, len(x), 1)) for name, x in varying.own.items()}
    Q = varying.assemble(robot.assemble(robot.neutral()), **given)
    Q, V = varying.project(Q, np.zeros(3), **given)
    return lambda: lw.simulate(varying, (Q, V), until=2.0, given=given, store="last")


@case
def ensemble_of_arms_with_limits():
    import linkwork as lw

    rng = np.random.default_rng(0)
    Q, V = rng.uniform(-0.6, 1.0, (64, 2)), np.zeros((64, 2))
    robot = _arm(friction=0.02, lower=-0.7)
    return lambda: lw.simulate(robot, (Q, V), until=3.0, limits=True, store="last")


@case
def ensemble_of_balls_event_by_event():
    import linkwork as lw

    robot, Q, V = _ball(16)
    return lambda: lw.simulate(robot, (Q, V), until=2.0, store="last")


@case
def rollout_of_pandas():
    import linkwork as lw

    robot = lw.Dynamics(_model("panda"))
    Q, V = robot.random_state((1024,), seed=0)
    return lambda: lw.rollout(robot, Q, 0.1 * V, dt=1e-3, steps=200)


@case
def rollout_of_pandas_rk4():
    import linkwork as lw

    robot = lw.Dynamics(_model("panda"))
    Q, V = robot.random_state((1024,), seed=0)
    return lambda: lw.rollout(robot, Q, 0.1 * V, dt=1e-3, steps=50, every=50, method="rk4")


@case
def rollout_of_pandas_with_control_in_python():
    import linkwork as lw

    robot = lw.Dynamics(_model("panda"))
    Q, V = robot.random_state((64,), seed=0)
    return lambda: lw.rollout(robot, Q, 0.1 * V, lambda t, q, v: -0.5 * v, dt=1e-3, steps=200, every=200)


def _cassies(method: str) -> Call:
    import linkwork as lw
    from benchmarks.rollout_loops import states

    robot = lw.Dynamics(_model("cassie_mjcf"))
    Q, V = states(robot, 512)
    return lambda: lw.rollout(robot, Q, V, dt=2e-4, steps=50, every=50, method=method)


@case
def rollout_of_cassies():
    return _cassies("euler")


@case
def rollout_of_cassies_rk4():
    return _cassies("rk4")


# --- contact


def _law(**how):
    """A contact law, in the words of the tree that is timed."""
    import linkwork as lw

    if hasattr(lw, "ContactLaw"):
        return lw.ContactLaw(**how)
    return lw.ContactSolver(**{"method" if name == "solver" else name: x for name, x in how.items()})


NEWTON = {"solver": "newton", "rounds": 60, "tolerance": 1e-5}


def _standing(which: str, solver):
    from benchmarks.contact import FEET, go2, humanoid, standing

    return standing(go2 if which == "go2" else humanoid(FEET), solver)[:4]


def _steps_with_contact(which: str, solver, count: int, steps: int) -> Call:
    import linkwork as lw

    robot, q, v, tau = _standing(which, solver)
    Q, V = np.tile(q, (count, 1)), v + 0.05 * np.random.default_rng(0).normal(size=(count, robot.nv))
    return lambda: lw.rollout(robot, Q, V, tau, dt=0.002, steps=steps, every=steps, method="contact", contact=solver)


@case
def contact_go2_friction_first():
    return _steps_with_contact("go2", _law(friction="first", tolerance=1e-5), 256, 50)


@case
def contact_go2_newton():
    return _steps_with_contact("go2", _law(**NEWTON), 256, 50)


@case
def contact_go2_alone():
    return _steps_with_contact("go2", _law(friction="first", tolerance=1e-5), 1, 400)


@case
def contact_humanoid_on_its_feet():
    return _steps_with_contact("humanoid", _law(**NEWTON | {"rounds": 20, "tolerance": 5e-5}), 128, 50)


@case
def contact_gradient_go2():
    import linkwork as lw

    solver = _law(friction="first", rounds=50, tolerance=1e-6)
    robot, q, v, tau = _standing("go2", None)
    Q, V = np.tile(q, (64, 1)), v + 0.05 * np.random.default_rng(0).normal(size=(64, robot.nv))
    how = {"dt": 0.002, "steps": 50, "every": 50, "method": "contact", "contact": solver, "weights": (None, np.ones(robot.nv))}
    return lambda: lw.rollout_gradient(robot, Q, V, tau, **how)


@case
def contact_run_of_go2_with_policy_in_python():
    import linkwork as lw

    robot, q, v, tau = _standing("go2", None)
    return lambda: lw.simulate(robot, (q, v), until=0.1, method="contact", dt=0.002, control=lambda t, q, v: tau)


@case
def contact_run_of_go2():
    import linkwork as lw

    robot, q, v, tau = _standing("go2", None)
    hold = robot.kernel()(lambda q, v: tau - 0.0 * v)
    return lambda: lw.simulate(robot, (q, v), until=0.1, method="contact", dt=0.002, control=hold)


# --- the first call in a process, its code on disk


@case
def first_simulate_of_talos():
    import linkwork as lw

    model = _model("talos_reduced", floating=True)

    def call():
        robot = lw.Dynamics(model)
        lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=0.1)

    return call


@case
def first_rollout_of_go2():
    import linkwork as lw
    from benchmarks.contact import go2

    path, which, q, *_ = go2()
    model = lw.load(path)
    model = (model if model.ground else model.with_ground()).with_contacts(which, material=lw.Material(friction=0.8))

    def call():
        robot = lw.Dynamics(model)
        lw.rollout(robot, q[None], np.zeros((1, robot.nv)), None, dt=0.002, steps=10, method="contact")

    return call


def timed(name: str) -> dict:
    """Seconds of a call: the least of several, or that of the first one."""
    call, first = CASES[name](), name.startswith("first")
    if not first:
        call()
    seconds = []
    for _ in range(1 if first else REPEATS):
        start, busy = perf_counter(), process_time()
        call()
        seconds.append(perf_counter() - start if first else process_time() - busy)
        if sum(seconds) > 10:
            break
    return {"seconds": min(seconds)}


def measured(tree: Path, cache: str, name: str) -> float:
    """Seconds of a call in a process that has the package of one tree; not a number where it fails."""
    alone = dict.fromkeys(("LINKWORK_QUIET", "LINKWORK_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **alone, "PYTHONPATH": str(tree), "LINKWORK_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--time", name], env=environment, cwd=tree, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{name} in {tree.name}: {done.stderr.strip().splitlines()[-1][:150]}", file=sys.stderr)
        return float("nan")
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


def main(other: str, *parts: str) -> None:
    names = [name for name in CASES if not parts or any(part in name for part in parts)]
    trees = Path(other).resolve(), HERE
    with TemporaryDirectory() as caches:
        for name in names:
            best = [float("nan")] * 2
            for turn in range(ROUNDS + name.startswith("first")):  # the first turn of those fills the cache
                now = [measured(tree, f"{caches}/{i}", name) for i, tree in enumerate(trees)]
                best = now if turn == 0 or (turn == 1 and name.startswith("first")) else [float(np.fmin(*x)) for x in zip(best, now)]
            old, new = best
            print(f"{name:45} {1e3 * old:9.2f} ms {1e3 * new:9.2f} ms  {old / new:7.2f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--time":
        sys.path[0] = os.getcwd()  # the benchmarks of the tree that is timed
        print(json.dumps(timed(sys.argv[2])))
    else:
        main(*sys.argv[1:])
