"""Ensembles with adaptive steps on one core: 10⁵ double pendulums over 20 s and 10⁴ pandas, at rtol 1e-6, beside SciPy's RK45 and diffrax;
10⁴ four-bars of random lengths over 2 s, beside a loop of single runs of as many models.

SciPy integrates over Pinocchio's aba, sample after sample; diffrax the closed form of the double pendulum in JAX, all samples at once
(vmap), with the same pair (Dopri5) and the same tolerances. Peers run on fewer samples; the time of a sample is compared. The ends of the
first samples are those of single runs, to the bit.
"""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import linkwork as lw
from benchmarks._robots import model
from benchmarks.simulate import scipy_run, text_of
from linkwork.engine.loading.gufunc import get_threads, set_threads

FEWER = {"SciPy": 5, "diffrax": 200}  # samples of the peers


def ours(robot: lw.Dynamics, Q, V, until: float) -> tuple[float, lw.Ensemble]:
    lw.simulate(robot, (Q[:8], V[:8]), until=0.01, save="last")
    start = perf_counter()
    made = lw.simulate(robot, (Q, V), until=until, save="last")
    seconds = perf_counter() - start
    for i in range(3):
        alone = lw.simulate(robot, (Q[i], V[i]), until=until)
        assert (alone.q[-1] == made.end.q[i]).all() and (alone.v[-1] == made.end.v[i]).all() and alone.steps == made.steps[i]
    return seconds, made


def scipy_seconds(robot, name, Q, V, until: float) -> float:
    with tempfile.TemporaryDirectory() as folder:
        text = text_of(robot, name, Path(folder))
    runs = [scipy_run(text, q, v, until) for q, v in zip(Q[: FEWER["SciPy"]], V)]
    start = perf_counter()
    for run in runs:
        run()
    return (perf_counter() - start) / len(runs)


def diffrax_seconds(robot: lw.Dynamics, Q, V, until: float) -> tuple[float, float]:
    """The time of a sample, and how far its acceleration is from ours."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    A, b, c = closed_form(robot)

    def acceleration(q, v):
        cos, sin = jnp.cos(q[1]), jnp.sin(q[1])
        M = jnp.array([[A[0] + 2 * A[2] * cos, A[1] + A[2] * cos], [A[1] + A[2] * cos, A[1]]])
        h = A[2] * sin * jnp.array([-v[1] * (2 * v[0] + v[1]), v[0] ** 2])
        g = jnp.array([b * jnp.sin(q[0]) + c * jnp.sin(q[0] + q[1]), c * jnp.sin(q[0] + q[1])])
        return jnp.linalg.solve(M, -h - g)

    def rates(t, y, args):
        return jnp.concatenate([y[2:], acceleration(y[:2], y[2:])])

    controller = diffrax.PIDController(rtol=1e-6, atol=1e-9)

    @jax.jit
    @jax.vmap
    def run(y):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(rates), diffrax.Dopri5(), 0.0, until, None, y, stepsize_controller=controller, max_steps=100_000,
            saveat=diffrax.SaveAt(t1=True),
        ).ys  # fmt: skip

    y = jnp.asarray(np.concatenate([Q, V], -1)[: FEWER["diffrax"]])
    run(y).block_until_ready()
    start = perf_counter()
    run(y).block_until_ready()
    seconds = (perf_counter() - start) / len(y)
    apart = np.abs(np.asarray(acceleration(Q[0], V[0])) - robot.forward_dynamics(Q[0], V[0], np.zeros(2))).max()
    return seconds, float(apart)


def closed_form(robot: lw.Dynamics):
    """Constants of M(q) and g(q) of the double pendulum, from the robot itself."""
    straight, bent = robot.mass_matrix(np.zeros(2)), robot.mass_matrix(np.array([0.0, np.pi / 2]))
    g = robot.gravity_force(np.array([np.pi / 2, 0.0]))
    return (bent[0, 0], bent[1, 1], (straight[0, 0] - bent[0, 0]) / 2), g[0] - g[1], g[1]


def four_bars(count: int, until: float) -> None:
    """Each with its own lengths, beside single runs, and what it takes to make a robot of a model."""
    robot = lw.Dynamics(lw.load("four_bar"))
    varying, rng = robot.varying("at", "loop_at", "loop_on"), np.random.default_rng(0)
    given = {name: x * rng.uniform(0.8, 1.25, (count, len(x), 1)) for name, x in varying.own.items()}
    start = perf_counter()
    Q = varying.assemble(robot.assemble(robot.neutral()), **given)
    Q, V = varying.project(Q, np.zeros(3), **given)
    print(f"{'four_bar':>16}: {count:,} assembled in {perf_counter() - start:.2f} s, compiled or from the cache")
    lw.simulate(varying, (Q[:8], V[:8]), until=0.01, given={name: x[:8] for name, x in given.items()}, save="last")
    start = perf_counter()
    made = lw.simulate(varying, (Q, V), until=until, given=given, save="last")
    seconds = perf_counter() - start
    for i in range(3):
        alone = lw.simulate(varying, (Q[i], V[i]), until=until, given={name: x[i] for name, x in given.items()}, save="last")
        assert (alone.end.q == made.end.q[i]).all() and alone.steps == made.steps[i] and (made.status == "finished").all()
    print(
        f"{'':>16}  over {until:.0f} s in {seconds:.2f} s on one core, {1e3 * seconds / count:.4f} ms a sample, "
        f"{1e9 * seconds / int(made.steps.sum()):.0f} ns a step"
    )


def main() -> None:
    threads = get_threads()
    set_threads(1)
    try:
        robot = lw.Dynamics(lw.load("double_pendulum"))
        Q, V = np.random.default_rng(0).uniform(-2, 2, (2, 100_000, 2))
        report("double_pendulum", robot, Q, V, 20.0)
        try:
            each, apart = diffrax_seconds(robot, Q, V, 20.0)
            print(f"{'':>16}  diffrax {1e3 * each:8.3f} ms a sample (accelerations {apart:.0e} apart)")
        except ImportError as error:
            print(f"{'':>16}  no diffrax: {error}")
        arm = lw.Dynamics(model("panda"))
        Q, V = arm.random_state((10_000,), seed=0)
        report("panda", arm, Q, 0.1 * V, 5.0)
        four_bars(10_000, 2.0)
    finally:
        set_threads(threads)


def report(name: str, robot: lw.Dynamics, Q, V, until: float) -> None:
    seconds, made = ours(robot, Q, V, until)
    each, steps = seconds / len(Q), int(made.steps.sum())
    scipy = scipy_seconds(robot, name, Q, V, until)
    print(
        f"{name:>16}: {len(Q):,} over {until:.0f} s in {seconds:.2f} s on one core, {1e3 * each:.4f} ms a sample, "
        f"{1e9 * seconds / steps:.0f} ns a step"
    )
    print(f"{'':>16}  SciPy over Pinocchio {1e3 * scipy:8.3f} ms a sample, ratio {scipy / each:.0f}")


if __name__ == "__main__":
    main()
