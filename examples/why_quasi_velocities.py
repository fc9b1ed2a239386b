"""Why quasi-velocities avoid singularities: a free-flying vehicle with an arm turns through 90 degrees of pitch, twice.

Once in the library's own state: q on the group, v the velocity of the vehicle in its own axes. And once in Euler angles
and their rates, the same equations by v = S(x) u. Nothing happens to the vehicle at 90 degrees; something does to S.
"""

import numpy as np
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.lie.euler import euler_from_quaternion

# A vehicle of 60 kg in free fall, and an arm of six joints on it, whose joints are kept moving by torques.
vehicle = lw.Builder("vehicle", gravity=(0, 0, 0))
vehicle.body("hull", joint=lw.Free(), joint_name="base", mass=60.0, tensor=(4.0, 6.0, 7.0))
model = vehicle.model().with_model("hull", lw.load("arm_6r").with_gravity((0, 0, 0)), (0.2, 0.0, 0.3))
robot = lw.Dynamics(model)
q, v = robot.neutral(), np.zeros(robot.nv)
v[robot.v_index("base")] = [0.0187, 1.0, -0.0255, 0.0, 0.0, 0.0]  # pitching up, with a little roll and yaw
arm = slice(6, 12)


def torque(t, q, v):
    """The arm swings its joints; nobody pushes the hull."""
    tau = np.zeros(robot.nv)
    tau[arm] = 4.0 * np.sin(2.0 * t + np.arange(6)) * [0.01, 2, 1, 0.01, 0.1, 0.01] - [1, 8, 4, 0.5, 0.5, 0.1] * v[arm]
    return tau


# The library's own state: (q, v). Unit quaternions are kept so by the library; the solver is anybody's.
def own(t, y):
    q, v = y[: robot.nq], y[robot.nq :]
    return np.concatenate([robot.qdot(q, v), robot.forward_dynamics(q, v, torque(t, q, v))])


# The same in Euler angles "ZYX" of the hull and their rates: (x, u).
euler = lw.QuasiVelocities(robot, {"base": "ZYX"})


def in_angles(t, y):
    x, u = y[: euler.nx], y[euler.nx :]
    tau = torque(t, euler.q(x), euler.v(x, u))
    return np.concatenate([u, euler.forward_dynamics(x, u, euler.force(x, tau))])


how = {"method": "RK45", "rtol": 1e-8, "atol": 1e-10}
smooth = solve_ivp(own, (0, 3), np.concatenate([q, v]), **how)
x = euler.x(q)
rough = solve_ivp(in_angles, (0, 3), np.concatenate([x, euler.u(x, v)]), **how)

angles = euler_from_quaternion(smooth.y[:4].T, "ZYX")
condition = euler.condition(rough.y[: euler.nx].T)["base"]
through = rough.t[np.argmax(condition)]
print(f"pitch comes to {np.degrees(rough.y[1].max()):.3f} degrees at t = {through:.2f} s")
for name, run in (("body velocity", smooth), ("Euler rates", rough)):
    h = np.diff(run.t)
    print(f"{name:14}{len(h):6d} steps, the smallest {h[1:-1].min():.1e} s, {run.nfev} evaluations")
print(f"largest Euler rate {np.abs(rough.y[euler.nx : euler.nx + 3]).max():.0f} rad/s, of a body that turns at {np.linalg.norm(v[:3]):.1f}")
ends = robot.difference(smooth.y[: robot.nq, -1], euler.q(rough.y[: euler.nx, -1]))
print(f"both end at the same place: {np.abs(ends).max():.1e}")

import matplotlib.pyplot as plt  # noqa: E402

figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(7, 7), sharex=True, layout="constrained")
top.plot(smooth.t, np.degrees(angles), label=["yaw", "pitch", "roll"])
top.set_ylabel("Euler angles ZYX (°)")
middle.semilogy(rough.t, np.abs(rough.y[euler.nx : euler.nx + 3]).max(0), color="tab:red", label="largest Euler rate")
middle.semilogy(smooth.t, np.linalg.norm(smooth.y[robot.nq : robot.nq + 3], axis=0), color="tab:blue", label="body velocity |ω|")
middle.set_ylabel("rad/s")
bottom.semilogy(rough.t[2:-1], np.diff(rough.t)[1:-1], ".-", color="tab:red", label="in Euler angles")
bottom.semilogy(smooth.t[2:-1], np.diff(smooth.t)[1:-1], ".-", color="tab:blue", label="on the group")
bottom.set(xlabel="time (s)", ylabel="step of the solver (s)")
for axes in (top, middle, bottom):
    axes.axvline(through, color="0.7", zorder=0)
    axes.legend(loc="lower left" if axes is bottom else "upper left")
    axes.spines[["top", "right"]].set_visible(False)
top.set_title("A vehicle with an arm passes 90 degrees of pitch")
figure.savefig("why_quasi_velocities.png", dpi=120)
print("wrote why_quasi_velocities.png")
