"""Your own equation becomes compiled code: the power that a force on the tool takes from an arm."""

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("arm_6r"))


@robot.kernel(force=3)
def power(q, v, force):
    """The force is in world axes, at the tool."""
    velocity = robot.jacobian(q, "tool", axes="world")[3:] @ v
    return force @ velocity


Q, V = robot.random_state((1000,), seed=0)
values = power(Q, V, np.array([0.0, 0.0, -10.0]))
print("a kernel of a thousand states:", values.shape, "from", values.min().round(2), "to", values.max().round(2), "W")

J = robot.jacobian(Q, "tool", axes="world")[:, 3:]
print("the same by hand:", np.allclose(values, (J @ V[..., None])[:, 2, 0] * -10.0))

print("\nwhat the kernel of the mass matrix does, first lines:")
print("\n".join(str(robot.program("mass_matrix")).splitlines()[:6]))
