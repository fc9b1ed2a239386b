"""A policy, resets and a mass for each, all inside the compiled loop over time. Tensors of torch on a GPU go in the same way."""

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("cartpole"))


@robot.kernel(gains=4)
def push(q, v, gains):
    return np.stack([gains @ np.concatenate([q, v]), 0 * q[0]])


@robot.kernel(q_new=2)
def start_again(q, v, q_new):
    fallen = abs(q[1]) > 1
    return np.where(fallen, q_new, q), np.where(fallen, 0, v)


rng, count = np.random.default_rng(0), 2000
Q0 = rng.uniform(-0.3, 0.3, (count, 2))
tried = np.array([1.0, 40.0, 3.0, 8.0]) * rng.uniform(0, 2, (count, 4))  # other gains for each cart
masses = robot.varying("mass").value("mass") * rng.uniform(0.5, 2, (count, 2))  # and another cart and pole
given = {"gains": tried, "mass": masses, "q_new": rng.uniform(-0.1, 0.1, (count, 2))}

run = lw.rollout(robot.varying("mass"), Q0, np.zeros_like(Q0), push, reset=start_again, given=given, dt=0.01, steps=1000)
falls = (abs(np.diff(run.q[..., 1])) > 0.5).sum(1)
print(f"{count} carts for ten seconds: {(falls == 0).sum()} never fell, the others {falls[falls > 0].mean():.1f} times")
print("gains of those that stood", np.round(tried[falls == 0].mean(0), 1), "and of all", np.round(tried.mean(0), 1))
