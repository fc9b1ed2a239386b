"""What forces on the nodes add to a motion that is already known."""

from ..spatial import solve


def corrections(tree, phi, H, D, G, force, base):
    """𝓜⁻¹ J* f, the accelerations that forces f(k) on the nodes make by themselves: tips to base, then base to tips.

        z(k)  = −f(k) + Σ φ(k,j) z⁺(j)                over children j of k
        ε(k)  = −H(k) z(k),   ν(k) = D⁻¹(k) ε(k),   z⁺(k) = z(k) + G(k) ε(k)
        α⁺(k) = φ*(p,k) α(p),   δv̇(k) = ν(k) − G*(k) α⁺(k),   δα(k) = α⁺(k) + H*(k) δv̇(k)

    Jain, Algorithm 7.3; f is the force on the nodes, as in (5.36): the sign of the algorithm, not of (7.44). O(N).
    """
    z, z_plus, nu, vdot, alpha = tree.slots(5)
    for k in tree.tips_to_base():
        z[k]      = tree.sum(phi[j] @ z_plus[j] for j in tree.children[k]) - force[k]
        eps       = -(H[k] @ z[k])
        nu[k]     = solve(D[k], eps)
        z_plus[k] = z[k] + G[k] @ eps
    alpha[tree.world] = base
    for k in tree.base_to_tips():
        alpha_plus = phi[k].mT @ alpha[tree.parent[k]]
        vdot[k]    = nu[k] - G[k].mT @ alpha_plus
        alpha[k]   = alpha_plus + H[k].mT @ vdot[k]
    return vdot, alpha
