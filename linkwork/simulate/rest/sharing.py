"""Forces that hold things at rest together, where one may do the work of another: only what they do jointly matters."""

from typing import NamedTuple

import numpy as np

ALIKE = 1e-9  # of the largest eigenvalue of the scaled compliance: forces whose accelerations are less than that do nothing
CUTS = 8  # tangents of each cone to start with
EXACT = 1e-9  # of the largest force: cones that are cut as near to their surfaces as that are cut enough
ROUNDS = 40
OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Share(NamedTuple):
    """Forces as far within their bounds and cones as they can be."""

    force: np.ndarray  # (k,)
    room: float  # to the nearest bound or surface; negative if no forces are within
    critical: np.ndarray  # (cones,) those whose surfaces leave no more room


def without_effect(C, F):
    """Z (k, m): changes of the forces F z (nv,) that make no accelerations."""
    compliance = F.T @ C @ F
    size = np.sqrt(np.where(np.diag(compliance) > 0, np.diag(compliance), 1.0))
    values, vectors = np.linalg.eigh(compliance / (size[:, None] * size))
    return vectors[:, values <= ALIKE * values[-1]] / size[:, None]


def shared(Z, z, bounds, cones) -> Share:
    """The forces z + Z y with the most room: max s such that

        sign (z + Z y)(row) − bound ≥ s            of each (row, sign, bound)
        μ λ_n − |λ_t| ≥ s                          of each cone (row of λ_n, μ), λ_t being the two rows after it

    A cone is cut by tangents, each round by those where it is crossed.
    """
    from scipy.optimize import linprog

    scale = np.abs(z).max(initial=0.0) or 1.0
    sign = np.array([x for _, x, _ in bounds])
    rows = np.array([i for i, _, _ in bounds], int)
    straight = sign[:, None] * np.eye(len(z))[rows], -np.array([x for _, _, x in bounds]) / scale
    angles = 2 * np.pi * np.arange(CUTS) / CUTS
    cuts = [(k, np.array([np.cos(a), np.sin(a)])) for k in range(len(cones)) for a in angles]
    z, force = z / scale, z / scale
    s, critical, room = -np.inf, np.zeros(len(cones), bool), -np.inf
    for _ in range(ROUNDS):
        tangents = np.zeros((len(cuts), len(z)))
        for line, (k, direction) in zip(tangents, cuts):
            i, mu = cones[k]
            line[i], line[i + 1 : i + 3] = mu, -direction
        G, g = np.concatenate([straight[0], tangents]), np.concatenate([straight[1], np.zeros(len(cuts))])
        A, free = np.concatenate([-G @ Z, np.ones((len(G), 1))], 1), [(None, None)] * Z.shape[1]
        found = linprog([*np.zeros(Z.shape[1]), -1.0], A, G @ z + g, bounds=[*free, (None, 2.0)], options=OPTIONS)
        if not found.success:
            break
        force, s = z + Z @ found.x[:-1], found.x[-1]
        tight = -found.ineqlin.marginals[len(bounds) :] > EXACT
        critical = np.isin(np.arange(len(cones)), [k for (k, _), holds in zip(cuts, tight) if holds])
        rooms = [mu * force[i] - np.hypot(*force[i + 1 : i + 3]) for i, mu in cones]
        room = min([s, *rooms])
        if s - room <= EXACT:
            break
        crossed = [(k, force[i + 1 : i + 3]) for k, (i, _) in enumerate(cones) if rooms[k] < s - EXACT / 2]
        cuts += [(k, t / np.hypot(*t)) for k, t in crossed]
    return Share(scale * force, scale * room, critical)


def room_of_forces(C, f, low, high) -> float:
    """How far within their bounds forces can be that make the accelerations of f; negative if none are within. C (n, n) is the compliance.

    Forces are scaled by √C, so that those of rails and pins can be compared.
    """
    size = np.sqrt(np.diag(C))
    Z = size[:, None] * without_effect(C, np.eye(len(f)))
    ends = [(i, sign, sign * size[i] * x[i]) for i in range(len(f)) for sign, x in ((1.0, low), (-1.0, high))]
    return shared(Z, size * f, [x for x in ends if np.isfinite(x[2])], []).room
