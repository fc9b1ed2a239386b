"""Energy, momentum and the centre of mass of a whole mechanism, and how they change."""

from ..model.tree import concatenated
from ..spatial import bar, hat, tilde
from .composite_inertia import composite_inertia


def kinetic_energy(s, V, v):
    """½ Σ V*(k) M(k) V(k) + v*(k) armature(k) v(k)                                      Jain (4.2)."""
    energy = s.tree.slots()
    for k in s.tree.base_to_tips():
        energy[k] = 0.5 * (V[k].mT @ s.M[k] @ V[k] + v[k].mT @ s.armature[k] @ v[k])[..., 0, 0]
    return s.tree.total(energy)


def moment_of_mass(tree, X, moment):
    """Σ T(k) [m c; m](k) in the world, tips to base: the mass and its first moment, X(k) the pose on the parent."""
    total = tree.slots()
    for k in tree.tips_to_base():
        total[k] = moment[k] + tree.sum(X[j] @ total[j] for j in tree.children[k])
    return moment[tree.world] + tree.sum(X[j] @ total[j] for j in tree.children[tree.world])


def momentum(s, V):
    """Spatial momentum about the world's origin, tips to base:  h = Σ A(0,k) M(k) V(k)   Jain, Exercise 4.1."""
    h = subtree_momentum(s, V)
    return s.tree.sum(s.A[j] @ h[j] for j in s.tree.children[s.tree.world])


def subtree_momentum(s, V):
    """h(k) = M(k) V(k) + Σ A(k,j) h(j), tips to base: what moves with node k, at the node."""
    h = s.tree.slots()
    for k in s.tree.tips_to_base():
        h[k] = s.M[k] @ V[k] + s.tree.sum(s.A[j] @ h[j] for j in s.tree.children[k])
    return h


def momentum_derivatives(s, V):
    """∂h/∂q, along the group, and ∂h/∂v of the momentum about the world's origin, one column per velocity.

        ∂h/∂q(k) = A(0,k) [R Ψ − h^ H*](k),   ∂h/∂v(k) = A(0,k) R(k) H*(k)

    R(k) and h(k) are inertia and momentum of what moves with node k, Ψ = (A* V(p))~ H* the rate of V(k) per velocity; O(N depth).
    """
    R, h = composite_inertia(s), subtree_momentum(s, V)
    by_q, by_v = {}, {}
    for k in s.tree.base_to_tips():
        Psi = tilde((s.A[k].mT @ V[s.tree.parent[k]])[..., 0]) @ s.H[k].mT
        start = concatenated([R[k] @ Psi - hat(h[k][..., 0]) @ s.H[k].mT, R[k] @ s.H[k].mT], -1)
        F, r = s.tree.carried(k, start, via=lambda j, F: s.A[j] @ F), s.H[k].shape[-2]
        by_q[k], by_v[k] = F[..., :r], F[..., r:]
    return tuple(s.tree.matrix(x, height=R[0].shape[-1] if len(s.tree) else 6) for x in (by_q, by_v))


def kinetic_energy_gradient(s, v, base):
    """∂T/∂q at fixed v, along the group, and the generalized momentum ∂T/∂v = 𝓜 v of a rigid tree: base to tips, then tips to base.

        V⁺(k)    = A*(p,k) V(p)
        V(k)     = V⁺(k) + H*(k) v(k)
        h(k)     = M(k) V(k) + Σ A(k,j) h(j)          over children j of k
        ∂T/∂q(k) = −H(k) V̄⁺(k) h(k)
        ∂T/∂v(k) = H(k) h(k) + armature(k) v(k)       O(N)

    The slope along q is that of T(q ∘ exp η) in η: turning joint k by η changes V(k) by V⁺~(k) H*(k) η.
    """
    tree, A, H, M, armature = s
    V, V_plus, h, by_q, by_v = tree.slots(5)
    V[tree.world] = base
    for k in tree.base_to_tips():
        V_plus[k] = A[k].mT @ V[tree.parent[k]]
        V[k]      = V_plus[k] + H[k].mT @ v[k]
    for k in tree.tips_to_base():
        h[k]    = M[k] @ V[k] + tree.sum(A[j] @ h[j] for j in tree.children[k])
        by_q[k] = -H[k] @ (bar(V_plus[k][..., 0]) @ h[k])
        by_v[k] = H[k] @ h[k] + armature[k] @ v[k]
    return by_q, by_v


def momentum_rate(s, V, dq, dv, still):
    """ḣ of the momentum about the world's origin while q moves with the velocity dq and v with the rate dv.

        W(k) = H* dq,   V̇(k) = A* V̇(p) + (A* V(p))~ W(k) + H* dv
        ḣ(k) = M V̇ + Σ A (ḣ + W̄ h)(j)                                     over children j of k; O(N)
    """
    tree, A, H, M, _ = s
    h = subtree_momentum(s, V)
    W, V_dot, carried = tree.slots(3)
    V_dot[tree.world] = still
    for k in tree.base_to_tips():
        W[k]     = H[k].mT @ dq[k]
        V_dot[k] = A[k].mT @ V_dot[tree.parent[k]] + tilde((A[k].mT @ V[tree.parent[k]])[..., 0]) @ W[k] + H[k].mT @ dv[k]
    for k in tree.tips_to_base():
        carried[k] = M[k] @ V_dot[k] + bar(W[k][..., 0]) @ h[k] + tree.sum(A[j] @ carried[j] for j in tree.children[k])
    return tree.sum(A[j] @ carried[j] for j in tree.children[tree.world])
