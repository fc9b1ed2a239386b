"""Computed torque: an arm follows a path, its controller asked two hundred times a second."""

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("arm_6r"))
home = np.array([0.0, -0.6, 0.9, 0.0, 0.8, 0.0])


def wanted(t):
    """The path in joint space, with its velocity and acceleration."""
    phase, ways = np.arange(6), np.array([0.5, 0.3, 0.3, 0.6, 0.4, 0.8])
    angle = 2 * t + phase
    return home + ways * np.sin(angle), 2 * ways * np.cos(angle), -4 * ways * np.sin(angle)


def control(t, q, v):
    """tau = 𝓜 (acceleration wanted + corrections) + C v + g, and what friction takes."""
    q_wanted, v_wanted, vdot_wanted = wanted(t)
    vdot = vdot_wanted + 400 * (q_wanted - q) + 40 * (v_wanted - v)
    return robot.inverse_dynamics(q, v, vdot) - robot.passive_force(q, v)


q, v, _ = wanted(0.0)
run = lw.simulate(robot, (q + 0.1, v), until=3.0, control=lw.hold(control, rate=200.0))
error = run.q - np.array([wanted(t)[0] for t in run.t])
late = run.t > 1.0
print(f"off the path by {np.abs(error[0]).max():.3f} rad at first, by {np.abs(error[late]).max():.1e} rad after a second")
print(f"largest torque  {np.abs(run.tau).max():.0f} N m")
lw.plot(run, "q", "tau", path="path.png")
lw.movie(run, "path.gif", fps=8, trace=["tool"], size=(3.2, 2.4))
print("wrote path.png, path.gif")
