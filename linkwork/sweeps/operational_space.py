"""What forces on places of a mechanism do to the motion of other places (Jain, chapter 10)."""

from itertools import combinations_with_replacement, pairwise

import numpy as np

from ..lie.scalars import like
from ..spatial import solve
from .blocks import at_rest
from .forward_dynamics import accelerations


def transitions(s, G):
    """ψ(p,k) = A(p,k) (I − G(k) H(k)): the shift through a joint that gives way           Jain (6.29)."""
    psi = s.tree.slots()
    for k in s.tree.base_to_tips():
        psi[k] = s.A[k] - s.A[k] @ G[k] @ s.H[k]
    return psi


def compliances(s, D, G, base):
    """How each node gives way to a force on itself, Υ(k) = Ω(k,k), base to tips.

        Υ⁺(k) = A*(p,k) Υ(p) A(p,k)
        Z(k)  = Υ⁺(k) G(k),   L(k) = D⁻¹(k) + G*(k) Z(k),   U(k) = L(k) H(k) − Z*(k)
        Υ(k)  = Υ⁺(k) + H*(k) U(k) − Z(k) H(k)        Jain (10.21), Algorithm 10.3; O(N)

    L is the diagonal of 𝓜⁻¹. The world gives way by `base`: not at all, zero.
    """
    tree, A, H, _, _ = s
    Upsilon, L, U = tree.slots(3)
    Upsilon[tree.world] = base
    for k in tree.base_to_tips():
        Upsilon_plus = A[k].mT @ Upsilon[tree.parent[k]] @ A[k]
        Z          = Upsilon_plus @ G[k]
        L[k]       = solve(D[k], like(np.eye(D[k].shape[-1]), D[k])) + G[k].mT @ Z
        U[k]       = L[k] @ H[k] - Z.mT
        Upsilon[k] = Upsilon_plus + H[k].mT @ U[k] - Z @ H[k]
    return Upsilon, L, U


def responses(s, G, k, B):
    """X(j) = H(j) ψ(j,k) B for each j on the path of k: what a force on a place of node k does to each joint.

        F(k) = B,   F(p) = A(p,j) (F(j) − G(j) X(j)),   X(j) = H(j) F(j)                      O(depth)
    """
    tree, A, H, _, _ = s

    def through(j, F):
        return A[j] @ (F - G[j] @ (H[j] @ F))

    return {j: H[j] @ F for j, F in tree.path(k, B, via=through)}


def compliance(s, D, G, places):
    """Λ̲ = B* Ω B, how places (k, B) give way to forces on each other; columns of B are directions on node k.

        Λ̲(i,l) = Σ X*(i,j) D⁻¹(j) X(l,j)              over joints j that carry both places, Jain (10.12); O(N)
    """
    X = [responses(s, G, k, B) for k, B in places]
    Y = [{j: solve(D[j], x) for j, x in row.items()} for row in X]
    sizes = np.cumsum([0, *(B.shape[-1] for _, B in places)])
    rows = [slice(a, b) for a, b in pairwise(sizes)]
    block: dict = {}
    for i, l in combinations_with_replacement(range(len(places)), 2):
        shared = [X[i][j].mT @ Y[l][j] for j in X[i] if j in X[l]]
        if shared:
            block[i, l] = sum(shared[1:], shared[0])
            block[l, i] = block[i, l].mT
    batch = np.broadcast_shapes(*(b.shape[:-2] for b in block.values()))
    out = np.zeros_like(places[0][1], shape=(*batch, sizes[-1], sizes[-1]))
    for (i, l), b in block.items():
        out[..., rows[i], rows[l]] = b
    return out


def joint_compliance(s, D, G, k, B):
    """𝓜⁻¹ J*, how the joints give way to a force on a place (k, B): tips to base on its path, then base to tips.

        X(j) = H(j) ψ(j,k) B,   ν(j) = D⁻¹(j) X(j)                            zero off the path, Jain (7.44)
    """
    X, nu = responses(s, G, k, B), s.tree.slots()
    for j in s.tree.base_to_tips():
        nu[j] = solve(D[j], X[j]) if j in X else np.zeros_like(B, shape=(s.H[j].shape[-2], B.shape[-1]))
    still = np.zeros_like(B, shape=(s.A[0].shape[-2], B.shape[-1]))
    return accelerations(s, G, at_rest(s, still), nu)[0]
