"""Can velocity constraints be integrated to constraints on positions? (Müller and Terze, 60; the theorem of Frobenius)"""

import numpy as np

from ..quantities import integrate
from .differences import STEP, first
from .rank import Factored
from .set import ConstraintSet


def object_of_nonholonomy(set_: ConstraintSet, q, t=0.0):
    """G [X_a, X_b] (m, r, r) for an orthonormal basis X of the velocities that the constraints allow.

        G [X, Y] = (∂_Y G) X − (∂_X G) Y + G ad_X Y       zero: motions within the constraints stay on a surface
    """
    q = np.asarray(q, float)
    G = set_.rows(q, t=t).G
    X = Factored(G).null()
    slopes = np.stack([first(lambda s, x=x: set_.rows(integrate(set_.nodes, q, s * x), t=t).G, STEP) for x in X.T]) if X.size else X
    if not X.size:
        return np.zeros((len(G), 0, 0))
    turned = np.einsum("aij,jb->iab", slopes, X)  # (∂_Xa G) X_b
    return turned.transpose(0, 2, 1) - turned + np.einsum("ij,jab->iab", G, brackets(set_, X))


def brackets(set_: ConstraintSet, X):
    """[X_a, X_b] of the joints' own groups (nv, r, r)."""
    nodes, r = set_.nodes, X.shape[-1]
    out = np.zeros((len(X), r, r))
    for group, rows in zip(nodes.groups, nodes.tree.rows):
        for a in range(r):
            out[rows, a] = group.ad(X[rows, a]) @ X[rows]
    return out


def integrable(set_: ConstraintSet, q, t=0.0, tolerance: float = 1e-7) -> bool:
    """Do the constraints, all together, bind positions here?"""
    G = set_.rows(np.asarray(q, float), t=t).G
    found = object_of_nonholonomy(set_, q, t)
    return bool(np.abs(found).max(initial=0.0) <= tolerance * max(1.0, np.abs(G).max(initial=0.0)))
