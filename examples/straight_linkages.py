"""A hundred thousand four-bars of random lengths in one compiled kernel: which of them draw a straight line?

Each crank is driven through one turn by a rollout that keeps the loop closed; lengths are inputs of the kernel, and each
linkage chooses by itself which joints follow from the others.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import linkwork as lw

COUNT, STEPS = 100_000, 48

b = lw.Builder("linkage", gravity=(0, 0, 0))
bar = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.01, 0.1, 0.1)}
b.body("crank", joint=lw.Revolute(), **bar)
b.body("coupler", "crank", (1, 0, 0), lw.Revolute(), **bar)
b.body("rocker", None, (3, 0, 0), lw.Revolute(), **bar)
b.loop("pin", "coupler", "rocker", lw.Revolute(), at=(2.5, 0, 0), on=(2.5, 0, 0))
b.drive("crank_joint", lambda t: 2 * np.pi * t)
robot = lw.Dynamics(b.model())
linkages = robot.varying("at", "loop_at", "loop_on")

# lengths against the ground's, such that the crank can go round (Grashof): it is the shortest, and the sums say yes
rng = np.random.default_rng(1)
crank, coupler, rocker = rng.uniform((0.1, 0.4, 0.4), (0.8, 2.0, 2.0), (4 * COUNT, 3)).T
lengths = np.sort(np.stack([crank, coupler, rocker, np.ones_like(crank)]), 0)
goes = (crank == lengths[0]) & (lengths[0] + lengths[3] < 0.98 * (lengths[1] + lengths[2]))
crank, coupler, rocker = (x[goes][:COUNT] for x in (crank, coupler, rocker))
point = rng.uniform((-1.0, -2.0), (2.0, 2.0), (len(crank), 2)) * coupler[:, None]  # that draws, on the coupler

# closed at crank angle zero: the triangle over crank's end and rocker's foot
reach = 1 - crank
alpha = np.arccos((reach**2 + coupler**2 - rocker**2) / (2 * reach * coupler))
top = np.stack([crank + coupler * np.cos(alpha) - 1, coupler * np.sin(alpha)], -1)
Q0 = np.stack([0 * alpha, alpha, np.arctan2(top[:, 1], top[:, 0])], -1)
J = np.stack([-coupler * np.sin(alpha), rocker * np.sin(Q0[:, 2]), coupler * np.cos(alpha), -rocker * np.cos(Q0[:, 2])], -1).reshape(
    -1, 2, 2
)
turned = np.stack([-coupler * np.sin(alpha), crank + coupler * np.cos(alpha)], -1)  # the pin, while the crank turns alone
V0 = 2 * np.pi * np.concatenate([np.ones((len(crank), 1)), -np.linalg.solve(J, turned[..., None])[..., 0]], -1)


def along_x(*columns):
    return np.stack([np.stack([x, 0 * x, 0 * x], -1) for x in columns], -2)


given = {"at": along_x(0 * crank, crank, np.ones_like(crank)), "loop_at": along_x(coupler), "loop_on": along_x(rocker)}
for first in ("first, compiled or from the cache", "second"):
    start = perf_counter()
    run = lw.rollout(linkages, Q0, V0, dt=1 / STEPS, steps=STEPS, given=given)
    print(f"{len(crank)} linkages, {STEPS} steps each: {perf_counter() - start:.2f} s the {first} time")

# the way of the point, and how straight half a turn of it is: the widths of the cloud of its places, across and along
angle = run.q[..., 0] + run.q[..., 1]
turn = np.exp(1j * angle) * (point[:, 0] + 1j * point[:, 1])[:, None]
curve = (crank[:, None] * np.exp(1j * run.q[..., 0]) + turn)[:, :-1]
window = STEPS // 2
z = np.concatenate([curve, curve[:, : window - 1]], -1)


def means(x):
    """Over half a turn, from each step on."""
    total = np.concatenate([np.zeros_like(x[:, :1]), np.cumsum(x, -1)], -1)
    return (total[:, window:] - total[:, :-window]) / window


spread = means(np.abs(z) ** 2) - np.abs(means(z)) ** 2
skew = np.abs(means(z**2) - means(z) ** 2)
across, along = (np.sqrt(np.maximum(spread + sign * skew, 0) / 2) for sign in (-1, 1))
bent = np.where(along > 0.2, across / along, np.inf).min(-1)  # of curves that are not small
order = np.argsort(bent)[: np.isfinite(bent).sum()]
went = np.isfinite(run.q).all((-2, -1)).sum()
print(f"{went} went round; the straightest half turns are {np.round(100 * bent[order[:3]], 2)} % as wide as long")

figure = plt.figure(figsize=(13, 6.5), layout="constrained")
left, right = figure.subfigures(1, 2)
cloud = left.subplots()
few = order[np.linspace(0, len(order) - 1, 400).astype(int)][::-1]
lines = [np.stack([x.real, x.imag], -1) for x in curve[few][:, [*range(STEPS), 0]]]
cloud.add_collection(LineCollection(lines, array=np.log10(bent[few]), cmap="viridis", linewidths=0.7))
cloud.autoscale()
cloud.set(aspect="equal", title="400 coupler curves, darker the straighter", xlabel="x / ground", ylabel="y / ground")
for axes, i in zip(right.subplots(4, 4).flat, order):
    axes.plot(curve[i][[*range(STEPS), 0]].real, curve[i][[*range(STEPS), 0]].imag, color="tab:blue", linewidth=1.2)
    axes.set(aspect="equal", xticks=[], yticks=[], title=f"{100 * bent[i]:.2f} %")
right.suptitle("the straightest: width of half a turn against its length")
figure.savefig("straight_linkages.png", dpi=80)
print("wrote straight_linkages.png")
