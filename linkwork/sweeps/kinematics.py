"""Where the nodes of a mechanism are and how they move."""

from ..spatial import bar, hat, tilde


def poses(tree, X, world):
    """Pose of each node in the world, base to tips.

        T(k) = T(p) X(k)
    """
    T = tree.slots()
    T[tree.world] = world
    for k in tree.base_to_tips():
        T[k] = T[tree.parent[k]] @ X[k]
    return T


def velocities(s, v, base):
    """Spatial velocity of each node, base to tips.

        V(k) = A*(p,k) V(p) + H*(k) v(k)              Jain, Algorithm 3.2
    """
    tree, A, H, _, _ = s
    V = tree.slots()
    V[tree.world] = base
    for k in tree.base_to_tips():
        V[k] = A[k].mT @ V[tree.parent[k]] + H[k].mT @ v[k]
    return V


def coriolis_accelerations(s, V, v):
    """a(k) = V~(k) H*(k) v(k), for joint maps constant in their own frame (Jain, 5.11 in its own-frame form)."""
    a = s.tree.slots()
    for k in s.tree.base_to_tips():
        a[k] = tilde(V[k][..., 0]) @ (s.H[k].mT @ v[k])
    return a


def gyroscopic_forces(s, V):
    """b(k) = V̄(k) M(k) V(k)                          Jain (2.28)."""
    b = s.tree.slots()
    for k in s.tree.base_to_tips():
        b[k] = bar(V[k][..., 0]) @ (s.M[k] @ V[k])
    return b


def gyroscopic_matrices(s, V):
    """H̊(k) = V~(k) H*(k), and N(k) = ½ (V̄ M − M V~ − (M V)^): N V = V̄ M V, the rest is a rate of inertia."""
    turned, N = s.tree.slots(2)
    for k in s.tree.base_to_tips():
        Vk, h     = V[k][..., 0], (s.M[k] @ V[k])[..., 0]
        turned[k] = tilde(Vk) @ s.H[k].mT
        N[k]      = 0.5 * (bar(Vk) @ s.M[k] - s.M[k] @ tilde(Vk) - hat(h))
    return turned, N


def without(tree, b, wrenches):
    """b(k) less the wrench that acts on node k from outside."""
    left = tree.slots()
    for k in tree.base_to_tips():
        left[k] = b[k] - wrenches[k]
    return left
