"""Inertia that a joint does not notice, moved to its parent.

A mass on the axis of a revolute joint, the attitude inertia behind a prismatic one: as part of the outboard body or of the
inboard one, such inertia makes the same motion of the joints. Moved as far to the base as it will go, it leaves bodies
whose inertia is mostly zeros, and kernels with fewer operations. Forces in the joints are no longer those of the bodies, so
this is for results in joint space.
"""

from functools import lru_cache

import numpy as np

from ..lie import Group
from ..spatial import inertia, phi

SMALL = 1e-12  # of numbers near one
ROUNDING = 1e-14  # relative: what is left of a difference of equals


def regrouped(tree, groups, fixed, M) -> list[np.ndarray]:
    """Spatial inertias of nodes that move the joints as M do, as much as possible moved to the base."""
    parameters = [_parameters(x) for x in M]
    for k in tree.tips_to_base():
        before, p = parameters[k], tree.parent[k]
        free = sum((before[i] * row for i, row in unnoticed(groups[k])), np.zeros(10))
        parameters[k] = np.where(np.abs(before - free) <= ROUNDING * np.abs(before), 0.0, before - free)
        if p != tree.world:
            shift = phi(fixed[k])
            parameters[p] = parameters[p] + _parameters(shift @ np.tensordot(free, UNITS, 1) @ shift.T)
    return [np.tensordot(x, UNITS, 1) for x in parameters]


def _parameters(M: np.ndarray) -> np.ndarray:
    return np.array([M[entry] for entry in ENTRIES])


@lru_cache(maxsize=256)
def unnoticed(group: Group) -> list[tuple[int, np.ndarray]]:
    """A basis, in parameters, of the inertias that the joint's motion neither feels, E H* = 0, nor changes, φ E φ* = E; each
    with the number of a parameter that it alone has, as 1."""
    shifts = [phi(group.matrix(group.exp(t * e))) for e in np.eye(group.nv) for t in (0.7, 1.9)]
    felt = [np.concatenate([(E @ group.basis.T).ravel(), *((s @ E @ s.T - E).ravel() for s in shifts), [0.0]]) for E in UNITS]
    _, sizes, directions = np.linalg.svd(np.array(felt).T)
    rows = echelon(directions[np.count_nonzero(sizes > SMALL) :])
    return [(int(np.argmax(row != 0)), row) for row in rows]


def echelon(rows: np.ndarray) -> np.ndarray:
    """Reduced to rows that begin with 1, in a column where all others have 0."""
    rows = rows.copy()
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        best = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[best, column]) > SMALL:
            rows[[done, best]] = rows[[best, done]]
            rows[done] /= rows[done, column]
            for i in range(len(rows)):
                if i != done:
                    rows[i] -= rows[i, column] * rows[done]
            done += 1
    return np.where(np.abs(rows) < SMALL, 0.0, rows)


def _units() -> np.ndarray:
    """The ten parameters of an inertia, as inertias that have one of them alone: mass, its moments, and the tensor, Iyy first."""
    nothing = np.zeros((3, 3))
    mass = inertia(np.array(1.0), np.zeros(3), nothing)
    moments = [(inertia(np.array(1.0), c, nothing) - inertia(np.array(1.0), -c, nothing)) / 2 for c in np.eye(3)]
    tensors = np.zeros((6, 6, 6))
    for E, (i, j) in zip(tensors, [(1, 1), (0, 0), (2, 2), (0, 1), (0, 2), (1, 2)]):
        E[i, j] = E[j, i] = 1
    return np.array([mass, *moments, *tensors])


UNITS = _units()
ENTRIES = [divmod(int(np.argmax(E.ravel() == 1)), 6) for E in UNITS]  # where each parameter is in the matrix
