"""Forces that hold joints at rest together, where constraints let one do the work of another: only what they do jointly matters."""

import numpy as np

ALIKE = 1e-9  # of the largest eigenvalue of the scaled compliance: forces whose accelerations are less than that do nothing


def room_of_forces(C, f, low, high) -> float:
    """How far within their bounds forces can be that make the accelerations of f; negative if none are within.

        max s,   low + s ≤ f + Z y ≤ high − s,   C Z = 0

    C (n, n) is the compliance. Forces are scaled by √C, so that those of rails and pins can be compared.
    """
    from scipy.optimize import linprog

    size = np.sqrt(np.diag(C))
    values, vectors = np.linalg.eigh(C / (size[:, None] * size))
    Z = vectors[:, values <= ALIKE * values[-1]]
    room = np.concatenate([f - low, high - f]) * np.concatenate([size, size])
    there = np.isfinite(room)
    scale = np.abs(room[there]).max(initial=0.0)
    if not Z.shape[1] or not scale:
        return float(room.min())
    A = np.concatenate([np.concatenate([-Z, Z]), np.ones((2 * len(f), 1))], 1)[there]
    free = [(None, None)] * Z.shape[1]
    found = linprog([*np.zeros(Z.shape[1]), -1.0], A, room[there] / scale, bounds=[*free, (None, 2.0)])
    return float(scale * found.x[-1]) if found.success else float(room.min())
