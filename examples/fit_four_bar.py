"""A four-bar's masses from its motor's torque, by gradient: the exact derivative of inverse dynamics by constants, through the loop."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linkwork as lw

robot = lw.Dynamics(lw.load("four_bar"))
q, crank = robot.neutral(), robot.v_index("crank_joint").start
q, v = robot.constraints.project(q, 6.0 * np.eye(3)[crank], hold=[crank])


def motor(t, q, v):
    tau = np.zeros(3)
    tau[crank] = 0.5 * np.sin(9 * t) + 2.0 * (6.0 - v[crank])
    return tau


run = lw.simulate(robot, (q, v), until=3.0, control=motor, dt=0.01)
varying = robot.varying("mass")
true, guess = varying.value("mass"), varying.value("mass") * [2.0, 0.4, 1.7]
measured = run.tau[:, crank] + 0.02 * np.random.default_rng(0).standard_normal(len(run))

# One velocity moves the loop, v = T v_crank. Forces of the joints of the loop do no work along T: the motor's torque is T · τ of the tree.
T = run.v / run.v[:, [crank]]
tree = varying.as_kernel("inverse_dynamics")


def torque(mass):
    return (T * tree(run.q, run.v, run.vdot, mass)).sum(-1)


def cost(factors):
    """Σ error² / 2 and its gradient: the errors are the weights that go backwards."""
    error = torque(factors * guess) - measured
    *_, by_mass = tree.vjp(run.q, run.v, run.vdot, factors * guess, error[:, None] * T)
    return error @ error / 2, by_mass.sum(0) * guess


fit = minimize(cost, np.ones(3), jac=True, method="BFGS")
found = fit.x * guess
print("masses  true", np.round(true, 3), " guessed", np.round(guess, 3), " found", np.round(found, 3))
print(f"{fit.nit} iterations; torque off by {np.std(torque(guess) - measured):.3f} N m before, {np.std(torque(found) - measured):.3f} then")
fig, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
ax.plot(run.t, measured, ".", color="0.6", ms=3, label="measured")
ax.plot(run.t, torque(guess), "--", label="guessed masses")
ax.plot(run.t, torque(found), label="found")
ax.set(xlabel="t (s)", ylabel="torque at the crank (N m)", title="four-bar")
ax.legend(frameon=False)
fig.savefig("fit_four_bar.png", dpi=120)
print("wrote fit_four_bar.png")
