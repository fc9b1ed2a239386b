"""A double pendulum: what it is, and how it moves."""

import numpy as np

import linkwork as lw

model = lw.load("double_pendulum")
robot = lw.Dynamics(model)
print(model, end="\n\n")

q, v = np.array([0.5, -0.3]), np.array([1.0, 2.0])
tau = np.zeros(robot.nv)

np.set_printoptions(precision=6, suppress=True)
print("at q =", q, "and v =", v)
print("mass matrix\n", robot.mass_matrix(q), sep="")
print("gravity force     ", robot.gravity_force(q))
print("kinetic energy    ", robot.kinetic_energy(q, v), "J")
print("potential energy  ", robot.potential_energy(q), "J")
print("forward dynamics  ", robot.forward_dynamics(q, v, tau), "rad/s², no torque")

Q, V = robot.random_state((1000,), seed=0)
vdot = robot.forward_dynamics(Q, V, np.zeros_like(V))
print("a thousand states ", vdot.shape, "at once; each undone by inverse dynamics:", end=" ")
print(np.allclose(robot.inverse_dynamics(Q, V, vdot), 0.0))
