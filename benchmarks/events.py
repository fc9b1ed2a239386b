"""Runs with many events: arms that strike joint limits, stick and slip, and balls that bounce, as single runs and as ensembles on one core.

Times are of the processor. Of the ensemble also the time of one event: what a sample takes more than one in whose steps nothing happens, by
its number of impacts. The host settles none of them, or the line says how many; first samples are compared with their single runs.
"""

from time import process_time

import numpy as np

import linkwork as lw
from linkwork.engine.loading.gufunc import get_threads, set_threads
from linkwork.model import solids
from linkwork.simulate.ensembles.host import Host

SINGLE = 10  # single runs of each


def arm(friction: float) -> lw.Dynamics:
    builder = lw.Builder("arm")
    upper = lw.Revolute(axis=(0, 1, 0), lower=0.3, upper=2.5, damping=0.2, friction=friction)
    fore = lw.Revolute(axis=(0, 1, 0), lower=-0.8, upper=1.2, damping=0.1, friction=friction)
    builder.body("upper", joint=upper, **solids.cylinder(1.0, 0.02, 1.0))
    builder.body("fore", "upper", (0, 0, -1.0), fore, **solids.cylinder(1.0, 0.02, 1.0))
    return lw.Dynamics(builder.model())


def ball() -> lw.Dynamics:
    builder = lw.Builder("ball").body("ball", joint=lw.Free(), **solids.sphere(1.0, 0.1))
    return lw.Dynamics(builder.ground().contact("ball", friction=0.3, restitution=0.9).model())


def measured(name: str, robot: lw.Dynamics, Q, V, quiet: dict | None, **how) -> None:
    """A line of times; with `quiet` in place of some options there are no events."""
    count, settled = list[int](), (Host.settle, Host.begin, Host.advance)
    Host.settle, Host.begin, Host.advance = (lambda *x, own=own: count.append(1) or own(*x) for own in settled)  # type: ignore[method-assign, misc]
    try:
        lw.simulate(robot, (Q[:100], V[:100]), save="last", **how)
        count.clear()
        start = process_time()
        batch = lw.simulate(robot, (Q, V), save="last", **how)
        together = (process_time() - start) / len(Q)
    finally:
        Host.settle, Host.begin, Host.advance = settled  # type: ignore[method-assign]
    lw.simulate(robot, (Q[0], V[0]), **how)
    start = process_time()
    runs = [lw.simulate(robot, (q, v), **how) for q, v in zip(Q[:SINGLE], V)]
    alone = (process_time() - start) / len(runs)
    assert all((x.end.q == batch.end.q[i]).all() for i, x in enumerate(runs))
    events, off = sum(x.count.sum() for x in batch.events.values()) / len(Q), 0.0
    if quiet is not None:
        smooth = arm(0.0)
        lw.simulate(smooth, (Q[:100], V[:100]), save="last", **how | quiet)
        start = process_time()
        lw.simulate(smooth, (Q, V), save="last", **how | quiet)
        off = (process_time() - start) / len(Q)
    said = f"{name:22} {alone * 1e3:8.2f} ms {together * 1e6:9.1f} us {together / alone:8.4f} {(together - off) / events * 1e6:8.2f} us"
    print(f"{said} {events:6.1f} impacts {batch.steps.mean():6.0f} steps, {len(count)} by the host of {len(Q)} samples")


def main() -> None:
    threads = get_threads()
    set_threads(1)
    print(f"{'':22} {'single run':>11} {'of ensemble':>12} {'ratio':>8} {'an event':>11}")
    rng = np.random.default_rng(0)
    Q = rng.uniform([0.5, -0.5], [1.5, 1.1], (10_000, 2))
    exact, touch = lw.RK45(rtol=1e-9, atol=1e-12), lw.ContactLaw(limits=True, restitution=0.4)
    for name, friction in (("limits", 0.0), ("limits, dry friction", 0.05)):
        measured(name, arm(friction), Q, 0.0 * Q, {"contact": None}, until=4.0, method=exact, contact=touch, progress=False)
    Q = np.zeros((1000, 7))
    Q[:, 3], Q[:, 6], V = 1.0, rng.uniform(0.3, 1.0, 1000), rng.uniform(-1.0, 1.0, (1000, 6))
    measured("bouncing balls", ball(), Q, V, None, until=2.0, progress=False)
    set_threads(threads)


if __name__ == "__main__":
    main()
