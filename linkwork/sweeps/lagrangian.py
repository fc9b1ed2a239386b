"""The two slopes of kinetic energy, along v and along q: what Lagrange's equations are made of."""

from ..spatial import bar


def kinetic_slopes(s, v, base):
    """Generalized momentum ∂T/∂v, and ∂T/∂q at fixed v, of a rigid tree: base to tips, then tips to base.

        V⁺(k)    = φ*(p,k) V(p)
        V(k)     = V⁺(k) + H*(k) v(k)
        h(k)     = M(k) V(k) + Σ φ(k,j) h(j)          over children j of k
        ∂T/∂v(k) = H(k) h(k) + armature(k) v(k)
        ∂T/∂q(k) = −H(k) V̄⁺(k) h(k)                   O(N)

    The slope along q is that of T(q ∘ exp η) in η: turning joint k by η changes V(k) by V⁺~(k) H*(k) η.
    """
    tree, phi, H, M, armature = s
    V, V_plus, h, p, slope = tree.slots(5)
    V[tree.world] = base
    for k in tree.base_to_tips():
        V_plus[k] = phi[k].mT @ V[tree.parent[k]]
        V[k]      = V_plus[k] + H[k].mT @ v[k]
    for k in tree.tips_to_base():
        h[k]     = M[k] @ V[k] + tree.sum(phi[j] @ h[j] for j in tree.children[k])
        p[k]     = H[k] @ h[k] + armature[k] @ v[k]
        slope[k] = -H[k] @ bar(V_plus[k][..., 0]) @ h[k]
    return p, slope
