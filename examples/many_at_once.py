"""Leading axes are a batch: thousands of states in one call, thousands of robots over time, a mass for each."""

from time import perf_counter

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("cartpole"))

Q, V = robot.random_state((50, 40), seed=0)  # any batch shape
print("mass matrices     ", robot.mass_matrix(Q).shape)
print("accelerations     ", robot.forward_dynamics(Q, V, np.zeros(2)).shape, "one force for all of them")

Q0 = np.stack([np.zeros(4096), np.linspace(-0.5, 0.5, 4096)], -1)
gains = np.array([1.0, 40.0, 3.0, 8.0])  # found by hand: push the cart under the pole


def push(t, Q, V):
    force = gains[0] * Q[:, 0] + gains[1] * Q[:, 1] + gains[2] * V[:, 0] + gains[3] * V[:, 1]
    return np.stack([force, 0 * force], -1)


lw.rollout(robot, Q0, np.zeros_like(Q0), push, dt=0.01, steps=1)  # compiles
before = perf_counter()
run = lw.rollout(robot, Q0, np.zeros_like(Q0), push, dt=0.01, steps=1000)
seconds = perf_counter() - before
upright = np.abs(run.q[:, -1, 1]) < 0.05
print(f"rollout            {Q0.shape[0]} carts, 1000 steps each, in {seconds:.2f} s: {upright.sum()} poles are upright")

heavy = robot.varying("mass")
masses = np.stack([np.linspace(0.5, 4.0, 5), np.full(5, 0.1)], -1)  # of cart and pole, for each of five
vdot = heavy.forward_dynamics(np.zeros(2), np.zeros(2), np.array([1.0, 0.0]), mass=masses)
print("carts of", masses[:, 0], "kg pushed with 1 N accelerate with", np.round(vdot[:, 0], 3), "m/s²")
