"""A satellite that unfolds its panels while it tumbles: no gravity, so that its momentum stays what it was."""

import numpy as np

import linkwork as lw

robot = lw.Dynamics(lw.load("satellite"))
q, v = robot.neutral(), np.zeros(robot.nv)
for side in ("left", "right"):
    for i, angle in enumerate((1.5, -3.0, 3.0), 1):  # folded like a screen; springs open it
        q[robot.q_index(f"{side}_hinge{i}")] = angle if side == "left" else -angle
v[robot.v_index("free")] = [0.02, 0.05, 0.4, 0.0, 0.0, 0.0]

run = lw.simulate(robot, (q, v), until=40.0, rtol=1e-8)
for name, part in (("angular momentum", run.momentum[:, :3]), ("linear momentum", run.momentum[:, 3:])):
    print(f"{name:18}{np.round(part[0], 4)} at first, off by up to {np.abs(part - part[0]).max():.1e}")
print(f"{'energy':18}{run.energy[0]:.2f} J, of which the hinges' dampers leave {run.energy[-1]:.2f} J")
print(f"{'quaternion':18}norm off by up to {np.abs(np.linalg.norm(run.q[:, :4], axis=1) - 1).max():.1e}")

lw.plot(run, "v", "momentum", joints=["left_hinge1", "left_hinge2", "left_hinge3"], path="satellite.png")
lw.record(run, "satellite.html")
print("wrote satellite.png, satellite.html")
