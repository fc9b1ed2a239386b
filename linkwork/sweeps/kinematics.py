"""Where the nodes of a mechanism are and how they move."""


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
