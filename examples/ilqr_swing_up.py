"""iLQR: a pole is swung up by its cart. Linearizations of all steps come from one call, each line search is one rollout of a batch."""

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("cartpole"))
steps, dt, n = 150, 0.02, 4
goal, start = np.zeros(n), np.array([0.0, np.pi, 0.0, 0.0])  # (cart, pole, their velocities); the pole is up at 0
Q, R, last = np.diag([0.1, 1.0, 0.01, 0.01]) * dt, 0.02 * dt, np.diag([100.0, 400.0, 10.0, 20.0])


@robot.kernel(alpha=(), u=(), k=(), K=n, x=n)
def policy(q, v, alpha, u, k, K, x):
    """The force found so far, a part of its change, and feedback on the way that is left."""
    return np.stack([u + alpha * k + K @ (np.concatenate([q, v]) - x), 0 * u])


def search(U, k, K, X, alphas):
    """The motions with these parts of the change, all at once: states, forces and costs."""
    each = {"u": U, "k": k, "K": K, "x": X[:-1]}
    first = np.tile(start[:2], (len(alphas), 1))
    run = lw.rollout(robot, first, start[2:], policy, given={"alpha": alphas}, each_step=each, dt=dt, steps=steps)
    new = np.concatenate([run.q, run.v], -1)
    forces = U + alphas[:, None] * k + np.einsum("ti,ati->at", K, new[:, :-1] - X[:-1])
    away = new - goal
    ends = away[:, -1]
    return new, forces, np.einsum("ati,ij,atj->a", away, Q, away) + R * (forces**2).sum(-1) + np.einsum("ai,ij,aj->a", ends, last, ends)


U = 0.1 * np.sin(4 * dt * np.arange(steps))
(X,), (U,), (cost,) = search(U, 0 * U, np.zeros((steps, n)), np.zeros((steps + 1, n)), np.ones(1))
costs = [cost]
for _ in range(200):
    A, B = robot.linearize(X[:-1, :2], X[:-1, 2:], np.stack([U, 0 * U], -1), dt=dt, method="euler")
    B, P, p = B[..., :1], last, last @ (X[-1] - goal)
    k, K = np.empty(steps), np.empty((steps, n))
    for t in reversed(range(steps)):
        S = R + B[t].T @ P @ B[t]
        k[t], K[t] = (-(R * U[t] + B[t].T @ p) / S[0]).item(), -(B[t].T @ P @ A[t])[0] / S[0]
        p = Q @ (X[t] - goal) + A[t].T @ (p + P @ B[t][:, 0] * k[t])
        P = Q + A[t].T @ P @ (A[t] + B[t] @ K[t : t + 1])
    with np.errstate(over="ignore"):  # steps that are too long
        found, forces, tried = search(U, k, K, X, 2.0 ** -np.arange(10))
    best = np.nanargmin(tried)
    if not tried[best] < costs[-1] - 1e-5 * costs[-1]:
        break
    X, U = found[best], forces[best]
    costs.append(tried[best])
print(f"{len(costs) - 1} iterations, cost {costs[0]:.0f} to {costs[-1]:.3f}; the pole ends {X[-1, 1]:.1e} rad from upright")
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].plot(dt * np.arange(steps + 1), X[:, :2], label=["cart (m)", "pole (rad)"])
axes[0].set(xlabel="t (s)", title="the swing up")
axes[0].legend(frameon=False)
axes[1].semilogy(costs, ".-")
axes[1].set(xlabel="iteration", title="cost")
fig.savefig("ilqr_swing_up.png", dpi=120)
print("wrote ilqr_swing_up.png")
