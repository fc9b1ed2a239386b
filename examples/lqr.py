"""LQR: a cart holds its pole upright, a three-link arm stands on a joint without a motor. `robot.linearize` gives A and B."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solve_continuous_are

import linkwork as lw


def regulator(robot, q, motors, effort):
    """u = K (q* − q, −v): the gains that minimize ∫ x² + effort u² of the linear system about q, at rest."""
    rest = np.zeros(robot.nv)
    A, B = robot.linearize(q, rest, robot.gravity_force(q))
    B = B[:, motors]
    P = solve_continuous_are(A, B, np.eye(len(A)), effort * np.eye(len(motors)))
    K = B.T @ P / effort
    print(robot.model.name, "poles", np.round(np.linalg.eigvals(A - B @ K), 2))

    def control(t, p, v):
        tau = np.zeros(robot.nv)
        tau[motors] = -K @ np.concatenate([robot.difference(q, p), v])
        return tau

    return control


cart = lw.Dynamics(lw.load("cartpole"))
arm = lw.Dynamics(lw.load("chain:3"))
tasks = [
    (cart, np.zeros(2), [0], 0.1, np.array([0.0, 0.35])),
    (arm, np.array([np.pi, 0.0, 0.0]), [1, 2], 1.0, np.array([0.06, -0.1, 0.08])),
]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for ax, (robot, q, motors, effort, push) in zip(axes, tasks):
    run = lw.simulate(robot, (q + push, np.zeros(robot.nv)), until=6.0, control=regulator(robot, q, motors, effort))
    away = robot.difference(q, run.q)
    print(f"after {run.t[-1]:.0f} s {np.abs(away[-1]).max():.1e} from upright, at most {np.abs(run.tau).max():.1f} N or N m")
    ax.plot(run.t, away, label=run.q_names)
    ax.set(title=robot.model.name, xlabel="t (s)", ylabel="away from upright (rad, m)")
    ax.legend(frameon=False)
fig.savefig("lqr.png", dpi=120)
print("wrote lqr.png")
