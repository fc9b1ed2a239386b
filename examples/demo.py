"""The main job in one page: simulate a mechanism, look at it, keep the result."""

from pathlib import Path
from time import perf_counter

import numpy as np

import linkwork as lw

folder = Path("build/demo")
folder.mkdir(parents=True, exist_ok=True)

robot = lw.Dynamics(lw.load("double_pendulum"))
print(robot, end="\n\n")

start = np.array([2.2, 0.4]), np.zeros(2)
lw.simulate(robot, start, until=0.01, method="dop853")  # the first call compiles, or finds kernels on disk
before = perf_counter()
run = lw.simulate(robot, start, until=20.0, method="dop853", rtol=1e-11, atol=1e-13)
seconds = perf_counter() - before

drift = np.abs(run.energy - run.energy[0]).max() / run.kinetic_energy.max()
print(f"simulated 20 s in {seconds:.2f} s: {run.steps} steps, {20 / seconds:.0f} times as fast as it happens")
print(f"energy drift: {drift:.1e} of the largest kinetic energy\n")

Q, V = robot.random_state((100_000,), seed=0)
vdot = robot.forward_dynamics(Q, V, np.zeros_like(V))
before = perf_counter()
robot.forward_dynamics(Q, V, np.zeros_like(V), out=vdot)
print(f"forward dynamics of 100 000 states at once: {1e3 * (perf_counter() - before):.1f} ms\n")

run.save(folder / "run.npz")
lw.plot(run, "q", "energy", "drift", path=folder / "run.png")
lw.snapshot(run, np.linspace(0.0, 1.6, 9), folder / "swing.png", trace=["end"])
lw.record(run, folder / "run.html", trace=["end"])
for name, what in {
    "run.png": "coordinates and energy over time",
    "swing.png": "the first swing",
    "run.html": "plays in any browser: open it from disk",
    "run.npz": "the run itself: lw.Trajectory.load, or `linkwork view` with it",
}.items():
    print(f"{folder / name!s:22} {what}")
