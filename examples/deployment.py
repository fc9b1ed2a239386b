"""Monte Carlo of a satellite's deployment: springs, dampers, masses and the tumbling of each sample its own, statistics while it runs.

Nothing is stored but what is asked for: of each sample how fast its hub turned, how far hinges overshot, and when the last panel was open.
"""

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

SAMPLES, UNTIL, OPEN = 2000, 60.0, np.radians(5.0)

robot = lw.Dynamics(lw.load("satellite"))
varying = robot.varying("stiffness", "damping", "mass")
hinges = [f"{side}_hinge{i}" for side in ("left", "right") for i in (1, 2, 3)]
rows = np.array([robot.v_index(name).start for name in hinges])
places = np.array([robot.q_index(name).start for name in hinges])
folded = np.array([1.5, -3.0, 3.0, -1.5, 3.0, -3.0])  # like a screen; springs open it

rng = np.random.default_rng(0)
q, v = robot.neutral(), np.zeros((SAMPLES, robot.nv))
q[places] = folded
v[:, robot.v_index("free")] = [0.02, 0.05, 0.4, 0.0, 0.0, 0.0] + 0.1 * rng.standard_normal((SAMPLES, 6)) * [1, 1, 1, 0, 0, 0]
each = {
    "stiffness": varying.value("stiffness") * rng.uniform(0.7, 1.3, (SAMPLES, robot.nv)),
    "damping": varying.value("damping") * rng.uniform(3.0, 12.0, (SAMPLES, 1)),
    "mass": varying.value("mass") * rng.uniform(0.9, 1.1, (SAMPLES, len(robot.bodies))),
}


@robot.kernel
def hub_rate(v):
    return np.sqrt(v[robot.v_index("free")][:3] @ v[robot.v_index("free")][:3])


@robot.kernel
def overshoot(q):
    return np.max(-q[places] * np.sign(folded))  # beyond the open position, at zero


@robot.kernel
def still_folded(q):
    return np.max(np.abs(q[places])) - OPEN


watched = lw.Save(statistics={"hub rate": hub_rate, "overshoot": overshoot})
run = lw.simulate(varying, (q, v), until=UNTIL, given=each, events=[lw.Event(still_folded, "open", direction=-1)], save=watched)
print(run)
opened, beyond = run.events["open"].first, np.degrees(run.statistics["overshoot"].greatest)
print(f"all panels first open after {np.nanmedian(opened):.1f} s (median), {np.nanmax(opened):.1f} s at most")
print(f"overshoot {np.median(beyond):.1f} degrees (median), 99% below {np.percentile(beyond, 99):.1f}")

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].hist(opened[~np.isnan(opened)], bins=60, color="tab:blue")
axes[0].set(xlabel="all panels within 5° of open, first time (s)", ylabel="samples")
shown = axes[1].scatter(each["damping"][:, rows[0]], beyond, c=opened, s=6)
axes[1].set(xlabel="damping of the hinges (N m s/rad)", ylabel="greatest overshoot (°)")
figure.colorbar(shown, label="first open (s)")
figure.savefig("deployment.png", dpi=110)
print("wrote deployment.png")
