"""Can velocity constraints be integrated to constraints on positions? (Müller and Terze, 60; the theorem of Frobenius)"""

import numpy as np

from ...quantities import ad, integrate
from ..rows.differences import STEP, first
from ..rows.rank import Factored
from ..rows.set import ConstraintSet


def object_of_nonholonomy(set_: ConstraintSet, q, t=0.0):
    """Jc [X_a, X_b] (m, r, r) for an orthonormal basis X of the velocities that the constraints allow.

        Jc [X, Y] = (∂_Y Jc) X − (∂_X Jc) Y + Jc ad_X Y       zero: motions within the constraints stay on a surface
    """
    q = np.asarray(q, float)
    Jc = set_.rows(q, t=t).Jc
    X = Factored(Jc).null()
    if not X.size:
        return np.zeros((len(Jc), 0, 0))
    turned = np.einsum("ija,jb->iab", row_slopes(set_, q, X, t), X)  # (∂_Xa Jc) X_b
    return turned.transpose(0, 2, 1) - turned + np.einsum("ij,ajk,kb->iab", Jc, ad(set_.nodes, X.T), X)


def row_slopes(set_: ConstraintSet, q, X, t):
    """∂Jc (m, nv, r) along the columns of X; by differences where a constraint cannot be traced."""
    if not all(x.traceable for x in set_.constraints):
        return np.stack([first(lambda s, x=x: set_.rows(integrate(set_.nodes, q, s * x), t=t).Jc, STEP) for x in X.T], -1)
    still = np.zeros(len(X))
    return set_.slopes(q, still, still, np.eye(len(set_)), t).pull @ X


def integrable(set_: ConstraintSet, q, t=0.0, tolerance: float = 1e-7) -> bool:
    """Do the constraints, all together, bind positions here?"""
    Jc = set_.rows(np.asarray(q, float), t=t).Jc
    found = object_of_nonholonomy(set_, q, t)
    return bool(np.abs(found).max(initial=0.0) <= tolerance * max(1.0, np.abs(Jc).max(initial=0.0)))
