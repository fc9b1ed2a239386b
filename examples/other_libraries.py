"""The same state in Pinocchio, MuJoCo and Drake: quaternions, orders and axes are converted, whole states at a time."""

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("humanoid"))
q, v = robot.random_state(seed=1)
np.set_printoptions(precision=3, suppress=True, linewidth=120)

print("linkwork          ", q[:7], "quaternion x y z w, position")
for name in ("pinocchio", "mujoco", "drake"):
    other = getattr(lw.convert, name)(robot)
    there = other.q_to(q)
    assert np.allclose(other.q_from(there), q)
    print(f"{name:18}", there[:7])

print("\nvelocity of the base, ours and MuJoCo's (which is in the world, linear first):")
mujoco = lw.convert.mujoco(robot)
print(v[:6])
print(mujoco.v_to(q, v)[:6])
tau = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
print("power is the same:", np.isclose(tau @ v, mujoco.tau_to(q, tau) @ mujoco.v_to(q, v)))
